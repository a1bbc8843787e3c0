package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
)

// retryAfterCap bounds what a Retry-After header may ask for (contract 4).
const retryAfterCap = time.Hour

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

// retryAfterHeader gives the largest of the values that can be read, at most retryAfterCap, and
// what was ignored or cut (RFC 9110, 10.2.3).
func retryAfterHeader(values []string, now time.Time) (floor time.Duration, notes []string) {
	capped := false
	for i, value := range values {
		if i == 8 {
			notes = append(notes, "further Retry-After headers ignored: only 8 are read")
			break
		}
		wait, err := retryAfter(strings.TrimSpace(value), now)
		if err != nil {
			notes = append(notes, fmt.Sprintf("Retry-After ignored: %s: %q", err, oneLine(value, 60)))
			continue
		}
		if wait > retryAfterCap {
			wait, capped = retryAfterCap, true
		}
		floor = max(floor, wait)
	}
	if capped {
		notes = append(notes, "Retry-After cut to 1h")
	}
	return floor, notes
}

func retryAfter(value string, now time.Time) (time.Duration, error) {
	digits := strings.TrimPrefix(value, "-")
	if digits != "" && strings.Trim(digits, "0123456789") == "" {
		if digits != value {
			return 0, errors.New("it is negative")
		}
		// Past the cap the exact number does not matter, so one that overflows is no fault.
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n > int64(retryAfterCap/time.Second) {
			return retryAfterCap + 1, nil
		}
		return time.Duration(n) * time.Second, nil
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, errors.New("neither seconds nor an HTTP date")
	}
	wait := at.Sub(now)
	if wait < 0 {
		return 0, errors.New("the date is past")
	}
	return wait, nil
}
