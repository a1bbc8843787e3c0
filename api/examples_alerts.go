package api

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func sampleAlert() jobs.Alert {
	return jobs.Alert{
		Name: "data-failures", On: []string{jobs.EventRunFailed, jobs.EventRunRecovered}, If: `labels.team == "data"`,
		Run: "mail-out", Throttle: new(jobs.Duration(10 * time.Minute)), After: 2,
		Set: "default", CreatedAt: sampleStart, UpdatedAt: sampleStart,
	}
}

func sampleTested() wire.AlertTested {
	return wire.AlertTested{Event: "412", CorrelationID: "event-412", Alerts: []string{"data-failures"}}
}
