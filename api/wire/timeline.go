package wire

import "nightshift/jobs"

// Timeline is a page of schedules on a time line: what became of their ticks, and when they tick next.
type Timeline struct {
	Now   jobs.Time     `json:"now" doc:"What is before it has come, what is after it is planned"`
	From  jobs.Time     `json:"from" doc:"Where the line begins: now less back, down to a full step"`
	Until jobs.Time     `json:"until" doc:"Where it ends"`
	Step  jobs.Duration `json:"step" doc:"The length of a cell"`
	Items []TimelineRow `json:"items"`
	Next  *string       `json:"next"`
	Limit int           `json:"limit"`
}

// TimelineRow is the line of one schedule.
type TimelineRow struct {
	Schedule  string         `json:"schedule" doc:"Its whole name"`
	Job       string         `json:"job" doc:"The job that it runs"`
	Reads     string         `json:"reads" doc:"When it ticks, in words"`
	Timezone  string         `json:"timezone" doc:"The zone it ticks in"`
	Paused    bool           `json:"paused" doc:"Its ticks are skipped"`
	PauseNote string         `json:"pause_note,omitempty" doc:"Why it is paused"`
	JobPaused bool           `json:"job_paused" doc:"Its job is paused: ticks make runs, which wait"`
	NextTick  jobs.Time      `json:"next_tick" doc:"The next tick; null: it is paused, or there is none"`
	Last      *Tick          `json:"last" doc:"What became of its newest tick; null: none has come"`
	Total     TickCounts     `json:"total" doc:"Of the whole line"`
	Cells     []TimelineCell `json:"cells" doc:"Oldest first; those without a tick are left out"`
	Cut       bool           `json:"cut" doc:"It has more ticks than are looked at: the oldest cells lack some"`
}

// TimelineCell is a step of a line.
type TimelineCell struct {
	At jobs.Time `json:"at" doc:"When it begins"`
	TickCounts
}

// TickCounts says what became of ticks, or that they are to come.
type TickCounts struct {
	Ran      int `json:"ran,omitempty" doc:"Made a run in time"`
	CaughtUp int `json:"caught_up,omitempty" doc:"Were missed, and made up for"`
	Missed   int `json:"missed,omitempty" doc:"Were missed, and were not made up for"`
	Skipped  int `json:"skipped,omitempty" doc:"Were left out on purpose: overlap, paused or unique"`
	Late     int `json:"late,omitempty" doc:"Of those that made a run, those whose run was late: no start, or no success, in time"`
	Pending  int `json:"pending,omitempty" doc:"Have come and are not decided yet: they are caught up, or the server is held"`
	Planned  int `json:"planned,omitempty" doc:"Are to come"`
}

// Add counts others in.
func (n *TickCounts) Add(m TickCounts) {
	n.Ran += m.Ran
	n.CaughtUp += m.CaughtUp
	n.Missed += m.Missed
	n.Skipped += m.Skipped
	n.Late += m.Late
	n.Pending += m.Pending
	n.Planned += m.Planned
}
