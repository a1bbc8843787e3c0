package api

import (
	"fmt"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// Bounds of the count of a preview.
const (
	defaultPreview = 10
	maxPreview     = 1000
)

// previewSchedule says when a schedule would tick, by the code that makes it tick.
func previewSchedule(c *call) error {
	var body wire.SchedulePreview
	if err := c.decode(&body, func() []jobs.Fault { return checkPreview(&body) }); err != nil {
		return err
	}
	s, from := previewed(&body), body.From
	if from == 0 {
		from = c.s.rt.Now()
	}
	table, err := s.Timetable(from)
	if err != nil {
		return within("body", err)
	}
	count := defaultPreview
	if body.Count != nil {
		count = *body.Count
	}
	view := wire.PreviewedSchedule{Items: make([]jobs.Time, 0, count), Reads: s.Reads()}
	for at := table.Next(from); at != 0 && len(view.Items) < count; at = table.Next(at) {
		view.Items = append(view.Items, at)
	}
	return c.answer(200, &view)
}

// previewed is the schedule that a preview asks about.
func previewed(p *wire.SchedulePreview) *jobs.Schedule {
	return &jobs.Schedule{Cron: p.Cron, Every: p.Every, Timezone: p.Timezone, Start: p.Start, End: p.End}
}

func checkPreview(p *wire.SchedulePreview) (found []jobs.Fault) {
	for _, f := range previewed(p).Check() {
		if f.Location != "job" { // a preview is of none
			found = append(found, f)
		}
	}
	if p.Count != nil && (*p.Count < 1 || *p.Count > maxPreview) {
		found = append(found, jobs.Fault{
			Location: "count", Message: fmt.Sprintf("is %d: want a whole number from 1 to %d", *p.Count, maxPreview),
		})
	}
	return found
}
