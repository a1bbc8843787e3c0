package storetest

import (
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// failWith makes a run of a job fail with a message.
func (w *world) failWith(job, message string, change ...func(*store.Submission)) jobs.ID {
	w.Helper()
	id := w.enqueue(job, change...).ID
	w.failThis(id, message)
	return id
}

// failThis claims a run and lets it fail.
func (w *world) failThis(id jobs.ID, message string) {
	w.Helper()
	f := w.failed(w.takeThis(id))
	f.Transition.Error.Message = message
	w.apply(f)
}

func (w *world) succeedThis(id jobs.ID) {
	w.Helper()
	w.succeed(w.takeThis(id))
}

func allFailures(w *world, f store.FailureFilter, limit int) (list []*store.Failure) {
	w.Helper()
	for page := (store.Page{Limit: limit}); ; {
		items, next, err := w.Failures(w.ctx, f, page)
		w.check(err)
		list = append(list, items...)
		if page.Cursor = next; next == "" {
			return list
		}
	}
}

func failureIDs(list []*store.Failure) (ids []jobs.ID) {
	for _, f := range list {
		ids = append(ids, f.Run.ID)
	}
	return ids
}

func (w *world) failure(id jobs.ID) *store.Failure {
	w.Helper()
	f, err := w.Failure(w.ctx, id)
	w.check(err)
	return f
}

// statuses are those of failures, in order.
func (w *world) statuses(ids ...jobs.ID) string {
	w.Helper()
	var all []string
	for _, id := range ids {
		all = append(all, w.failure(id).Status.String())
	}
	return strings.Join(all, " ")
}

func (w *world) deal(id jobs.ID, status jobs.FailureStatus, note string) {
	w.Helper()
	w.check(w.Deal(w.ctx, id, store.Dealing{Status: status, Note: note}, w.by()))
}

func (w *world) resolve(id jobs.ID, note string) { w.Helper(); w.deal(id, jobs.FailureResolved, note) }

func (w *world) ignore(id jobs.ID, note string) { w.Helper(); w.deal(id, jobs.FailureIgnored, note) }

var failureClaims = []claim{
	{"RunThatEndedFailedIsAnOpenFailure", func(w *world) {
		w.jobs("a")
		id := w.failWith("a", "no order 7", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`{"n": 1.0}`) })
		ok := w.enqueue("a").ID
		w.drain()
		list := allFailures(w, store.FailureFilter{}, 10)
		equal(w, "failures", failureIDs(list), []jobs.ID{id})
		f := list[0]
		equal(w, "of the list", words(f.Status, f.Run.Job, f.Run.Error.Kind, f.Run.Error.Type, f.Run.Error.Message,
			f.Run.Payload == nil, f.Stack, f.Chain == nil, f.Run.Attempts == nil),
			words("open", "a", "http", "Unavailable", "no order 7", true, "", true, true))
		f = w.failure(id)
		equal(w, "one", words(f.Status, string(f.Run.Payload), f.Stack, len(f.Run.Attempts), f.By, f.DealtAt, len(f.Chain)),
			words("open", `{"n": 1.0}`, "at line 1", 1, "", jobs.Time(0), 1))
		equal(w, "fingerprint", f.Fingerprint, jobs.Fingerprint("a", f.Run.Error))
		_, err := w.Failure(w.ctx, ok)
		w.wantErr(err, store.ErrNotFound)
		_, err = w.Failure(w.ctx, w.ids.Next(w.now.Std()))
		w.wantErr(err, store.ErrNotFound)
		n, err := w.OpenFailures(w.ctx, 10)
		w.check(err)
		equal(w, "open", n, 1)
	}},
	{"RunThatWasBornFailedIsOneToo", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a", bornFailed).ID
		f := w.failure(id)
		equal(w, "failure", words(f.Status, f.Run.Counts.Number, f.Run.Error.Kind), words("open", 0, "invalid"))
	}},
	{"WhatRetriesIsToldApart", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		l := w.takeOne()
		w.apply(w.retrying(l, time.Hour))
		equal(w, "open", len(allFailures(w, store.FailureFilter{}, 10)), 0)
		list := allFailures(w, store.FailureFilter{Status: jobs.FailureWillRetry}, 10)
		equal(w, "retrying", failureIDs(list), []jobs.ID{l.Run.ID})
		f := w.failure(l.Run.ID)
		equal(w, "failure", words(f.Status, f.Stack, f.Fingerprint), words("will_retry", "at line 1", list[0].Fingerprint))
		w.wantErr(w.Deal(w.ctx, l.Run.ID, store.Dealing{Status: jobs.FailureResolved}, w.by()), store.ErrState)
	}},
	{"SuccessOfARequeueResolvesTheChain", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		equal(w, "while it runs", w.statuses(a), "requeued")
		w.failThis(b, "again")
		equal(w, "it failed again", w.statuses(a, b), "requeued open")
		c := w.requeue(b).ID
		w.tick(time.Minute)
		w.succeedThis(c)
		equal(w, "made good", w.statuses(a, b), "resolved resolved")
		f := w.failure(a)
		equal(w, "by", words(f.By, f.DealtAt), words("run "+c.String(), w.now))
		for _, id := range []jobs.ID{a, b} {
			var chain []jobs.ID
			for _, r := range w.failure(id).Chain {
				chain = append(chain, r.ID)
			}
			equal(w, "chain", chain, []jobs.ID{a, b, c})
		}
		equal(w, "open", len(allFailures(w, store.FailureFilter{}, 10)), 0)
	}},
	{"CancelledRequeueOpensTheOldAgain", requeueCancelled},
	{"RequeueOfACancelledRequeueStandsForTheFailure", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		w.cancel(b)
		equal(w, "cancelled", w.statuses(a), "open")
		c := w.requeue(b).ID
		equal(w, "requeued again", w.statuses(a), "requeued")
		w.cancel(c)
		equal(w, "cancelled again", w.statuses(a), "open")
		w.succeedThis(w.requeue(c).ID)
		equal(w, "made good", w.statuses(a), "resolved")
	}},
	{"RequeueOfAnOlderOneIsMadeAtTheEndOfItsChain", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		w.failThis(b, "again")
		c := w.requeue(a).ID
		equal(w, "link", words(w.run(c).RequeuedFrom, w.run(c).OperationID), words(b, a))
		equal(w, "while it runs", w.statuses(a, b), "requeued requeued")
		for _, id := range []jobs.ID{a, b} {
			again := w.requeue(id)
			equal(w, "the one that has not ended", words(again.Duplicate, again.ID), words(true, c))
		}
		w.cancel(c)
		equal(w, "cancelled", w.statuses(a, b), "requeued open")
		d := w.requeue(a).ID
		again := w.requeue(c)
		equal(w, "of the cancelled one too", words(again.Duplicate, again.ID), words(true, d))
		w.succeedThis(d)
		equal(w, "made good", w.statuses(a, b), "resolved resolved")
		e := w.requeue(a).ID
		equal(w, "resolved ones", words(w.statuses(a, b), w.run(e).RequeuedFrom == d), "requeued requeued false")
		again = w.requeue(b)
		equal(w, "of the other one", words(again.Duplicate, again.ID), words(true, e))
		w.cancel(e)
		equal(w, "that was cancelled", w.statuses(a, b), "requeued open")
	}},
	{"RemovedRunLeavesItsChainWhole", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		w.fail(w.takeThis(b))
		c := w.requeue(b).ID
		w.check(w.Remove(w.ctx, b, w.by()))
		equal(w, "links", words(w.run(a).RequeuedTo, w.run(c).RequeuedFrom, w.statuses(a)), words(c, a, "requeued"))
		w.fail(w.takeThis(c))
		w.check(w.Remove(w.ctx, c, w.by()))
		equal(w, "open again", words(w.statuses(a), w.run(a).RequeuedTo.IsNil()), words("open", true))
	}},
	{"RequeueThatRanWhileItsPastWasRemovedResolvesTheRest", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		w.fail(w.takeThis(b))
		c := w.takeThis(w.requeue(b).ID)
		w.check(w.Remove(w.ctx, b, w.by()))
		w.succeed(c)
		equal(w, "made good", w.statuses(a), "resolved")
	}},
	{"ListIsNarrowed", failuresNarrowed},
}

