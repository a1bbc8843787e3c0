package jobs

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func never() bool { return false }

func foresee(t *testing.T, r Retry, f *Failure) Forecast {
	return Foresee(Ending{Plan: plan(t, r), Report: report(f), RunAt: at, Now: at}, 0, never)
}

func waits(f Forecast) string {
	texts := make([]string, len(f.Waits))
	for i, w := range f.Waits {
		texts[i] = w.String()
	}
	return strings.Join(texts, " ")
}

func TestForecastTellsEveryWait(t *testing.T) {
	throttled := failHTTP(429)
	throttled.HTTP.Headers = map[string]string{"retry-after": "45"}
	withFloor := EndingOf(plan(t, Retry{MaxAttempts: new(4)}), newRun(), &Attempt{Error: throttled, FinishedAt: at})
	for name, c := range map[string]struct {
		got       Forecast
		waits     string
		action    string
		by        string
		endBy     string
		endReason string
	}{
		"the default": {
			foresee(t, Retry{}, failHTTP(503)), "10s 30s 1m30s 4m30s 13m30s 30m 30m",
			"retry", "policy default rule 2", "max_attempts", "attempt 8 of 8 failed",
		},
		"no retry": {
			foresee(t, Retry{}, failHTTP(404)), "", "fail", "otherwise", "otherwise", "no rule matches",
		},
		"a budget of its own, with a wait": {
			foresee(t, rules(Rule{If: "http.status == 429", Then: ThenRetry, After: "2m", MaxAttempts: new(3)}), failHTTP(429)),
			"2m 2m", "retry", "job rule 1", "max_attempts", "failure 3 of 3 under this rule",
		},
		"a wait by an expression": {
			foresee(t, Retry{MaxAttempts: new(4), Rules: []Rule{{If: "true", Then: ThenRetry, After: "attempt * 10"}}}, failHTTP(500)),
			"10s 20s 30s", "retry", "job rule 1", "max_attempts", "attempt 4 of 4 failed",
		},
		"a rule that looks at the time": {
			foresee(t, rules(Rule{If: `elapsed > duration("1m")`, Then: ThenFail}), failHTTP(500)),
			"10s 30s 1m30s", "retry", "policy default rule 2", "job rule 1", "says fail",
		},
		"max_elapsed": {
			foresee(t, Retry{MaxElapsed: new(Duration(time.Minute))}, failHTTP(500)),
			"10s 30s", "retry", "policy default rule 2", "max_elapsed", "later than max_elapsed",
		},
		"Retry-After": {
			Foresee(withFloor, 0, never), "45s 45s 1m30s", "retry", "policy default rule 2",
			"max_attempts", "attempt 4 of 4 failed",
		},
		"a thousand": {
			foresee(t, Retry{
				MaxAttempts: new(1000), Backoff: &Backoff{Kind: BackoffFixed, Base: new(Duration(1e9))},
			}, failHTTP(500)),
			strings.TrimSpace(strings.Repeat("1s ", 999)), "retry", "policy default rule 2",
			"max_attempts", "attempt 1000 of 1000 failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.got
			if got := waits(f); got != c.waits {
				t.Errorf("waits %s, want %s", got, c.waits)
			}
			if f.Decision.Action != c.action || f.Decision.By != c.by {
				t.Errorf("decision %+v", f.Decision)
			}
			if f.End == nil || f.End.By != c.endBy || !strings.Contains(f.End.Reason, c.endReason) {
				t.Errorf("end %+v", f.End)
			}
		})
	}
}

func TestForecastIsBounded(t *testing.T) {
	never := rules(Rule{If: "attempt % 2 == 0", Then: ThenRetry, MaxAttempts: new(1000)},
		Rule{If: "true", Then: ThenRetry, MaxAttempts: new(1000)})
	f := foresee(t, never, failHTTP(500))
	if len(f.Waits) != 999 || f.End == nil {
		t.Errorf("%d waits, end %+v", len(f.Waits), f.End)
	}
	e := Ending{Plan: plan(t, Retry{}), Report: report(failHTTP(503)), RunAt: at, Now: at}
	asked := 0
	f = Foresee(e, 0, func() bool { asked++; return asked == 2 })
	if len(f.Waits) != 2 || f.End != nil || f.Decision.Action != ActionRetry {
		t.Errorf("cut after two: %+v", f)
	}
}

// What is foreseen is what then happens, attempt by attempt.
func TestForecastIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := Ending{
			Plan: plan(t, drawRetry(rt)), RunAt: at, Now: at, Payload: Raw(`{"wait":1.5}`),
			Report: drawReport(rt), MaxAttempts: rapid.SampledFrom([]int{0, 3, 1000}).Draw(rt, "own"),
			Counts: Counts{Number: 1},
		}
		e.Report.Stopped = nil
		if e.Report.Failure == nil {
			e.Report.Failure = failHTTP(500)
		}
		lasts := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(rt, "lasts"))
		f := Foresee(e, lasts, never)
		e.Random = middle
		for i, wait := range f.Waits {
			got := Decide(e)
			if got.Decision.Action != ActionRetry || got.DueAt != e.Now.Add(wait.Std()) {
				rt.Fatalf("wait %d is %s: %+v", i, wait, got)
			}
			e.Counts, e.Now = got.Counts, got.DueAt.Add(lasts)
			e.Counts.Number++
		}
		if got := Decide(e); f.End == nil || got.Decision != *f.End {
			rt.Fatalf("end %+v, foreseen %+v", got.Decision, f.End)
		}
	})
}
