package storetest

import (
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func (w *walker) walkPut() {
	name := w.anyJob()
	j := w.anyJobDocument(name)
	put := store.PutJob{Job: j, Create: w.IntN(6) == 0}
	if w.IntN(6) == 0 {
		put.IfMatch = new(int64(w.IntN(4)))
	}
	var saved []store.SavedJob
	err := w.decidedThen(w.changedBy(j), func() (err error) {
		saved, err = w.save(put)
		return err
	})
	created, changed, wantErr := w.model.put(put, w.now)
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
	out, err := w.Cancel(w.ctx, id, w.by())
	w.sameErr(err, wantErr)
	equal(w.world, "state", out.State, want)
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
		Trigger: jobs.TriggerRequeue, By: w.by(), Creator: "walker", Keys: w.anyKeys(),
	}
	if w.IntN(3) == 0 {
		rq.Payload = jobs.Raw(`{"patched": true}`)
	}
	rq.Unique = w.anyUnique()
	want, wantErr := w.model.requeue(rq)
	out, err := w.Requeue(w.ctx, rq)
	w.sameErr(err, wantErr)
	equal(w.world, "answer", plain([]store.Submitted{out}), []store.Submitted{want})
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
	saving := w.model.sorted(func(r *modelRun) bool { return w.model.saved[r.owner()].value != "" })
	prune(w.world) // what is left of a round under way
	w.model.prune(w.now)
	prune(w.world)
	w.model.prune(w.now)
	w.checkSwept()
	for _, r := range saving {
		if w.model.runs[r.ID] != nil {
			equal(w.world, "checkpoint of run "+r.ID.String(), w.saved(r.ID), w.model.saved[r.owner()].value)
		}
	}
}

func (w *walker) walkTime() {
	d := []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour}[w.IntN(5)]
	d = time.Duration(w.Int64N(int64(d))) + time.Millisecond
	if w.IntN(5) == 0 {
		d = -d
	}
	if w.now.Sub(start) > 80*day {
		d = time.Millisecond // the ledger of ticks is kept for 90 days
	}
	w.tick(d)
	w.model.forgetStarts(w.now)
}

// walkShift is a wall clock that was set, which retries follow.
func (w *walker) walkShift() {
	step := time.Duration(w.Int64N(int64(2*time.Hour))) - time.Hour
	step = step.Truncate(time.Millisecond)
	w.tick(step)
	w.model.shift(step)
	w.shift(step)
	w.model.fallDue(w.now)
}

func (w *walker) anySecret() string { return string(rune('A' + w.IntN(2))) }

// followed is an end that other runs follow, some of jobs that do not stand.
func (w *walker) followed(l store.Lease) store.Finish {
	f := w.succeeded(l)
	for range 1 + w.IntN(3) {
		sub := w.follow(w.anyJob())
		sub.Unique, sub.Quiet, sub.By = w.anyUnique(), true, l.Run.ID.String()
		sub.Run.Keys = w.anyKeys()
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
	w.walkWorkers()
	floor, err := w.Floor(w.ctx)
	w.check(err)
	for id := range w.model.runs {
		if id.Seq() > floor {
			w.Fatalf("floor is %d, below run %s", floor, id)
		}
	}
	found, err := w.Orphans(w.ctx)
	w.check(err)
	running := w.model.sorted((*modelRun).works)
	equal(w.world, "number of orphans", len(found), len(running))
	for i, o := range found {
		r := running[i]
		equal(w.world, "orphan", words(o.Started, o.Deleted), words(r.last().StartedAt, r.lane == ""))
		o.Log = r.log // nobody asks for it
		if r.Slices == 0 {
			o.Log = nil
		}
		w.sameLease(o, r)
		f := w.interrupted(o)
		if o.Deleted {
			f = w.failed(o)
		}
		if o.Run.CancelRequestedAt != 0 {
			f = w.cancelled(o)
		}
		f.Signal = jobs.Signal{Ended: true}
		equal(w.world, "end of an orphan", w.finish(f)[0], w.model.finish(f))
		w.model.fallDue(w.now)
	}
}

// walkWorkers is a claim that tells of other workers: how many may catch up goes by that.
func (w *walker) walkWorkers() {
	w.workers = [store.Pools]int{w.IntN(9), w.IntN(5)}
	w.model.workers = w.workers
	w.model.fallDue(w.now)
	w.claim(store.Claim{Hold: true})
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
		held, behind := "", false
		if got.HeldBy != nil && got.HeldBy.Kind == jobs.HeldSecret {
			held = got.HeldBy.Name
		} else if got.HeldBy != nil {
			behind = got.HeldBy.Kind == jobs.HeldCheckpoint
		}
		equal(w.world, "what it waits for", words(held, behind), words(m.held, m.behind && m.State == jobs.Queued))
	}
	w.compareBatches(all)
	w.compareWaiting()
	w.compareEnded()
	w.compareGates()
	w.compareHeld()
	w.compareSchedules()
	w.compareFailures()
	got, err := w.Stats(w.ctx)
	w.check(err)
	equal(w.world, "stats", got, stats)
	equal(w.world, "runs", runIDs(allRuns(w.world, store.RunFilter{}, 1000)), newest)
	for _, m := range all[:min(len(all), 20)] {
		equal(w.world, fmt.Sprint("output of ", m.ID), logText(w.world, m.ID), m.output())
	}
	failed := w.model.sorted(func(m *modelRun) bool { return m.State == jobs.Failed })
	equal(w.world, "failed runs",
		len(allRuns(w.world, store.RunFilter{States: []jobs.State{jobs.Failed}}, 1000)),
		len(failed))
}

// compareUnfinished is cheap enough for each step: what was undone, and how, shows in the next number alone.
func (w *walker) compareUnfinished() {
	w.Helper()
	want := 0
	for _, r := range w.model.runs {
		if !r.State.Terminal() {
			want++
		}
	}
	got, err := w.Unfinished(w.ctx)
	w.check(err)
	equal(w.world, "unfinished runs", got, want)
}
