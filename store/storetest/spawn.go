package storetest

import (
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// follow is the run that follows another.
func (w *world) follow(job string, change ...func(*store.Submission)) store.Submission {
	sub := w.sub(job, change...)
	sub.Run.Trigger, sub.KeyTTL = jobs.TriggerChain, 0
	return sub
}

// bornFailed makes a submission one that has ended before it began.
func bornFailed(s *store.Submission) {
	s.Run.State = jobs.Failed
	s.Run.Error = &jobs.Failure{
		Kind: jobs.FailInvalid, Type: "invalid", Message: "on_success[0].payload: no such field",
	}
}

var spawnClaims = []claim{
	{"FollowUpsAreMadeWithTheEnd", func(w *world) {
		w.put(webhook("b", "", `,"queue":"slow"`))
		w.jobs("a", "c")
		id := w.enqueue("a").ID
		f := w.succeeded(w.takeOne())
		f.Spawn = []store.Submission{
			w.follow("b", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`{"n": 1}`) }),
			w.follow("c", dueIn(time.Hour)), w.follow("b", bornFailed),
		}
		drainReady(w)
		res := w.finish(f)[0]
		w.check(res.Err)
		equal(w, "is woken", <-w.Ready(), struct{}{})
		equal(w, "made", len(res.Spawned), 3)
		equal(w, "first", words(res.Spawned[0].ID, res.Spawned[0].Job, res.Spawned[0].State, res.Spawned[0].Version),
			words(f.Spawn[0].Run.ID, "b", jobs.Queued, 1))
		equal(w, "state", w.state(id), jobs.Succeeded)
		equal(w, "reason", w.run(id).Attempts[0].Decision.Reason, "")
		r := w.run(f.Spawn[0].Run.ID)
		equal(w, "follow-up", words(r.Job, r.Trigger, r.State, string(r.Payload), r.Queue),
			words("b", jobs.TriggerChain, jobs.Queued, `{"n": 1}`, "slow"))
		equal(w, "delayed", w.state(f.Spawn[1].Run.ID), jobs.Scheduled)
		equal(w, "failed", w.state(f.Spawn[2].Run.ID), jobs.Failed)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{f.Spawn[0].Run.ID})
	}},
	{"FinishThatIsNotAppliedMakesNone", func(w *world) {
		w.jobs("a", "b")
		id := w.enqueue("a").ID
		l := w.takeOne()
		_, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		f := w.succeeded(l)
		f.Spawn = []store.Submission{w.follow("b")}
		w.wantErr(w.finish(f)[0].Err, store.ErrState)
		w.apply(w.cancelled(l))
		w.wantErr(w.finish(f)[0].Err, store.ErrLease)
		_, err = w.Run(w.ctx, f.Spawn[0].Run.ID)
		w.wantErr(err, store.ErrNotFound)
		equal(w, "claimed", len(w.take(9)), 0)
	}},
	{"FollowUpOfAMissingJobIsLeftOutAndNoted", func(w *world) {
		w.jobs("a", "b", "gone")
		_, err := w.DeleteJob(w.ctx, "gone", nil, w.by())
		w.check(err)
		id := w.enqueue("a").ID
		f := w.succeeded(w.takeOne())
		f.Spawn = []store.Submission{w.follow("gone"), w.follow("b"), w.follow("never")}
		res := w.finish(f)[0]
		w.check(res.Err)
		equal(w, "made", len(res.Spawned), 1)
		r := w.run(id)
		equal(w, "state", r.State, jobs.Succeeded)
		equal(w, "decision", words(r.Attempts[0].Decision.Action, r.Attempts[0].Decision.By, r.Attempts[0].Decision.Reason),
			"succeed success no run follows of gone, never: there is no such job any more")
		equal(w, "claimed", jobsOf(w.take(9)), []string{"b"})
	}},
	{"RunThatIsMadeFailedHasEnded", bornEnded},
}

func bornEnded(w *world) {
	w.put(webhook("a", "", `,"queue":"slow","retain":{"failed":"1h"}`))
	id := w.enqueue("a", bornFailed, keyed("k", "1"), func(s *store.Submission) {
		s.Run.Labels = map[string]string{"n": "1"}
	}).ID
	r := w.run(id)
	equal(w, "run", words(r.State, r.Queue, r.FinishedAt, r.StartedAt, r.Counts.Number, len(r.Attempts)),
		words(jobs.Failed, "slow", w.now, jobs.Time(0), 0, 0))
	equal(w, "error", words(r.Error.Kind, r.Error.Type, r.Error.Message),
		"invalid invalid on_success[0].payload: no such field")
	equal(w, "held by", r.HeldBy, (*jobs.HeldBy)(nil))
	equal(w, "claimed", len(w.take(9)), 0)
	again := w.enqueue("a", keyed("k", "1"))
	equal(w, "again", words(again.ID, again.Duplicate, again.State), words(id, true, jobs.Failed))
	list, _, err := w.Runs(w.ctx, store.RunFilter{States: []jobs.State{jobs.Failed}, ErrorKind: "invalid"},
		store.Page{Limit: 9})
	w.check(err)
	equal(w, "failures", runIDs(list), []jobs.ID{id})
	_, err = w.Cancel(w.ctx, id, w.by())
	w.wantErr(err, store.ErrState)
	w.tick(2 * time.Hour)
	prune(w)
	equal(w, "an open failure stays", w.state(id), jobs.Failed)
	rq := store.Requeue{Of: id, ID: w.ids.Next(w.now.Std()), Trigger: jobs.TriggerRequeue, By: w.by()}
	_, err = w.Requeue(w.ctx, rq)
	w.check(err)
	w.succeed(w.takeOne())
	w.tick(2 * time.Hour)
	prune(w)
	_, err = w.Run(w.ctx, id)
	w.wantErr(err, store.ErrNotFound)
}

