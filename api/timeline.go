package api

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// Bounds of a time line.
const (
	spanDefault = 24 * time.Hour
	spanMost    = 7 * 24 * time.Hour
	stepDefault = 30 * time.Minute
	stepLeast   = time.Minute
	cellsMost   = 500
	rowsMost    = 100    // schedules on a page
	ticksOfOne  = 5_000  // lines of one ledger that are looked at
	ticksOfPage = 50_000 // and of all on a page
)

func wrongSpan(values []string) string {
	if d, err := jobs.ParseDuration(values[0]); err != nil || d < 0 || d.Std() > spanMost {
		return "want a duration from 0s to 7d, such as 24h"
	}
	return ""
}

func wrongCell(values []string) string {
	if d, err := jobs.ParseDuration(values[0]); err != nil || d.Std() < stepLeast || d.Std() > spanMost {
		return "want a duration from 1m to 7d, such as 30m"
	}
	return ""
}

// span is a duration of the query, whose parameters have been looked at.
func (c *call) span(name string, standard time.Duration) time.Duration {
	d, err := jobs.ParseDuration(c.query.Get(name))
	if err != nil {
		return standard
	}
	return d.Std()
}

// lineOf is the line that a query asks for, without its schedules.
func (c *call) lineOf() (line wire.Timeline, err error) {
	step := c.span("step", stepDefault)
	line.Now, line.Step = c.s.rt.Now(), jobs.Duration(step)
	floor := func(t jobs.Time) jobs.Time { return t - t%jobs.Time(step.Milliseconds()) }
	line.From = floor(line.Now.Add(-c.span("back", spanDefault)))
	line.Until = floor(line.Now.Add(c.span("ahead", spanDefault))).Add(step)
	if line.Until.Sub(line.From)/step > cellsMost {
		return line, refuse(probInvalid, "the line would have more than 500 cells: ask for a longer step, or for less of it")
	}
	return line, nil
}

func showTimeline(c *call) error {
	line, err := c.lineOf()
	if err != nil {
		return err
	}
	page := c.page()
	page.Limit = min(page.Limit, rowsMost)
	line.Limit, line.Items = page.Limit, []wire.TimelineRow{}
	var all []*store.Schedule
	var next string
	if name := c.query.Get("schedule"); name != "" {
		s, err := c.readSchedule(name)
		if err != nil {
			return err
		}
		all = append(all, s)
	} else {
		f := store.ScheduleFilter{Job: c.query.Get("job"), Text: c.query.Get("q"), Allowed: c.who.Jobs}
		if all, next, err = c.s.rt.Store().Schedules(c.ctx(), f, page); err != nil {
			return within("query", err)
		}
	}
	line.Next = orNull(next)
	left := ticksOfPage
	for _, s := range all {
		row, looked, err := c.rowOf(s, &line, min(left, ticksOfOne))
		if err != nil {
			return err
		}
		left -= looked
		line.Items = append(line.Items, row)
	}
	return c.answer(200, &line)
}

// cells gathers the ticks of one schedule.
type cells struct {
	from  jobs.Time
	step  jobs.Time // milliseconds
	count []wire.TickCounts
}

// add counts ticks into the cells that they are in. of counts those of a stretch; nil: that is not known.
func (c *cells) add(r jobs.TickRange, of func(from, to jobs.Time) int, take func(*wire.TickCounts, int)) {
	end := c.from + c.step*jobs.Time(len(c.count))
	if r.Count == 0 || r.To < c.from || r.From >= end {
		return
	}
	left := r.Count
	for at := max(r.From, c.from); at <= r.To && at < end; {
		i := (at - c.from) / c.step
		last := min(c.from+(i+1)*c.step-1, r.To)
		n := left
		if of != nil && r.From < r.To && last < r.To { // what a stretch of another text lacks stands at its end
			n = min(of(at, last), left)
		}
		take(&c.count[i], n)
		if left -= n; left == 0 {
			return
		}
		at = last + 1
	}
}

