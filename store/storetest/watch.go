package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// lasting makes a job whose runs take long after half an hour.
func (w *world) lasting(name, more string) {
	w.Helper()
	w.put(webhook(name, "", `,"long_after":"30m"`+more))
}

func (w *world) tellLong(limit int) (told int, next jobs.Time) {
	w.Helper()
	told, next, err := w.TellLong(w.ctx, w.now, limit)
	w.check(err)
	return told, next
}

// eventData reads the data of the newest event, of a type.
func eventData[T any](w *world, kind, subject string) (data T) {
	w.Helper()
	list := w.events(w.newestEvent()-1, 9)
	if len(list) != 1 || list[0].Type != kind || list[0].Subject != subject {
		w.Fatalf("the newest event is %+v, want %s of %s", list, kind, subject)
	}
	w.check(json.Unmarshal(list[0].Data, &data))
	return data
}

// soonEnds are ways in which a run is not under way any more, or never was.
var soonEnds = []struct {
	name string
	do   func(w *world, l store.Lease)
}{
	{"it succeeds", func(w *world, l store.Lease) { w.succeed(l) }},
	{"it fails", func(w *world, l store.Lease) { w.fail(l) }},
	{"it is held for a secret", func(w *world, l store.Lease) { w.apply(w.held(l, "TOKEN")) }},
	{"it is cancelled while it runs", func(w *world, l store.Lease) {
		w.cancel(l.Run.ID)
		w.apply(w.cancelled(l))
	}},
	{"it is cancelled while it retries", func(w *world, l store.Lease) {
		w.apply(w.retrying(l, time.Hour))
		w.cancel(l.Run.ID)
	}},
	{"it is cancelled while it waits", func(w *world, l store.Lease) {
		w.await(l)
		w.cancel(l.Run.ID)
	}},
	{"its job is deleted while it retries", func(w *world, l store.Lease) {
		w.apply(w.retrying(l, time.Hour))
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
	}},
	{"nobody asks any more", func(w *world, _ store.Lease) { w.put(webhook("a", "", "")) }},
}

