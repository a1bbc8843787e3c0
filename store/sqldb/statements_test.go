package sqldb_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
	"nightshift/store/sqlite"
)

func openNew(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "n.db"), sqlite.Config{})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func put(t testing.TB, s store.Store, docs ...string) {
	t.Helper()
	var c store.Changes
	for _, doc := range docs {
		j, err := jobs.ParseJob([]byte(doc))
		check(t, err)
		c.Jobs = append(c.Jobs, store.PutJob{Job: j})
	}
	_, err := s.Save(t.Context(), c, store.By{Actor: "test", Now: now})
	check(t, err)
}

// enqueue makes n runs of a job that are due.
func enqueue(t *testing.T, s store.Store, ids *jobs.IDs, job string, n int) {
	t.Helper()
	var subs []store.Submission
	for range n {
		id := ids.Next(now.Std())
		subs = append(subs, store.Submission{Run: &jobs.Run{
			ID: id, OperationID: id, Job: job, State: jobs.Queued, Trigger: jobs.TriggerAPI,
			Payload: jobs.Raw("{}"), CorrelationID: id.String(), CreatedAt: now, RunAt: now, DueAt: now,
		}})
	}
	_, err := s.Enqueue(t.Context(), subs)
	check(t, err)
}

// drain starts and ends all that is queued, 32 at a time.
func drain(t *testing.T, s store.Store) (ended int) {
	t.Helper()
	c := store.Claim{Now: now, Free: [store.Pools]int{32, 32, 32}}
	for {
		out, err := s.Claim(context.Background(), c)
		check(t, err)
		if len(out.Leases) == 0 {
			return ended
		}
		ended += len(out.Leases)
		c.Finished = nil
		for _, l := range out.Leases {
			c.Finished = append(c.Finished, store.Finish{
				Run: l.Run.ID, Number: 1, Job: l.Run.Job, Host: l.Host, Queue: "default", Version: 1,
				Started: now, Now: now, ExitCode: -1,
				Transition: jobs.Transition{State: jobs.Succeeded, Outcome: jobs.OutcomeSucceeded},
			})
		}
	}
}

// Without limits a run costs its own rows; with them a few more for many runs at once.
func TestRunCostsFewStatements(t *testing.T) {
	for _, c := range []struct {
		job  string
		most float64
	}{
		{`{"name":"a","script":{"source":"true"}}`, 2.5},
		{`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`, 3.3}, // 2 for each commit count what has ended
		{`{"name":"a","script":{"source":"true"},"concurrency":{"limit":64}}`, 2.8},
		{`{"name":"a","script":{"source":"true"},"dependencies":["x"]}`, 2.5},
	} {
		s, ids := openNew(t), jobs.NewIDs(0, func() uint64 { return 1 })
		put(t, s, c.job)
		enqueue(t, s, ids, "a", 320)
		counts := sqldb.Counted(s)
		ended := drain(t, s)
		all := 0
		for _, n := range counts {
			all += n
		}
		if got := float64(all) / float64(ended); ended != 320 || got > c.most {
			t.Errorf("%s: %d runs took %.2f statements each, want %.2f at most:", c.job, ended, got, c.most)
			for query, n := range counts {
				t.Errorf("%5d %s", n, query)
			}
		}
	}
}

// With many lanes it costs much to look at all that wait.
func TestSaveThatChangesNoLimitHasNothingLookedAt(t *testing.T) {
	s := openNew(t)
	limited := `{"name":"a","script":{"source":"true"},"concurrency":{"limit":1,"key":"payload.k"}`
	put(t, s, limited+`}`)
	enqueue(t, s, jobs.NewIDs(0, func() uint64 { return 1 }), "a", 2)
	drain(t, s)
	for _, c := range []struct {
		does  string
		docs  []string
		looks bool
	}{
		{"another job", []string{`{"name":"b","script":{"source":"true"},"queue":"q","dependencies":["x"]}`}, false},
		{"another timeout", []string{limited + `,"timeout":"1m"}`}, false},
		{"another script", []string{strings.Replace(limited, "true", "false", 1) + `}`}, false},
		{"another limit", []string{strings.Replace(limited, "1", "2", 1) + `}`}, true},
		{"another key", []string{strings.Replace(limited, "payload.k", "payload.c", 1) + `}`}, true},
		{"another queue", []string{limited + `,"queue":"q"}`}, true},
		{"a dependency", []string{limited + `,"dependencies":["x"]}`}, true},
		{"a rate", []string{limited + `,"rate":{"limit":1,"per":"1s"}}`}, true},
	} {
		put(t, s, limited+`}`)
		drain(t, s)
		counts := sqldb.Counted(s)
		put(t, s, c.docs...)
		drain(t, s)
		want := map[bool]int{true: 1}[c.looks]
		for _, query := range []string{"selectHolders", "selectParkedGates"} {
			if got := counts[sqldb.Statements[query]]; got != want {
				t.Errorf("%s: %d times %s, want %d", c.does, got, query, want)
			}
		}
	}
}
