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

// watched lets the next minute of a schedule make a run that is late after five minutes.
func (w *world) watched(name string, success bool) jobs.ID {
	w.Helper()
	w.tick(time.Minute)
	d := w.plan(w.schedule(name))
	d.OnTime.LateAt, d.OnTime.LateSuccess = w.now.Add(5*time.Minute), success
	return w.ran(w.decided(d))
}

func (w *world) tellLate(limit int) (told int, more bool) {
	w.Helper()
	late, more, err := w.TellLate(w.ctx, w.now, limit)
	w.check(err)
	return len(late), more
}

// lateCases say what a run does within five minutes of its tick, and whether it is late then.
var lateCases = []struct {
	name    string
	success bool // by then it must have succeeded, else have started
	do      func(w *world, id jobs.ID)
	late    bool
	state   jobs.State
}{
	{"nothing", false, func(*world, jobs.ID) {}, true, jobs.Queued},
	{"it starts", false, func(w *world, _ jobs.ID) { w.takeOne() }, false, 0},
	{"it starts and is retried", false, func(w *world, _ jobs.ID) { w.apply(w.retrying(w.takeOne(), time.Hour)) }, false, 0},
	{"it starts and fails", false, func(w *world, _ jobs.ID) { w.fail(w.takeOne()) }, false, 0},
	{"it waits for a secret", false, func(w *world, _ jobs.ID) { w.apply(w.held(w.takeOne(), "TOKEN")) }, true, jobs.Queued},
	{"it is cancelled", false, func(w *world, id jobs.ID) { w.cancel(id) }, false, 0},
	{"its requeue does not start", false, func(w *world, id jobs.ID) { w.cancel(id); w.requeue(id) }, true, jobs.Queued},
	{"its requeue starts", false, func(w *world, id jobs.ID) { w.cancel(id); w.requeue(id); w.takeOne() }, false, 0},
	{"it starts at the last instant", false, func(w *world, _ jobs.ID) { w.tick(5 * time.Minute); w.takeOne() }, false, 0},
	{"it starts later", false, func(w *world, _ jobs.ID) { w.tick(5*time.Minute + 1000*time.Millisecond); w.takeOne() }, true, jobs.Running},
	{"it starts and succeeds later", false, func(w *world, _ jobs.ID) { w.tick(6 * time.Minute); w.succeed(w.takeOne()) }, true, jobs.Succeeded},

	{"nothing", true, func(*world, jobs.ID) {}, true, jobs.Queued},
	{"it runs", true, func(w *world, _ jobs.ID) { w.takeOne() }, true, jobs.Running},
	{"it succeeds", true, func(w *world, _ jobs.ID) { w.succeed(w.takeOne()) }, false, 0},
	{"it succeeds at the last instant", true, func(w *world, _ jobs.ID) {
		l := w.takeOne()
		w.tick(5 * time.Minute)
		w.succeed(l)
	}, false, 0},
	{"it succeeds later", true, func(w *world, _ jobs.ID) {
		l := w.takeOne()
		w.tick(5*time.Minute + time.Second)
		w.succeed(l)
	}, true, jobs.Succeeded},
	{"it fails", true, func(w *world, _ jobs.ID) { w.fail(w.takeOne()) }, true, jobs.Failed},
	{"its requeue succeeds", true, func(w *world, id jobs.ID) {
		w.fail(w.takeOne())
		w.requeue(id)
		w.succeed(w.takeOne())
	}, false, 0},
	{"the requeue of its requeue succeeds", true, func(w *world, id jobs.ID) {
		w.fail(w.takeOne())
		id = w.requeue(id).ID
		w.fail(w.takeOne())
		w.requeue(id)
		w.succeed(w.takeOne())
	}, false, 0},
	{"its requeue runs", true, func(w *world, id jobs.ID) {
		w.fail(w.takeOne())
		w.requeue(id)
		w.takeOne()
	}, true, 0},
	{"its requeue succeeds later", true, func(w *world, id jobs.ID) {
		w.fail(w.takeOne())
		w.requeue(id)
		w.tick(6 * time.Minute)
		w.succeed(w.takeOne())
	}, true, 0},
}