var checkpointClaims = []claim{
	{"NextAttemptStartsFromWhatWasSaved", func(w *world) {
		w.jobs("a", "b")
		w.enqueue("a")
		l := w.takeOne()
		equal(w, "checkpoint", string(l.Checkpoint), "")
		for _, text := range []string{`{"page": 1.50}`, `[null]`, `{"page":3}`} {
			f := w.retrying(l, 0)
			f.Checkpoint = jobs.Raw(text)
			w.apply(f)
			w.reopen()
			l = w.takeOne()
			equal(w, "checkpoint", string(l.Checkpoint), text)
			w.apply(w.retrying(l, 0))
			l = w.takeOne()
			equal(w, "checkpoint of one that saved nothing", string(l.Checkpoint), text)
		}
		w.enqueue("b")
		equal(w, "checkpoint of another", string(w.takeOne().Checkpoint), "")
		w.apply(w.held(l, "TOKEN"))
		w.putSecret("TOKEN", []byte("x"))
		equal(w, "checkpoint after holding", string(w.takeOne().Checkpoint), `{"page":3}`)
	}},
	{"SuccessDropsIt", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		f := w.failed(w.takeOne())
		f.Checkpoint = jobs.Raw(`1`)
		w.apply(f)
		w.requeueSame(id)
		l := w.takeOne()
		equal(w, "checkpoint", string(l.Checkpoint), "1")
		f = w.succeeded(l)
		f.Checkpoint = jobs.Raw(`2`)
		w.apply(f)
		w.requeueSame(id)
		l = w.takeOne()
		equal(w, "operation, checkpoint", words(l.Run.OperationID, string(l.Checkpoint)), words(id, ""))
	}},
	{"RequeueGoesOnWithIt", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		f := w.failed(w.takeOne())
		f.Checkpoint = jobs.Raw(`1`)
		w.apply(f)
		again := w.requeueSame(id)
		l := w.takeOne()
		equal(w, "run, checkpoint", words(l.Run.ID, string(l.Checkpoint)), words(again, "1"))
		f = w.failed(l)
		f.Checkpoint = jobs.Raw(`2`)
		w.apply(f)
		// The first run goes, the operation goes on.
		w.check(w.Remove(w.ctx, id, w.by()))
		third := w.requeueSame(again)
		l = w.takeOne()
		equal(w, "run, checkpoint", words(l.Run.ID, string(l.Checkpoint)), words(third, "2"))
		w.fail(l)
		_, err := w.Requeue(w.ctx, store.Requeue{
			Of: third, ID: w.ids.Next(w.now.Std()), Reset: true, Trigger: jobs.TriggerRequeue, By: w.by(),
		})
		w.check(err)
		equal(w, "checkpoint of another operation", string(w.takeOne().Checkpoint), "")
	}},
	{"OrphanBringsIt", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		f := w.retrying(w.takeOne(), 0)
		f.Checkpoint = jobs.Raw(`1`)
		w.apply(f)
		w.takeOne()
		w.reopen()
		found, err := w.Orphans(w.ctx)
		w.check(err)
		equal(w, "checkpoint", string(found[0].Checkpoint), "1")
	}},
}

// requeueSame makes a run in place of an ended one, unchanged.
func (w *world) requeueSame(of jobs.ID) jobs.ID {
	w.Helper()
	out, err := w.Requeue(w.ctx, store.Requeue{
		Of: of, ID: w.ids.Next(w.now.Std()), Trigger: jobs.TriggerRequeue, By: w.by(), Keys: w.run(of).Keys,
	})
	w.check(err)
	return out.ID
}

// delivered gives a submission the sender's id of a delivery.
func delivered(id, payload string) func(*store.Submission) {
	return func(s *store.Submission) {
		s.Delivery, s.Run.Payload, s.KeyTTL = id, jobs.Raw(payload), 7*24*time.Hour
		s.Run.Trigger = jobs.TriggerInbound
	}
}

var deliveryClaims = []claim{
	{"KnownDeliveryGivesTheEarlierRunWhateverThePayload", func(w *world) {
		w.jobs("a", "b")
		id := w.enqueue("a", delivered("github 1", `{"n":1}`)).ID
		for _, payload := range []string{`{"n":1}`, `{"n":2}`} {
			again := w.enqueue("a", delivered("github 1", payload))
			equal(w, "again", words(again.ID, again.Duplicate), words(id, true))
		}
		for _, other := range []string{"github 2", "stripe 1", strings.Repeat("x", 300)} {
			equal(w, "another", w.enqueue("a", delivered(other, "{}")).Duplicate, false)
		}
		equal(w, "of another job", w.enqueue("b", delivered("github 1", "{}")).Duplicate, false)
		equal(w, "an idempotency key", w.enqueue("a", keyed("github 1", "{}")).Duplicate, false)
	}},
	{"DeliveryIsKnownForItsTime", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a", delivered("github 1", "{}")).ID
		w.succeed(w.takeOne())
		w.check(w.Remove(w.ctx, id, w.by()))
		w.tick(7*24*time.Hour - time.Millisecond)
		prune(w)
		again := w.enqueue("a", delivered("github 1", "{}"))
		equal(w, "again", words(again.ID, again.Duplicate), words(id, true))
		w.tick(time.Millisecond)
		prune(w)
		equal(w, "after its time", w.enqueue("a", delivered("github 1", "{}")).Duplicate, false)
	}},
}
