package runtime

import (
	"testing"

	"nightshift/jobs"
)

func TestReceiversElsewhereCannotCallBackToThisMachineAlone(t *testing.T) {
	for _, c := range []struct {
		base, receiver, completion string
		out                        bool
	}{
		{"http://127.0.0.1:8700", "https://example.com/hooks", "callback", true},
		{"http://[::1]:8700", "https://example.com/hooks", "callback", true},
		{"http://localhost:8700", "http://10.0.0.8/hooks", "callback", true},
		{"http://127.0.0.1:8700", "https://{{ payload.host }}/hooks", "callback", true},
		{"http://127.0.0.1:8700", "http://localhost.example.com/hooks", "callback", true},
		{"http://127.0.0.1:8700", "http://127.0.0.1:9/hooks", "callback", false},
		{"http://127.0.0.1:8700", "http://LocalHost:9/hooks", "callback", false},
		{"http://127.0.0.1:8700", "http://hooks.localhost/{{ payload.id }}", "callback", false},
		{"http://127.0.0.1:8700", "http://[::1]:9/hooks", "callback", false},
		{"http://127.0.0.1:8700", "https://example.com/hooks", "", false},
		{"http://127.0.0.1:8700", "https://example.com/hooks", "response", false},
		{"http://10.0.0.7:8700", "https://example.com/hooks", "callback", false},
		{"https://jobs.example.com", "https://example.com/hooks", "callback", false},
		{"", "https://example.com/hooks", "callback", false},
	} {
		job := &jobs.Job{Name: "a", Webhook: &jobs.Webhook{URL: c.receiver, Completion: c.completion}}
		if got := outOfReach(c.base, job); got != c.out {
			t.Errorf("%s (%s) called at %s: %v, want %v", c.receiver, c.completion, c.base, got, c.out)
		}
	}
	if outOfReach("http://127.0.0.1:8700", &jobs.Job{Name: "a", Script: &jobs.Script{Source: "x"}}) {
		t.Error("a script is on this machine")
	}
}