var longClaims = []claim{
	{"RunThatTakesLongIsToldOnceFromItsFirstStart", func(w *world) {
		w.lasting("a", `,"labels":{"team":"data"}`)
		id := w.enqueue("a", func(s *store.Submission) {
			s.Run.Labels, s.Run.Schedule, s.Run.CorrelationID = map[string]string{"team": "data"}, "a:x", "c1"
		}).ID
		w.tick(time.Hour)
		_, next := w.tellLong(9)
		equal(w, "next before it starts", next, 0)
		from := w.now
		out := w.claim(store.Claim{Free: [store.Pools]int{1}})
		equal(w, "told by the claim", out.LongAt, from.Add(30*time.Minute))
		w.apply(w.retrying(out.Leases[0], 20*time.Minute))
		w.tick(20 * time.Minute)
		out = w.claim(store.Claim{Free: [store.Pools]int{1}})
		equal(w, "told by the claim of a second attempt", words(len(out.Leases), out.LongAt == 0), "1 true")
		w.tick(10*time.Minute - time.Millisecond)
		equal(w, "before its time", words(w.tellLong(9)), words(0, from.Add(30*time.Minute)))
		w.tick(time.Millisecond)
		equal(w, "at its time", words(w.tellLong(9)), words(1, jobs.Time(0)))
		got := eventData[jobs.RunLong](w, jobs.EventRunLong, "run/"+id.String())
		got.Reason = ""
		equal(w, "data", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", jobs.RunLong{
			Job: "a", Run: id, Labels: map[string]string{"team": "data"}, Correlation: "c1", Schedule: got.Schedule, Attempts: 2,
			State: jobs.Running, StartedAt: from, LongAfter: jobs.Duration(30 * time.Minute),
		}))
		equal(w, "schedule", *got.Schedule, "a:x")
		e := w.events(0, 9)[0]
		equal(w, "of", words(e.Job, e.Run, e.At), words("a", id, w.now))
		w.apply(w.retrying(out.Leases[0], time.Minute))
		w.tick(time.Hour)
		w.take(1)
		w.tick(time.Hour)
		equal(w, "later", words(w.tellLong(9)), words(0, jobs.Time(0)))
	}},
	{"RunThatWaitsForItsCallbackOrNextSliceTakesLongToo", func(w *world) {
		w.lasting("a", "")
		waits, slices := w.enqueue("a").ID, w.enqueue("a").ID
		leases := w.take(2)
		w.await(leases[0])
		w.apply(w.sliced(leases[1], "1"))
		w.tick(30 * time.Minute)
		equal(w, "told", words(w.tellLong(9)), words(2, jobs.Time(0)))
		var states []string
		for _, e := range w.events(0, 9) {
			var d jobs.RunLong
			w.check(json.Unmarshal(e.Data, &d))
			states = append(states, words(d.Run, d.State))
		}
		equal(w, "states", states, []string{words(waits, jobs.Waiting), words(slices, jobs.Running)})
	}},
	{"ManyThatTakeLongAreToldInSteps", func(w *world) {
		w.unbound()
		w.lasting("a", "")
		w.enqueueN(5, "a")
		w.take(5)
		w.tick(time.Hour)
		for _, want := range []string{"2 true", "2 true", "1 false"} {
			told, next := w.tellLong(2)
			equal(w, "told, and there are more", words(told, next != 0), want)
		}
	}},
	{"ClockThatIsSetMovesWhatTakesLong", func(w *world) {
		w.lasting("a", "")
		w.enqueue("a")
		w.take(1)
		w.tick(-time.Hour)
		w.shift(-time.Hour)
		_, next := w.tellLong(9)
		equal(w, "next", next, w.now.Add(30*time.Minute))
	}},
	{"JobWithoutItAsksForNothing", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		out := w.claim(store.Claim{Free: [store.Pools]int{1}})
		_, next := w.tellLong(9)
		equal(w, "asked", words(out.LongAt == 0, next == 0), "true true")
	}},
}

// overClaims say that a run which is over is not long.
func overClaims() (all []claim) {
	for _, c := range soonEnds {
		all = append(all, claim{"RunIsNotLongSince" + title(c.name), func(w *world) {
			w.lasting("a", "")
			w.enqueue("a")
			c.do(w, w.takeOne())
			w.tick(time.Hour)
			told, next := w.tellLong(9)
			equal(w, "told", words(told, next == 0), "0 true")
			for _, e := range w.events(0, 9) {
				if e.Type == jobs.EventRunLong {
					w.Errorf("told: %s", e.Data)
				}
			}
		}})
	}
	return all
}

// title makes a claim's name of words.
func title(text string) (name string) {
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, ",", "")) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// interruptOften interrupts n attempts of a run in a row and gives the number of events then.
func (w *world) interruptOften(n int) int64 {
	w.Helper()
	for range n {
		w.apply(w.interrupted(w.takeOne()))
	}
	return w.newestEvent()
}

