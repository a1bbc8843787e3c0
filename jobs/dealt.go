package jobs

import "fmt"

// FailureStatus is what has become of a run that ended failed. The numbers are stored.
type FailureStatus int

// The statuses (contract 10).
const (
	FailureOpen     FailureStatus = 0
	FailureRequeued FailureStatus = 1 // a requeue of it stands in its place
	FailureResolved FailureStatus = 2
	FailureIgnored  FailureStatus = 3
	// FailureWillRetry is none that is kept: the run is retrying.
	FailureWillRetry FailureStatus = 4
)

var failureStatuses = []string{"open", "requeued", "resolved", "ignored", "will_retry"}

func (s FailureStatus) String() string {
	if s < 0 || int(s) >= len(failureStatuses) {
		return "unknown"
	}
	return failureStatuses[s]
}

// MarshalText gives the name of the status.
func (s FailureStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText gives.
func (s *FailureStatus) UnmarshalText(text []byte) error {
	status, ok := FailureStatusOf(string(text))
	if !ok {
		return fmt.Errorf("%q is no status of a failure", clip(string(text), 40))
	}
	*s = status
	return nil
}

// FailureStatusOf reads the name of a status; ok is false for an unknown one.
func FailureStatusOf(name string) (s FailureStatus, ok bool) {
	for i, known := range failureStatuses {
		if known == name {
			return FailureStatus(i), true
		}
	}
	return 0, false
}
