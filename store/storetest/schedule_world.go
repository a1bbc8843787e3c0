package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// planned is a job with schedules.
func planned(name string, schedules ...string) *jobs.Job {
	return webhook(name, "", `,"schedules":[`+strings.Join(schedules, ",")+`]`)
}

// minutely is a schedule in a job that ticks at each full minute from the start of the world on.
func minutely(name, more string) string {
	return `{"name":"` + name + `","every":"1m"` + more + `}`
}

// scheduleDoc is one by itself.
func scheduleDoc(name, doc string) store.PutDocument {
	return store.PutDocument{Kind: store.KindSchedule, Name: name, Doc: jobs.Raw(doc)}
}

// own is the document of a schedule by itself, as minutely.
func own(name, job, more string) store.PutDocument {
	return scheduleDoc(name, `{"job":"`+job+`","every":"1m"`+more+`}`)
}

func (w *world) schedule(name string) *store.Schedule {
	w.Helper()
	s, err := w.Schedule(w.ctx, name)
	w.check(err)
	return s
}

func (w *world) noSchedule(name string) {
	w.Helper()
	_, err := w.Schedule(w.ctx, name)
	w.wantErr(err, store.ErrNotFound)
}

func timetable(w *world, s *store.Schedule) *jobs.Timetable {
	w.Helper()
	t, err := s.Timetable(s.Anchor)
	w.check(err)
	return t
}

// tickRun is the run of a tick, as a runtime drafts it.
func (w *world) tickRun(
	s *store.Schedule, at jobs.Time, trigger jobs.Trigger, change ...func(*store.Submission),
) store.TickRun {
	tick := func(sub *store.Submission) {
		r := sub.Run
		r.Trigger, r.Schedule, r.ScheduledFor = trigger, s.Name, at
	}
	return store.TickRun{At: at, Sub: w.sub(s.Job, append([]func(*store.Submission){tick}, change...)...)}
}

// onTime is a decision about one tick, which is on time whatever the clock says.
func (w *world) onTime(s *store.Schedule, at jobs.Time, change ...func(*store.Submission)) store.Decision {
	w.Helper()
	run := w.tickRun(s, at, jobs.TriggerSchedule, change...)
	return store.Decision{
		Schedule: s, Cursor: max(s.Cursor, w.now), Next: timetable(w, s).Next(max(s.Cursor, w.now)),
		Backlog: s.Backlog, OnTime: &run,
	}
}

// plan is what a runtime decides about the ticks that have come.
func (w *world) plan(s *store.Schedule, change ...func(*store.Submission)) store.Decision {
	w.Helper()
	t := timetable(w, s)
	paused := s.PausedAt != 0
	p := jobs.PlanTicks(jobs.TickInput{
		Timetable: t, CatchUp: s.CatchUp, Cursor: s.Cursor, Now: w.now, Paused: paused,
	})
	d := store.Decision{
		Schedule: s, Cursor: max(s.Cursor, w.now), Skipped: p.Skipped, Backlog: p.CatchUp,
	}
	if !paused {
		d.Next = t.Next(d.Cursor)
	}
	if p.OnTime != 0 {
		run := w.tickRun(s, p.OnTime, jobs.TriggerSchedule, change...)
		d.OnTime = &run
	}
	if m := p.Missed(); m.Count > 0 {
		d.Missed = &jobs.ScheduleMissed{
			Schedule: s.Name, Job: s.Job, Count: m.Count, FirstAt: m.From, LastAt: m.To,
			CaughtUp: p.CatchUp.Count,
		}
	}
	return d
}

// catchUp makes the next n runs of a backlog.
func (w *world) catchUp(s *store.Schedule, n int, change ...func(*store.Submission)) store.Decision {
	w.Helper()
	t := timetable(w, s)
	d := store.Decision{Schedule: s, Cursor: s.Cursor, Backlog: s.Backlog, Next: t.Next(s.Cursor)}
	if s.PausedAt != 0 {
		d.Next = 0
	}
	for ; n > 0 && d.Backlog.Count > 0; n-- {
		at := d.Backlog.From
		d.CaughtUp = append(d.CaughtUp, w.tickRun(s, at, jobs.TriggerCatchUp, change...))
		d.Backlog.Before, d.Backlog.From = at, t.Next(at)
		d.Backlog.Count--
	}
	if d.Backlog.Count == 0 {
		d.Backlog = jobs.TickRange{}
	}
	return d
}

func (w *world) decide(list ...store.Decision) []store.Decided {
	w.Helper()
	out, err := w.Decide(w.ctx, w.now, list)
	w.check(err)
	equal(w, "number of answers", len(out), len(list))
	return out
}

