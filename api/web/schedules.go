package web

import (
	"net/http"
	"net/url"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

func schedulePages() []page {
	return []page{
		{pattern: "GET /schedules", handle: listSchedules},
		{pattern: "GET /schedules/{name}", handle: showSchedule},
		{pattern: "POST /schedules/{name}/pause", handle: pauseSchedule},
		{pattern: "POST /schedules/{name}/resume", handle: resumeSchedule},
	}
}

// linesShown is how many schedules a page shows on the time line.
const linesShown = 25

// listedSchedules is the data of the page of schedules.
type listedSchedules struct {
	Q     string
	Now   jobs.Time
	Lines []shownLine
	Next  *string
	Try   triedLine
}

func listSchedules(v *view) error {
	v.Nav, v.Watch = "/schedules", "?"
	data := listedSchedules{Q: v.query("q")}
	filter := url.Values{"step": {"1h"}} // wide enough for a phone to tell them apart
	if data.Q != "" {
		filter.Set("q", data.Q)
	}
	line, err := v.API.Timeline(v.ctx(), filter, v.page(linesShown))
	if err != nil {
		return err
	}
	data.Next, data.Now = line.Next, line.Now
	for i := range line.Items {
		data.Lines = append(data.Lines, drawn(&line, i))
	}
	if data.Try, err = v.tryLine(); err != nil {
		return err
	}
	return v.show("schedules", "Schedules", data)
}

// oneSchedule is the data of the page of a schedule.
type oneSchedule struct {
	Schedule wire.StandingSchedule
	Now      jobs.Time
	Line     shownLine
	Upcoming []jobs.Time
	Ticks    wire.Ticks
	Payload  string
	Try      triedLine
}

const (
	upcomingShown = 10
	ticksListed   = 50
)

func showSchedule(v *view) error {
	name := v.r.PathValue("name")
	s, _, err := v.API.Schedule(v.ctx(), name)
	if err != nil {
		return err
	}
	v.Nav, v.Watch = "/schedules", "?"+url.Values{"job": {s.Job}}.Encode()
	data := oneSchedule{Schedule: s}
	if s.Payload != nil {
		data.Payload = indented(s.Payload)
	}
	line, err := v.API.Timeline(v.ctx(), url.Values{"schedule": {name}}, client.Page{})
	if err != nil {
		return err
	}
	data.Now, data.Line = line.Now, drawn(&line, 0)
	if data.Upcoming, err = v.upcoming(&s); err != nil {
		return err
	}
	if data.Ticks, err = v.API.Ticks(v.ctx(), name, v.page(ticksListed)); err != nil {
		return err
	}
	if data.Try, err = v.tryLine(); err != nil {
		return err
	}
	if !data.Try.Asked {
		data.Try.Cron, data.Try.Timezone = s.Cron, s.Timezone
		if s.Every != nil {
			data.Try.Every = s.Every.String()
		}
	}
	return v.show("schedule", s.Name, data)
}

// upcoming are the next ticks of a schedule.
func (v *view) upcoming(s *wire.StandingSchedule) (list []jobs.Time, err error) {
	if s.Next == 0 {
		return nil, nil
	}
	if s.Every != nil { // the preview does not know what it counts from: the next tick does
		for t := s.Next; len(list) < upcomingShown && (s.End == 0 || t <= s.End); t = t.Add(s.Every.Std()) {
			list = append(list, t)
		}
		return list, nil
	}
	out, err := v.API.PreviewSchedule(v.ctx(), wire.SchedulePreview{
		Cron: s.Cron, Timezone: s.Timezone, Start: s.Start, End: s.End, Count: new(upcomingShown),
	})
	return out.Items, err
}

// triedLine is a line that somebody tries out, and when it would tick.
type triedLine struct {
	Cron, Every, Timezone string
	Asked                 bool
	Refused               *client.Problem
	Reads                 string
	Items                 []jobs.Time
}

// tryLine reads a line from the address, and asks when it would tick.
func (v *view) tryLine() (t triedLine, err error) {
	t.Cron, t.Every, t.Timezone = strings.TrimSpace(v.query("cron")), strings.TrimSpace(v.query("every")),
		strings.TrimSpace(v.query("timezone"))
	if t.Asked = t.Cron != "" || t.Every != ""; !t.Asked {
		return t, nil
	}
	in := wire.SchedulePreview{Cron: t.Cron, Timezone: t.Timezone, Count: new(upcomingShown)}
	if t.Every != "" {
		every, err := jobs.ParseDuration(t.Every)
		if err != nil {
			t.Refused = &client.Problem{Problem: wire.Problem{
				Title: "The interval is none", Status: http.StatusUnprocessableEntity, Detail: "Want a duration such as 15m or 1h30m.",
			}}
			return t, nil
		}
		in.Every = &every
	}
	out, err := v.API.PreviewSchedule(v.ctx(), in)
	if t.Refused = problem(err); t.Refused != nil {
		return t, nil
	}
	t.Reads, t.Items = out.Reads, out.Items
	return t, err
}

func pauseSchedule(v *view) error {
	name := v.r.PathValue("name")
	if _, err := v.API.PauseSchedule(v.ctx(), name, v.form("note")); err != nil {
		return err
	}
	return v.done("/schedules/"+url.PathEscape(name), "The schedule is paused: its ticks are skipped until it is resumed.")
}

func resumeSchedule(v *view) error {
	name := v.r.PathValue("name")
	s, err := v.API.ResumeSchedule(v.ctx(), name, v.form("note"))
	if err != nil {
		return err
	}
	said := "The schedule goes on. What it has skipped is not made up for."
	if s.Next != 0 {
		said = "The schedule goes on, next " + v.At.Clock(s.Next) + ". What it has skipped is not made up for."
	}
	return v.done("/schedules/"+url.PathEscape(name), said)
}
