package jobs

// FailureKind is the sort of an error, as rules see it (contract 4).
type FailureKind string

// The kinds of failure that exist so far.
const (
	FailTimeout    FailureKind = "timeout"
	FailConnection FailureKind = "connection" // refused, reset, unreachable
	FailDNS        FailureKind = "dns"
	FailTLS        FailureKind = "tls"
	FailHTTP       FailureKind = "http" // unwanted status
	FailExit       FailureKind = "exit"
	FailSignal     FailureKind = "signal"
	FailSpawn      FailureKind = "spawn"    // could not be started
	FailReported   FailureKind = "reported" // the job said so where it would else have succeeded
	FailInvalid    FailureKind = "invalid"  // cannot be rendered
	FailBlocked    FailureKind = "blocked"  // address not allowed
	FailCrashLoop  FailureKind = "crash_loop"
	FailShutdown   FailureKind = "shutdown" // interrupted: a deploy
	FailLost       FailureKind = "lost"     // interrupted: the server died under it
)

// Bounds of what is kept of a failure.
const (
	MaxMessage   = 1 << 10
	MaxStack     = 16 << 10
	MaxErrorBody = 16 << 10 // of an HTTP answer
	MaxOutput    = 4 << 10  // the tail of the output kept with an attempt
)

// Failure is why an attempt failed. Texts are valid UTF-8 and bounded (see Bound).
type Failure struct {
	Kind    FailureKind  `json:"kind"`
	Type    string       `json:"type"`    // the exception's class: reported or read from a trace; else the kind
	Message string       `json:"message"` // one line
	Stack   string       `json:"stack,omitempty"`
	HTTP    *HTTPFailure `json:"http,omitempty"`
	Exit    *ExitFailure `json:"exit,omitempty"`
}

// HTTPFailure is the answer of a webhook that failed.
type HTTPFailure struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"` // lower-case names
	Body    string            `json:"body,omitempty"`
}

// ExitFailure is how a script ended.
type ExitFailure struct {
	Code   int    `json:"code"`             // -1: none, it was killed by a signal
	Signal string `json:"signal,omitempty"` // such as SIGKILL
}

func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Message }
