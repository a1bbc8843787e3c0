package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// The random walk can be repeated and lengthened with these.
const (
	envSeed  = "NIGHTSHIFT_WALK_SEED"
	envSteps = "NIGHTSHIFT_WALK_STEPS"
)

// walker does the same random things to a store and to a model.
type walker struct {
	*world
	*rand.Rand
	model  *model
	leases []store.Lease // also of attempts that have ended: stale ones must change nothing
	ids    []jobs.ID     // of all runs ever made
	trace  []string      // the last steps
}

// Walk does random things to a store, steps of them, and demands that a model agrees. It is part of
// Run; by itself it is for stores that are opened in ways of their own.
func Walk(t *testing.T, open func(t testing.TB) store.Store, steps int) {
	seed := rand.Uint64()
	if text := os.Getenv(envSeed); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", envSeed, err)
		}
		seed = n
	}
	if text := os.Getenv(envSteps); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", envSteps, err)
		}
		steps = n
	}
	t.Logf("repeat with %s=%d %s=%d", envSeed, seed, envSteps, steps)
	w := &walker{world: newWorld(t, open), Rand: rand.New(rand.NewPCG(seed, 0)), model: newModel()}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range w.trace {
				t.Log(line)
			}
		}
	})
	actions := w.actions()
	for step := range steps {
		a := actions[w.IntN(len(actions))]
		w.note(fmt.Sprintf("step %d at %s: %s", step, w.now, a.name))
		a.do()
		w.compareUnfinished()
		if step%100 == 99 {
			w.compareAll()
		}
	}
	w.drainAll()
	w.compareAll()
}

func (w *walker) note(line string) {
	if w.trace = append(w.trace, line); len(w.trace) > 40 {
		w.trace = w.trace[1:]
	}
}

type action struct {
	name string
	do   func()
}

// actions are what may happen, about as often as each stands here: each walk does some of it seldom
// or never, which leads it to other places.
func (w *walker) actions() (list []action) {
	for _, a := range []struct {
		times int
		action
	}{
		{16, action{"enqueue", w.walkEnqueue}},
		{24, action{"claim", w.walkClaim}},
		{6, action{"claim with hold", w.walkHold}},
		{4, action{"put", w.walkPut}},
		{2, action{"delete", w.walkDelete}},
		{4, action{"pause", w.walkPause}},
		{3, action{"upgrade", w.walkUpgrade}},
		{5, action{"cancel", w.walkCancel}},
		{4, action{"run now", w.walkRunNow}},
		{6, action{"requeue", w.walkRequeue}},
		{2, action{"remove", w.walkRemove}},
		{2, action{"prune", w.walkPrune}},
		{10, action{"time", w.walkTime}},
		{2, action{"shift", w.walkShift}},
		{4, action{"limit", w.walkLimit}},
		{5, action{"pause what is shared", w.walkPauseGate}},
		{1, action{"trip", w.walkTrip}},
		{2, action{"reset", w.walkReset}},
		{4, action{"secret", w.walkSecret}},
		{1, action{"note", w.walkNote}},
		{1, action{"reopen", w.walkReopen}},
		{1, action{"workers", w.walkWorkers}},
		{4, action{"schedule", w.walkSchedule}},
		{8, action{"tick", w.walkTick}},
		{2, action{"rewind", w.walkRewind}},
		{4, action{"call back", w.walkCallback}},
		{4, action{"save", w.walkSave}},
		{3, action{"keep notes", w.walkNotes}},
		{2, action{"say", w.walkSay}},
		{1, action{"drop a checkpoint", w.walkDropCheckpoint}},
		{5, action{"deal", w.walkDeal}},
		{1, action{"reopen what was ignored", w.walkReopenIgnored}},
		{1, action{"order", w.walkOrder}},
	} {
		times := a.times
		if a.name != "enqueue" && a.name != "claim" {
			times = times * w.IntN(5) / 2
		}
		for range times {
			list = append(list, a.action)
		}
	}
	return list
}

func (w *walker) anyJob() string { return string(rune('a' + w.IntN(4))) }

// anyRun is mostly one that stands.
func (w *walker) anyRun() jobs.ID {
	if len(w.ids) == 0 || w.IntN(50) == 0 {
		return w.world.ids.Next(w.now.Std())
	}
	// The newer, the likelier.
	return w.ids[max(w.IntN(len(w.ids)), w.IntN(len(w.ids)))]
}

