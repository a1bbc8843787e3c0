package jobs

import (
	"strings"
	"testing"
	"time"
)

func TestRetryAfterIsAFloor(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		values []string
		want   time.Duration
		notes  int
	}{
		"seconds":     {[]string{"5"}, 5 * time.Second, 0},
		"zero":        {[]string{"0"}, 0, 0},
		"date":        {[]string{"Sun, 29 Nov 2026 12:00:30 GMT"}, 30 * time.Second, 0},
		"old date":    {[]string{"Sunday, 29-Nov-26 12:00:30 GMT"}, 30 * time.Second, 0},
		"past date":   {[]string{"Sun, 29 Nov 2026 11:59:59 GMT"}, 0, 1},
		"far date":    {[]string{"Sun, 29 Nov 2099 12:00:30 GMT"}, time.Hour, 1},
		"negative":    {[]string{"-1"}, 0, 1},
		"large":       {[]string{"1000000000"}, time.Hour, 1},
		"overflow":    {[]string{"99999999999999999999"}, time.Hour, 1},
		"1e9":         {[]string{"1e9"}, 0, 1},
		"fraction":    {[]string{"1.5"}, 0, 1},
		"garbage":     {[]string{"soon\xff"}, 0, 1},
		"empty":       {[]string{""}, 0, 1},
		"the hour":    {[]string{"3600"}, time.Hour, 0},
		"two":         {[]string{"5", "70"}, 70 * time.Second, 0},
		"good beside": {[]string{"-3", "7", "soon"}, 7 * time.Second, 2},
		"many":        {strings.Split(strings.Repeat("1,", 5000), ","), time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			floor, notes := RetryAfter(c.values, now)
			if floor != c.want || len(notes) != c.notes {
				t.Errorf("%s, notes %q: want %s and %d notes", floor, notes, c.want, c.notes)
			}
		})
	}
}

func TestRetryAfterIsReadAgainFromKeptHeaders(t *testing.T) {
	now := TimeOf(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	for value, want := range map[string]time.Duration{
		"7":                             7 * time.Second,
		"7, 9, 8":                       9 * time.Second,
		"Sun, 29 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"5, Sun, 29 Nov 2026 12:00:30 GMT, Sunday, 29-Nov-26 12:00:10 GMT": 30 * time.Second,
		"Sun, 29 Nov 2026 11:00:30 GMT":                                    0,
		"soon":                                                             0,
		"":                                                                 0,
	} {
		for status, counts := range map[int]bool{429: true, 503: true, 500: false} {
			h := &HTTPFailure{Status: status, Headers: map[string]string{"retry-after": value}}
			if got := h.floorOf(now); counts && got != want || !counts && got != 0 {
				t.Errorf("%d %q: %s, want %s", status, value, got, want)
			}
		}
	}
}
