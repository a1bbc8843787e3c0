package jobs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func plan(t testing.TB, r Retry) *Plan {
	t.Helper()
	p, err := Compile(&Job{Name: "j", Retry: r}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recorded plays a run by a plan until it ends or report gives no more, and keeps of it what a
// store keeps.
func recorded(t testing.TB, p *Plan, run *Run, report func(n int) (Report, bool)) *Run {
	t.Helper()
	now := at
	run.RunAt = at
	for n := 1; ; n++ {
		rep, more := report(n)
		if !more {
			return run
		}
		now = now.Add(time.Second)
		run.Counts.Number = n
		got := Decide(Ending{
			Plan: p, Counts: run.Counts, MaxAttempts: run.MaxAttempts, RunAt: run.RunAt, Report: rep,
			Payload: run.Payload, Now: now, Random: middle,
		})
		run.Counts = got.Counts
		if got.Outcome == OutcomeFailed {
			a := Attempt{
				Number: n, FinishedAt: now, Outcome: got.Outcome, HTTPStatus: rep.HTTPStatus,
				ExitCode: rep.ExitCode, OutputTail: rep.OutputTail, Decision: &got.Decision, Error: &Failure{},
			}
			text, err := json.Marshal(got.Error)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, a.Error); err != nil {
				t.Fatal(err)
			}
			run.Attempts = append(run.Attempts, a)
		}
		if got.State.Terminal() {
			return run
		}
		now = got.DueAt
	}
}

// always fails alike.
func alike(f *Failure) func(int) (Report, bool) {
	return func(int) (Report, bool) { return report(f), true }
}

var runIDs = NewIDs(0, rand.Uint64)

func newRun() *Run { return &Run{ID: runIDs.Next(at.Std()), Job: "j", Payload: Raw(`{"n":1}`)} }

func found(r *Replay) string {
	b := r.Found()
	text := fmt.Sprintf("%d attempts, %d spared, %d changed", b.Attempts, b.Spared, b.Changed)
	for _, c := range b.Changes {
		text += fmt.Sprintf("; %s to %s by %s: %d", c.From, c.To, c.By, c.Count)
	}
	return text
}

func TestReplayTellsWhatOtherRulesWouldDecide(t *testing.T) {
	was := Retry{MaxAttempts: new(4)}
	reports := func(retryable bool) func(int) (Report, bool) {
		return func(n int) (Report, bool) {
			return Report{Failure: failExit(1, "Odd"), Retryable: &retryable}, n <= 2
		}
	}
	limited := Rule{If: "http.status == 503", Then: ThenRetry, MaxAttempts: new(2)}
	for name, c := range map[string]struct {
		was    Retry
		report func(int) (Report, bool)
		now    Retry
		own    int // the run's max_attempts
		want   string
	}{
		"the same rules": {
			was, alike(failHTTP(503)), was, 0,
			"4 attempts, 0 spared, 0 changed",
		},
		"an end at once": {
			was, alike(failHTTP(503)), rules(Rule{If: "http.status == 503", Then: ThenFail}), 0,
			"4 attempts, 3 spared, 1 changed; retry to fail by job rule 1: 1",
		},
		"an end by a number of attempts": {
			was, alike(failHTTP(503)), rules(Rule{If: "attempt == 3", Then: ThenFail}), 0,
			"4 attempts, 1 spared, 1 changed; retry to fail by job rule 1: 1",
		},
		"another try": {
			was, alike(failHTTP(404)), rules(Rule{If: "http.status == 404", Then: ThenRetry}), 0,
			"1 attempts, 0 spared, 1 changed; fail to retry by job rule 1: 1",
		},
		"another try past the last": {
			was, alike(failHTTP(503)),
			Retry{MaxAttempts: new(9)},
			0,
			"4 attempts, 0 spared, 1 changed; fail to retry by policy default rule 2: 1",
		},
		"a budget of its own": {
			was, alike(failHTTP(503)), rules(limited), 0,
			"4 attempts, 2 spared, 1 changed; retry to fail by max_attempts: 1",
		},
		"the run's own cap": {
			was, alike(failHTTP(503)),
			Retry{MaxAttempts: new(9)},
			4,
			"4 attempts, 0 spared, 0 changed",
		},
		"max_elapsed": {
			was, alike(failHTTP(503)),
			Retry{MaxElapsed: new(Duration(20e9)), MaxAttempts: new(4)},
			0,
			"4 attempts, 2 spared, 1 changed; retry to fail by max_elapsed: 1",
		},
		"what the job said is believed again": {
			was, reports(true), was, 0,
			"2 attempts, 0 spared, 0 changed",
		},
		"a rule before what the job said": {
			was, reports(true), rules(Rule{If: `error.type == "Odd"`, Then: ThenFail}), 0,
			"2 attempts, 1 spared, 1 changed; retry to fail by job rule 1: 1",
		},
		"what the job said is final": {
			was, reports(false), was, 0,
			"1 attempts, 0 spared, 0 changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun()
			run.MaxAttempts = c.own
			recorded(t, plan(t, c.was), run, c.report)
			r := NewReplay(plan(t, c.now), 0, never)
			r.Run(run)
			if got := found(r); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// What other rules charged is rebuilt: the 429s were charged to a budget then, and to the job's now.
func TestReplayRebuildsCounts(t *testing.T) {
	mixed := func(n int) (Report, bool) {
		if n%2 == 1 {
			return report(failHTTP(429)), n <= 6
		}
		return report(failHTTP(503)), n <= 6
	}
	run := recorded(t, plan(t, Retry{MaxAttempts: new(4), Rules: []Rule{rateLimited}}), newRun(), mixed)
	if len(run.Attempts) != 5 {
		t.Fatalf("%d attempts failed: the third 429 is the last", len(run.Attempts))
	}
	r := NewReplay(plan(t, Retry{MaxAttempts: new(4)}), 0, never)
	r.Run(run)
	want := "5 attempts, 1 spared, 1 changed; retry to fail by max_attempts: 1"
	if got := found(r); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestReplayCountsWhatCameBeforeSince(t *testing.T) {
	run := recorded(t, plan(t, Retry{MaxAttempts: new(5)}), newRun(), alike(failHTTP(503)))
	r := NewReplay(plan(t, Retry{MaxAttempts: new(3)}), run.Attempts[1].FinishedAt, never)
	r.Run(run)
	want := "4 attempts, 2 spared, 1 changed; retry to fail by max_attempts: 1"
	if got := found(r); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r = NewReplay(plan(t, rules(Rule{If: "true", Then: ThenFail})), run.Attempts[3].FinishedAt, never)
	r.Run(run)
	if got, want := found(r), "2 attempts, 2 spared, 0 changed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Of a run's failures only the first and last hundred are kept; those between are counted.
func TestReplayCountsAttemptsNoLongerKept(t *testing.T) {
	run := recorded(t, plan(t, Retry{MaxAttempts: new(700)}), newRun(), alike(failHTTP(503)))
	if len(run.Attempts) != 700 {
		t.Fatalf("%d attempts", len(run.Attempts))
	}
	run.Attempts = append(run.Attempts[:100:100], run.Attempts[600:]...)
	for most, want := range map[int]string{
		1000: "200 attempts, 0 spared, 1 changed; fail to retry by policy default rule 2: 1",
		700:  "200 attempts, 0 spared, 0 changed",
		650:  "200 attempts, 50 spared, 1 changed; retry to fail by max_attempts: 1",
		300:  "200 attempts, 100 spared, 1 changed; retry to fail by max_attempts: 1", // among those not kept
		100:  "200 attempts, 100 spared, 1 changed; retry to fail by max_attempts: 1",
	} {
		r := NewReplay(plan(t, Retry{MaxAttempts: &most}), 0, never)
		r.Run(run)
		if got := found(r); got != want {
			t.Errorf("max_attempts %d: %s, want %s", most, got, want)
		}
	}
	r := NewReplay(plan(t, Retry{MaxAttempts: new(300)}), run.Attempts[100].FinishedAt, never)
	r.Run(run)
	if got, want := found(r), "100 attempts, 100 spared, 0 changed"; got != want {
		t.Errorf("since the last hundred: %s, want %s", got, want)
	}
	asked := 0
	r = NewReplay(plan(t, Retry{MaxAttempts: new(1000)}), 0, func() bool { asked++; return asked > 300 })
	r.Run(run)
	if got, want := found(r), "100 attempts, 0 spared, 0 changed"; got != want {
		t.Errorf("cut short: %s, want %s", got, want)
	}
	if c, _ := CountsAt(plan(t, Retry{}), run, 650, never); c.Charged != 649 || c.Number != 650 {
		t.Errorf("counts at attempt 650: %+v", c)
	}
}

func TestReplayLeavesWhatNoRuleDecides(t *testing.T) {
	run := newRun()
	run.Attempts = []Attempt{{
		Number: 1, FinishedAt: at, Outcome: OutcomeFailed, Error: failHTTP(503),
		Decision: &Decision{Action: ActionFail, By: ByJobDeleted},
	}}
	run.Counts.Charged = 1
	r := NewReplay(plan(t, Retry{}), 0, never)
	r.Run(run)
	if got, want := found(r), "1 attempts, 0 spared, 0 changed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A version that did not keep what a job said kept at least that it was believed.
func TestReplayKnowsReportsOfOlderRecords(t *testing.T) {
	run := newRun()
	run.Attempts = []Attempt{{
		Number: 1, FinishedAt: at, Outcome: OutcomeFailed, Error: failExit(1, "Odd"),
		Decision: &Decision{Action: ActionRetry, By: ByReported},
	}}
	run.Counts.Charged = 1
	r := NewReplay(plan(t, Retry{}), 0, never)
	r.Run(run)
	if got, want := found(r), "1 attempts, 0 spared, 0 changed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestReplayGroupsAndSamples(t *testing.T) {
	was := plan(t, Retry{MaxAttempts: new(2)})
	r := NewReplay(plan(t, rules(
		Rule{If: "http.status == 503", Then: ThenFail}, Rule{If: "exit.code == 1", Then: ThenRetry},
		broken)), 0, never)
	var ids []ID
	for i := range 12 {
		run := newRun()
		ids = append(ids, run.ID)
		f := failHTTP(503)
		if i%4 == 3 {
			f = failExit(1, "")
		} else if i == 8 {
			f = failHTTP(418)
		}
		r.Run(recorded(t, was, run, alike(f)))
	}
	b := r.Found()
	want := []DecisionChange{
		{"retry", "fail", "job rule 1", 8, []ID{ids[10], ids[9], ids[6], ids[5], ids[4]}},
		{"fail", "retry", "job rule 2", 3, []ID{ids[11], ids[7], ids[3]}},
	}
	if !reflect.DeepEqual(b.Changes, want) || b.Changed != 11 {
		t.Errorf("changes %+v, want %+v", b.Changes, want)
	}
	if len(b.Mistakes) != 1 || b.Mistakes[0].Count != 1 || b.Mistakes[0].Samples[0] != ids[8] ||
		!strings.Contains(b.Mistakes[0].Message, "job rule 3 failed and counts as not matching") {
		t.Errorf("mistakes %+v", b.Mistakes)
	}
}

func TestReplayNamesARuleThatTakesTooLong(t *testing.T) {
	run := newRun()
	run.Payload = AppendJSON(nil, map[string]string{"text": strings.Repeat("ab", 100_000)})
	slow := rules(Rule{If: `payload.text matches "(x?a?b?){50}(a|b|ab)*(a|b|ab)*c$"`, Then: ThenFail})
	r := NewReplay(plan(t, slow), 0, never)
	r.Run(recorded(t, plan(t, Retry{}), run, alike(failHTTP(404))))
	if r.TooDear() != "job rule 1" {
		t.Errorf("too dear: %q", r.TooDear())
	}
	r = NewReplay(plan(t, Retry{}), 0, never)
	r.Run(run)
	if r.TooDear() != "" {
		t.Errorf("too dear: %q", r.TooDear())
	}
}

// Each of a hundred rules stays within its budget, all of them together do not.
func TestManyDearRulesAreCutShort(t *testing.T) {
	dear := make([]Rule, maxRules)
	for i := range dear {
		dear[i] = Rule{If: `payload.text matches "(a|b|ab)*(a|b|ab)*(a|b|ab)*c$"`, Then: ThenFail}
	}
	w := &watch{}
	got := Decide(Ending{
		Plan: plan(t, Retry{Rules: dear}), Report: report(failHTTP(503)), Now: at, watch: w,
		Payload: AppendJSON(nil, map[string]string{"text": strings.Repeat("ab", 100_000)}),
	})
	if got.Decision.By != "policy default rule 2" || w.dear == "" || len(w.notes) != 1 ||
		!strings.Contains(got.Decision.Reason, "those after it count as not matching") {
		t.Errorf("%+v, too dear %q, notes %q", got.Decision, w.dear, w.notes)
	}
}

func TestReplayCountsAnewFromAGoodSliceOn(t *testing.T) {
	run := newRun()
	for n := 1; n <= 4; n++ {
		run.Attempts = append(run.Attempts, Attempt{
			Number: n, Slices: 1, FinishedAt: at, Outcome: OutcomeFailed, Error: failHTTP(503),
			Decision: &Decision{Action: ActionRetry, By: "policy default rule 2"},
		})
	}
	run.Attempts[2].Slices = 7
	run.Counts.Charged = 2
	r := NewReplay(plan(t, Retry{MaxAttempts: new(3)}), 0, never)
	r.Run(run)
	if got, want := found(r), "4 attempts, 0 spared, 0 changed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for number, want := range map[int]int{1: 0, 2: 1, 3: 0, 4: 1} {
		if before, _ := CountsAt(plan(t, Retry{}), run, number, never); before.Failures() != want {
			t.Errorf("before attempt %d: %+v, want %d failures", number, before, want)
		}
	}
}

// Whatever a plan decided over whole runs, a replay of what is kept decides alike.
func TestReplayOfTheSameRulesChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plan(t, drawRetry(rt))
		run := newRun()
		run.Payload = Raw(`{"wait":1.5,"a":{"b":2}}`)
		run.MaxAttempts = rapid.SampledFrom([]int{0, 0, 1, 2, 7}).Draw(rt, "own")
		recorded(t, p, run, func(n int) (Report, bool) {
			rep := drawReport(rt)
			rep.RetryAfterFloor = 0 // no header tells it
			rep.Continue, rep.Accepted = false, false
			return rep, n < 40
		})
		r := NewReplay(p, 0, never)
		r.Run(run)
		if b := r.Found(); b.Changed != 0 || b.Spared != 0 || b.Attempts != len(run.Attempts) {
			rt.Fatalf("%s of %+v", found(r), run.Attempts)
		}
		if n := len(run.Attempts); n > 0 {
			before, _ := CountsAt(p, run, run.Attempts[n-1].Number, never)
			if before.Failures() != n-1 {
				rt.Fatalf("counts before the last of %d: %+v", n, before)
			}
		}
	})
}