func (w *walker) sameErr(got, want error) {
	w.Helper()
	if !sameFault(got, want) || (want == nil) != (got == nil) {
		w.Fatalf("error is %v, the model's %v", got, want)
	}
}

func (w *walker) wantAudit(action, name string) {
	w.Helper()
	list, _, err := w.Audit(w.ctx, store.AuditFilter{}, store.Page{Limit: 1})
	w.check(err)
	equal(w.world, "audit", words(list[0].Action, list[0].Name, list[0].At),
		words(action, name, w.now))
}

func (w *walker) walkEnqueue() {
	n := 1
	if w.IntN(3) == 0 {
		n = w.IntN(12)
	}
	var subs []store.Submission
	for range n {
		sub := w.sub(w.anyJob(), priority(w.IntN(5)-2))
		if w.IntN(3) == 0 {
			dueIn(time.Duration(w.IntN(7200)) * time.Second)(&sub)
		}
		if w.IntN(3) == 0 {
			keyed("k"+strconv.Itoa(w.IntN(12)), strconv.Itoa(w.IntN(2)))(&sub)
			sub.KeyTTL = time.Duration(1+w.IntN(48)) * time.Hour
		}
		if w.IntN(6) == 0 {
			sub.Delivery = "door " + strconv.Itoa(w.IntN(12))
		}
		if w.IntN(12) == 0 {
			bornFailed(&sub)
		}
		sub.Run.Keys = w.anyKeys()
		sub.Unique, sub.Quiet, sub.By = w.anyUnique(), w.IntN(4) == 0, "walker"
		if w.IntN(3) == 0 {
			catchUp(&sub)
		}
		if w.IntN(4) == 0 {
			sub.Run.Labels = map[string]string{"n": strconv.Itoa(w.IntN(3))}
			sub.Run.MaxAttempts, sub.Run.Timeout = w.IntN(3), jobs.Duration(
				w.IntN(3))*jobs.Duration(time.Second)
		}
		subs = append(subs, sub)
	}
	want, faults := w.model.enqueue(subs)
	out, err := w.Enqueue(w.ctx, subs)
	if len(faults) == 0 {
		w.check(err)
		equal(w.world, "answers", plain(out), want)
		for _, sub := range subs {
			w.ids = append(w.ids, sub.Run.ID)
		}
		return
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		w.Fatalf("error is %v, want faults %v", err, faults)
	}
	equal(w.world, "number of faults", len(joined.Unwrap()), len(faults))
	for _, e := range joined.Unwrap() {
		entry := (*store.EntryError)(nil)
		if !errors.As(e, &entry) || !sameFault(entry.Err, faults[entry.Index]) {
			w.Fatalf("fault %v, the model's are %v", e, faults)
		}
	}
}

func (w *walker) walkHold() { w.claimAnd(store.Claim{Hold: true, Free: [store.Pools]int{5, 5}}) }

func (w *walker) walkClaim() {
	w.claimAnd(store.Claim{Free: [store.Pools]int{w.IntN(6), w.IntN(4)}})
	if w.IntN(4) == 0 {
		w.claimAll()
	}
}

// claimAll claims until there is no more to do: that must come, else a server never rests.
func (w *walker) claimAll() {
	w.Helper()
	for n := 0; ; n++ {
		c := store.Claim{Now: w.now, Free: [store.Pools]int{w.IntN(2), w.IntN(2)}}
		w.model.fallDue(w.now)
		out, err := w.Claim(w.ctx, c)
		w.check(err)
		w.checkLeases(c, out)
		if !out.More {
			return
		}
		if n > 50+len(w.model.runs) {
			w.Fatalf("after %d claims there is still more to do", n)
		}
	}
}

