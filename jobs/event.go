package jobs

// Types of events (contract 10).
const (
	EventDependencyOpened = "dependency.opened"
	EventDependencyClosed = "dependency.closed"
	EventScheduleMissed   = "schedule.missed"
	EventScheduleLate     = "schedule.late"

	EventRunFailed      = "run.failed" // for good
	EventRunRecovered   = "run.recovered"
	EventRunSucceeded   = "run.succeeded" // only where an alert asks
	EventRunLong        = "run.long"
	EventRunInterrupted = "run.interrupted" // the fifth in a row without a new checkpoint

	EventGroupPartial     = "group.partial"
	EventQueueStuck       = "queue.stuck"
	EventFailuresMany     = "failures.many"
	EventAlertUndelivered = "alert.undelivered"
	EventDiskLow          = "disk.low"
	EventKeepExceeded     = "keep.exceeded" // no more of it may be pruned
	EventBackupFailed     = "backup.failed"
	EventBackupStale      = "backup.stale"
)

// EventRunChanged is told to those who follow what happens now (live=1), and kept nowhere.
const EventRunChanged = "run.changed"

// EventTypes are all that are kept.
var EventTypes = []string{
	EventRunFailed, EventRunRecovered, EventRunSucceeded, EventRunLong, EventRunInterrupted, EventScheduleLate,
	EventScheduleMissed, EventGroupPartial, EventQueueStuck, EventFailuresMany, EventDependencyOpened,
	EventDependencyClosed, EventAlertUndelivered, EventDiskLow, EventKeepExceeded, EventBackupFailed, EventBackupStale,
}

// CloudEventsVersion is the version of the specification that a CloudEvent follows.
const CloudEventsVersion = "1.0"

// CloudEvent is an event as it is told: CloudEvents 1.0 in JSON. An attribute that would say what
// holds without it, such as datacontenttype, is left out.
type CloudEvent struct {
	SpecVersion string `json:"specversion" doc:"1.0"`
	ID          string `json:"id" doc:"A number, unique for the source; later events have larger ones"`
	Source      string `json:"source" doc:"The server: its --url, else where it listens, as a URL"`
	Type        string `json:"type" doc:"What happened, such as dependency.opened"`
	Subject     string `json:"subject" doc:"What it is about, such as run/ID, dependency/stripe or schedule/nightly-sync:default"`
	Time        Time   `json:"time" doc:"When it happened"`
	Data        Raw    `json:"data" doc:"By the type: RunFailed of run.failed, DependencyOpened of dependency.opened and so on"`
}

// DependencyOpened is the data of EventDependencyOpened.
type DependencyOpened struct {
	Name   string  `json:"name" doc:"Of the dependency; that of a webhook's host is host:port"`
	Reason string  `json:"reason" doc:"What opened its breaker, in words"`
	Until  Time    `json:"until" doc:"When a run may probe it"`
	Run    ID      `json:"run" doc:"Whose attempt was the last straw; null: somebody tripped it"`
	Job    *string `json:"job" doc:"Of that run"`
}

// DependencyClosed is the data of EventDependencyClosed.
type DependencyClosed struct {
	Name     string  `json:"name" doc:"Of the dependency; that of a webhook's host is host:port"`
	Reason   string  `json:"reason" doc:"the probe succeeded, reset and what was noted with it, or its breaker was taken away"`
	OpenedAt Time    `json:"opened_at" doc:"When its breaker had opened"`
	Run      ID      `json:"run" doc:"That probed it, or ended first without a breaker; null: somebody reset it"`
	Job      *string `json:"job" doc:"Of that run"`
}

// DependencyEvent is a breaker that has opened or closed.
type DependencyEvent struct {
	Type string       // what Hear, Trip or Reset gave
	Gate *Gate        // as it is now
	Was  BreakerState // before
	Run  ID           // whose attempt did it; NilID: somebody did it by hand
	Job  string       // of that run
	Note string       // of who reset it
}

// Subject is what the event is about.
func (e *DependencyEvent) Subject() string { return "dependency/" + e.Gate.Name }

// Data is a DependencyOpened or DependencyClosed.
func (e *DependencyEvent) Data() Raw {
	var job *string
	if e.Job != "" {
		job = &e.Job
	}
	if e.Type == EventDependencyOpened {
		st := &e.Gate.State
		return AppendJSON(nil, &DependencyOpened{
			Name: e.Gate.Name, Reason: st.Reason, Until: max(st.ProbeAt, st.HeldUntil),
			Run: e.Run, Job: job,
		})
	}
	return AppendJSON(nil, &DependencyClosed{
		Name: e.Gate.Name, Reason: e.whyClosed(), OpenedAt: e.Was.Since, Run: e.Run, Job: job,
	})
}

func (e *DependencyEvent) whyClosed() string {
	switch {
	case e.Gate.Breaker == nil:
		return "its breaker was taken away"
	case !e.Run.IsNil():
		return "the probe succeeded"
	case e.Note != "":
		return "reset: " + e.Note
	}
	return "reset"
}
