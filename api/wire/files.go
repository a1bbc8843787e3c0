package wire

import "nightshift/jobs"

// Applied says what an apply did, or with dry_run would do.
type Applied struct {
	Items    []AppliedItem `json:"items" doc:"Policies, queues, dependencies, jobs, schedules by themselves, then alerts, in the order of the call, then what was pruned"`
	Warnings []Warning     `json:"warnings"`
}

// AppliedItem is what became of one document.
type AppliedItem struct {
	Kind          string        `json:"kind" enum:"job,policy,queue,dependency,schedule,alert"`
	Name          string        `json:"name"`
	Version       *int          `json:"version" doc:"Of a job: what it executes; null: there is none"`
	Action        string        `json:"action" enum:"created,changed,adopted,unchanged,removed" doc:"adopted: it is as it was, and bears the set from now on"`
	Changes       []jobs.Change `json:"changes" doc:"The fields that changed; before or after is left out where it was not there, or is there no more"`
	CancelledRuns int           `json:"cancelled_runs,omitempty" doc:"Of a job that was removed"`
}

// Warning is what will keep a document from doing its work as it stands.
type Warning struct {
	Kind    string `json:"kind" enum:"job,policy"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Export is a job file in JSON: documents byte for byte as they stand.
type Export struct {
	Policies     []jobs.Raw `json:"policies,omitempty"`
	Queues       []jobs.Raw `json:"queues,omitempty"`
	Dependencies []jobs.Raw `json:"dependencies,omitempty"`
	Jobs         []jobs.Raw `json:"jobs"`
	Schedules    []jobs.Raw `json:"schedules,omitempty"`
	Alerts       []jobs.Raw `json:"alerts,omitempty"`
}

// Policies is a page of policies, newest first. The policy default is the last one while it is as it
// is built in.
type Policies struct {
	Items []*jobs.Policy `json:"items"`
	Next  *string        `json:"next"`
	Limit int            `json:"limit"`
}
