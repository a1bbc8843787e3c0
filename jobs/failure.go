package jobs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FailureKind is the sort of an error, as rules see it (contract 4).
type FailureKind string

// The kinds of failure that exist so far.
const (
	FailTimeout    FailureKind = "timeout"
	FailConnection FailureKind = "connection" // refused, reset, unreachable
	FailDNS        FailureKind = "dns"
	FailTLS        FailureKind = "tls"
	FailHTTP       FailureKind = "http" // unwanted status
	FailSMTP       FailureKind = "smtp" // a mail server's refusal
	FailExit       FailureKind = "exit"
	FailSignal     FailureKind = "signal"
	FailMemory     FailureKind = "memory"    // past script.memory
	FailHeartbeat  FailureKind = "heartbeat" // none in time
	FailSpawn      FailureKind = "spawn"     // could not be started
	FailReported   FailureKind = "reported"  // the job said so where it would else have succeeded
	FailInvalid    FailureKind = "invalid"   // cannot be rendered
	FailBlocked    FailureKind = "blocked"   // address not allowed
	FailCrashLoop  FailureKind = "crash_loop"
	FailShutdown   FailureKind = "shutdown" // interrupted: a deploy
	FailLost       FailureKind = "lost"     // interrupted: the server died under it
	FailGroup      FailureKind = "group"    // too few good members
	FailMerge      FailureKind = "merge"    // the merge of a group failed
)

// RuleKinds are the kinds that rules are asked about (contract 4), those of later versions included.
var RuleKinds = []string{
	"timeout", "connection", "dns", "tls", "http", "smtp", "exit", "signal", "memory", "spawn",
	"heartbeat", "reported", "invalid", "blocked",
}

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

	// Reported is what the job itself said of another try. Decide sets it, so that it is kept.
	Reported *Reported `json:"reported,omitempty"`
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

// Reported is what a job said of another try of its failed attempt (contract 4).
type Reported struct {
	Retryable  *bool     `json:"retryable,omitempty"`
	RetryAfter *Duration `json:"retry_after,omitempty"`
}

func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Message }

// Bounds of the smaller texts of a failure.
const (
	maxType         = 200
	maxSignal       = 32
	maxErrorHeaders = 100
	maxHeader       = 1 << 10
)

// Bound makes every text of the failure fit to be kept and shown, in place, and gives it back:
// valid UTF-8 without control characters and terminal escapes, within the bounds above, the
// message one line, Type the kind where there is none, header names in lower case.
func (f *Failure) Bound() *Failure {
	f.Message = clipEnd(oneLine(f.Message), MaxMessage)
	f.Type = clipEnd(oneLine(f.Type), maxType)
	f.Stack = clipMiddle(cleanText(f.Stack), MaxStack)
	if f.Exit != nil {
		exit := *f.Exit
		exit.Signal = clipEnd(oneLine(exit.Signal), maxSignal)
		f.Exit = &exit
	}
	if f.HTTP != nil {
		f.HTTP = f.HTTP.bound()
	}
	if f.Type == "" {
		f.Type = string(f.Kind)
	}
	if f.Message == "" {
		f.Message = f.plain()
	}
	return f
}

// plain is the message of a failure that brought none.
func (f *Failure) plain() string {
	switch {
	case f.Exit != nil && f.Exit.Signal != "":
		return "killed by " + f.Exit.Signal
	case f.Exit != nil && f.Exit.Code >= 0:
		return "exit code " + strconv.Itoa(f.Exit.Code)
	case f.HTTP != nil && f.HTTP.Status != 0:
		return "answered " + strconv.Itoa(f.HTTP.Status)
	}
	return f.Type
}

func (h *HTTPFailure) bound() *HTTPFailure {
	kept := &HTTPFailure{Status: h.Status, Body: clipEnd(cleanText(h.Body), MaxErrorBody)}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		if len(kept.Headers) == maxErrorHeaders {
			break
		}
		if kept.Headers == nil {
			kept.Headers = make(map[string]string, len(h.Headers))
		}
		key := strings.ToLower(clipEnd(oneLine(name), maxType))
		kept.Headers[key] = clipEnd(oneLine(h.Headers[name]), maxHeader)
	}
	return kept
}

// oneLine is the text on a single line: runs of white space become one space.
func oneLine(s string) string {
	return strings.Join(strings.Fields(cleanText(s)), " ")
}

// cleanText drops what a terminal or a page would not show as text: invalid UTF-8 becomes
// U+FFFD; escape sequences and control characters but line feed and tab go.
func cleanText(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i += sequenceLen(s[i:])
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if r == '\n' || r == '\t' || !isControl(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isClean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || r != '\n' && r != '\t' && isControl(r) {
			return false
		}
	}
	return true
}

// isControl holds for the categories Cc and the characters that turn the direction of text.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// sequenceLen is the length of the escape sequence (ECMA-48) that s begins with.
func sequenceLen(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x3f {
			return i
		}
	}
	return len(s)
}

// clipEnd bounds a text to n bytes, the mark that something is missing included.
func clipEnd(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	return clip(s, n-len(mark))
}

// clipMiddle bounds a text and keeps both of its ends: a trace begins or ends with what matters.
func clipMiddle(s string, n int) string {
	const mark = "\n…\n"
	if len(s) <= n {
		return s
	}
	half := (n - len(mark)) / 2
	tail := len(s) - half
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	head := half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	return s[:head] + mark + s[tail:]
}
