package storetest

import (
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// saved is what a run would start from; "": nothing.
func (w *world) saved(id jobs.ID) string {
	w.Helper()
	value, err := w.Checkpoint(w.ctx, id)
	w.check(err)
	return string(value)
}

// saves keeps a checkpoint of an attempt under way.
func (w *world) saves(l store.Lease, value string) {
	w.Helper()
	w.check(w.SaveCheckpoint(w.ctx, fenceOf(l), jobs.Raw(value), w.now))
}

var noteClaims = []claim{
	{"CheckpointIsKeptByteForByte", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		l := w.takeOne()
		for _, value := range []string{`{ "b": 1.50, "a" : [ ] }`, `"ü\u00fc"`, `0`, `"` + strings.Repeat("x", 256<<10-2) + `"`} {
			w.saves(l, value)
			equal(w, "checkpoint", w.saved(id), value)
		}
		w.reopen()
		equal(w, "size for the next process", len(w.saved(id)), 256<<10)
		w.saves(l, "[1]")
		w.apply(w.retrying(l, 0))
		l = w.takeOne()
		equal(w, "checkpoint of the next attempt", string(l.Checkpoint), "[1]")
		w.saves(l, " null ") // there is none any more
		equal(w, "checkpoint", w.saved(id), "")
		w.saves(l, "null")
		_, err := w.Checkpoint(w.ctx, w.ids.Next(w.now.Std()))
		w.wantErr(err, store.ErrNotFound)
	}},
	{"OnlyTheAttemptUnderWaySaves", noteFenced},
	{"DeathsAreCountedAnewFromACheckpoint", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		crash := func(do func(l store.Lease)) int {
			w.Helper()
			l := w.takeOne()
			do(l)
			w.reopen()
			orphans, err := w.Orphans(w.ctx)
			w.check(err)
			f := w.interrupted(orphans[0])
			w.apply(f)
			return w.run(id).Counts.Deaths
		}
		progress := func(l store.Lease) {
			w.keeps(store.Note{Fence: fenceOf(l), Progress: &jobs.Progress{Done: 1}})
		}
		equal(w, "deaths", words(crash(progress), crash(progress)), "1 2")
		equal(w, "deaths after a checkpoint", crash(func(l store.Lease) { w.saves(l, "1") }), 1)
		equal(w, "deaths", crash(progress), 2)
		equal(w, "deaths after one by line", crash(func(l store.Lease) {
			w.keeps(store.Note{Fence: fenceOf(l), Checkpoint: jobs.Raw("2")})
		}), 1)
	}},
	{"NotesOfManyAreKeptAtOnceButForWhatIsOver", notesOfMany},
	{"ProgressIsOfTheRunAndANewOneStartsWithNone", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		equal(w, "progress", w.run(id).Progress, (*jobs.Progress)(nil))
		l := w.takeOne()
		w.keeps(store.Note{Fence: fenceOf(l), Progress: &jobs.Progress{Done: 0.5, Total: 2, Note: `"half" <of it>`}})
		w.reopen()
		equal(w, "progress", *w.run(id).Progress, jobs.Progress{Done: 0.5, Total: 2, Note: `"half" <of it>`})
		equal(w, "progress in lists", allRuns(w, store.RunFilter{}, 9)[0].Progress.Done, 0.5)
		f := w.retrying(l, 0)
		f.Progress = &jobs.Progress{Done: 1}
		w.apply(f)
		l = w.takeOne()
		equal(w, "progress of the next attempt", *l.Run.Progress, jobs.Progress{Done: 1})
		w.fail(l)
		equal(w, "progress of a failure", *w.run(id).Progress, jobs.Progress{Done: 1})
		equal(w, "progress of a requeue", w.run(w.requeueSame(id)).Progress, (*jobs.Progress)(nil))
	}},
	{"DroppedCheckpointIsNotedInTheAudit", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.wantErr(w.DropCheckpoint(w.ctx, id, w.by()), store.ErrNotFound)
		l := w.takeOne()
		w.saves(l, "1")
		w.check(w.DropCheckpoint(w.ctx, id, w.by())) // of one that runs, too
		equal(w, "checkpoint", w.saved(id), "")
		equal(w, "audit", actions(audit(w)[:1]), fmt.Sprintf("drop-checkpoint %s ", id))
		w.wantErr(w.DropCheckpoint(w.ctx, id, w.by()), store.ErrNotFound)
		w.wantErr(w.DropCheckpoint(w.ctx, w.ids.Next(w.now.Std()), w.by()), store.ErrNotFound)
		w.saves(l, "2")
		w.fail(l)
		next := w.requeueSame(id)
		w.check(w.DropCheckpoint(w.ctx, next, w.by())) // of the operation, by any of its runs
		equal(w, "checkpoints", words(w.saved(id), w.saved(next)), " ")
	}},
	{"RequeueKeepsWhatWasSavedUnlessItStartsAnew", func(w *world) {
		w.jobs("a")
		for _, c := range []struct {
			name   string
			change func(*store.Requeue)
			want   string
		}{
			{"unchanged", func(*store.Requeue) {}, "7"},
			{"reset", func(r *store.Requeue) { r.Reset = true }, ""},
			{"payload", func(r *store.Requeue) { r.Payload = jobs.Raw("[1]") }, ""},
		} {
			id := w.enqueue("a").ID
			l := w.takeOne()
			w.saves(l, "7")
			w.fail(l)
			next := w.requeue(id, c.change).ID
			equal(w, c.name+": checkpoint", words(w.saved(id), w.saved(next)), words("7", c.want))
			l = w.takeThis(next)
			equal(w, c.name+": checkpoint of the lease", string(l.Checkpoint), c.want)
			w.saves(l, "8")
			w.succeed(l)
			equal(w, c.name+": checkpoint after a success", w.saved(next), "")
		}
	}},
}

