package jobs

import (
	"strings"
	"testing"
	"time"
)

func TestAPaceIsReadAsTheTimeFromOneToTheNext(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10/s": 100 * time.Millisecond, "1/s": time.Second, "30/m": 2 * time.Second, "100/h": 36 * time.Second,
		"1000/s": time.Millisecond, "1/h": time.Hour, "3/s": 334 * time.Millisecond, "7/m": 8572 * time.Millisecond,
		"60000/m": time.Millisecond, "0010/s": 100 * time.Millisecond,
	} {
		got, err := ParsePace(text)
		if err != nil || got.Std() != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestAPaceThatCannotBeKeptIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "is no rate", "10": "is no rate", "/s": "is no rate", "10/": "is no rate", "10/d": "is no rate", "ten/s": "is no rate",
		"-1/s": "is no rate", "+1/s": "is no rate", "1.5/s": "is no rate", " 1/s": "is no rate", "1/s ": "is no rate", "10/s/s": "is no rate",
		"10 per s": "such as 10/s, 30/m or 100/h", "99999999999999999999/s": "is no rate",
		"0/s": "would never begin: want 1 or more", "1001/s": "at most 1000/s", "3600001/h": "at most 3600000/h",
		strings.Repeat("9", 100) + "/s": "is no rate",
	} {
		if got, err := ParsePace(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v; want %q", text, got, err, want)
		}
	}
}
