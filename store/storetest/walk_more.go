package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func (w *walker) walkPut() {
	name := w.anyJob()
	more := []string{
		"", `,"queue":"slow"`, `,"retain":{"succeeded":"1h","cancelled":"3h","failed":"2h"}`, `,"priority":1`,
	}[w.IntN(4)]
	j := webhook(name, strconv.Itoa(w.IntN(3)), more)
	if w.IntN(3) == 0 {
		j = script(name, "echo "+strconv.Itoa(w.IntN(3)))
	}
	put := store.PutJob{Job: j, Create: w.IntN(6) == 0}
	if w.IntN(6) == 0 {
		put.IfMatch = new(int64(w.IntN(4)))
	}
	created, changed, wantErr := w.model.put(put)
	saved, err := w.save(put)
	w.sameErr(err, wantErr)
	if err != nil {
		return
	}
	m := w.model.job(name)
	equal(
		w.world,
		"saved",
		words(saved[0].Created, saved[0].Changed, saved[0].Job.Version, saved[0].Job.Revision,
			saved[0].Job.Paused),
		words(created, changed, m.version, m.revision, m.paused),
	)
	if changed {
		w.wantAudit("put", name)
	}
}

func (w *walker) walkDelete() {
	name := w.anyJob()
	want, wantErr := w.model.delete(name, w.now)
	n, err := w.DeleteJob(w.ctx, name, nil, w.by())
	w.sameErr(err, wantErr)
	equal(w.world, "cancelled", n, want)
}

func (w *walker) walkPause() {
	name, paused := w.anyJob(), w.IntN(2) == 0
	j, wantErr := w.model.liveJob(name)
	if wantErr == nil {
		j.paused = paused
	}
	got, err := w.PauseJob(w.ctx, name, paused, "note", w.by())
	w.sameErr(err, wantErr)
	if err == nil {
		equal(w.world, "paused", got.Paused, paused)
	}
}

func (w *walker) walkUpgrade() {
	name := w.anyJob()
	want, wantErr := w.model.upgrade(name)
	n, err := w.UpgradeRuns(w.ctx, name, w.by())
	w.sameErr(err, wantErr)
	equal(w.world, "moved", n, want)
}

func (w *walker) walkCancel() {
	id := w.anyRun()
	want, changed, wantErr := w.model.cancel(id, w.now)
	state, err := w.Cancel(w.ctx, id, w.by())
	w.sameErr(err, wantErr)
	equal(w.world, "state", state, want)
	if changed {
		w.wantAudit("cancel", id.String())
	}
}

func (w *walker) walkRunNow() {
	id := w.anyRun()
	changed, wantErr := w.model.runNow(id, w.now)
	w.sameErr(w.RunNow(w.ctx, id, w.by()), wantErr)
	if changed {
		w.wantAudit("run-now", id.String())
	}
}

func (w *walker) walkRequeue() {
	rq := store.Requeue{
		Of: w.anyRun(), ID: w.world.ids.Next(w.now.Std()), Reset: w.IntN(3) == 0,
		Trigger: jobs.TriggerRequeue, By: w.by(), Creator: "walker",
	}
	if w.IntN(3) == 0 {
		rq.Payload = jobs.Raw(`{"patched": true}`)
	}
	want, wantErr := w.model.requeue(rq)
	out, err := w.Requeue(w.ctx, rq)
	w.sameErr(err, wantErr)
	equal(w.world, "answer", out, want)
	if err == nil && !out.Duplicate {
		w.ids = append(w.ids, rq.ID)
		w.wantAudit("requeue", rq.Of.String())
	}
}

func (w *walker) walkRemove() {
	id := w.anyRun()
	wantErr := w.model.remove(id)
	w.sameErr(w.Remove(w.ctx, id, w.by()), wantErr)
	if wantErr == nil {
		w.wantAudit("remove", id.String())
	}
}

func (w *walker) walkPrune() {
	prune(w.world) // what is left of a round under way
	w.model.prune(w.now)
	prune(w.world)
	w.model.prune(w.now)
}

func (w *walker) walkTime() {
	d := []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour}[w.IntN(5)]
	d = time.Duration(w.Int64N(int64(d))) + time.Millisecond
	if w.IntN(5) == 0 {
		d = -d
	}
	w.tick(d)
}

// walkShift is a wall clock that was set, which retries follow.
func (w *walker) walkShift() {
	step := time.Duration(w.Int64N(int64(2*time.Hour))) - time.Hour
	step = step.Truncate(time.Millisecond)
	w.tick(step)
	w.model.shift(step)
	w.check(w.Shift(w.ctx, step))
}

