package jobs

// ScheduleMissed is the data of EventScheduleMissed: ticks that were skipped after an outage.
type ScheduleMissed struct {
	Schedule string `json:"schedule" doc:"Its whole name"`
	Job      string `json:"job" doc:"Whose runs it makes"`
	Count    int    `json:"count" doc:"How many ticks were skipped"`
	FirstAt  Time   `json:"first_at" doc:"The first of them"`
	LastAt   Time   `json:"last_at" doc:"The last of them"`
	CaughtUp int    `json:"caught_up" doc:"How many others of the same outage are caught up"`
}

// ScheduleLate is the data of EventScheduleLate: a tick whose run has not done in time what
// late_after asks for.
type ScheduleLate struct {
	Schedule     string `json:"schedule" doc:"Its whole name"`
	Job          string `json:"job" doc:"Whose run it made"`
	Run          ID     `json:"run" doc:"That the tick made"`
	ScheduledFor Time   `json:"scheduled_for" doc:"The tick"`
	Deadline     Time   `json:"deadline" doc:"By when it was to have succeeded, or started where late_after is not set"`
	State        State  `json:"state" doc:"Of the run when this was noticed"`
	Reason       string `json:"reason" doc:"In words"`
}

// ScheduleSubject is the subject of events about a schedule.
func ScheduleSubject(name string) string { return "schedule/" + name }
