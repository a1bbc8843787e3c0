package store

import (
	"context"

	"nightshift/jobs"
)

// KindSchedule is the kind of documents of schedules that stand by themselves.
const KindSchedule = jobs.RefSchedule

// UndecidedError refuses to change a schedule while ticks that are past are not decided, or not all
// of those that are to be caught up have their runs: decide them by the old text first.
type UndecidedError struct {
	Names []string // of schedules
}

func (e *UndecidedError) Error() string {
	return "ticks of a schedule that are past have not been decided yet"
}

// Schedules holds schedules, in jobs and by themselves, and the ledger of their ticks. Saving and
// deleting them is for the Catalog: those in jobs with the job, others as documents of KindSchedule.
type Schedules interface {
	Schedule(ctx context.Context, name string) (*Schedule, error)
	// Schedules lists them, newest first.
	Schedules(ctx context.Context, f ScheduleFilter, p Page) ([]*Schedule, string, error)
	// PauseSchedule pauses or resumes one. *UndecidedError while past ticks are not decided.
	PauseSchedule(ctx context.Context, name string, paused bool, note string, by By) (*Schedule, error)
	// Ticks is the ledger of one, newest first.
	Ticks(ctx context.Context, name string, p Page) ([]jobs.Tick, string, error)

	// DueSchedules are some that have ticks to decide, those that fell due last first; and when to
	// ask again if all of them are decided.
	DueSchedules(ctx context.Context, now jobs.Time, limit int) (DueSchedules, error)
	// StartSchedules are those that tick at each start, in the order of their names, after one.
	StartSchedules(ctx context.Context, after string, limit int) ([]*Schedule, error)
	// Backlogs are some of the schedules that have ticks to catch up.
	Backlogs(ctx context.Context, limit int) ([]*Schedule, error)
	// Decide keeps what becomes of ticks and makes their runs, all in one transaction. A schedule
	// that has changed since it was read is left as it is.
	Decide(ctx context.Context, now jobs.Time, list []Decision) ([]Decided, error)
	// TellLate looks at ticks whose time to start or to succeed is over, up to limit of them, and
	// keeps an event for each that has not: told are their data.
	TellLate(ctx context.Context, now jobs.Time, limit int) (told []jobs.ScheduleLate, more bool, err error)
	// Rewind takes in that the clock was set back: ticks after now that were skipped as missed are
	// decided anew when they come. It gives how many schedules were ahead.
	Rewind(ctx context.Context, now jobs.Time) (int, error)
}

// ScheduleFilter narrows a list; zero values do not.
type ScheduleFilter struct {
	Job     string
	Text    string   // their name holds it
	Allowed []string // patterns of job names; nil: all
}

// Schedule is a schedule as it stands.
type Schedule struct {
	jobs.Schedule      // with its whole name, and its job
	InJob         bool // it stands in the job's document
	Set           string
	Revision      int64 // of the job, where it stands in that
	CreatedAt     jobs.Time
	UpdatedAt     jobs.Time
	PausedAt      jobs.Time // zero: it is not
	PauseNote     string
	JobPaused     bool

	Stamp   int64          // grows with each change and each decision
	Anchor  jobs.Time      // when it was first saved: every counts from it
	Cursor  jobs.Time      // all ticks up to here are decided
	Backlog jobs.TickRange // to be caught up; ticks that are decided may lie among them
	Last    *jobs.Tick     // the newest line of the ledger; nil: none yet
}

// DueSchedules is the answer to the question which schedules are due.
type DueSchedules struct {
	List []*Schedule
	More bool      // there are others
	Next jobs.Time // when the next one falls due, or TellLate has something to look at; zero: never
	Late bool      // TellLate has something to look at now
}

// Decision is what becomes of ticks of one schedule.
type Decision struct {
	Schedule *Schedule // as it was read: its Stamp is the fence
	Cursor   jobs.Time // the new one
	Next     jobs.Time // when the schedule is due next; zero: never
	Skipped  []jobs.TickRange
	CaughtUp []TickRun      // the first ticks of the backlog
	Backlog  jobs.TickRange // what is left of it then
	OnTime   *TickRun       // nil: none
	// Missed is an event that tells of skipped ticks; nil: none.
	Missed *jobs.ScheduleMissed
}

// TickRun is a tick and the run that it is to make.
type TickRun struct {
	At  jobs.Time
	Sub Submission
	// LateAt is when it is late, LateSuccess: unless it has succeeded, else unless it has started.
	LateAt      jobs.Time // zero: nobody asks
	LateSuccess bool
}

// Decided says what a Decision did.
type Decided struct {
	Stale bool       // the schedule has changed since it was read: nothing was done
	Ran   []TickMade // of CaughtUp, in order, then of OnTime
	// Cancelled are runs that gave way to a newer one: they have ended. Stop are those that are to
	// end: attempts of them are under way.
	Cancelled, Stop []jobs.ID
}

// TickMade says what became of a TickRun.
type TickMade struct {
	Outcome string    // jobs.TickRan or so; "": it was decided before
	Reason  string    // of a skipped one
	Made    Submitted // where a run was made
}
