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

func randomWalk(t *testing.T, open func(t testing.TB) store.Store) {
	seed, steps := rand.Uint64(), 2000
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

// actions are what may happen, as often as each stands here.
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
		{4, action{"secret", w.walkSecret}},
		{1, action{"note", w.walkNote}},
		{1, action{"reopen", w.walkReopen}},
	} {
		for range a.times {
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
	list, _, err := w.Audit(w.ctx, store.Page{Limit: 1})
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
		equal(w.world, "answers", out, want)
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
	equal(w.world, "results", out.Results, want)
	for i, res := range out.Results {
		for _, s := range res.Spawned {
			w.ids = append(w.ids, s.ID)
		}
		if errors.Is(res.Err, store.ErrState) { // decide again with what was told
			f := c.Finished[i]
			l := store.Lease{
				Run: &jobs.Run{
					ID:      f.Run,
					Job:     f.Job,
					Version: f.Version,
					Counts:  jobs.Counts{Number: f.Number},
				},
				Started: f.Started,
			}
			again := w.failed(l)
			if res.CancelAsked {
				again = w.cancelled(l)
			}
			equal(w.world, "result of the second decision", w.finish(again)[0],
				w.model.finish(again))
		}
	}
	w.checkLeases(c, out)
	nextDue := jobs.Time(0)
	for _, r := range w.model.runs {
		if (r.State == jobs.Scheduled || r.State == jobs.Retrying) &&
			(nextDue == 0 || r.DueAt < nextDue) {
			nextDue = r.DueAt
		}
	}
	equal(w.world, "next due", out.NextDue, nextDue)
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
	}
	f := ends[w.IntN(len(ends))]()
	if w.IntN(20) == 0 {
		f.Number += w.IntN(3) - 1
	}
	if f.Held != "" {
		return f
	}
	if w.IntN(4) == 0 {
		f.Checkpoint = jobs.Raw(strconv.Itoa(w.IntN(100)))
	}
	if w.IntN(3) == 0 {
		f.Log = []store.LogPiece{
			{Run: f.Run, Attempt: f.Number, Data: []byte(strconv.Itoa(f.Number))},
		}
	}
	f.Queue = []string{"default", "slow"}[w.IntN(2)]
	return f
}

// checkLeases demands as many runs as can start, the first of their lanes, in order.
func (w *walker) checkLeases(c store.Claim, out store.Claimed) {
	w.Helper()
	if c.Hold {
		equal(w.world, "runs given out while held", len(out.Leases), 0)
		return
	}
	for pool, kind := range map[store.Pool]string{store.PoolWebhook: jobs.KindWebhook, store.PoolScript: jobs.KindScript} {
		lanes, could := w.model.startable(kind), 0
		for _, lane := range lanes {
			could += len(lane)
		}
		given := 0
		for _, l := range out.Leases {
			r := w.model.runs[l.Run.ID]
			if r == nil || l.Spec.Kind() != kind {
				continue
			}
			lane := lanes[r.Job+" "+kind]
			if len(lane) == 0 || lane[0] != r {
				w.Fatalf("run %s was given out before its turn or when it could not start", r.ID)
			}
			lanes[r.Job+" "+kind] = lane[1:]
			given++
			w.checkLease(l, r)
		}
		equal(w.world, "runs given out for "+kind, given, min(could, c.Free[pool]))
	}
	w.leases = append(w.leases, out.Leases...)
}

func (w *walker) checkLease(l store.Lease, r *modelRun) {
	w.Helper()
	r.start(w.now)
	got := words(l.Run.ID, l.Run.Job, l.Run.Version, l.Run.Counts, string(l.Run.Payload), l.Started,
		l.LogBytes, string(l.Checkpoint), specText(*l.Spec))
	want := words(r.ID, r.Job, r.Version, r.Counts, string(r.Payload), w.now, len(r.output),
		w.model.saved[r.OperationID], specText(w.model.job(r.Job).specs[r.Version-1]))
	equal(w.world, "lease", got, want)
}
