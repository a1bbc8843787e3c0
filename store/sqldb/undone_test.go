package sqldb_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
	"nightshift/store/sqlite"
	"nightshift/store/storetest"
)

// undoneTwice makes a claim that is undone, as often as a disk is full, and then once more.
func undoneTwice(t *testing.T, s store.Store, c store.Claim) store.Claimed {
	t.Helper()
	for range 2 {
		sqldb.UndoNext(s, store.ErrFull)
		if _, err := s.Claim(t.Context(), c); !errors.Is(err, store.ErrFull) {
			t.Fatalf("the claim gave %v, want that it is undone", err)
		}
	}
	out, err := s.Claim(t.Context(), c)
	check(t, err)
	return out
}

func finishOf(l store.Lease, at jobs.Time) store.Finish {
	return store.Finish{
		Run: l.Run.ID, Number: l.Run.Counts.Number, Job: l.Run.Job, Host: l.Host, Queue: "default", Version: 1,
		Started: l.Started, Now: at, ExitCode: -1,
		Transition: jobs.Transition{State: jobs.Succeeded, Outcome: jobs.OutcomeSucceeded},
	}
}

func TestClaimThatIsUndoneForgetsNoGateThatOpened(t *testing.T) {
	later := now.Add(time.Minute)
	for _, c := range []struct {
		name, limit string
		opens       func(s store.Store, l store.Lease) store.Claim
	}{
		{"by the end of an attempt", `"concurrency":{"limit":1}`, func(_ store.Store, l store.Lease) store.Claim {
			return store.Claim{Now: now, Finished: []store.Finish{finishOf(l, now)}}
		}},
		{"by the passing of time", `"rate":{"limit":1,"per":"1m"}`, func(store.Store, store.Lease) store.Claim {
			return store.Claim{Now: later}
		}},
		{"as the clock was set", `"rate":{"limit":1,"per":"1m"}`, func(store.Store, store.Lease) store.Claim {
			return store.Claim{Now: later.Add(time.Hour), Shift: time.Hour}
		}},
		// These two were committed before.
		{"by a reset", `"dependencies":["d"],"concurrency":{"limit":1}`, func(s store.Store, l store.Lease) store.Claim {
			by := store.By{Actor: "test", Now: now}
			check(t, s.Trip(t.Context(), "d", time.Hour, by))
			out, err := s.Claim(t.Context(), store.Claim{
				Now: now, Free: [store.Pools]int{9, 9, 9}, Finished: []store.Finish{finishOf(l, now)},
			})
			check(t, err)
			if len(out.Leases) > 0 {
				t.Fatal("a run started though its dependency is open")
			}
			check(t, s.Reset(t.Context(), "d", by))
			return store.Claim{Now: now}
		}},
		{"by a higher limit", `"concurrency":{"limit":1}`, func(s store.Store, _ store.Lease) store.Claim {
			put(t, s, `{"name":"a","script":{"source":"true"},"concurrency":{"limit":2}}`)
			return store.Claim{Now: now}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openNew(t)
			put(t, s, `{"name":"a","script":{"source":"true"},`+c.limit+`}`)
			enqueue(t, s, jobs.NewIDs(0, func() uint64 { return 1 }), "a", 2)
			free := [store.Pools]int{9, 9, 9}
			first, err := s.Claim(t.Context(), store.Claim{Now: now, Free: free})
			check(t, err)
			if len(first.Leases) != 1 {
				t.Fatalf("%d started, want 1", len(first.Leases))
			}
			claim := c.opens(s, first.Leases[0])
			claim.Free = free
			if out := undoneTwice(t, s, claim); len(out.Leases) != 1 {
				t.Errorf("%d started once the disk had room, want 1", len(out.Leases))
			}
		})
	}
}

func TestClaimThatIsUndoneMovesNoWait(t *testing.T) {
	s := openNew(t)
	put(t, s, `{"name":"a","script":{"source":"true"},"dependencies":["d"],"rate":{"limit":1,"per":"1m"}}`)
	enqueue(t, s, jobs.NewIDs(0, func() uint64 { return 1 }), "a", 2)
	free := [store.Pools]int{9, 9, 9}
	_, err := s.Claim(t.Context(), store.Claim{Now: now, Free: free})
	check(t, err)
	check(t, s.Trip(t.Context(), "d", 2*time.Minute, store.By{Actor: "test", Now: now}))

	const step = 24 * time.Hour
	set := now.Add(step)
	undoneTwice(t, s, store.Claim{Now: set, Shift: step, Clock: "boot 1 2", First: true, Hold: true})
	g, err := s.Gate(t.Context(), jobs.GateDependency, "d", set)
	check(t, err)
	if want := set.Add(2 * time.Minute); g.State.ProbeAt != want {
		t.Errorf("the probe is at %s, want %s", g.State.ProbeAt, want)
	}
	if clock, err := s.Clock(t.Context()); err != nil || clock != "boot 1 2" {
		t.Errorf("the clock that is kept is %q, %v", clock, err)
	}
	check(t, s.Reset(t.Context(), "d", store.By{Actor: "test", Now: set}))
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{time.Minute - time.Millisecond, 0}, {time.Minute, 1}} {
		out, err := s.Claim(t.Context(), store.Claim{Now: set.Add(c.after), Free: free})
		check(t, err)
		if len(out.Leases) != c.want {
			t.Errorf("%d started %v after the one before, want %d", len(out.Leases), c.after, c.want)
		}
	}
}

