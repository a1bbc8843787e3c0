package web

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// shownSchedule is a schedule of a job, with the ticks after the next one.
type shownSchedule struct {
	wire.StandingSchedule
	Then []jobs.Time
}

// Bounds of the ticks that the page of a job shows.
const (
	schedulesAhead = 5
	ticksAhead     = 3
)

// schedulesOf reads the schedules of a job and when they tick next.
func (v *view) schedulesOf(job string) ([]shownSchedule, error) {
	list, err := v.API.Schedules(v.ctx(), job, client.Page{Limit: 50})
	if err != nil {
		return nil, err
	}
	all := make([]shownSchedule, len(list.Items))
	for i, s := range list.Items {
		all[i].StandingSchedule = s
		if s.Next == 0 || s.Cron == "" || i >= schedulesAhead {
			continue
		}
		count := ticksAhead - 1
		ahead, err := v.API.PreviewSchedule(v.ctx(), wire.SchedulePreview{
			Cron: s.Cron, Timezone: s.Timezone, Start: s.Start, End: s.End, From: s.Next, Count: &count,
		})
		if problem(err) != nil { // one that ticks at starts alone, say
			continue
		} else if err != nil {
			return nil, err
		}
		all[i].Then = ahead.Items
	}
	return all, nil
}

// gate is what the runs of a job may have to wait for.
type gate struct {
	What string
	Name string // of the dependency; "": it is the job's own
	Says string
}

// gatesOf are those that the document of a job names.
func gatesOf(j *jobs.Job) (all []gate) {
	by := func(key string) string {
		if key == "" {
			return ""
		}
		return " for each " + key
	}
	if c := j.Concurrency; c != nil {
		all = append(all, gate{What: "Concurrency", Says: words.CountOf(c.Limit, "run") + " at once" + by(c.Key)})
	}
	if r := j.Rate; r != nil {
		all = append(all, gate{What: "Rate", Says: fmt.Sprintf("%s per %s%s", words.CountOf(r.Limit, "start"), r.Per, by(r.Key))})
	}
	if u := j.Unique; u != nil {
		while, conflict := u.While, u.OnConflict
		if while == "" {
			while = jobs.WhileActive
		}
		if conflict == "" {
			conflict = jobs.ConflictExisting
		}
		key := u.Key
		if key == "" {
			key = "job"
		}
		all = append(all, gate{What: "Unique", Says: "one run for each " + key + " (" + while + "; else " + conflict + ")"})
	}
	for _, name := range j.Dependencies {
		all = append(all, gate{What: "Dependency", Name: name, Says: name})
	}
	return all
}

// wentBy is how the newest runs of a job that have ended went.
type wentBy struct {
	Ended     int
	Succeeded int
	outcomes
	Half, Most string // within which half and 95 of 100 of them ended; "": none has run
}

// endedRuns is how many runs that have ended the page of a job sums up.
const endedRuns = 100

func (v *view) wentOf(job string) (w wentBy, err error) {
	filter := url.Values{"job": {job}, "state": {"succeeded,failed,cancelled"}}
	list, err := v.API.Runs(v.ctx(), filter, client.Page{Limit: endedRuns})
	if err != nil {
		return w, err
	}
	var took []time.Duration
	for i := range list.Items {
		r := &list.Items[i]
		if r.State == jobs.Succeeded.String() {
			w.Succeeded++
		}
		if r.State != jobs.Cancelled.String() {
			w.Ended++
		}
		if r.StartedAt != 0 {
			took = append(took, r.FinishedAt.Sub(r.StartedAt))
		}
	}
	w.outcomes = outcomesOf(list.Items)
	slices.Sort(took)
	if n := len(took); n > 0 {
		w.Half, w.Most = words.Roundly(took[(n-1)/2]), words.Roundly(took[(95*n+99)/100-1])
	}
	return w, nil
}
