package jobs

import (
	"errors"
	"slices"
	"testing"
)

func TestParseJobFindsEveryFaultAtOnce(t *testing.T) {
	for doc, want := range map[string][]string{
		`{"nam":"x","webhook":{"url":"ftp://x"},"timeout":"1y","retry":{"rules":[{"if":"foo == 1","then":"retri"}]}}`: {
			"nam", "timeout", "webhook.url", "retry.rules[0].then", "retry.rules[0].if",
		},
		// What could not be read is told once.
		`{"webhook":7,"priority":"high"}`:                    {"webhook", "priority"},
		`{"webhok":{"url":"http://a/"}}`:                     {"webhok"},
		`{"script":{"source":5},"retry":{"max_attempts":0}}`: {"script.source", "retry.max_attempts"},
	} {
		_, err := ParseJob([]byte(doc))
		var invalid *InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("%s: %v", doc, err)
		}
		var got []string
		for _, f := range invalid.Faults {
			got = append(got, f.Location)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", doc, got, want)
		}
	}
}
