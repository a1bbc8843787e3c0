package jobs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfterValues is how many Retry-After headers of one answer are read.
const maxRetryAfterValues = 8

// RetryAfter gives the largest wait that the values of a Retry-After header ask for, at most 1 h,
// and what was ignored or cut (RFC 9110, 10.2.3).
func RetryAfter(values []string, now time.Time) (floor time.Duration, notes []string) {
	capped := false
	for i, value := range values {
		if i == maxRetryAfterValues {
			notes = append(notes, fmt.Sprintf(
				"further Retry-After headers ignored: only %d are read", maxRetryAfterValues))
			break
		}
		wait, err := retryAfter(strings.TrimSpace(value), now)
		if err != nil {
			notes = append(notes,
				fmt.Sprintf("Retry-After ignored: %s: %q", err, clipEnd(oneLine(value), 60)))
			continue
		}
		if wait > maxRetryAfter {
			wait, capped = maxRetryAfter, true
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
		if err != nil || n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter + 1, nil
		}
		return time.Duration(n) * time.Second, nil
	}
	at, ok := httpDate(value)
	if !ok {
		return 0, errors.New("neither seconds nor an HTTP date")
	}
	wait := at.Sub(now)
	if wait < 0 {
		return 0, errors.New("the date is past")
	}
	return wait, nil
}

// httpDate reads the three forms of a date in HTTP (RFC 9110, 5.6.7).
func httpDate(text string) (time.Time, bool) {
	for _, form := range []string{
		"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC,
	} {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// floorOf is the wait that a failed answer asked for, read from its headers as they are kept:
// several values stand joined by commas, which dates hold too.
func (h *HTTPFailure) floorOf(now Time) time.Duration {
	if h == nil || h.Status != 429 && h.Status != 503 {
		return 0
	}
	var values []string
	for part := range strings.SplitSeq(h.Headers["retry-after"], ",") {
		last := len(values) - 1
		if part = strings.TrimSpace(part); last >= 0 && isWeekday(values[last]) {
			values[last] += ", " + part
			continue
		}
		values = append(values, part)
	}
	floor, _ := RetryAfter(values, now.Std())
	return floor
}

// isWeekday tells the first part of a date, before its comma.
func isWeekday(text string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := d.String(); text == name || text == name[:3] {
			return true
		}
	}
	return false
}
