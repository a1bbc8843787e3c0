package wire

import "nightshift/jobs"

// StandingSchedule is a schedule as its document says it, and where it stands. A list leaves out
// payloads.
type StandingSchedule struct {
	jobs.Schedule

	InJob     bool      `json:"in_job" doc:"It stands in the document of its job, and is changed there"`
	Reads     string    `json:"reads" doc:"When it ticks, in words"`
	Next      jobs.Time `json:"next" doc:"The next tick, spread not counted; null: it is paused, or there is none"`
	Last      *Tick     `json:"last" doc:"What became of its newest tick: the first line of its ticks; null: none has come"`
	Backlog   int       `json:"backlog" doc:"How many missed ticks are to be caught up whose runs have not been made yet"`
	Paused    bool      `json:"paused" doc:"Its ticks are skipped"`
	PauseNote string    `json:"pause_note,omitempty" doc:"Why it is paused"`
	JobPaused bool      `json:"job_paused" doc:"Its job is paused: ticks make runs, which wait"`
	Set       string    `json:"set,omitempty" doc:"The set of the apply that holds it; left out: none"`
	CreatedAt jobs.Time `json:"created_at"`
	UpdatedAt jobs.Time `json:"updated_at"`
}

// Schedules is a page of schedules, newest first.
type Schedules struct {
	Items []StandingSchedule `json:"items"`
	Next  *string            `json:"next"`
	Limit int                `json:"limit"`
}

// Tick says what became of a tick (at, run), or of neighbours that were skipped for one reason (from,
// to, count).
type Tick struct {
	At      jobs.Time `json:"at,omitempty" doc:"The planned instant; of neighbours it is left out in the list of ticks, and the last of them where they are the last of a schedule"`
	From    jobs.Time `json:"from,omitempty" doc:"The first of the neighbours"`
	To      jobs.Time `json:"to,omitempty" doc:"The last of the neighbours"`
	Count   int       `json:"count,omitempty" doc:"How many they are"`
	Outcome string    `json:"outcome" enum:"ran,caught_up,skipped" doc:"What became of it: a run that started on time, one that was made up for, or none"`
	Reason  *string   `json:"reason" doc:"Why it was skipped: missed, overlap, paused, unique or limit; null: it was not"`
	Run     jobs.ID   `json:"run" doc:"Made by the tick, though it may have been pruned since; null: none"`
	Late    bool      `json:"late,omitempty" doc:"Its run had not started, or where late_after is set not succeeded, in time"`
}

// Ticks is a page of a ledger, newest first.
type Ticks struct {
	Items []Tick  `json:"items"`
	Next  *string `json:"next"`
	Limit int     `json:"limit"`
}

// SchedulePreview asks when a schedule would tick.
type SchedulePreview struct {
	Cron     string         `json:"cron,omitempty" doc:"One of cron and every"`
	Every    *jobs.Duration `json:"every,omitempty" doc:"Counted from start, else from from"`
	Timezone string         `json:"timezone,omitempty" doc:"UTC where left out"`
	Start    jobs.Time      `json:"start,omitempty" doc:"No tick before"`
	End      jobs.Time      `json:"end,omitempty" doc:"No tick after"`
	From     jobs.Time      `json:"from,omitempty" doc:"Ticks after this instant; now where left out"`
	Count    *int           `json:"count,omitempty" minimum:"1" maximum:"1000" doc:"How many at most; 10 where left out"`
}

// FieldHint says how a field is called here, or that it does not count for a preview.
func (*SchedulePreview) FieldHint(parent, name string) string {
	return new(jobs.Schedule).PreviewHint(parent, name)
}

// PreviewedSchedule is when a schedule would tick.
type PreviewedSchedule struct {
	Items []jobs.Time `json:"items" doc:"Oldest first; fewer than asked for where no more come"`
	Reads string      `json:"reads" doc:"When it ticks, in words"`
}
