package sqldb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// A checkpoint of which no run is left would stay for ever.
func TestCheckpointGoesWithTheLastRunOfItsOperation(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "n.db"), context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Config{})
	check(t, err)
	by := store.By{Actor: "test", Now: now}
	j, err := jobs.ParseJob([]byte(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`))
	check(t, err)
	_, err = s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: j}}}, by)
	check(t, err)
	ids := jobs.NewIDs(0, func() uint64 { return 1 })
	first, second, other := ids.Next(now.Std()), ids.Next(now.Std()), ids.Next(now.Std())
	for _, id := range []jobs.ID{first, other} {
		_, err = s.Enqueue(ctx, []store.Submission{{Run: &jobs.Run{
			ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerAPI, Payload: jobs.Raw("{}"),
			CorrelationID: id.String(), CreatedAt: now, RunAt: now, DueAt: now,
		}}})
		check(t, err)
		failSaving(t, s, id)
	}
	_, err = s.Requeue(ctx, store.Requeue{Of: first, ID: second, Trigger: jobs.TriggerRequeue, By: by})
	check(t, err)
	failSaving(t, s, second)
	for i, id := range []jobs.ID{first, second} {
		check(t, s.Remove(ctx, id, by))
		if got, want := checkpointsIn(t, path), 2-i; got != want {
			t.Errorf("%d checkpoints are kept after the removal of %d runs, want %d", got, i+1, want)
		}
	}
	check(t, s.Close())
}

// failSaving lets a run fail that has saved something.
func failSaving(t *testing.T, s store.Store, id jobs.ID) {
	t.Helper()
	out, err := s.Claim(context.Background(), store.Claim{Now: now, Free: [store.Pools]int{9}})
	check(t, err)
	if len(out.Leases) != 1 || out.Leases[0].Run.ID != id {
		t.Fatalf("claimed %v, want %s", out.Leases, id)
	}
	done, err := s.Claim(context.Background(), store.Claim{Now: now, Finished: []store.Finish{{
		Run: id, Number: 1, Job: "a", Version: 1, Started: now, Now: now, ExitCode: -1, Checkpoint: jobs.Raw("1"),
		Transition: jobs.Transition{
			State: jobs.Failed, Outcome: jobs.OutcomeFailed, Error: &jobs.Failure{Kind: jobs.FailHTTP},
		},
	}}})
	check(t, err)
	check(t, done.Results[0].Err)
}

func checkpointsIn(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	defer db.Close()
	check(t, db.QueryRow("SELECT COUNT(*) FROM checkpoints").Scan(&n))
	return n
}