var interruptClaims = []claim{
	{"FifthInterruptionInARowIsToldOnce", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		equal(w, "after four", w.interruptOften(4), 0)
		equal(w, "counted", w.run(id).Counts.Interrupts, 4)
		told := w.tells(func() {
			w.claim(store.Claim{Finished: []store.Finish{w.interrupted(w.takeOne())}, Hold: true})
		})
		equal(w, "after five", words(told, w.newestEvent()), "true 1")
		got := eventData[jobs.RunInterrupted](w, jobs.EventRunInterrupted, "run/"+id.String())
		equal(w, "data", words(got.Job, got.Run, got.Attempts, got.Interrupts, got.State, got.Error.Kind, got.Labels, got.Correlation),
			words("a", id, 5, 5, jobs.Queued, jobs.FailLost, "map[]", id))
		equal(w, "after nine", w.interruptOften(4), 1)
		w.reopen()
		equal(w, "counted over a restart", w.run(id).Counts.Interrupts, 9)
	}},
	{"FifthThatEndsTheRunIsToldToo", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		w.interruptOften(4)
		f := w.interrupted(w.takeOne())
		f.Transition.State, f.Transition.DueAt, f.Transition.Error.Kind = jobs.Failed, 0, jobs.FailCrashLoop
		w.apply(f)
		told := slices.DeleteFunc(w.events(0, 9), func(e store.Event) bool { return e.Type != jobs.EventRunInterrupted })
		if len(told) != 1 || !strings.Contains(string(told[0].Data), `"state":"failed","error":{"kind":"crash_loop"`) {
			w.Fatalf("told of %+v", told)
		}
	}},
	{"InterruptionsAreCountedAnewFromACheckpoint", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.interruptOften(4)
		l := w.takeOne()
		w.saves(l, "1")
		equal(w, "after the checkpoint", w.run(id).Counts.Interrupts, 0)
		l.Run.Counts.Interrupts = 0 // as jobs.Decide does where the attempt has saved
		w.apply(w.interrupted(l))
		equal(w, "of the next four", words(w.interruptOften(3), w.interruptOften(1)), "0 1")
	}},
	{"InterruptionsAreCountedAnewFromASlice", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.interruptOften(4)
		w.goOn(w.takeOne(), "1")
		equal(w, "after the slice", w.run(id).Counts.Interrupts, 0)
	}},
}

// workerWaits are the queues that wait for a worker since a time, and with what.
func (w *world) workerWaits(before jobs.Time) string {
	w.Helper()
	list, err := w.WorkerWaits(w.ctx, before, w.now)
	w.check(err)
	var all []string
	for _, at := range list {
		all = append(all, words(at.Queue, at.Pool, at.Job, at.Run, at.DueAt.Sub(start)))
	}
	return strings.Join(all, "; ")
}

// noWaits are runs that wait for something else than a worker. Each is of the job a.
var noWaits = []struct {
	name string
	do   func(w *world)
}{
	{"nothing is due", func(w *world) { w.jobs("a"); w.enqueue("a", dueIn(time.Hour)) }},
	{"it has started", func(w *world) { w.jobs("a"); w.enqueue("a"); w.take(1) }},
	{"it retries", func(w *world) { w.jobs("a"); w.enqueue("a"); w.apply(w.retrying(w.takeOne(), time.Hour)) }},
	{"its job is paused", func(w *world) { w.jobs("a"); w.enqueue("a"); w.pause("a", true, "") }},
	{"its queue is paused", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		w.check(w.PauseGate(w.ctx, jobs.GateQueue, "default", true, "", w.by()))
	}},
	{"its dependency is open, and nobody has looked", func(w *world) { dependent(w); w.trip(); w.enqueue("a") }},
	{"its job has its limit, and nobody has looked", func(w *world) {
		w.put(webhook("a", "", `,"concurrency":{"limit":1}`))
		w.enqueueN(2, "a")
		w.take(1)
	}},
	{"its key has its limit", func(w *world) {
		w.put(webhook("a", "", `,"concurrency":{"limit":1,"key":"payload.k"}`))
		key := "x"
		w.enqueueN(2, "a", func(s *store.Submission) { s.Run.Keys.Concurrency = &key })
		w.take(2)
	}},
	{"it waits for a secret", func(w *world) { w.jobs("a"); w.enqueue("a"); w.apply(w.held(w.takeOne(), "TOKEN")) }},
	{"it waits for its checkpoint key", func(w *world) {
		w.put(webhook("a", "", `,"checkpoint":{"key":"payload.k"}`))
		key := "x"
		w.enqueueN(2, "a", func(s *store.Submission) { s.Run.Keys.Checkpoint = &key })
		w.take(2)
	}},
}

