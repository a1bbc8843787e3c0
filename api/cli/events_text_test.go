package cli

import (
	"testing"
	"time"

	"nightshift/jobs"
)

func TestEventsOfTheEndsOfRunsAreSaidInWords(t *testing.T) {
	down := &jobs.EventError{Kind: jobs.FailHTTP, Type: "http", Message: "HTTP 503"}
	for want, e := range map[string]*jobs.CloudEvent{
		"sync failed: http: HTTP 503": said(jobs.EventRunFailed, &jobs.RunFailed{Job: "sync", Attempts: 1, Error: down}),
		"sync failed after 4 attempts: http: HTTP 503": said(jobs.EventRunFailed,
			&jobs.RunFailed{Job: "sync", Attempts: 4, Error: down}),
		"sync failed 12 times: http: HTTP 503": said(jobs.EventRunFailed,
			&jobs.RunFailed{Job: "sync", Attempts: 4, Error: down, Count: 12}),
		"TEST, made up: http: HTTP 503":                  said(jobs.EventRunFailed, &jobs.RunFailed{Error: down, Test: true}),
		"sync is well again: 3 runs in a row had failed": said(jobs.EventRunRecovered, &jobs.RunRecovered{Job: "sync", InARow: 3}),
		"sync is well again":                             said(jobs.EventRunRecovered, &jobs.RunRecovered{Job: "sync"}),
		"sync succeeded":                                 said(jobs.EventRunSucceeded, &jobs.RunSucceeded{Job: "sync"}),
		"alert failures told nobody, by tell: http: HTTP 503": said(jobs.EventAlertUndelivered,
			&jobs.AlertUndelivered{Alert: "failures", Job: "tell", Error: down}),
		"job sync: it has not ended 30m after its first attempt started": {
			Type: jobs.EventRunLong, Data: (&jobs.RunLong{Job: "sync", LongAfter: jobs.Duration(30 * time.Minute)}).Data(),
		},
	} {
		if got := eventText(e); got != want {
			t.Errorf("%s: %s, want %s", e.Type, got, want)
		}
	}
}

func said(typ string, data any) *jobs.CloudEvent {
	return &jobs.CloudEvent{Type: typ, Data: jobs.AppendJSON(nil, data)}
}
