package jobs

// Note is what an attempt says of itself while it is under way (contract 5, 6). Three ways lead here
// and mean the same: a line of a script's output, the callback, the nightshift command.
type Note struct {
	Checkpoint Raw       // nil: not said; null: there is none any more
	Progress   *Progress // nil: not said
	Said
}

// Said is what an attempt says of its outcome. It counts when the attempt is over.
type Said struct {
	Result    Raw        `json:"result,omitempty"` // nil: not said
	Truncated bool       `json:"truncated,omitempty"`
	Complete  bool       `json:"complete,omitempty"` // by the callback complete: of completion callback that is the end
	Error     *SaidError `json:"error,omitempty"`
}

// SaidError is a failure that the job itself reports.
type SaidError struct {
	Type       string    `json:"type,omitempty"`
	Message    string    `json:"message,omitempty"`
	Stack      string    `json:"stack,omitempty"`
	Retryable  *bool     `json:"retryable,omitempty"`
	RetryAfter *Duration `json:"retry_after,omitempty"`
	// Fail: by fail. It fails the attempt whatever else comes of it, and its kind is reported; else
	// the error says why an attempt failed, and fails one that would have succeeded.
	Fail bool `json:"fail,omitempty"`
}

// Empty reports whether nothing was said.
func (s *Said) Empty() bool { return s.Result == nil && !s.Truncated && !s.Complete && s.Error == nil }
