package web

import (
	"maps"
	"net/http"
	"net/url"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func runPages() []page {
	return []page{
		{pattern: "GET /runs", handle: listRuns},
		{pattern: "GET /runs/{id}", handle: onRun(showRun)},
		{pattern: "GET /runs/{id}/live", handle: onRun(followRun)},
		{pattern: "GET /runs/{id}/log", handle: onRun(downloadLog)},
		{pattern: "POST /runs/{id}/cancel", handle: onRun(cancelRun)},
		{pattern: "POST /runs/{id}/run-now", handle: onRun(runNow)},
		{pattern: "POST /runs/{id}/requeue", handle: onRun(requeueRun)},
		{pattern: "POST /runs/{id}/delete", handle: onRun(deleteRun)},
		{pattern: "POST /runs/{id}/drop-checkpoint", handle: onRun(dropCheckpoint)},
	}
}

// runFilters are the parameters of the page of runs that the API takes as they are.
var runFilters = []string{"job", "state", "q", "queue", "schedule", "trigger", "label", "error_kind", "error_type", "since", "until", "correlation_id"}

// listedRuns is the data of the page of runs.
type listedRuns struct {
	Runs  []wire.Run
	Next  *string
	Wrong []jobs.Fault // what is wrong with the filters
	Query url.Values
	More  bool // it is filtered by what is rarely asked for
}

func listRuns(v *view) error {
	v.Nav, v.Watch = "/runs", "?"
	filter := url.Values{}
	for _, name := range runFilters {
		if values := v.Query()[name]; len(values) > 0 {
			filter[name] = values
		}
	}
	data := listedRuns{Query: filter}
	for name := range filter {
		data.More = data.More || name != "state" && name != "job" && name != "q"
	}
	asked, wrong := v.timesOf(filter)
	if wrong != nil {
		data.Wrong = wrong
		return v.showAs(http.StatusUnprocessableEntity, "runs", "Runs", data)
	}
	list, err := v.API.Runs(v.ctx(), asked, v.page(50))
	if p := problem(err); p != nil && p.Status == 422 {
		data.Wrong = p.Errors
	} else if err != nil {
		return err
	}
	data.Runs, data.Next = list.Items, list.Next
	return v.show("runs", "Runs", data)
}

// timesOf is a filter as the API wants it: in since and until, lengths of time mean so long ago, and times without a
// zone are the viewer's.
func (v *view) timesOf(filter url.Values) (asked url.Values, wrong []jobs.Fault) {
	asked = maps.Clone(filter)
	for _, name := range []string{"since", "until"} {
		text := filter.Get(name)
		if text == "" {
			continue
		}
		at, ok := v.timeOf(text)
		if !ok {
			wrong = append(wrong, jobs.Fault{
				Location: name, Message: "want a time such as 2026-11-29T02:00:00Z or 2026-11-29 02:00, or how long ago, such as 24h",
			})
			continue
		}
		asked.Set(name, at.String())
	}
	return asked, wrong
}

// timeOf reads an instant as people write one.
func (v *view) timeOf(text string) (jobs.Time, bool) {
	if t, err := jobs.ParseTime(text); err == nil {
		return t, true
	}
	if d, err := jobs.ParseDuration(text); err == nil {
		return jobs.TimeOf(v.At.Now.Add(-d.Std())), true
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, v.At.Now.Location()); err == nil {
			return jobs.TimeOf(t), true
		}
	}
	return 0, false
}
