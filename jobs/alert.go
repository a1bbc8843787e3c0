package jobs

import "time"

// Defaults and bounds of alerts (contract 10).
const (
	DefaultThrottle = 10 * time.Minute
	MaxThrottle     = 7 * 24 * time.Hour
	MaxAfter        = 1000
	// MaxAlertMessages is how many messages an alert may send in a minute, digests included.
	MaxAlertMessages = 10
	// AlertPatience is for how long the run of an alert is tried again, whatever max_attempts says.
	AlertPatience = 24 * time.Hour
)

// Alert makes a run of a job from events: what tells people.
type Alert struct {
	Name     string    `json:"name"`
	On       []string  `json:"on"`                 // types of events
	If       string    `json:"if,omitempty"`       // an expression; "": always
	Run      string    `json:"run"`                // the job that is run
	Throttle *Duration `json:"throttle,omitempty"` // between messages about what is alike; nil: 10m
	After    int       `json:"after,omitempty"`    // silent below that failed run in a row; 0: 1
	Key      string    `json:"key,omitempty"`      // an expression: failed runs in a row are counted for each value alone

	// State: answered, ignored when a document brings it.
	Revision  int64  `json:"-"`
	Set       string `json:"set,omitempty"`
	CreatedAt Time   `json:"created_at,omitzero"`
	UpdatedAt Time   `json:"updated_at,omitzero"`
}

// ThrottleOf is the throttle with its default.
func (a *Alert) ThrottleOf() time.Duration {
	if a.Throttle == nil {
		return DefaultThrottle
	}
	return a.Throttle.Std()
}

// Tells says what an alert's run is. The numbers are stored.
type Tells int

// What a run may be of an alert.
const (
	TellsNothing     Tells = 0
	TellsEvent       Tells = 1
	TellsUndelivered Tells = 2 // that an alert could not be told: of its own failure nothing is told
)

// What is kept for an alert.
const (
	AlertSince = "since" // the event after which it was made
	AlertFold  = "fold"  // what is alike, while it is throttled
	AlertTold  = "told"  // failed runs in a row, told or to be told
	AlertRate  = "rate"  // its messages of the last minute, and its digest
)
