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