// rowOf reads the line of a schedule, and says how many lines of its ledger it has looked at.
func (c *call) rowOf(s *store.Schedule, line *wire.Timeline, most int) (row wire.TimelineRow, looked int, err error) {
	shown := viewSchedule(s, line.Now)
	row = wire.TimelineRow{
		Schedule: s.Name, Job: s.Job, Reads: shown.Reads, Timezone: s.Timezone, Paused: shown.Paused, PauseNote: s.PauseNote,
		JobPaused: s.JobPaused, NextTick: shown.Next, Last: shown.Last, Cells: []wire.TimelineCell{},
	}
	if row.Timezone == "" {
		row.Timezone = "UTC"
	}
	grid := cells{from: line.From, step: jobs.Time(line.Step.Std().Milliseconds())}
	grid.count = make([]wire.TickCounts, (line.Until-line.From)/grid.step)
	table, err := s.Timetable(s.Anchor)
	var of func(from, to jobs.Time) int
	if err == nil {
		of = table.Count
		grid.expect(s, line, table)
	}
	if paused := pausedTicks(s, line.Now); paused != nil {
		grid.decided(paused, of)
	}
	if looked, row.Cut, err = c.readCells(&grid, s.Name, of, most); err != nil {
		return row, looked, err
	}
	for i, n := range grid.count {
		if n != (wire.TickCounts{}) {
			row.Cells = append(row.Cells, wire.TimelineCell{At: grid.from + grid.step*jobs.Time(i), TickCounts: n})
			row.Total.Add(n)
		}
	}
	return row, looked, nil
}

// expect counts the ticks that are to come, and those that have come and are not decided.
func (c *cells) expect(s *store.Schedule, line *wire.Timeline, table *jobs.Timetable) {
	pending := func(n *wire.TickCounts, k int) { n.Pending += k }
	c.add(s.Backlog, table.Count, pending)
	if s.PausedAt != 0 {
		return
	}
	if from := max(s.Cursor+1, line.From); from <= line.Now {
		c.add(jobs.TickRange{From: from, To: line.Now, Count: table.Count(from, line.Now)}, table.Count, pending)
	}
	c.add(jobs.TickRange{From: line.Now + 1, To: line.Until - 1, Count: table.Count(line.Now+1, line.Until-1)}, table.Count,
		func(n *wire.TickCounts, k int) { n.Planned += k })
}

// decided counts a line of the ledger.
func (c *cells) decided(t *jobs.Tick, of func(from, to jobs.Time) int) {
	r := jobs.TickRange{From: t.From, To: t.To, Count: t.Count}
	if cut := max(t.From, c.from); of != nil && cut > t.From && t.To >= cut {
		r.From, r.Count = cut, min(of(cut, t.To), t.Count)
	}
	c.add(r, of, func(n *wire.TickCounts, k int) {
		switch {
		case t.Outcome == jobs.TickRan:
			n.Ran += k
		case t.Outcome == jobs.TickCaughtUp:
			n.CaughtUp += k
		case t.Reason == jobs.SkipMissed || t.Reason == jobs.SkipLimit:
			n.Missed += k
		default:
			n.Skipped += k
		}
		if t.Late {
			n.Late += k
		}
	})
}

// readCells counts what the ledger holds of the line, newest first; cut: there is more than most.
func (c *call) readCells(
	grid *cells, name string, of func(from, to jobs.Time) int, most int,
) (looked int, cut bool, err error) {
	for page := (store.Page{Limit: 200}); ; {
		ticks, next, err := c.s.rt.Store().Ticks(c.ctx(), name, page)
		if err != nil {
			return looked, cut, err
		}
		for i := range ticks {
			if ticks[i].To < grid.from {
				return looked, false, nil
			}
			grid.decided(&ticks[i], of)
		}
		if looked += len(ticks); next == "" {
			return looked, false, nil
		}
		if looked >= most {
			return looked, true, nil
		}
		page.Cursor, page.Limit = next, 1000
	}
}