func TestStartsAheadOfAFirstClaimCountAsOfNow(t *testing.T) {
	s := openNew(t)
	put(t, s, `{"name":"a","script":{"source":"true"},"rate":{"limit":2,"per":"1m"}}`)
	enqueue(t, s, jobs.NewIDs(0, func() uint64 { return 1 }), "a", 4)
	free := [store.Pools]int{9, 9, 9}
	year := now.Add(365 * 24 * time.Hour)
	ahead, err := s.Claim(t.Context(), store.Claim{Now: year, Free: free})
	check(t, err)
	if len(ahead.Leases) != 2 {
		t.Fatalf("%d started, want 2", len(ahead.Leases))
	}
	for _, c := range []struct {
		at    jobs.Time
		first bool
		want  int
	}{
		{now, true, 0},
		{now.Add(time.Minute - time.Millisecond), false, 0},
		{now.Add(time.Minute), false, 2},
	} {
		out, err := s.Claim(t.Context(), store.Claim{Now: c.at, First: c.first, Free: free})
		check(t, err)
		if len(out.Leases) != c.want {
			t.Errorf("at %s %d started, want %d", c.at, len(out.Leases), c.want)
		}
		if c.want == 0 && out.NextDue != now.Add(time.Minute) {
			t.Errorf("at %s the next is due at %s, want %s", c.at, out.NextDue, now.Add(time.Minute))
		}
	}
}

// pruning undoes nothing while it prunes: a step of that which is undone waits for the next round.
type pruning struct {
	store.Store
	now *atomic.Bool
}

func (p pruning) Prune(ctx context.Context, step store.PruneStep) (store.Pruned, error) {
	p.now.Store(true)
	defer p.now.Store(false)
	return p.Store.Prune(ctx, step)
}

func TestAStoreWhoseWritesAreUndoneNowAndThenDoesTheSame(t *testing.T) {
	storetest.Walk(t, undoneOften(t), 1000)
}

func TestGroupsWhoseWritesAreUndoneNowAndThenDoTheSame(t *testing.T) {
	storetest.WalkGroups(t, undoneOften(t), 300)
}

// undoneOften opens a store of which every third write or so is undone, at some statement, before it is done.
func undoneOften(t *testing.T) func(testing.TB) store.Store {
	path := filepath.Join(t.TempDir(), "n.db")
	var prunes atomic.Bool
	return func(t testing.TB) store.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Config{})
		check(t, err)
		sqldb.UndoOften(s, func() int {
			if prunes.Load() {
				return -1
			}
			return rand.IntN(90) - 60
		})
		return pruning{s, &prunes}
	}
}

// What failed in a row is known in memory: a claim that is undone must not leave it there.
func TestStreaksAreAsTheyWereAfterAClaimThatIsUndone(t *testing.T) {
	s := openNew(t)
	put(t, s, `{"name":"a","script":{"source":"true"}}`)
	enqueue(t, s, jobs.NewIDs(0, func() uint64 { return 1 }), "a", 4)
	out, err := s.Claim(t.Context(), store.Claim{Now: now, Free: [store.Pools]int{9, 9, 9}})
	check(t, err)
	end := func(i int, failure *jobs.Failure) {
		f := finishOf(out.Leases[i], now)
		if failure != nil {
			f.Transition = jobs.Transition{State: jobs.Failed, Outcome: jobs.OutcomeFailed, Error: failure}
		}
		undoneTwice(t, s, store.Claim{Now: now, Finished: []store.Finish{f}})
	}
	broken := &jobs.Failure{Kind: jobs.FailExit, Type: "exit", Message: "exit code 1"}
	end(0, broken)
	end(1, broken)
	end(2, nil)
	end(3, nil)
	events, err := s.Events(t.Context(), 0, 9)
	check(t, err)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "run.failed run.failed run.recovered" {
		t.Fatalf("events are %s", got)
	}
	var failed jobs.RunFailed
	var recovered jobs.RunRecovered
	check(t, jobs.DecodeLenient(events[1].Data, &failed))
	check(t, jobs.DecodeLenient(events[2].Data, &recovered))
	if failed.InARow != 2 || recovered.InARow != 2 {
		t.Errorf("%s, %s", events[1].Data, events[2].Data)
	}
}
