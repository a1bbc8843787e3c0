package storetest

import (
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var secretClaims = []claim{
	{"SavedSecretComesBack", func(w *world) {
		sealed := []byte{0, 1, 2, 0xff}
		s, created := w.putSecret("B", sealed)
		equal(w, "created", created, true)
		want := store.Secret{Name: "B", Sealed: sealed, Revision: 1, CreatedAt: start, UpdatedAt: start}
		equal(w, "secret", diff(s, want), "")
		w.putSecret("A", []byte("a"))
		w.tick(time.Second)
		s, created = w.putSecret("B", []byte("new"))
		equal(w, "created, revision", words(created, s.Revision), "false 2")
		want.Sealed, want.Revision, want.UpdatedAt = []byte("new"), 2, w.now
		list, err := w.Secrets(w.ctx)
		w.check(err)
		equal(w, "first", list[0].Name, "A")
		equal(w, "secrets", diff(list[1:], []store.Secret{want}), "")
	}},
	{"RevisionIsDemanded", func(w *world) {
		put := func(p store.PutSecret) error {
			p.Name = "A"
			_, _, err := w.PutSecret(w.ctx, p, w.by())
			return err
		}
		w.wantErr(put(store.PutSecret{IfMatch: new(int64(1)), Sealed: []byte("x")}), store.ErrStale)
		w.check(put(store.PutSecret{Create: true, Sealed: []byte("x")}))
		w.wantErr(put(store.PutSecret{Create: true, Sealed: []byte("x")}), store.ErrExists)
		w.wantErr(put(store.PutSecret{IfMatch: new(int64(2)), Sealed: []byte("x")}), store.ErrStale)
		w.check(put(store.PutSecret{IfMatch: new(int64(1)), Sealed: []byte("y")}))
		w.wantErr(w.DeleteSecret(w.ctx, "A", new(int64(1)), w.by()), store.ErrStale)
		w.wantErr(w.DeleteSecret(w.ctx, "B", nil, w.by()), store.ErrNotFound)
		w.check(w.DeleteSecret(w.ctx, "A", new(int64(2)), w.by()))
		list, err := w.Secrets(w.ctx)
		w.check(err)
		equal(w, "secrets", len(list), 0)
	}},
	{"ResealReplacesAllOrNone", func(w *world) {
		a, _ := w.putSecret("A", []byte("a"))
		b, _ := w.putSecret("B", []byte("b"))
		w.tick(time.Second)
		seal := func(s store.Secret, text string) store.Secret {
			s.Sealed = []byte(text)
			return s
		}
		w.putSecret("B", []byte("changed"))
		w.wantErr(w.Reseal(w.ctx, []store.Secret{seal(a, "A2"), seal(b, "B2")}, w.by()), store.ErrStale)
		gone := seal(a, "gone")
		gone.Name = "GONE"
		w.wantErr(w.Reseal(w.ctx, []store.Secret{seal(a, "A2"), gone}, w.by()), store.ErrNotFound)
		list, err := w.Secrets(w.ctx)
		w.check(err)
		equal(w, "sealed", string(list[0].Sealed)+" "+string(list[1].Sealed), "a changed")
		w.check(w.Reseal(w.ctx, []store.Secret{seal(list[0], "A2"), seal(list[1], "B2")}, w.by()))
		list, err = w.Secrets(w.ctx)
		w.check(err)
		equal(w, "secrets", words(string(list[0].Sealed), list[0].Revision, list[0].UpdatedAt,
			string(list[1].Sealed), list[1].Revision), words("A2", 1, start, "B2", 2))
	}},
	{"AuditNotesSecretsWithoutTheirValues", func(w *world) {
		canary := []byte("canary-canary")
		s, _ := w.putSecret("A", canary)
		s.Sealed = append(s.Sealed, "-2"...)
		w.check(w.Reseal(w.ctx, []store.Secret{s}, w.by()))
		w.check(w.DeleteSecret(w.ctx, "A", nil, w.by()))
		list := audit(w)
		equal(w, "actions", actions(list), "delete A , rotate-key * , put A ")
		for _, e := range list {
			equal(w, "kind", e.Kind, "secret")
			equal(w, "the value is in the change", strings.Contains(differences(e), string(canary)), false)
		}
		equal(w, "change", differences(list[1]), "sealed: → 1")
	}},
}

func (w *world) putSecret(name string, sealed []byte) (store.Secret, bool) {
	w.Helper()
	s, created, err := w.PutSecret(w.ctx, store.PutSecret{Name: name, Sealed: sealed}, w.by())
	w.check(err)
	return s, created
}

// release lets all runs go that wait for one of the secrets.
func (w *world) release(secrets ...string) {
	w.Helper()
	for more, err := true, error(nil); more; {
		more, err = w.Release(w.ctx, secrets)
		w.check(err)
	}
}

// held is an attempt that could not be made for want of a secret.
func (w *world) held(l store.Lease, secret string) store.Finish {
	return store.Finish{
		Run: l.Run.ID, Number: l.Run.Counts.Number, Job: l.Run.Job, Host: l.Host, Queue: "default",
		Version: l.Run.Version, Priority: l.Run.Priority, Started: l.Started, Now: w.now, ExitCode: -1,
		Schedule: l.Run.Schedule, Slices: l.Run.Slices + 1, CheckpointKey: l.Run.Keys.Checkpoint, Links: store.LinksOf(l.Run),
		Signal: jobs.Signal{Void: true}, Held: secret,
	}
}

// wanted has runs wait for these secrets.
func (w *world) wanted(names ...string) {
	got, err := w.WantedSecrets(w.ctx)
	w.check(err)
	equal(w, "secrets that runs wait for", words(got), words(names))
}

var heldClaims = []claim{
	{"HeldRunIsAsBeforeAndSaysWhatItWaitsFor", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		before := w.run(id)
		w.tick(time.Second)
		w.apply(w.held(w.takeOne(), "TOKEN"))
		r := w.run(id)
		sameRun(w, r, func() *jobs.Run { b := *before; b.HeldBy = nil; return &b }())
		equal(w, "held by", words(r.HeldBy.Kind, r.HeldBy.Name), "secret TOKEN")
		list, _, err := w.Runs(w.ctx, store.RunFilter{}, store.Page{Limit: 9})
		w.check(err)
		equal(w, "held by in lists", list[0].HeldBy, r.HeldBy)
		equal(w, "claimed", len(w.take(9)), 0)
		// Whether its job is paused or not.
		w.pause("a", true, "why")
		equal(w, "held by of a paused job", w.run(id).HeldBy.Kind, jobs.HeldSecret)
		w.pause("a", false, "")
		equal(w, "claimed after resume", len(w.take(9)), 0)
	}},
	{"PutOfTheSecretReleases", func(w *world) {
		w.jobs("a", "b")
		ids := w.enqueueN(3, "a")
		other := w.enqueue("b").ID
		for _, l := range w.take(9) {
			secret := "TOKEN"
			if l.Run.ID == other {
				secret = "OTHER"
			}
			w.apply(w.held(l, secret))
		}
		w.tick(time.Second)
		late := w.enqueue("a").ID
		w.putSecret("NONE", []byte("x"))
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{late})
		drainReady(w)
		w.putSecret("TOKEN", []byte("x"))
		equal(w, "is woken", <-w.Ready(), struct{}{})
		equal(w, "held by", w.run(ids[0]).HeldBy.Kind, jobs.HeldWorkers)
		leases := w.take(9)
		equal(w, "claimed", idsOf(leases), ids)
		for _, l := range leases {
			equal(w, "number, started", words(l.Run.Counts.Number, l.Run.StartedAt), words(1, w.now))
			w.succeed(l)
			equal(w, "attempts", len(w.run(l.Run.ID).Attempts), 1)
		}
		equal(w, "the other is", w.run(other).HeldBy.Name, "OTHER")
	}},
	{"ReleaseFreesAllAfterAStart", func(w *world) {
		w.jobs("a", "b")
		w.enqueueN(2, "a")
		w.enqueue("b")
		for i, l := range w.take(9) {
			w.apply(w.held(l, []string{"ONE", "TWO"}[i%2]))
		}
		w.reopen()
		equal(w, "claimed", len(w.take(9)), 0)
		w.release("TWO", "OTHER")
		leases := w.take(9)
		equal(w, "claimed of those that wait for one", len(leases), 1)
		w.release("ONE", "TWO")
		leases = append(leases, w.take(9)...)
		equal(w, "claimed", len(leases), 3)
		w.release("ONE", "TWO")
		for _, l := range leases {
			w.succeed(l)
		}
		// The lane is made anew.
		id := w.enqueue("a").ID
		w.apply(w.held(w.takeOne(), "ONE"))
		w.putSecret("ONE", []byte("x"))
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{id})
	}},
	{"ManyAreReleasedInStepsTheOldestFirst", func(w *world) {
		w.jobs("a")
		const many = 5_000
		ids := w.enqueueN(many, "a")
		for taken := 0; taken < many; {
			var ends []store.Finish
			for _, l := range w.take(1000) {
				ends = append(ends, w.held(l, "TOKEN"))
			}
			w.finish(ends...)
			taken += len(ends)
		}
		w.putSecret("TOKEN", []byte("x"))
		equal(w, "first", w.run(ids[0]).HeldBy.Kind, jobs.HeldWorkers)
		equal(w, "last", w.run(ids[many-1]).HeldBy.Kind, jobs.HeldSecret)
		more, err := w.Release(w.ctx, []string{"TOKEN"})
		w.check(err)
		equal(w, "more", more, true)
		equal(w, "last after another step", w.run(ids[many-1]).HeldBy.Kind, jobs.HeldSecret)
		w.release("TOKEN")
		equal(w, "last in the end", w.run(ids[many-1]).HeldBy.Kind, jobs.HeldWorkers)
		equal(w, "claimed", idsOf(w.take(2)), ids[:2])
	}},
	{"HeldAgainWaitsAgain", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		for _, secret := range []string{"ONE", "TWO", "ONE"} {
			w.apply(w.held(w.takeOne(), secret))
			equal(w, "held by", w.run(id).HeldBy.Name, secret)
			w.putSecret(secret, []byte("x"))
		}
		l := w.takeOne()
		equal(w, "number", l.Run.Counts.Number, 1)
		w.succeed(l)
	}},
	{"HeldRetryKeepsItsAttempts", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.apply(w.retrying(w.takeOne(), time.Second))
		w.tick(time.Minute)
		w.claim(store.Claim{Hold: true})
		before := w.run(id)
		before.HeldBy = nil
		w.apply(w.held(w.takeOne(), "TOKEN"))
		sameRun(w, w.run(id), before)
		w.putSecret("TOKEN", []byte("x"))
		l := w.takeOne()
		equal(w, "number, charged, started", words(l.Run.Counts.Number, l.Run.Counts.Charged, l.Run.StartedAt),
			words(2, 1, start))
		w.succeed(l)
	}},
	{"ReleasedToAPausedJobWaitsForItsResume", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		w.apply(w.held(w.takeOne(), "TOKEN"))
		w.wanted("TOKEN")
		w.pause("a", true, "why")
		w.putSecret("TOKEN", []byte("x"))
		w.wanted()
		equal(w, "claimed", len(w.take(9)), 0)
		w.pause("a", false, "")
		equal(w, "claimed", len(w.take(9)), 1)
	}},
	{"HeldRunIsCancelledAndDeletedLikeOthers", func(w *world) {
		w.jobs("a")
		ids := w.enqueueN(2, "a")
		for _, l := range w.take(2) {
			w.apply(w.held(l, "TOKEN"))
		}
		out, err := w.Cancel(w.ctx, ids[0], w.by())
		w.check(err)
		equal(w, "state", out.State, jobs.Cancelled)
		equal(w, "held by", w.run(ids[0]).HeldBy, (*jobs.HeldBy)(nil))
		w.wanted("TOKEN")
		n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "cancelled", n, 1)
		w.wanted()
		w.putSecret("TOKEN", []byte("x"))
		w.jobs("a")
		equal(w, "claimed", len(w.take(9)), 0)
	}},
	{"UpgradeFreesHeldRuns", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.apply(w.held(w.takeOne(), "TOKEN"))
		w.put(script("a", "echo"))
		moved, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", moved, 1)
		l := w.takeOne()
		equal(w, "run, kind", words(l.Run.ID, l.Spec.Kind()), words(id, jobs.KindScript))
		w.succeed(l)
		w.putSecret("TOKEN", []byte("x"))
	}},
	{"CancelAndDeletionComeBeforeHolding", func(w *world) {
		w.jobs("a", "b")
		a, b := w.enqueue("a").ID, w.enqueue("b").ID
		leases := w.take(9)
		_, err := w.Cancel(w.ctx, a, w.by())
		w.check(err)
		_, err = w.DeleteJob(w.ctx, "b", nil, w.by())
		w.check(err)
		for _, l := range leases {
			res := w.finish(w.held(l, "TOKEN"))[0]
			w.wantErr(res.Err, store.ErrState)
			equal(w, "asked, orphaned", words(res.CancelAsked, res.Orphaned), words(l.Run.ID == a, l.Run.ID == b))
			w.apply(w.cancelled(l))
		}
	}},
	{"StaleHoldChangesNothing", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		l := w.takeOne()
		w.apply(w.interrupted(l))
		w.wantErr(w.finish(w.held(l, "TOKEN"))[0].Err, store.ErrLease)
		next := w.takeOne()
		w.wantErr(w.finish(w.held(l, "TOKEN"))[0].Err, store.ErrLease)
		w.succeed(next)
		w.wantErr(w.finish(w.held(next, "TOKEN"))[0].Err, store.ErrLease)
		equal(w, "state", w.state(id), jobs.Succeeded)
	}},
}

// woken demands that what was done has told that something may start.
func (w *world) woken() {
	w.Helper()
	select {
	case <-w.Ready():
	default:
		w.Fatal("nobody is told that something may start")
	}
}

// drainReady takes the signal that is there, if any.
func drainReady(w *world) {
	select {
	case <-w.Ready():
	default:
	}
}
