package jobs

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawRetry draws settings that Compile accepts.
func drawRetry(t *rapid.T) Retry {
	duration := func(name string, most time.Duration) *Duration {
		return new(Duration(rapid.Int64Range(0, int64(most)).Draw(t, name)))
	}
	conditions := rapid.SampledFrom([]string{
		"true", "false", "http.status == 429", "attempt % 2 == 0", "payload.a.b > 1", "payload.n / 0.0 > 1",
	})
	r := Retry{
		MaxAttempts: new(rapid.IntRange(1, 12).Draw(t, "max_attempts")),
		Otherwise:   rapid.SampledFrom([]string{"", ThenRetry, ThenFail}).Draw(t, "otherwise"),
		Interrupted: rapid.SampledFrom([]string{"", InterruptedRerun, InterruptedFail}).Draw(t, "interrupted"),
		Backoff: &Backoff{
			Kind:   rapid.SampledFrom([]string{"", BackoffExponential, BackoffFixed}).Draw(t, "kind"),
			Base:   duration("base", time.Hour),
			Factor: new(rapid.Float64Range(1, maxFactor).Draw(t, "factor")),
			Max:    new(Duration(time.Hour) + *duration("max", MaxDuration-time.Hour)),
			Jitter: new(rapid.Float64Range(0, 1).Draw(t, "jitter")),
		},
	}
	if rapid.Bool().Draw(t, "bounded") {
		r.MaxElapsed = duration("max_elapsed", 48*time.Hour)
	}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		rule := Rule{If: conditions.Draw(t, "if"), Then: ThenFail}
		if rapid.Bool().Draw(t, "retry") {
			rule.Then = ThenRetry
			rule.After = rapid.SampledFrom([]string{"", "3s", "attempt * 2", "payload.wait"}).Draw(t, "after")
			if rapid.Bool().Draw(t, "own budget") {
				rule.MaxAttempts = new(rapid.IntRange(1, 5).Draw(t, "budget"))
			}
		}
		r.Rules = append(r.Rules, rule)
	}
	return r
}

func drawReport(t *rapid.T) Report {
	failures := []*Failure{
		nil, failHTTP(429), failHTTP(503), failHTTP(404), failExit(75, ""), failExit(1, "Boom"),
		{Kind: FailTimeout},
		{Kind: FailReported},
	}
	r := Report{
		Failure:         rapid.SampledFrom(failures).Draw(t, "failure"),
		Stopped:         rapid.SampledFrom([]error{nil, nil, nil, ErrTimeout, ErrShutdown}).Draw(t, "stopped"),
		RetryAfterFloor: time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "floor")),
	}
	if r.Failure == nil {
		r.Continue = rapid.IntRange(0, 2).Draw(t, "continues") == 0
		r.Accepted = rapid.IntRange(0, 2).Draw(t, "accepted") == 0
		r.Checkpoint = rapid.SampledFrom([]Raw{nil, Raw("1"), Raw("2")}).Draw(t, "checkpoint")
	}
	if rapid.IntRange(0, 4).Draw(t, "reports") == 0 {
		r.Retryable = new(rapid.Bool().Draw(t, "retryable"))
	}
	if rapid.IntRange(0, 9).Draw(t, "reports a wait") == 0 {
		r.RetryAfter = new(time.Duration(rapid.Int64Range(-1, int64(48*time.Hour)).Draw(t, "retry_after")))
	}
	return r
}

// TestDecideKeepsItsPromisesOverWholeRuns plays runs to their ends with drawn outcomes.
func TestDecideKeepsItsPromisesOverWholeRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := &Job{Name: "j", Retry: drawRetry(t)}
		plan, err := Compile(job, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := Ending{
			Plan: plan, RunAt: at, Now: at, Payload: Raw(`{"wait":1.5}`),
			MaxAttempts: rapid.SampledFrom([]int{0, 0, 1, 2, 7}).Draw(t, "own"),
		}
		for range 200 {
			e.Report = drawReport(t)
			e.Lost = rapid.IntRange(0, 9).Draw(t, "lost") == 0
			e.CancelAsked = rapid.IntRange(0, 30).Draw(t, "cancel") == 0
			e.Orphaned = rapid.IntRange(0, 30).Draw(t, "orphaned") == 0
			e.Random = rapid.Float64Range(0, 0.999999).Draw(t, "random")
			e.Counts.Number++
			got := Decide(e)
			if again := Decide(e); !reflect.DeepEqual(got, again) {
				t.Fatalf("undecided: %+v, then %+v", got, again)
			}
			checkPromises(t, e, got)
			if got.State.Terminal() {
				return
			}
			e.Counts, e.Now = got.Counts, max(e.Now, got.DueAt).Add(time.Second)
			e.Checkpoint = e.Report.Checkpoint
		}
	})
}

