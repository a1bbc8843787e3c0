package jobs

// EventError is why a run failed, as events tell it.
type EventError struct {
	Kind    FailureKind `json:"kind" doc:"The sort of the error, as rules see it"`
	Type    string      `json:"type" doc:"The exception's class, else the kind"`
	Message string      `json:"message" doc:"One line"`
}

// EventErrorOf is what events tell of a failure; nil: nothing.
func EventErrorOf(f *Failure) *EventError {
	if f == nil {
		return nil
	}
	return &EventError{f.Kind, f.Type, f.Message}
}

// RunFailed is the data of EventRunFailed: a run that has failed for good.
type RunFailed struct {
	Job         string            `json:"job" doc:"Whose run it is"`
	Run         ID                `json:"run" doc:"That failed; null: it is a test"`
	Labels      map[string]string `json:"labels" doc:"Of the run"`
	Error       *EventError       `json:"error" doc:"Of its last attempt"`
	Attempts    int               `json:"attempts" doc:"That it had; 0: it could not be started"`
	Correlation string            `json:"correlation_id" doc:"Of the run"`
	Schedule    *string           `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
	Group       ID                `json:"group" doc:"The run of the group it belongs to; null: none"`
	Fingerprint string            `json:"fingerprint" doc:"Of failures that are alike"`
	InARow      int               `json:"in_a_row" doc:"Failed runs of its job and schedule in a row, this one included"`
	Keys        map[string]int    `json:"keys,omitempty" doc:"The same for each alert with a key: ALERT=KEY"`
	Count       int               `json:"count,omitempty" doc:"Failures that it tells of; left out: one"`
	FirstAt     Time              `json:"first_at,omitzero" doc:"Of several the first"`
	Test        bool              `json:"test,omitempty" doc:"It was made up: nothing has failed"`
}

// RunRecovered is the data of EventRunRecovered: a run that has succeeded after others had failed.
type RunRecovered struct {
	Job         string            `json:"job" doc:"Whose run it is"`
	Run         ID                `json:"run" doc:"That succeeded"`
	Labels      map[string]string `json:"labels" doc:"Of the run"`
	Attempts    int               `json:"attempts" doc:"That it had"`
	Correlation string            `json:"correlation_id" doc:"Of the run"`
	Schedule    *string           `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
	InARow      int               `json:"in_a_row" doc:"Runs of its job and schedule that had failed in a row; 0: only some that an alert counts by its key"`
	FirstAt     Time              `json:"first_at" doc:"When the first of them had failed"`
	LastAt      Time              `json:"last_at" doc:"When the last of them had"`
	Keys        map[string]int    `json:"keys,omitempty" doc:"Those in a row for each alert with a key: ALERT=KEY"`
}

// RunSucceeded is the data of EventRunSucceeded.
type RunSucceeded struct {
	Job         string            `json:"job" doc:"Whose run it is"`
	Run         ID                `json:"run" doc:"That succeeded"`
	Labels      map[string]string `json:"labels" doc:"Of the run"`
	Attempts    int               `json:"attempts" doc:"That it had"`
	Correlation string            `json:"correlation_id" doc:"Of the run"`
	Schedule    *string           `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
}

// RunChanged is the data of EventRunChanged: how a run stands that was made, or has changed. Without a run it says
// that many have changed: look again at whatever you show.
type RunChanged struct {
	Run      ID        `json:"run" doc:"That changed; null: many did"`
	Job      *string   `json:"job" doc:"Whose run it is; null: many changed"`
	State    string    `json:"state,omitempty" doc:"As in the run; left out: many changed"`
	Attempt  int       `json:"attempt,omitempty" doc:"Executions so far"`
	Group    ID        `json:"group" doc:"The run of the group it belongs to; null: none"`
	Schedule *string   `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
	Progress *Progress `json:"progress" doc:"The last it has said; null: nothing"`
}

// AlertUndelivered is the data of EventAlertUndelivered: what an alert was to tell of was told to nobody.
type AlertUndelivered struct {
	Alert       string      `json:"alert" doc:"Its name"`
	Job         string      `json:"job" doc:"That was to tell"`
	Run         ID          `json:"run" doc:"That failed for good; null: none could be made"`
	Error       *EventError `json:"error" doc:"Why"`
	Attempts    int         `json:"attempts" doc:"That it had"`
	Correlation string      `json:"correlation_id" doc:"Of that run, and of what it was to tell of"`
}

// RunEvent is the end of a run as the keys of alerts see it before it is kept: failure nil, it succeeded.
func RunEvent(run *Run, state State, failure *Failure) *AlertEvent {
	d := RunFailed{
		Job: run.Job, Run: run.ID, Labels: run.Labels, Attempts: run.Counts.Number, Correlation: run.CorrelationID,
		Schedule: given(run.Schedule), Group: run.Group,
	}
	e := &AlertEvent{Type: EventRunRecovered, Subject: RunSubject(run.ID), Job: run.Job, Run: run.ID}
	if state == Failed {
		e.Type, d.Error = EventRunFailed, EventErrorOf(failure)
	}
	e.Data = AppendJSON(nil, &d)
	return e
}

// LabelAlert is the label of an alert's runs that holds its name.
const LabelAlert = "alert"

// AlertSubject is the subject of events about an alert.
func AlertSubject(name string) string { return "alert/" + name }

// EventData holds a value of each type that the data of an event may have.
var EventData = []any{
	RunFailed{},
	RunRecovered{},
	RunSucceeded{},
	RunChanged{},
	AlertUndelivered{},
	DependencyOpened{},
	DependencyClosed{},
	ScheduleMissed{},
	ScheduleLate{},
	GroupPartial{},
	RunLong{},
	RunInterrupted{},
	QueueStuck{},
	ManyFailures{},
	DiskLow{},
	KeepExceeded{},
	BackupFailed{},
	BackupStale{},
}