// keeps keeps notes, as the runtime does now and then.
func (w *world) keeps(notes ...store.Note) {
	w.Helper()
	w.check(w.KeepNotes(w.ctx, notes, w.now))
}

func noteFenced(w *world) {
	w.jobs("a", "b")
	id, other := w.enqueue("a").ID, w.enqueue("b").ID
	refused := func(what string, f store.Fence) {
		w.Helper()
		before := words(w.saved(id), w.saved(other), w.run(id).Progress)
		said := &jobs.Said{Complete: true}
		w.wantErr(w.SaveCheckpoint(w.ctx, f, jobs.Raw(`"late"`), w.now), store.ErrLease)
		w.wantErr(w.Say(w.ctx, f, said), store.ErrLease)
		w.keeps(store.Note{Fence: f, Checkpoint: jobs.Raw(`"late"`), Progress: &jobs.Progress{Done: 99}})
		equal(w, what+": kept", words(w.saved(id), w.saved(other), w.run(id).Progress), before)
	}
	refused("queued", store.Fence{Run: id, Number: 1})
	refused("queued, without a number", store.Fence{Run: id})
	leases := w.take(2)
	first, theirs := leases[0], leases[1]
	w.saves(first, "1")
	w.saves(theirs, "2")
	w.apply(w.retrying(first, 0))
	refused("ended", fenceOf(first))
	l := w.takeOne()
	refused("superseded", store.Fence{Run: id, Number: 1})
	refused("the number of another", store.Fence{Run: other, Number: 2})
	w.saves(l, "3")
	w.apply(w.sliced(l, "4"))
	refused("superseded, between slices", store.Fence{Run: id, Number: 1})
	w.saves(l, "5") // its attempt is under way
	l = w.takeOne()
	equal(w, "checkpoint of the next slice", string(l.Checkpoint), "5")
	w.await(l)
	refused("superseded, waiting", store.Fence{Run: id, Number: 1})
	w.saves(l, "6")
	l = w.callback(l)
	equal(w, "checkpoint of the callback", string(l.Checkpoint), "6")
	w.cancel(theirs.Run.ID)
	w.saves(theirs, "7") // it may still save as it is stopped
	w.apply(w.cancelled(theirs))
	refused("cancelled", fenceOf(theirs))
	w.fail(l)
	refused("failed", fenceOf(l))
	equal(w, "checkpoints", words(w.saved(id), w.saved(other)), "6 7")
	w.check(w.Remove(w.ctx, id, w.by()))
	w.wantErr(w.SaveCheckpoint(w.ctx, fenceOf(l), jobs.Raw("9"), w.now), store.ErrLease)
	w.keeps(store.Note{Fence: fenceOf(l), Checkpoint: jobs.Raw("9")})
}

func notesOfMany(w *world) {
	w.unbound()
	w.jobs("a")
	ids := w.enqueueN(4, "a")
	var notes []store.Note
	for i, l := range w.take(4) {
		n := store.Note{Fence: fenceOf(l)}
		if i != 1 {
			n.Progress = &jobs.Progress{Done: float64(i)}
		}
		if i != 2 {
			n.Checkpoint = jobs.Raw(fmt.Sprint(i))
		}
		notes = append(notes, n)
		if i == 0 {
			w.apply(w.retrying(l, time.Hour))
		}
	}
	kept := func() (text string) {
		w.Helper()
		for _, id := range ids {
			text += w.saved(id)
			if p := w.run(id).Progress; p != nil {
				text += fmt.Sprint("/", p.Done)
			}
			text += " "
		}
		return text
	}
	w.keeps(notes...)
	equal(w, "kept", kept(), " 1 /2 3/3 ")
	notes[3].Checkpoint, notes[3].Progress = jobs.Raw("null"), nil
	w.keeps(notes[2:]...)
	w.keeps()
	equal(w, "kept", kept(), " 1 /2 /3 ")
}
