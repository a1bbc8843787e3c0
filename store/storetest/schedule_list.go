package storetest

import (
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// scheduleList reads a list to its end, in pages.
func scheduleList(w *world, f store.ScheduleFilter, limit int) (names []string) {
	w.Helper()
	for page := (store.Page{Limit: limit}); ; {
		list, next, err := w.Schedules(w.ctx, f, page)
		w.check(err)
		if len(list) > limit {
			w.Fatalf("a page of %d holds %d", limit, len(list))
		}
		names = append(names, scheduleNames(list)...)
		if page.Cursor = next; next == "" {
			return names
		}
	}
}

var scheduleListClaims = []claim{
	{"ListIsNewestFirstAndNarrowed", func(w *world) {
		w.put(planned("mail-a", minutely("x", "")))
		w.jobs("b")
		w.applyPolicies("", own("one", "mail-a", ""))
		w.applyPolicies("", own("two", "b", ""))
		w.put(planned("mail-c", minutely("x", "")))
		w.put(planned("gone", minutely("x", "")))
		w.nextRun("two")
		w.deleteJob("gone")
		all := []string{"mail-c:x", "two", "one", "mail-a:x"}
		for _, limit := range []int{1, 3, 4, 9} {
			equal(w, fmt.Sprintf("pages of %d", limit), scheduleList(w, store.ScheduleFilter{}, limit), all)
		}
		for _, c := range []struct {
			name string
			f    store.ScheduleFilter
			want []string
		}{
			{"of a job", store.ScheduleFilter{Job: "mail-a"}, []string{"one", "mail-a:x"}},
			{"of no job", store.ScheduleFilter{Job: "nobody"}, nil},
			{"of a job that is gone", store.ScheduleFilter{Job: "gone"}, nil},
			{"allowed", store.ScheduleFilter{Allowed: []string{"mail-*"}}, []string{"mail-c:x", "one", "mail-a:x"}},
			{"allowed none", store.ScheduleFilter{Allowed: []string{}}, nil},
			{"both", store.ScheduleFilter{Job: "b", Allowed: []string{"mail-*"}}, nil},
			{"of an allowed job", store.ScheduleFilter{Job: "mail-c", Allowed: []string{"x", "mail-*"}}, []string{"mail-c:x"}},
		} {
			equal(w, c.name, scheduleList(w, c.f, 2), c.want)
		}
		list, _, err := w.Schedules(w.ctx, store.ScheduleFilter{}, store.Page{Limit: 9})
		w.check(err)
		for _, s := range list {
			equal(w, s.Name+" in the list", diff(s, w.schedule(s.Name)), "")
		}
		_, _, err = w.Schedules(w.ctx, store.ScheduleFilter{}, store.Page{Limit: 1, Cursor: "x"})
		wantInvalid(w, err, "cursor")
	}},
	{"ListShowsEachOnceWhileSchedulesComeAndGo", func(w *world) {
		w.jobs("a")
		for i := range 6 {
			w.applyPolicies("", own(fmt.Sprint("s", i), "a", ""))
		}
		list, next, err := w.Schedules(w.ctx, store.ScheduleFilter{}, store.Page{Limit: 2})
		w.check(err)
		w.applyPolicies("", own("newer", "a", ""), own("s1", "a", `,"overlap":"skip"`))
		for _, name := range []string{"s4", "s2"} { // also the one that the cursor names
			w.check(w.DeleteDocument(w.ctx, store.KindSchedule, name, nil, w.by()))
		}
		names := scheduleNames(list)
		for next != "" {
			list, next, err = w.Schedules(w.ctx, store.ScheduleFilter{}, store.Page{Limit: 2, Cursor: next})
			w.check(err)
			names = append(names, scheduleNames(list)...)
		}
		equal(w, "shown", names, []string{"s5", "s4", "s3", "s1", "s0"})
	}},
	{"NewestDueComesFirst", func(w *world) {
		w.put(planned("a", `{"name":"x","every":"3m"}`, `{"name":"y","every":"1m"}`, `{"name":"z","every":"2m"}`,
			`{"name":"hour","every":"1h"}`))
		due := w.due(9)
		equal(w, "before", words(len(due.List), due.More, due.Next, due.Late), words(0, false, minute(1), false))
		w.tick(5 * time.Minute)
		due = w.due(9)
		equal(w, "due", words(scheduleNames(due.List), due.More, due.Next),
			words([]string{"a:x", "a:z", "a:y"}, false, minute(60)))
		equal(w, "as it stands", diff(due.List[0], w.schedule("a:x")), "")
		due = w.due(2)
		equal(w, "two of them", words(scheduleNames(due.List), due.More), words([]string{"a:x", "a:z"}, true))
		w.fire("a:x")
		w.fire("a:y")
		due = w.due(9)
		equal(w, "after two", words(scheduleNames(due.List), due.Next), words([]string{"a:z"}, minute(6)))
		w.fire("a:z")
		equal(w, "after all", words(len(w.due(9).List), w.due(9).Next), words(0, minute(6)))
		// What is due next is what the decision says.
		d := w.onTime(w.schedule("a:hour"), minute(5))
		d.Next = 0
		w.decided(d)
		w.tick(2 * time.Hour)
		if names := scheduleNames(w.due(9).List); slices.Contains(names, "a:hour") {
			w.Fatalf("due are %v", names)
		}
	}},
	{"OfNoneIsNothingDue", func(w *world) {
		equal(w, "due", w.due(9), store.DueSchedules{})
		w.put(planned("a", minutely("x", `,"end":"`+minute(1).String()+`"`)))
		w.nextRun("a:x")
		equal(w, "due after its end", w.due(9), store.DueSchedules{})
	}},
	{"ThoseThatTickAtStartAreFoundByName", func(w *world) {
		for _, name := range []string{"c", "a", "b"} {
			w.put(planned(name, `{"name":"up","cron":"@reboot"}`, minutely("x", "")))
		}
		w.jobs("gone")
		w.applyPolicies("", scheduleDoc("boot", `{"job":"a","cron":"@reboot"}`), scheduleDoc("away", `{"job":"gone","cron":"@reboot"}`))
		w.deleteJob("gone")
		var names []string
		for after := ""; ; after = names[len(names)-1] {
			list, err := w.StartSchedules(w.ctx, after, 2)
			w.check(err)
			if len(list) == 0 {
				break
			}
			names = append(names, scheduleNames(list)...)
		}
		equal(w, "names", names, []string{"a:up", "b:up", "boot", "c:up"})
		s := w.schedule("a:up")
		d := store.Decision{Schedule: s, Cursor: w.now}
		run := w.tickRun(s, w.now, jobs.TriggerSchedule)
		d.OnTime = &run
		equal(w, "outcome", w.decided(d).Ran[0].Outcome, jobs.TickRan)
		equal(w, "ledger", w.ledger("a:up"), "0 ran")
		// Changed, it ticks at starts no more.
		w.put(planned("b", minutely("up", "")))
		list, err := w.StartSchedules(w.ctx, "a:up", 9)
		w.check(err)
		equal(w, "names", scheduleNames(list), []string{"boot", "c:up"})
	}},
	{"BacklogsAreFound", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all"}`), minutely("y", `,"catch_up":{"mode":"all"}`), minutely("z", "")))
		w.tick(3*time.Minute + 30*time.Second)
		for _, name := range []string{"a:x", "a:y"} {
			w.fire(name)
		}
		list, err := w.Backlogs(w.ctx, 9)
		w.check(err)
		names := scheduleNames(list)
		slices.Sort(names)
		equal(w, "names", names, []string{"a:x", "a:y"})
		equal(w, "as it stands", diff(list[0], w.schedule(list[0].Name)), "")
		b := list[0].Backlog
		equal(w, "backlog", words(b.From, b.To, b.Count), words(minute(1), minute(3), 3))
		list, err = w.Backlogs(w.ctx, 1)
		w.check(err)
		equal(w, "one of them", len(list), 1)
		w.work("a:x")
		list, err = w.Backlogs(w.ctx, 9)
		w.check(err)
		equal(w, "what is left", scheduleNames(list), []string{"a:y"})
		w.deleteJob("a")
		list, err = w.Backlogs(w.ctx, 9)
		w.check(err)
		equal(w, "of a job that is gone", len(list), 0)
	}},
	{"RunsAreListedBySchedule", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"allow"`), minutely("y", `,"overlap":"allow"`)))
		x := []jobs.ID{w.nextRun("a:x"), w.nextRun("a:x"), w.nextRun("a:x")}
		y := w.ran(w.fire("a:y"))
		w.enqueue("a")
		w.drain()
		slices.Reverse(x)
		equal(w, "runs", runIDs(allRuns(w, store.RunFilter{Schedule: "a:x"}, 2)), x)
		equal(w, "of the other", slices.Contains(runIDs(allRuns(w, store.RunFilter{Schedule: "a:y"}, 2)), y), true)
		equal(w, "with another filter", runIDs(allRuns(w, store.RunFilter{Schedule: "a:x", Job: "a", States: []jobs.State{jobs.Succeeded}}, 1)), x)
		equal(w, "of a job", len(allRuns(w, store.RunFilter{Schedule: "a:x", Job: "b"}, 9)), 0)
		equal(w, "of nobody", len(allRuns(w, store.RunFilter{Schedule: "a"}, 9)), 0)
		list := allRuns(w, store.RunFilter{Schedule: "a:x"}, 9)
		equal(w, "in the list", words(list[0].Schedule, list[0].ScheduledFor, list[0].Trigger),
			words("a:x", minute(3), jobs.TriggerSchedule))
		w.deleteJob("a")
		equal(w, "of one that is gone", len(allRuns(w, store.RunFilter{Schedule: "a:x"}, 9)), 3)
	}},
}
