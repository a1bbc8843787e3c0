package jobs

import "time"

// Defaults and bounds of schedules (contract 7).
const (
	DefaultSchedule     = "default" // the name of one in a job that has none
	DefaultCatchUpLimit = 100
	MaxCatchUpLimit     = 10_000
	DefaultCatchUpAll   = 24 * time.Hour // the window of CatchUpAll
	DefaultLateAfter    = 15 * time.Minute
	MaxSchedulesOfJob   = 100

	// OnTimeWithin is how late the newest tick may be and still count as on time.
	OnTimeWithin = 10 * time.Second
)

// What catch_up may say.
const (
	CatchUpNone   = "none"
	CatchUpLatest = "latest"
	CatchUpAll    = "all"
)

// What overlap may say.
const (
	OverlapQueue   = "queue"
	OverlapSkip    = "skip"
	OverlapReplace = "replace"
	OverlapAllow   = "allow"
)

// Schedule makes runs of a job at planned instants, its ticks: what its document says. In a job it
// has no Job, and its whole name is ScheduleName; by itself it has a plain name.
type Schedule struct {
	Name string `json:"name,omitempty"`
	Job  string `json:"job,omitempty"`

	Cron     string    `json:"cron,omitempty"` // exactly one of the two
	Every    *Duration `json:"every,omitempty"`
	Timezone string    `json:"timezone,omitempty"` // "": UTC

	Payload   Raw       `json:"payload,omitempty"` // nil: the job's
	CatchUp   CatchUp   `json:"catch_up,omitzero"`
	Overlap   string    `json:"overlap,omitempty"`    // "": queue
	Spread    *Duration `json:"spread,omitempty"`     // nil: 0s
	Start     Time      `json:"start,omitempty"`      // no tick before; every counts from it
	End       Time      `json:"end,omitempty"`        // no tick after
	LateAfter *Duration `json:"late_after,omitempty"` // nil: not started DefaultLateAfter after the tick
}

// CatchUp says what becomes of ticks that were missed.
type CatchUp struct {
	Mode   string    `json:"mode,omitempty"`   // "": latest
	Window *Duration `json:"window,omitempty"` // older ones are skipped; nil: none for latest, 24h for all
	Limit  *int      `json:"limit,omitempty"`  // of all; nil: DefaultCatchUpLimit
}

// ScheduleName is the whole name of a schedule that stands in a job's document.
func ScheduleName(job, name string) string {
	if name == "" {
		name = DefaultSchedule
	}
	return job + ":" + name
}

// OverlapOf is what overlap says, filled in.
func (s *Schedule) OverlapOf() string {
	if s.Overlap == "" {
		return OverlapQueue
	}
	return s.Overlap
}

// ModeOf is the mode, filled in.
func (c *CatchUp) ModeOf() string {
	if c.Mode == "" {
		return CatchUpLatest
	}
	return c.Mode
}

// WindowOf is how old a missed tick may be to be caught up; 0: any age.
func (c *CatchUp) WindowOf() time.Duration {
	switch {
	case c.Window != nil:
		return c.Window.Std()
	case c.ModeOf() == CatchUpAll:
		return DefaultCatchUpAll
	}
	return 0
}

// LimitOf is how many missed ticks are caught up at most.
func (c *CatchUp) LimitOf() int {
	switch {
	case c.ModeOf() == CatchUpNone:
		return 0
	case c.ModeOf() == CatchUpLatest:
		return 1
	case c.Limit != nil:
		return *c.Limit
	}
	return DefaultCatchUpLimit
}