func requeueCancelled(w *world) {
	w.jobs("a")
	waiting := func(id jobs.ID) { w.cancel(id) }
	running := func(id jobs.ID) {
		l := w.takeThis(id)
		w.cancel(id)
		w.apply(w.cancelled(l))
	}
	for _, cancel := range []func(jobs.ID){waiting, running} {
		for _, status := range []jobs.FailureStatus{jobs.FailureOpen, jobs.FailureResolved, jobs.FailureIgnored} {
			a := w.failOne("a")
			if status != jobs.FailureOpen {
				w.deal(a, status, "a note")
			}
			b := w.requeue(a).ID
			f := w.failure(a)
			equal(w, "requeued", words(f.Status, f.By, f.DealtAt), words("requeued", "", jobs.Time(0)))
			cancel(b)
			f = w.failure(a)
			equal(w, "cancelled", words(f.Status, f.DealtAt), words("open", jobs.Time(0)))
			equal(w, "note", f.Note != "", status != jobs.FailureOpen)
			w.resolve(a, "")
		}
	}
}

func failuresNarrowed(w *world) {
	w.jobs("mail-a", "mail-b", "sync")
	at := func(job, message string) jobs.ID {
		w.tick(time.Minute)
		return w.failWith(job, message)
	}
	a, b, c, d := at("mail-a", "no order 1"), at("mail-b", "No Order 2"), at("sync", "down"), at("mail-a", "no order 77")
	w.resolve(b, "")
	since, until := idTime(c), idTime(c)
	for _, q := range []struct {
		name string
		f    store.FailureFilter
		want []jobs.ID
	}{
		{"open", store.FailureFilter{}, []jobs.ID{d, c, a}},
		{"resolved", store.FailureFilter{Status: jobs.FailureResolved}, []jobs.ID{b}},
		{"a job", store.FailureFilter{Job: "mail-a"}, []jobs.ID{d, a}},
		{"a job that is none", store.FailureFilter{Job: "none"}, nil},
		{"a type", store.FailureFilter{ErrorType: "Unavailable"}, []jobs.ID{d, c, a}},
		{"another type", store.FailureFilter{ErrorType: "unavailable"}, nil},
		{"a kind", store.FailureFilter{ErrorKind: "exit"}, nil},
		{"those alike", store.FailureFilter{Fingerprint: w.failure(a).Fingerprint}, []jobs.ID{d, a}},
		{"those alike of another job", store.FailureFilter{Fingerprint: w.failure(a).Fingerprint, Job: "sync"}, nil},
		{"since", store.FailureFilter{Since: since}, []jobs.ID{d, c}},
		{"until", store.FailureFilter{Until: until}, []jobs.ID{c, a}},
		{"text", store.FailureFilter{Q: "NO ORD"}, []jobs.ID{d, a}},
		{"text that is a pattern", store.FailureFilter{Q: "no%order"}, nil},
		{"the start of an id", store.FailureFilter{Q: c.String()[:23]}, []jobs.ID{c}},
		{"allowed", store.FailureFilter{Allowed: []string{"mail-*"}}, []jobs.ID{d, a}},
		{"none allowed", store.FailureFilter{Allowed: []string{}}, nil},
	} {
		for limit := 1; limit < 4; limit++ {
			equal(w, fmt.Sprint(q.name, " by ", limit), failureIDs(allFailures(w, q.f, limit)), q.want)
		}
	}
	_, _, err := w.Failures(w.ctx, store.FailureFilter{Q: strings.Repeat("x", 1025)}, store.Page{Limit: 1})
	if err == nil {
		w.Fatal("a text of 1025 bytes was taken")
	}
}
