package jobs

import "strings"

// Fault is one thing wrong with an input: where, and what would be right.
type Fault struct {
	Location string `json:"location"` // such as retry.rules[1].if, "" for the whole
	Message  string `json:"message"`
}

// InvalidError is an input that cannot be accepted, with every fault that was found.
type InvalidError struct{ Faults []Fault }

func (e *InvalidError) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteString("; ")
		}
		if f.Location != "" {
			b.WriteString(f.Location + ": ")
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// Invalid gives nil where there are no faults, else the error that holds them.
func Invalid(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &InvalidError{Faults: faults}
}
