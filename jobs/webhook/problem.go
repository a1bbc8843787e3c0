package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"nightshift/jobs"
)

// maxType bounds the type of an error.
const maxType = 256

// readProblem takes from an application/problem+json answer (RFC 9457) the type, the message and
// what it says of another try. Members of the wrong type are ignored and noted.
func (k *Kind) readProblem(x *exchange, rep *jobs.Report) {
	note := func(format string, args ...any) {
		rep.Notes = append(rep.Notes, fmt.Sprintf(format, args...))
	}
	var members map[string]json.RawMessage
	if len(x.body) > jobs.MaxResult || jobs.ValidJSON(x.body) != nil ||
		json.Unmarshal(x.body, &members) != nil || members == nil {
		note("the problem+json answer is not a JSON object of up to 64 KiB: not read")
		return
	}
	str := func(name string) string {
		raw, ok := members[name]
		if !ok || isNull(raw) {
			return ""
		}
		var s string
		if json.Unmarshal(raw, &s) != nil {
			note("%s of the problem ignored: want a string", name)
		}
		return s
	}
	if t := oneLine(str("type"), maxType); t != "" && t != "about:blank" {
		rep.Failure.Type = t
	}
	title := oneLine(str("title"), jobs.MaxMessage)
	if message := orElse(oneLine(str("detail"), jobs.MaxMessage), title); message != "" {
		rep.Failure.Message = message
	}
	if raw, ok := members["retryable"]; ok && !isNull(raw) {
		var b bool
		if json.Unmarshal(raw, &b) == nil {
			rep.Retryable = &b
		} else {
			note("retryable of the problem ignored: want true or false")
		}
	}
	if raw, ok := members["retry_after"]; ok && !isNull(raw) {
		d, err := reportedWait(raw, k.now())
		if err == nil {
			rep.RetryAfter = &d
		} else {
			note("retry_after of the problem ignored: %s", err)
		}
	}
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

var errReportedWait = errors.New("want seconds as a number, a duration such as \"90s\", or a time")

// reportedWait reads seconds as a number, a duration, or an instant as RFC 3339 or HTTP has it.
func reportedWait(raw json.RawMessage, now time.Time) (time.Duration, error) {
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil {
		switch {
		case seconds < 0:
			return 0, errors.New("it is negative")
		case seconds > time.Duration(jobs.MaxDuration).Seconds():
			return 0, errors.New("it is too long: at most 3653d")
		}
		return time.Duration(math.Round(seconds * float64(time.Second))), nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return 0, errReportedWait
	}
	if d, err := jobs.ParseDuration(s); err == nil {
		return d.Std(), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if at, err = http.ParseTime(s); err != nil {
			return 0, errReportedWait
		}
	}
	wait := at.Sub(now)
	switch {
	case wait < 0:
		return 0, errors.New("the time is past")
	case wait > time.Duration(jobs.MaxDuration):
		return 0, errors.New("it is too long: at most 3653d")
	}
	return wait, nil
}
