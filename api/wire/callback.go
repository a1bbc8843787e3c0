package wire

import "nightshift/jobs"

// CallbackLog is the body of the call log of a callback, where it is JSON.
type CallbackLog struct {
	Text string `json:"text" doc:"Added to the output of the run, a line end where it has none"`
}

// Complete is the body of the call complete of a callback; all of it may be left out.
type Complete struct {
	Result jobs.Raw `json:"result,omitempty" doc:"Any JSON of at most 64 KiB, kept and answered byte for byte; left out: null"`
}

// Fail is the body of the call fail of a callback; all of it may be left out.
type Fail struct {
	Type       string   `json:"type,omitempty" doc:"The exception's class, for rules and lists; left out: reported"`
	Message    string   `json:"message,omitempty" doc:"One line; 1 KiB is kept"`
	Stack      string   `json:"stack,omitempty" doc:"16 KiB are kept, of a longer one the two ends"`
	Retryable  *bool    `json:"retryable,omitempty" doc:"Whether another try is worth it. It counts after the job's own rules and those of its policy, before the default ones"`
	RetryAfter jobs.Raw `json:"retry_after,omitempty" doc:"When to try again: seconds as a number, or a duration such as 90s"`
}

// Told answers complete and fail.
type Told struct {
	Run   jobs.ID `json:"run" doc:"The run of the attempt"`
	State string  `json:"state" enum:"scheduled,queued,running,retrying,waiting,succeeded,failed,cancelled" doc:"That the run is in now. Where the attempt itself goes on (its request or process is under way) it is running, and what was told counts at its end"`
}
