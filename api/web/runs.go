package web

import (
	"net/url"

	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

func runPages() []page {
	return []page{
		{pattern: "GET /runs", handle: listRuns},
		{pattern: "GET /runs/{id}", handle: showRun},
		{pattern: "POST /runs/{id}/cancel", handle: cancelRun},
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
	list, err := v.API.Runs(v.ctx(), filter, v.page(50))
	if p := problem(err); p != nil && p.Status == 422 {
		data.Wrong = p.Errors
	} else if err != nil {
		return err
	}
	data.Runs, data.Next = list.Items, list.Next
	return v.show("runs", "Runs", data)
}

// shownRun is the data of the page of a run.
type shownRun struct {
	Run   wire.Run
	Why   string
	Ended bool
}

func showRun(v *view) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	run, err := v.API.Run(v.ctx(), id, 0)
	if err != nil {
		return err
	}
	v.Nav, v.Watch = "/runs", "?run="+id.String()
	return v.show("run", "Run of "+run.Job, shownRun{Run: run, Why: v.At.Why(&run), Ended: words.Ended(&run)})
}

func cancelRun(v *view) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	run, err := v.API.Cancel(v.ctx(), id)
	if err != nil {
		return err
	}
	said := "The run is cancelled."
	if !words.Ended(&run) {
		said = "The attempt is being stopped; then the run is cancelled."
	}
	return v.done("/runs/"+id.String(), said)
}
