package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/scripts/internal/rig"
)

var (
	good    = rig.Attempt{Outcome: "succeeded", FinishedAt: "t", HTTPStatus: 200}
	refused = rig.Attempt{
		Outcome: "failed", FinishedAt: "t", HTTPStatus: 503, Error: &rig.Failure{Kind: "http"},
	}
	died = rig.Attempt{
		Outcome: "interrupted", FinishedAt: "t", Error: &rig.Failure{Kind: "lost"},
	}
)

// ended gives a run in a state after attempts, numbered from 1.
func ended(state string, attempts ...rig.Attempt) *rig.Run {
	run := &rig.Run{ID: "r", OperationID: "op", State: state, FinishedAt: "t"}
	for i, a := range attempts {
		a.Number = i + 1
		run.Attempts = append(run.Attempts, a)
		if state == "failed" {
			run.Error = a.Error
		}
	}
	return run
}

func looped(deaths int) *rig.Run {
	run := ended("failed")
	for range deaths {
		run.Attempts = append(run.Attempts, died)
		run.Attempts[len(run.Attempts)-1].Number = len(run.Attempts)
	}
	run.Error = &rig.Failure{Kind: "crash_loop"}
	return run
}

func starts(statuses ...int) []delivery {
	var all []delivery
	for _, s := range statuses {
		all = append(all, delivery{at: time.Unix(1, 0), operation: "op", status: s})
	}
	return all
}

func TestEachStartMustBeExplained(t *testing.T) {
	late := starts(200)
	late[0].at = time.Unix(100, 0)
	foreign := starts(200)
	foreign[0].operation = "other"
	unnumbered := ended("succeeded", died, good)
	unnumbered.Attempts[1].Number = 3

	cases := []struct {
		name   string
		run    *rig.Run
		starts []delivery
		want   string // part of the only fault; "": none
	}{
		{"one start, one success", ended("succeeded", good), starts(200), ""},
		{"second start after a death", ended("succeeded", died, good), starts(200, 200), ""},
		{"death before the start went out", ended("succeeded", died, good), starts(200), ""},
		{"503, then good", ended("succeeded", refused, good), starts(503, 200), ""},
		{"503 of which the record was lost", ended("succeeded", died, good), starts(503, 200), ""},
		{"script", ended("succeeded", good), []delivery{{}}, ""},
		{"five deaths", looped(5), starts(200), ""},

		{"surplus", ended("succeeded", good), starts(200, 200), "started 2 times"},
		{"never delivered", ended("succeeded", good), nil, "never delivered"},
		{"delivered with 503 alone", ended("succeeded", good), starts(503), "never delivered"},
		{
			"more failures than refusals", ended("succeeded", refused, refused, good),
			starts(503, 200), "2 attempts failed with 503, the receiver gave 1",
		},
		{"stuck", &rig.Run{State: "running"}, starts(200), "stuck: still running"},
		{"never read", nil, nil, "not found"},
		{"four deaths", looped(4), starts(200), "crash_loop after 4 deaths"},
		{"failed", ended("failed", refused), starts(503), "failed: http"},
		{"cancelled", ended("cancelled"), nil, "ended cancelled"},
		{"succeeded twice", ended("succeeded", good, good), starts(200, 200), "2 good attempts"},
		{"success is not the last", ended("succeeded", good, died), starts(200), "1 good attempts"},
		{
			"open attempt", ended("succeeded", rig.Attempt{}, good), starts(200),
			"attempt 1 has not ended",
		},
		{
			"other failure",
			ended("succeeded", rig.Attempt{
				Outcome: "failed", FinishedAt: "t", Error: &rig.Failure{Kind: "connection"},
			}, good),
			starts(200, 200), "attempt 1: outcome failed, status 0: connection",
		},
		{"numbers with a gap", unnumbered, starts(200), "has number 3"},
		{"late", ended("succeeded", good), late, "after it was seen ended"},
		{"foreign key", ended("succeeded", good), foreign, "Idempotency-Key other"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := &record{
				id: "r", job: "quick", acked: true, deliveries: c.starts, final: c.run,
				ended: c.run, endedAt: time.Unix(50, 0),
			}
			expect(t, checkRun(r), c.want)
		})
	}
}

func expect(t *testing.T, faults []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(faults) > 0:
		t.Errorf("faults: %q", faults)
	case want != "" && (len(faults) != 1 || !strings.Contains(faults[0], want)):
		t.Errorf("got %q, want one fault with %q", faults, want)
	}
}

