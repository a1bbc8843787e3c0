package wire

import "nightshift/jobs"

// Alerts is a page of alerts, newest first.
type Alerts struct {
	Items []*jobs.Alert `json:"items"`
	Next  *string       `json:"next"`
	Limit int           `json:"limit"`
}

// AlertTest asks for a failure that is made up, to see that it is told.
type AlertTest struct {
	Job string `json:"job,omitempty" doc:"The job whose failure is made up; left out: one of no job, which every alert on run.failed tells"`
}

// AlertTested says who is about to be told of a made failure.
type AlertTested struct {
	Event         string   `json:"event" doc:"The id of the event that was made"`
	CorrelationID string   `json:"correlation_id" doc:"Of the runs that tell of it: GET /v1/runs?correlation_id= follows them"`
	Alerts        []string `json:"alerts" doc:"The alerts that tell of it, by name: each makes a run of its job"`
}

// AlertState says how it stands with those who are told.
type AlertState struct {
	FailuresTold bool `json:"failures_told" doc:"An alert tells of failed runs, of some jobs at least; false: failures are silent"`
	Undelivered  int  `json:"undelivered" doc:"Runs of alerts that failed for good and that nobody has dealt with, counted up to 1,000"`
}