// lateTable tries each case with a job of its own.
func lateTable(success bool) func(*world) {
	return func(w *world) {
		for i, c := range lateCases {
			if c.success == success {
				w.job(fmt.Sprint("j", i), func(name string) { lateCase(w, name, i) })
			}
		}
	}
}

// job makes one with a minutely schedule x, and deletes it in the end.
func (w *world) job(name string, test func(schedule string)) {
	w.Helper()
	w.put(planned(name, minutely("x", `,"overlap":"allow"`)))
	test(name + ":x")
	w.deleteJob(name)
}

func lateCase(w *world, name string, i int) {
	w.Helper()
	c := lateCases[i]
	seen := w.newestEvent()
	id := w.watched(name, c.success)
	at := w.now
	deadline := at.Add(5 * time.Minute)
	equal(w, c.name+": looked at already", w.due(9).Late, false)
	c.do(w, id)
	if w.now < deadline {
		told, more := w.tellLate(9)
		equal(w, c.name+": told before", words(told, more), "0 false")
		w.now = deadline
	}
	w.tick(time.Minute) // a store may look at many together
	equal(w, c.name+": something to look at", w.due(9).Late, true)
	told, more := w.tellLate(9)
	equal(w, c.name+": told", words(told, more), words(map[bool]int{true: 1, false: 0}[c.late], false))
	equal(w, c.name+": something to look at", w.due(9).Late, false)
	ticks, _, err := w.Ticks(w.ctx, name, store.Page{Limit: 1})
	w.check(err)
	equal(w, c.name+": the ledger says late", ticks[0].Late, c.late)
	again, _ := w.tellLate(9)
	equal(w, c.name+": told again", again, 0)
	list := slices.DeleteFunc(w.events(seen, 9), func(e store.Event) bool { return e.Type != jobs.EventScheduleLate })
	equal(w, c.name+": events", len(list), told)
	if c.late {
		wantLate(w, list[0], name, jobs.ScheduleLate{Run: id, ScheduledFor: at, Deadline: deadline, State: c.state})
	}
}

// wantLate looks at an event of a tick that is late. State 0: any.
func wantLate(w *world, e store.Event, name string, late jobs.ScheduleLate) {
	w.Helper()
	job := strings.TrimSuffix(name, ":x")
	equal(w, "event", words(e.At, e.Type, e.Subject, e.Job, e.Run),
		words(w.now, jobs.EventScheduleLate, "schedule/"+name, job, late.Run))
	data := map[string]any{}
	w.check(json.Unmarshal(e.Data, &data))
	want := map[string]any{
		"schedule": name, "job": job, "run": late.Run.String(), "scheduled_for": late.ScheduledFor.String(),
		"deadline": late.Deadline.String(), "state": data["state"], "reason": data["reason"],
	}
	equal(w, "data", diff(data, want), "")
	if text, _ := data["reason"].(string); text == "" {
		w.Fatalf("no reason in %s", e.Data)
	}
	if late.State != 0 {
		equal(w, "state", data["state"], any(late.State.String()))
	}
}