func TestRunThatChangesAfterItsEndIsCaught(t *testing.T) {
	h := newHistory()
	h.intend("k", "quick")
	h.answered("k", rig.Run{ID: "r"}, http.StatusAccepted)
	h.delivered("r", delivery{operation: "op", status: 200})
	h.saw(*ended("succeeded", good), time.Now(), time.Now())
	again := ended("succeeded", died, good)
	again.FinishedAt = "later"
	h.saw(*again, time.Now(), time.Now())
	expect(t, h.check(map[string]bool{"r": true}), "ended twice")
}

func TestKeysAndFileAreHeldAgainstTheAnswers(t *testing.T) {
	cases := []struct {
		name    string
		answers []rig.Run
		created int // of the answers, the first ones
		stored  []string
		want    string
	}{
		{"one answer", []rig.Run{{ID: "r"}}, 1, []string{"r"}, ""},
		{"known on the repeat", []rig.Run{{ID: "r"}, {ID: "r"}}, 1, []string{"r"}, ""},
		{"only the repeat was answered", []rig.Run{{ID: "r"}}, 0, []string{"r"}, ""},
		{"no answer", nil, 0, nil, "key k: 0 runs"},
		{"new twice", []rig.Run{{ID: "r"}, {ID: "r"}}, 2, []string{"r"}, "2 answers said"},
		{"not in the file", []rig.Run{{ID: "r"}}, 1, nil, "is not in the file"},
		{"not asked for", []rig.Run{{ID: "r"}}, 1, []string{"r", "x"}, "run x is in the file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			h.intend("k", "quick")
			for i, run := range c.answers {
				status := http.StatusOK
				if i < c.created {
					status = http.StatusAccepted
				}
				h.answered("k", run, status)
			}
			if len(c.answers) > 0 {
				h.delivered("r", delivery{operation: "op", status: 200})
				h.saw(*ended("succeeded", good), time.Now(), time.Now())
			}
			stored := map[string]bool{}
			for _, id := range c.stored {
				stored[id] = true
			}
			expect(t, h.check(stored), c.want)
		})
	}
}

func TestRunAnsweredWith404IsMissing(t *testing.T) {
	h := newHistory()
	h.intend("k", "quick")
	h.answered("k", rig.Run{ID: "r"}, http.StatusAccepted)
	h.delivered("r", delivery{operation: "op", status: 200})
	h.saw(*ended("succeeded", good), time.Now(), time.Now())
	h.notFound(h.runs["r"])
	expect(t, h.check(map[string]bool{"r": true}), "not found")
}

func TestTwoRunsForOneKeyAreCaught(t *testing.T) {
	h := newHistory()
	h.intend("k", "quick")
	for _, id := range []string{"a", "b"} {
		h.answered("k", rig.Run{ID: id}, http.StatusAccepted)
		h.delivered(id, delivery{operation: "op", status: 200})
		run := ended("succeeded", good)
		run.ID = id
		h.saw(*run, time.Now(), time.Now())
	}
	faults := h.check(map[string]bool{"a": true, "b": true})
	if len(faults) != 2 || !strings.Contains(faults[0], "key k: 2 runs: a b") {
		t.Errorf("got %q", faults)
	}
}

func TestReceiverRefusesFlakyRunsOnceAtMost(t *testing.T) {
	h := newHistory()
	r, err := newReceiver(h, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	post := func(path, run string) int {
		req, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if run != "" {
			req.Header.Set("Nightshift-Run", run)
			req.Header.Set("Idempotency-Key", "op")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	refusedRuns := 0
	for _, run := range strings.Split("abcdefghijklmnopqrst", "") {
		if post("/flaky", run) == http.StatusServiceUnavailable {
			refusedRuns++
		}
		if got := post("/flaky", run); got != http.StatusOK {
			t.Errorf("second delivery of %s: status %d", run, got)
		}
		if n := len(h.runs[run].deliveries); n != 2 {
			t.Errorf("run %s: %d deliveries written down, want 2", run, n)
		}
	}
	if refusedRuns == 0 || refusedRuns == 20 {
		t.Errorf("%d of 20 runs were refused first; want some", refusedRuns)
	}
	if got := post("/quick", ""); got != http.StatusBadRequest || len(h.surprises) != 1 {
		t.Errorf("delivery without a run: status %d, surprises %q", got, h.surprises)
	}
}