func checkPromises(t *rapid.T, e Ending, got Transition) {
	if got.Outcome == 0 {
		checkGoesOn(t, e, got)
		return
	}
	d, wait := got.Decision, got.DueAt.Sub(e.Now)
	if d.By == "" || (d.Reason == "") != (d.Action == ActionSucceed) || got.Outcome == 0 {
		t.Fatalf("decision says too little: %+v", got)
	}
	if got.Outcome != OutcomeCancelled && (got.Error == nil) != (got.Outcome == OutcomeSucceeded) {
		t.Fatalf("error and outcome do not agree: %+v", got)
	}
	if got.State.Terminal() {
		if got.DueAt != 0 || d.NextAttemptAt != 0 {
			t.Fatalf("ended and due: %+v", got)
		}
		return
	}
	if wait < 0 || (wait == 0) != (got.State == Queued) || d.NextAttemptAt != got.DueAt {
		t.Fatalf("due in %s: %+v", wait, got)
	}
	if e.CancelAsked || e.Orphaned || got.Outcome == OutcomeInterrupted && e.Plan.atMostOnce {
		t.Fatalf("goes on though it must not: %+v", got)
	}
	if got.Outcome != OutcomeFailed {
		if got.Counts.Failures() != e.Counts.Failures() {
			t.Fatalf("an interruption is charged: %+v", got)
		}
		return
	}
	limit := e.Plan.MaxAttempts(e.MaxAttempts)
	if got.Counts.Failures() != e.Counts.Failures()+1 || got.Counts.Charged >= limit || limit == 1 {
		t.Fatalf("goes on past max_attempts %d: %+v", limit, got)
	}
	if e.MaxAttempts > 0 && got.Counts.Failures() >= e.MaxAttempts {
		t.Fatalf("goes on past its own max_attempts %d: %+v", e.MaxAttempts, got)
	}
	for _, r := range e.Plan.own {
		if r.budget != "" && d.By == r.by && got.Counts.Budgets[r.budget] >= r.most {
			t.Fatalf("goes on past the budget of %s: %+v", r.by, got)
		}
	}
	if last := e.Plan.maxElapsed; last != nil && got.DueAt > e.RunAt.Add(last.Std()) {
		t.Fatalf("goes on past max_elapsed: %+v", got)
	}
	if floor := min(e.Report.RetryAfterFloor, time.Hour); wait < floor {
		t.Fatalf("wait %s is below Retry-After %s", wait, floor)
	}
	if most := time.Duration(2 * float64(*e.Plan.backoff.Max)); wait > max(most, 24*time.Hour)+time.Millisecond {
		t.Fatalf("wait %s is past all bounds", wait)
	}
}

func TestBackoffStaysWithinItsJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := *drawRetry(t).Backoff
		n := rapid.IntRange(1, 1_000_000).Draw(t, "n")
		u := rapid.Float64Range(0, 0.999999).Draw(t, "u")
		got := float64(b.Delay(n, u))
		plain := b
		plain.Jitter = new(0.0)
		middle := float64(plain.Delay(n, 0.5))
		limit := float64(*b.Max)
		if b.Kind == BackoffFixed {
			limit = float64(*b.Base)
		}
		if middle > limit || got < middle*(1-*b.Jitter)-2 || got > middle*(1+*b.Jitter)+2+middle*1e-9 {
			t.Fatalf("%v of %v with jitter %v, at most %v", got, middle, *b.Jitter, limit)
		}
	})
}

func TestARunThatAlwaysFailsHasMaxAttemptsAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 100).Draw(t, "max_attempts")
		job := &Job{Retry: Retry{MaxAttempts: &limit}}
		status := 503
		if rapid.Bool().Draw(t, "own budget") {
			status = 429
			job.Retry = Retry{Rules: []Rule{{If: "http.status == 429", Then: ThenRetry, MaxAttempts: &limit}}}
		}
		plan, err := Compile(job, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := Ending{Plan: plan, RunAt: at, Now: at, Report: report(failHTTP(status))}
		for n := 1; ; n++ {
			got := Decide(e)
			if got.State == Failed {
				if n != limit || got.Decision.By != ByMaxAttempts {
					t.Fatalf("failed after %d of %d attempts by %s", n, limit, got.Decision.By)
				}
				return
			}
			e.Counts, e.Now = got.Counts, got.DueAt
		}
	})
}

func TestFactorTenFromAMillisecondNeverBecomesAHotLoop(t *testing.T) {
	plan, err := Compile(&Job{Retry: Retry{
		MaxAttempts: new(81), Otherwise: ThenRetry,
		Backoff: &Backoff{
			Base: new(Duration(time.Millisecond)), Factor: new(10.0),
			Max: new(Duration(100 * time.Millisecond)),
		},
	}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := Ending{Plan: plan, RunAt: at, Now: at, Report: report(failExit(1, ""))}
	for n := 1; n <= 81; n++ {
		e.Random = float64(n%10) / 10
		got := Decide(e)
		if n == 81 {
			if got.State != Failed {
				t.Errorf("attempt 81: %+v", got)
			}
			return
		}
		wait := got.DueAt.Sub(e.Now)
		if got.State != Retrying || wait > 120*time.Millisecond || n >= 4 && wait < 50*time.Millisecond {
			t.Fatalf("after attempt %d: %s in %s", n, got.State, wait)
		}
		e.Counts, e.Now = got.Counts, got.DueAt
	}
}

// checkGoesOn holds for attempts that are not over.
func checkGoesOn(t *rapid.T, e Ending, got Transition) {
	want := Transition{State: Waiting, Counts: e.Counts}
	if e.Report.Continue {
		want = Transition{State: Running, DueAt: e.Now, Counts: Counts{Number: e.Counts.Number}}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("goes on as %+v: want %+v", got, want)
	}
	if e.CancelAsked || e.Orphaned || e.Lost || e.Report.Stopped != nil {
		t.Fatalf("goes on though it must not: %+v", got)
	}
}
