package storetest

import (
	"errors"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

func (w *walker) anyCheckpoint() jobs.Raw {
	if w.IntN(8) == 0 {
		return jobs.Raw("null")
	}
	return jobs.Raw(strconv.Itoa(w.IntN(100)))
}

func (w *walker) anyProgress() *jobs.Progress {
	return &jobs.Progress{Done: float64(w.IntN(9)), Total: float64(w.IntN(9)), Note: w.either("", "some")}
}

// anyFence is mostly that of an attempt under way.
func (w *walker) anyFence() store.Fence {
	under := w.model.sorted(func(r *modelRun) bool { return r.State == jobs.Running || r.State == jobs.Waiting })
	if len(under) == 0 || w.IntN(5) == 0 {
		return store.Fence{Run: w.anyRun(), Number: w.IntN(3)}
	}
	r := under[w.IntN(len(under))]
	f := store.Fence{Run: r.ID, Number: r.Counts.Number}
	if w.IntN(10) == 0 {
		f.Number--
	}
	return f
}

// sameOver compares how an attempt is told that it is over; ok: it is not.
func (w *walker) sameOver(err error, want *store.OverError) (ok bool) {
	w.Helper()
	got := (*store.OverError)(nil)
	if want == nil {
		w.check(err)
		return true
	}
	if !errors.As(err, &got) || *got != *want {
		w.Fatalf("error is %v, want %+v", err, want)
	}
	return false
}

// sameLease compares what the lease of an attempt holds.
func (w *walker) sameLease(l store.Lease, r *modelRun) {
	w.Helper()
	output := ""
	if r.Slices > 0 || r.State == jobs.Waiting {
		output = logOf(r.log, r.Counts.Number)
	}
	got := words(l.Run.ID, l.Run.Job, l.Run.Version, l.Run.Counts, string(l.Run.Payload), l.LogBytes, string(l.Checkpoint),
		l.Run.Slices, l.Run.Continues, l.Run.Progress, l.Said, logOf(l.Log, l.Run.Counts.Number), specText(*l.Spec))
	want := words(r.ID, r.Job, r.Version, r.Counts, string(r.Payload), len(r.output()), w.model.saved[r.owner()].value,
		r.Slices, r.Continues, r.Progress, r.said, output, specText(w.model.job(r.Job).specs[r.Version-1]))
	equal(w.world, "lease", got, want)
}

// walkCallback gets the lease of an attempt under way, mostly of one that waits: an end of it may come soon.
func (w *walker) walkCallback() {
	f := w.anyFence()
	waits := w.model.sorted(func(r *modelRun) bool { return r.State == jobs.Waiting })
	if len(waits) > 0 && w.IntN(3) > 0 {
		r := waits[w.IntN(len(waits))]
		f = store.Fence{Run: r.ID, Number: r.Counts.Number}
	}
	l, err := w.Lease(w.ctx, f)
	if !w.sameOver(err, w.model.fence(f)) {
		return
	}
	r := w.model.runs[f.Run]
	got := *l
	if r.works() && r.Slices == 0 {
		equal(w.world, "output", logOf(got.Log, f.Number), logOf(r.log, f.Number))
		got.Log = nil
	}
	equal(w.world, "lease", words(got.Started, got.Deleted), words(r.AttemptAt, r.lane == ""))
	w.sameLease(got, r)
	w.leases = append(w.leases, *l)
}

func (w *walker) walkSave() {
	f, value := w.anyFence(), w.anyCheckpoint()
	want := w.model.fence(f)
	if w.sameOver(w.SaveCheckpoint(w.ctx, f, value, w.now), want) {
		w.model.save(f, value, w.now)
		equal(w.world, "checkpoint", w.saved(f.Run), w.model.saved[w.model.runs[f.Run].owner()].value)
	}
}

func (w *walker) walkNotes() {
	var notes []store.Note
	for range w.IntN(5) {
		n := store.Note{Fence: w.anyFence()}
		if w.IntN(3) > 0 {
			n.Progress = w.anyProgress()
		}
		if w.IntN(2) == 0 {
			n.Checkpoint = w.anyCheckpoint()
		}
		notes = append(notes, n)
	}
	w.keeps(notes...)
	for _, n := range notes {
		if w.model.fence(n.Fence) != nil {
			continue
		}
		if n.Checkpoint != nil {
			w.model.save(n.Fence, n.Checkpoint, w.now)
		}
		if n.Progress != nil {
			w.model.runs[n.Run].Progress = n.Progress
		}
	}
}

func (w *walker) walkSay() {
	f, said := w.anyFence(), &jobs.Said{Result: jobs.Raw(strconv.Itoa(w.IntN(9)))}
	if w.sameOver(w.Say(w.ctx, f, said), w.model.fence(f)) {
		w.model.runs[f.Run].said = said
	}
}

func (w *walker) walkDropCheckpoint() {
	id, wantErr := w.anyRun(), store.ErrNotFound
	r := w.model.runs[id]
	if r != nil && w.model.saved[r.owner()].value != "" {
		wantErr = nil
		delete(w.model.saved, r.owner())
	}
	w.sameErr(w.DropCheckpoint(w.ctx, id, w.by()), wantErr)
	if wantErr == nil {
		w.wantAudit("drop-checkpoint", id.String())
	}
}

// compareBatches demands that of each checkpoint key one run is free to go, where any has not ended.
func (w *walker) compareBatches(all []*modelRun) {
	w.Helper()
	free, behind := map[string]int{}, map[string]int{}
	for _, r := range all {
		if r.Keys.Checkpoint == nil || r.State.Terminal() || r.waits {
			continue
		}
		if r.behind {
			behind[r.owner()]++
		} else {
			free[r.owner()]++
		}
	}
	for key, n := range behind {
		if free[key] == 0 {
			w.Fatalf("%d runs of %s wait, and none goes", n, key)
		}
	}
	for key, n := range free {
		if n > 1 {
			w.Fatalf("%d runs of %s go side by side", n, key)
		}
	}
}

// compareWaiting compares the list of those that wait for their callback.
func (w *walker) compareWaiting() {
	w.Helper()
	var want []store.WaitingRun
	for _, r := range w.model.sorted(func(r *modelRun) bool { return r.State == jobs.Waiting }) {
		want = append(want, store.WaitingRun{
			Fence: store.Fence{Run: r.ID, Number: r.Counts.Number}, Job: r.Job, Until: r.DueAt,
		})
	}
	got, err := w.Store.Waiting(w.ctx)
	w.check(err)
	equal(w.world, "that wait", got, want)
	for range min(len(w.model.runs), 5) {
		if r := w.model.runs[w.anyRun()]; r != nil {
			equal(w.world, "checkpoint", w.saved(r.ID), w.model.saved[r.owner()].value)
		}
	}
}