// decided decides one, which must not be stale.
func (w *world) decided(d store.Decision) store.Decided {
	w.Helper()
	out := w.decide(d)[0]
	if out.Stale {
		w.Fatalf("the decision about %s is stale", d.Schedule.Name)
	}
	return out
}

// fire decides about what has come of one.
func (w *world) fire(name string, change ...func(*store.Submission)) store.Decided {
	w.Helper()
	return w.decided(w.plan(w.schedule(name), change...))
}

// next lets a minute pass and fires.
func (w *world) next(name string, change ...func(*store.Submission)) store.Decided {
	w.Helper()
	w.tick(time.Minute)
	return w.fire(name, change...)
}

// nextRun is next, of which a run must come.
func (w *world) nextRun(name string, change ...func(*store.Submission)) jobs.ID {
	w.Helper()
	return w.ran(w.next(name, change...))
}

// ran is the run of the last tick of a decision.
func (w *world) ran(d store.Decided) jobs.ID {
	w.Helper()
	if len(d.Ran) == 0 || d.Ran[len(d.Ran)-1].Made.ID.IsNil() {
		w.Fatalf("no run was made: %+v", d)
	}
	return d.Ran[len(d.Ran)-1].Made.ID
}

// settle does something about schedules; where past ticks are undecided it decides them first, as a
// runtime does.
func (w *world) settle(do func() error) {
	w.Helper()
	undecided := (*store.UndecidedError)(nil)
	for range 3 {
		err := do()
		if !errors.As(err, &undecided) {
			w.check(err)
			return
		}
		for _, name := range undecided.Names {
			w.work(name)
		}
	}
	w.Fatal("what was decided is undecided still")
}

// work decides all about one.
func (w *world) work(name string) {
	w.Helper()
	for s := w.schedule(name); s.Backlog.Count > 0; s = w.schedule(name) {
		w.decided(w.catchUp(s, 3))
	}
	w.fire(name)
	for s := w.schedule(name); s.Backlog.Count > 0; s = w.schedule(name) {
		w.decided(w.catchUp(s, 3))
	}
}

func (w *world) wantUndecided(err error, names ...string) {
	w.Helper()
	undecided := (*store.UndecidedError)(nil)
	if !errors.As(err, &undecided) {
		w.Fatalf("error is %v, want an UndecidedError", err)
	}
	got := slices.Sorted(slices.Values(undecided.Names))
	equal(w, "undecided", got, names)
}

func (w *world) pauseSchedule(name string, paused bool, note string) (s *store.Schedule) {
	w.Helper()
	w.settle(func() (err error) {
		by := w.by()
		by.Note = note
		s, err = w.PauseSchedule(w.ctx, name, paused, note, by)
		return err
	})
	return s
}

// ticks is the whole ledger of one, newest first, read in small pages.
func (w *world) ticks(name string) (all []jobs.Tick) {
	w.Helper()
	for page := (store.Page{Limit: 2}); ; {
		list, next, err := w.Ticks(w.ctx, name, page)
		w.check(err)
		all = append(all, list...)
		if page.Cursor = next; next == "" {
			return all
		}
	}
}

// ledger is it in words, oldest first, in minutes from the start of the world.
func (w *world) ledger(name string) string {
	w.Helper()
	var lines []string
	for _, t := range slices.Backward(w.ticks(name)) {
		line := fmt.Sprintf("%v %s", minutes(t.From), t.Outcome)
		if t.Count != 1 || t.To != t.From {
			line = fmt.Sprintf("%v-%v %s %d", minutes(t.From), minutes(t.To), t.Outcome, t.Count)
		}
		lines = append(lines, strings.TrimSpace(line+" "+t.Reason))
		equal(w, "tick with a run", !t.Run.IsNil(), t.Outcome != jobs.TickSkipped)
	}
	return strings.Join(lines, ", ")
}

func minutes(at jobs.Time) float64 { return at.Sub(start).Minutes() }

// minute is an instant so many minutes from the start of the world.
func minute(n int) jobs.Time { return start.Add(time.Duration(n) * time.Minute) }

func (w *world) due(limit int) store.DueSchedules {
	w.Helper()
	due, err := w.DueSchedules(w.ctx, w.now, limit)
	w.check(err)
	return due
}

func scheduleNames(list []*store.Schedule) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// overlaps reports whether a run waits for another of its schedule.
func (w *world) overlaps(id jobs.ID) bool {
	w.Helper()
	held := w.run(id).HeldBy
	return held != nil && held.Kind == jobs.HeldOverlap
}

// cancel ends a run that does not run.
func (w *world) cancel(id jobs.ID) {
	w.Helper()
	_, err := w.Cancel(w.ctx, id, w.by())
	w.check(err)
}

func (w *world) deleteJob(name string) {
	w.Helper()
	_, err := w.DeleteJob(w.ctx, name, nil, w.by())
	w.check(err)
}