func (w *walker) anySecret() string { return string(rune('A' + w.IntN(2))) }

// followed is an end that other runs follow, some of jobs that do not stand.
func (w *walker) followed(l store.Lease) store.Finish {
	f := w.succeeded(l)
	for range 1 + w.IntN(3) {
		sub := w.follow(w.anyJob())
		if w.IntN(4) == 0 {
			bornFailed(&sub)
		}
		f.Spawn = append(f.Spawn, sub)
	}
	return f
}

// walkSecret puts a secret, or releases all.
func (w *walker) walkSecret() {
	if w.IntN(6) == 0 {
		w.release("A", "B")
		w.model.release("")
		return
	}
	name := w.anySecret()
	w.putSecret(name, []byte("sealed"))
	w.model.release(name)
	w.wantAudit("put", name)
}

func (w *walker) walkNote() {
	w.check(w.Note(w.ctx, w.by(), "drain", "server", "server"))
	w.wantAudit("drain", "server")
}

// walkReopen is a crash: what was running has no end, and is told of as orphans.
func (w *walker) walkReopen() {
	w.reopen()
	floor, err := w.Floor(w.ctx)
	w.check(err)
	for id := range w.model.runs {
		if id.Seq() > floor {
			w.Fatalf("floor is %d, below run %s", floor, id)
		}
	}
	found, err := w.Orphans(w.ctx)
	w.check(err)
	running := w.model.sorted(func(r *modelRun) bool { return r.State == jobs.Running })
	equal(w.world, "number of orphans", len(found), len(running))
	for i, o := range found {
		r := running[i]
		last := r.Attempts[len(r.Attempts)-1]
		equal(
			w.world,
			"orphan",
			words(o.Run.ID, o.Run.Counts, o.Started, o.Deleted, o.LogBytes, specText(*o.Spec)),
			words(r.ID, r.Counts, last.StartedAt, r.lane == "", len(r.output),
				specText(w.model.job(r.Job).specs[r.Version-1])),
		)
		f := w.interrupted(o)
		if o.Deleted {
			f = w.failed(o)
		}
		if o.Run.CancelRequestedAt != 0 {
			f = w.cancelled(o)
		}
		equal(w.world, "end of an orphan", w.finish(f)[0], w.model.finish(f))
		w.model.fallDue(w.now)
	}
}

// drainAll resumes everything and gives out all that is due: nothing may be left behind.
func (w *walker) drainAll() {
	for _, j := range w.model.jobs {
		if j.live {
			j.paused = false
			w.pause(j.name, false, "")
		}
	}
	w.release("A", "B")
	w.model.release("")
	w.tick(100 * 24 * time.Hour)
	unfinished := func(r *modelRun) bool { return !r.State.Terminal() && r.State != jobs.Running }
	due := len(w.model.sorted(unfinished))
	for claims := 0; due > 0; claims++ {
		w.leases = nil
		w.claimAnd(store.Claim{Free: [store.Pools]int{7, 7}})
		if len(w.leases) == 0 {
			w.Fatalf("%d runs are due and none is given out", due)
		}
		due -= len(w.leases)
	}
}

// compareAll compares every run, the list and the counts.
func (w *walker) compareAll() {
	w.Helper()
	all := w.model.sorted(func(*modelRun) bool { return true })
	stats := map[jobs.State]int{}
	var newest []jobs.ID
	for _, m := range slices.Backward(all) {
		newest = append(newest, m.ID)
		if !m.State.Terminal() {
			stats[m.State]++
		}
		want := m.Run
		if want.Queue == "" {
			want.Queue = w.model.job(m.Job).doc.QueueOf()
		}
		got := w.run(m.ID)
		sameRun(w.world, got, &want)
		held := ""
		if got.HeldBy != nil && got.HeldBy.Kind == jobs.HeldSecret {
			held = got.HeldBy.Name
		}
		equal(w.world, "the secret it waits for", held, m.held)
	}
	got, err := w.Stats(w.ctx)
	w.check(err)
	equal(w.world, "stats", got, stats)
	equal(w.world, "runs", runIDs(allRuns(w.world, store.RunFilter{}, 1000)), newest)
	for _, m := range all[:min(len(all), 20)] {
		equal(w.world, fmt.Sprint("output of ", m.ID), logText(w.world, m.ID), m.output)
	}
	failed := w.model.sorted(func(m *modelRun) bool { return m.State == jobs.Failed })
	equal(w.world, "failed runs",
		len(allRuns(w.world, store.RunFilter{States: []jobs.State{jobs.Failed}}, 1000)),
		len(failed))
}
