package sqldb_test

import (
	"path/filepath"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
	"nightshift/store/sqlite"
	"nightshift/store/storetest"
)

func TestAStoreThatKeepsFewRowsFromCallToCallDoesTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	storetest.Walk(t, func(t testing.TB) store.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Config{})
		check(t, err)
		sqldb.KeepFew(s, 3)
		return s
	}, 1000)
}

// What a claim has taken before it fails stands nowhere: nothing was written that could be undone.
func TestClaimThatFailsTakesNothing(t *testing.T) {
	ctx, by := t.Context(), store.By{Actor: "test", Now: now}
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "n.db"), sqlite.Config{})
	check(t, err)
	defer s.Close()
	put := func(source string) {
		t.Helper()
		j, err := jobs.ParseJob([]byte(
			`{"name":"a","script":{"source":"` + source + `"},"concurrency":{"limit":1}}`))
		check(t, err)
		_, err = s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: j}}}, by)
		check(t, err)
	}
	put("one")
	id := jobs.NewIDs(0, func() uint64 { return 1 }).Next(now.Std())
	_, err = s.Enqueue(ctx, []store.Submission{{Run: &jobs.Run{
		ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerAPI, Payload: jobs.Raw("{}"),
		CorrelationID: id.String(), CreatedAt: now, RunAt: now, DueAt: now,
	}}})
	check(t, err)
	put("two")

	damage := func(with, without string) {
		t.Helper()
		check(t, sqldb.Change(ctx, s, `UPDATE versions SET spec = replace(spec, '`+without+`', '`+with+
			`') WHERE version = 1`))
	}
	claim := store.Claim{Now: now, Free: [store.Pools]int{9, 9, 9}}
	damage("!", "{")
	sqldb.Forget(s)
	if out, err := s.Claim(ctx, claim); err == nil {
		t.Fatalf("a run of a version that cannot be read is given out: %v", out.Leases)
	}
	damage("{", "!")
	out, err := s.Claim(ctx, claim)
	check(t, err)
	if len(out.Leases) != 1 {
		t.Error("the claim that failed still holds the only slot")
	}
}