// claimAnd ends some attempts, some of them stale, and checks what is given out.
func (w *walker) claimAnd(c store.Claim) {
	w.Helper()
	c.Now = w.now
	for range w.IntN(5) {
		if len(w.leases) > 0 {
			i := w.IntN(len(w.leases))
			c.Finished = append(c.Finished, w.anyEnd(w.leases[i]))
			if w.IntN(8) > 0 {
				w.leases = slices.Delete(w.leases, i, i+1)
			}
		}
	}
	var want []store.FinishResult
	for _, f := range c.Finished {
		want = append(want, w.model.finish(f))
	}
	w.model.fallDue(w.now)
	out, err := w.Claim(w.ctx, c)
	w.check(err)
	for i := range out.Results {
		out.Results[i].Spawned = plain(out.Results[i].Spawned)
	}
	equal(w.world, "results", out.Results, want)
	w.checkLeases(c, out)
	for i, res := range out.Results {
		for _, s := range res.Spawned {
			w.ids = append(w.ids, s.ID)
		}
		if errors.Is(res.Err, store.ErrState) { // decide again with what was told
			f := c.Finished[i]
			l := store.Lease{
				Run: &jobs.Run{
					ID: f.Run, Job: f.Job, Version: f.Version, Counts: jobs.Counts{Number: f.Number},
					Schedule: f.Schedule, Slices: f.Slices - 1, Keys: jobs.Keys{Checkpoint: f.CheckpointKey},
					RequeuedFrom: f.Links.RequeuedFrom, Bulk: f.Links.Bulk,
				},
				Started: f.Started, Host: f.Host,
			}
			again := w.failed(l)
			if res.CancelAsked {
				again = w.cancelled(l)
			}
			again.Signal = jobs.Signal{Ended: true}
			equal(w.world, "result of the second decision", w.finish(again)[0],
				w.model.finish(again))
		}
	}
}

// plain leaves out what holds the runs: the model has no words for it.
func plain(out []store.Submitted) []store.Submitted {
	list := slices.Clone(out)
	for i := range list {
		list[i].HeldBy = nil
	}
	return list
}

// anyEnd is an end of an attempt, now and then with a wrong number.
func (w *walker) anyEnd(l store.Lease) store.Finish {
	ends := []func() store.Finish{
		func() store.Finish { return w.succeeded(l) },
		func() store.Finish { return w.succeeded(l) },
		func() store.Finish { return w.failed(l) },
		func() store.Finish { return w.retrying(l, time.Duration(w.IntN(3600))*time.Second) },
		func() store.Finish { return w.interrupted(l) },
		func() store.Finish { return w.cancelled(l) },
		func() store.Finish { return w.held(l, w.anySecret()) },
		func() store.Finish { return w.followed(l) },
		func() store.Finish { return w.sliced(l, strconv.Itoa(w.IntN(100))) },
		func() store.Finish { return w.sliced(l, strconv.Itoa(w.IntN(100))) },
		func() store.Finish { return w.accepted(l, time.Duration(w.IntN(3600))*time.Second) },
	}
	f := ends[w.IntN(len(ends))]()
	if r := w.model.runs[f.Run]; r != nil { // who ends an attempt knows how it stands
		f.Slices, f.CheckpointKey = r.Slices+1, r.Keys.Checkpoint
	}
	if w.IntN(20) == 0 {
		f.Number += w.IntN(3) - 1
	}
	if f.Held != "" {
		return f
	}
	f.Signal = w.anySignal()
	if w.IntN(4) == 0 {
		f.Checkpoint = w.anyCheckpoint()
	}
	if w.IntN(4) == 0 {
		f.Progress = w.anyProgress()
	}
	if w.IntN(3) == 0 {
		f.Log = []store.LogPiece{{
			Run: f.Run, Attempt: f.Number, Piece: f.Slices - 1, Offset: int64(f.Slices), Data: []byte(strconv.Itoa(f.Number)),
		}}
	}
	if f.Transition.Outcome != 0 {
		f.Told = w.either("", store.ToldComplete, store.ToldFail)
	}
	f.Queue = []string{"default", "slow"}[w.IntN(2)]
	if f.Transition.Error != nil && w.IntN(2) == 0 {
		f.Transition.Error.Message = "no order " + strconv.Itoa(w.IntN(100))
	}
	return f
}

func (w *walker) checkLease(l store.Lease, r *modelRun) {
	w.Helper()
	r.start(w.now)
	equal(w.world, "started", l.Started, r.AttemptAt)
	if r.Slices == 0 {
		equal(w.world, "started", l.Started, w.now)
	}
	w.sameLease(l, r)
}
