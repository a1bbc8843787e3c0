package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

func noSchedule() error {
	return refuse(probNotFound, "there is no such schedule, or the token does not reach its job")
}

// jobOfSchedule is the job in whose document the schedule of that name would stand; "": it would
// stand by itself, or the name is none.
func jobOfSchedule(name string) string {
	job, own, found := strings.Cut(name, ":")
	if !found || !jobs.ValidName(job) || !jobs.ValidName(own) {
		return ""
	}
	return job
}

// pathSchedule is the schedule named in the path. One whose job the token does not reach does not
// exist.
func (c *call) pathSchedule() (*store.Schedule, error) {
	name := c.pathName()
	if !jobs.ValidName(name) && jobOfSchedule(name) == "" {
		return nil, noSchedule()
	}
	return c.readSchedule(name)
}

func (c *call) readSchedule(name string) (*store.Schedule, error) {
	s, err := c.s.rt.Store().Schedule(c.ctx(), name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !c.who.reaches(s.Job) {
		return nil, noSchedule()
	}
	return s, err
}

// viewSchedule shows a schedule as it stands at now. One that this version cannot read (its zone is
// none any more) is shown all the same.
func viewSchedule(s *store.Schedule, now jobs.Time) wire.StandingSchedule {
	view := wire.StandingSchedule{
		Schedule: s.Schedule, InJob: s.InJob, Backlog: s.Backlog.Count, Paused: s.PausedAt != 0,
		PauseNote: s.PauseNote, JobPaused: s.JobPaused, Set: s.Set, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	last := s.Last
	if paused := pausedTicks(s, now); paused != nil {
		last = paused
	}
	if last != nil {
		view.Last = new(viewTick(last))
		view.Last.At = last.To
	}
	table, err := s.Timetable(s.Anchor)
	if err != nil {
		view.Reads = "it does not tick: this version of the server cannot read it: " + err.Error()
		return view
	}
	view.Reads = s.Reads()
	if !view.Paused {
		view.Next = table.Next(now)
	}
	return view
}

func viewTick(t *jobs.Tick) wire.Tick {
	view := wire.Tick{Outcome: t.Outcome, Reason: orNull(t.Reason)}
	if t.Count > 1 {
		view.From, view.To, view.Count = t.From, t.To, t.Count
		return view
	}
	view.At, view.Run, view.Late = t.From, t.Run, t.Late
	return view
}

// scheduleTag is the tag of what is shown: the revision of its document, and its state, which is no
// part of that.
func scheduleTag(s *store.Schedule, shown *wire.StandingSchedule) string {
	sum := sha256.Sum256(jobs.AppendJSON(nil, shown))
	return fmt.Sprintf(`"%d.%x"`, s.Revision, sum[:6])
}

func (c *call) answerSchedule(status int, s *store.Schedule) error {
	shown := viewSchedule(s, c.s.rt.Now())
	c.Response().Header().Set("ETag", scheduleTag(s, &shown))
	return c.answer(status, &shown)
}

func getSchedule(c *call) error {
	s, err := c.pathSchedule()
	if err != nil {
		return err
	}
	shown := viewSchedule(s, c.s.rt.Now())
	if c.unchanged(scheduleTag(s, &shown)) {
		return c.NoContent(304)
	}
	return c.answerSchedule(200, s)
}

func listSchedules(c *call) error {
	page := c.page()
	f := store.ScheduleFilter{Job: c.query.Get("job"), Text: c.query.Get("q"), Allowed: c.who.Jobs}
	all, next, err := c.s.rt.Store().Schedules(c.ctx(), f, page)
	if err != nil {
		return within("query", err)
	}
	now := c.s.rt.Now()
	list := wire.Schedules{
		Items: make([]wire.StandingSchedule, len(all)), Next: orNull(next), Limit: page.Limit,
	}
	for i, s := range all {
		list.Items[i] = viewSchedule(s, now)
		list.Items[i].Payload = nil
	}
	return c.answer(200, &list)
}

// cursorLedger is the cursor of what the ledger holds, behind the row of a paused schedule's ticks.
const cursorLedger = "ledger"

func listTicks(c *call) error {
	s, err := c.pathSchedule()
	if err != nil {
		return err
	}
	page := c.page()
	list := wire.Ticks{Items: []wire.Tick{}, Limit: page.Limit}
	from := page
	switch {
	case page.Cursor == cursorLedger:
		from.Cursor = ""
	case page.Cursor == "":
		if paused := pausedTicks(s, c.s.rt.Now()); paused != nil {
			list.Items = append(list.Items, viewTick(paused))
			from.Limit--
		}
	}
	ticks, next, err := c.ledger(s.Name, from)
	if err != nil {
		return err
	}
	for i := range ticks {
		list.Items = append(list.Items, viewTick(&ticks[i]))
	}
	list.Next = orNull(next)
	return c.answer(200, &list)
}

// ledger reads a page of ticks, which may be one of none.
func (c *call) ledger(name string, page store.Page) (ticks []jobs.Tick, next string, err error) {
	if page.Limit > 0 {
		ticks, next, err = c.s.rt.Store().Ticks(c.ctx(), name, page)
		return ticks, next, within("query", err)
	}
	page.Limit = 1
	ticks, _, err = c.s.rt.Store().Ticks(c.ctx(), name, page)
	if err != nil || len(ticks) == 0 {
		return nil, "", err
	}
	return nil, cursorLedger, nil
}

// pausedTicks are the ticks that have come since a schedule was paused. They are kept when it is
// resumed; nil: there are none.
func pausedTicks(s *store.Schedule, now jobs.Time) *jobs.Tick {
	if s.PausedAt == 0 {
		return nil
	}
	table, err := s.Timetable(s.Anchor)
	if err != nil {
		return nil
	}
	plan := jobs.PlanTicks(jobs.TickInput{
		Timetable: table, CatchUp: s.CatchUp, Cursor: s.Cursor, Now: now, Paused: true,
	})
	if len(plan.Skipped) == 0 {
		return nil
	}
	r := plan.Skipped[0]
	return &jobs.Tick{From: r.From, To: r.To, Count: r.Count, Outcome: jobs.TickSkipped, Reason: r.Reason}
}