var lateClaims = []claim{
	{"StartedInTimeItIsNotLate", lateTable(false)},
	{"SucceededInTimeItIsNotLate", lateTable(true)},
	{"ManyAreLookedAtInSteps", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"allow"`)))
		for range 5 {
			w.watched("a:x", false)
		}
		w.tick(time.Hour)
		var steps []string
		for more := true; more; {
			told := 0
			told, more = w.tellLate(2)
			steps = append(steps, fmt.Sprint(told))
		}
		if len(steps) > 4 {
			w.Fatalf("steps are %v", steps)
		}
		equal(w, "events", len(w.events(0, 9)), 5)
	}},
	{"NextIsWhenThereIsSomethingToLookAt", func(w *world) {
		w.put(planned("a", `{"name":"x","every":"1h"}`))
		w.tick(time.Hour)
		d := w.plan(w.schedule("a:x"))
		d.OnTime.LateAt = w.now.Add(5 * time.Minute)
		w.decided(d)
		due := w.due(9)
		if wait := due.Next.Sub(d.OnTime.LateAt); wait < 0 || wait > 10*time.Second || due.Late {
			w.Fatalf("next is %s, late %t: the time is over at %s", due.Next, due.Late, d.OnTime.LateAt)
		}
		w.tick(due.Next.Sub(w.now))
		equal(w, "late", w.due(9).Late, true)
		w.tellLate(9)
		equal(w, "next", words(w.due(9).Next, w.due(9).Late), words(minute(120), false))
	}},
	{"SkippedTickIsNotLate", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"skip"`)))
		w.nextRun("a:x")
		w.tick(time.Minute)
		d := w.plan(w.schedule("a:x"))
		d.OnTime.LateAt = w.now.Add(time.Minute)
		w.decided(d)
		w.tick(time.Hour)
		told, _ := w.tellLate(9)
		equal(w, "told", told, 0)
	}},
	{"TickOfADeletedJobIsNotLate", func(w *world) {
		for _, success := range []bool{false, true} {
			w.put(planned("a", minutely("x", `,"overlap":"allow"`)))
			w.watched("a:x", success)
			w.takeOne()
			w.watched("a:x", success)
			w.deleteJob("a")
			w.tick(time.Hour)
			told, more := w.tellLate(9)
			equal(w, "told", words(told, more), "0 false")
			equal(w, "something to look at", w.due(9).Late, false)
		}
		// Made again, it is watched as ever.
		w.put(planned("a", minutely("x", `,"overlap":"allow"`)))
		w.watched("a:x", true)
		w.tick(time.Hour)
		told, _ := w.tellLate(9)
		equal(w, "told of the one made again", told, 1)
	}},
	{"CaughtUpTickIsWatchedWhereAsked", func(w *world) {
		backlog(w, "queue", 2, 0)
		d := w.catchUp(w.schedule("a:x"), 2)
		d.CaughtUp[1].LateAt = w.now.Add(time.Minute)
		out := w.decided(d)
		w.tick(2 * time.Minute)
		told, _ := w.tellLate(9)
		equal(w, "told", told, 1)
		wantLate(w, w.events(0, 9)[0], "a:x", jobs.ScheduleLate{
			Run: out.Ran[1].Made.ID, ScheduledFor: minute(2), Deadline: d.CaughtUp[1].LateAt, State: jobs.Queued,
		})
	}},
	{"WatchedOverAReopening", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.watched("a:x", true)
		w.reopen()
		w.tick(time.Hour)
		told, _ := w.tellLate(9)
		equal(w, "told", told, 1)
		w.reopen()
		told, _ = w.tellLate(9)
		equal(w, "told again", told, 0)
	}},
	{"TickAgainIsNotWatchedAgain", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.watched("a:x", false)
		w.tick(time.Hour)
		w.tellLate(9)
		d := w.onTime(w.schedule("a:x"), minute(1))
		d.OnTime.LateAt = w.now.Add(time.Minute)
		w.decided(d)
		w.tick(time.Hour)
		told, _ := w.tellLate(9)
		equal(w, "told", told, 0)
	}},
	{"NobodyIsToldOfWhatIsGone", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.watched("a:x", true)
		w.put(planned("a"))
		w.tick(time.Hour)
		told, _ := w.tellLate(9)
		equal(w, "told of a schedule that was taken out", told, 0)
		w.put(planned("a", minutely("x", "")))
		w.watched("a:x", true)
		w.deleteJob("a")
		w.tick(time.Hour)
		told, _ = w.tellLate(9)
		equal(w, "told of a job that was deleted", told, 0)
		equal(w, "something to look at", w.due(9).Late, false)
	}},
	{"RunThatIsGoneIsNoError", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		id := w.watched("a:x", true)
		w.succeed(w.takeOne())
		w.check(w.Remove(w.ctx, id, w.by()))
		w.tick(time.Hour)
		w.tellLate(9)
		equal(w, "something to look at", w.due(9).Late, false)
	}},
}
