package sqldb_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
	"nightshift/store/sqlite"
)

// failing makes runs of job a fail for good.
func failing(t *testing.T, s store.Store, ids *jobs.IDs, n int) {
	t.Helper()
	enqueue(t, s, ids, "a", n)
	endAll(t, s, jobs.Failed, 0)
}

// endAll ends what is queued, all in the same way or up to a number of them; 0: no bound.
func endAll(t *testing.T, s store.Store, state jobs.State, most int) (ended int) {
	t.Helper()
	free := [store.Pools]int{50, 50}
	for {
		if most > 0 {
			free = [store.Pools]int{min(50, most-ended), min(50, most-ended)}
		}
		out, err := s.Claim(t.Context(), store.Claim{Now: now, Free: free})
		check(t, err)
		if len(out.Leases) == 0 {
			return ended
		}
		c := store.Claim{Now: now, Hold: true}
		for _, l := range out.Leases {
			f := finishOf(l, now)
			f.Links = store.LinksOf(l.Run)
			if f.Transition.State = state; state == jobs.Failed {
				f.Transition.Outcome = jobs.OutcomeFailed
				f.Transition.Error = &jobs.Failure{Kind: jobs.FailExit, Type: "exit", Message: "1"}
			}
			c.Finished = append(c.Finished, f)
		}
		done, err := s.Claim(t.Context(), c)
		check(t, err)
		for _, res := range done.Results {
			check(t, res.Err)
		}
		if ended += len(out.Leases); ended == most {
			return ended
		}
	}
}

// requeuesOf is what the runtime makes of the failures of an order.
func requeuesOf(ids *jobs.IDs) func(*store.Bulk, []*jobs.Run) []store.BulkRun {
	return func(_ *store.Bulk, runs []*jobs.Run) (list []store.BulkRun) {
		for _, run := range runs {
			list = append(list, store.BulkRun{Requeue: store.Requeue{
				Of: run.ID, ID: ids.Next(now.Std()), Trigger: jobs.TriggerRequeue, By: store.By{Actor: "test", Now: now},
			}})
		}
		return list
	}
}

func carryOut(t *testing.T, s store.Store, ids *jobs.IDs, order jobs.ID, limit int) {
	t.Helper()
	for more := true; more; {
		var err error
		_, more, err = s.BulkStep(t.Context(), order, limit, requeuesOf(ids), now)
		check(t, err)
	}
}

// told is how an order stands.
func toldOf(t *testing.T, s store.Store, order jobs.ID) string {
	t.Helper()
	b, err := s.Bulk(t.Context(), order)
	check(t, err)
	return fmt.Sprint(b.State, " ", b.Count, " ", b.Done, " ", b.Skipped, " ", b.Succeeded, " ", b.Failed, " ", b.Cancelled)
}

// A write that is undone at any of its statements, and made again, loses nothing and doubles nothing.
func TestOrderThatIsUndoneAtAnyStatementIsCarriedOutOnce(t *testing.T) {
	const failures = 5
	for at := 1; at < 32; at++ {
		path := filepath.Join(t.TempDir(), "n.db")
		open := func() store.Store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Config{})
			check(t, err)
			return s
		}
		s, ids := open(), jobs.NewIDs(0, func() uint64 { return 1 })
		put(t, s, `{"name":"a","script":{"source":"true"}}`)
		failing(t, s, ids, failures)
		undone := false
		sqldb.UndoOften(s, func() int {
			if undone = !undone; undone {
				return at
			}
			return -1
		})
		order := ids.Next(now.Std())
		n, err := s.StartBulk(t.Context(), order, store.Bulk{Action: store.BulkRequeue, StopAfter: 2}, store.By{Actor: "test", Now: now})
		check(t, err)
		carryOut(t, s, ids, order, 2)
		if got := toldOf(t, s, order); n != failures || got != "made 5 5 0 0 0 0" {
			t.Fatalf("undone at statement %d: %d, %s", at, n, got)
		}
		endAll(t, s, jobs.Succeeded, 1)
		endAll(t, s, jobs.Failed, 2)
		check(t, s.Close())
		s = open() // another process does the rest
		carryOut(t, s, ids, order, 2)
		if got := toldOf(t, s, order); got != "stopped 5 5 0 1 2 2" {
			t.Fatalf("undone at statement %d: %s", at, got)
		}
		want := map[jobs.FailureStatus]int{
			jobs.FailureOpen: 4, jobs.FailureRequeued: 2, jobs.FailureResolved: 1, jobs.FailureIgnored: 0,
		}
		for status, want := range want {
			list, _, err := s.Failures(t.Context(), store.FailureFilter{Status: status}, store.Page{Limit: 100})
			check(t, err)
			if len(list) != want {
				t.Fatalf("undone at statement %d: %d are %s, want %d", at, len(list), status, want)
			}
		}
		check(t, s.Close())
	}
}

// What an ordinary success costs, it costs too where the file is full of failures; a failed run costs two
// statements more for being one.
func TestFailureCostsFewStatements(t *testing.T) {
	cost := func(state jobs.State) float64 {
		s, ids := openNew(t), jobs.NewIDs(0, func() uint64 { return 1 })
		put(t, s, `{"name":"a","script":{"source":"true"}}`)
		failing(t, s, ids, 40)
		endAll(t, s, jobs.Succeeded, 0)
		enqueue(t, s, ids, "a", 200)
		counts := sqldb.Counted(s)
		endAll(t, s, state, 0)
		all := 0
		for _, query := range []string{
			"upsertFailureGroup", "updateFailed", "selectLink", "updateDealt", "upsertDealing", "updateBulkRun",
			"selectEarlierOf", "selectEarlierTicks",
		} {
			all += counts[sqldb.Statements[query]]
		}
		return float64(all) / 200
	}
	if got := cost(jobs.Succeeded); got != 0 {
		t.Errorf("a success took %.2f statements for failures, want 0", got)
	}
	if got := cost(jobs.Failed); got != 2 {
		t.Errorf("a failed run took %.2f statements for being one, want 2", got)
	}
}
