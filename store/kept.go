package store

// KeptKind is a sort of what is kept that may be bounded by its size. The numbers are stored.
type KeptKind int

// What is counted.
const (
	KeptLogs   KeptKind = 1 // what attempts have printed
	KeptRuns   KeptKind = 2 // runs that have ended: their rows, payloads, attempts and results
	KeptEvents KeptKind = 3
)

// KeptKinds are all of them.
var KeptKinds = []KeptKind{KeptLogs, KeptRuns, KeptEvents}

// String is its name in flags and metrics.
func (k KeptKind) String() string {
	switch k {
	case KeptLogs:
		return "logs"
	case KeptRuns:
		return "runs"
	}
	return "events"
}