var waitClaims = []claim{
	{"OldestThatWaitsForNothingButAWorkerIsKnownByQueue", func(w *world) {
		w.jobs("a")
		w.put(webhook("b", "", `,"queue":"slow"`))
		w.put(script("s", "true"))
		first := w.enqueue("a").ID
		w.tick(time.Minute)
		w.enqueue("a")
		slow, last := w.enqueue("b").ID, w.enqueue("s").ID
		w.tick(time.Minute)
		equal(w, "since one minute", w.workerWaits(start.Add(time.Minute)),
			words("default webhook a", first, "0s; slow webhook b", slow, "1m0s"))
		equal(w, "since the start", w.workerWaits(start), words("default webhook a", first, "0s"))
		equal(w, "since before", w.workerWaits(start-1), "")
		w.claim(store.Claim{Free: [store.Pools]int{9}})
		equal(w, "without webhooks", w.workerWaits(w.now), words("default script s", last, "1m0s"))
		w.claim(store.Claim{Free: [store.Pools]int{0, 9}})
		equal(w, "without any", w.workerWaits(w.now), "")
	}},
	{"HighPriorityDoesNotMakeARunOld", func(w *world) {
		w.jobs("a")
		w.enqueue("a", priority(100))
		equal(w, "since a minute ago", w.workerWaits(w.now.Add(-time.Minute)), "")
	}},
	{"LowPriorityDoesNotMakeARunYoung", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a", priority(-100)).ID
		w.tick(time.Minute)
		equal(w, "waits", w.workerWaits(start), words("default webhook a", id, "0s"))
	}},
}

// noWaitClaims say that what waits for something else does not wait for a worker.
func noWaitClaims() (all []claim) {
	for _, c := range noWaits {
		all = append(all, claim{"NothingWaitsForAWorkerWhile" + title(c.name), func(w *world) {
			c.do(w)
			w.tick(time.Second)
			equal(w, "waits", w.workerWaits(w.now), "")
		}})
	}
	return all
}

// stand tells of what stands: a subject that ends in ~ fades.
func (w *world) stand(subjects ...string) int {
	w.Helper()
	var list []store.Standing
	for _, s := range subjects {
		name, fades := strings.CutSuffix(s, "~")
		list = append(list, store.Standing{Fades: fades, Event: store.Event{
			At: w.now, Type: jobs.EventQueueStuck, Subject: name, Data: jobs.Raw(`{}`),
		}})
	}
	told, err := w.TellStanding(w.ctx, jobs.EventQueueStuck, list)
	w.check(err)
	return told
}

var standingClaims = []claim{
	{"WhatStandsIsToldOnceForAsLongAsItLasts", func(w *world) {
		equal(w, "what is not bad enough", w.stand("a~"), 0)
		equal(w, "the first time", w.stand("a"), 1)
		equal(w, "again, and another", w.stand("a", "b"), 1)
		w.reopen()
		equal(w, "over a restart", w.stand("a", "b"), 0)
		equal(w, "as one fades", w.stand("a~", "b"), 0)
		equal(w, "and is bad again", w.stand("a", "b"), 0)
		equal(w, "as one is over", w.stand("b"), 0)
		equal(w, "and comes back", w.stand("a", "b"), 1)
		equal(w, "all are over", w.stand(), 0)
		equal(w, "and come back", w.stand("a", "b"), 2)
		var told []string
		for _, e := range w.events(0, 9) {
			told = append(told, e.Type+" "+e.Subject)
		}
		equal(w, "told", strings.ReplaceAll(strings.Join(told, " "), "queue.stuck ", ""), "a b a a b")
	}},
	{"TypesStandForThemselves", func(w *world) {
		w.stand("a")
		told, err := w.TellStanding(w.ctx, jobs.EventDiskLow, nil)
		w.check(err)
		equal(w, "told", words(told, w.stand("a")), "0 0")
	}},
}
