package jobs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEffectiveRetryTellsWhereEachPartComesFrom(t *testing.T) {
	job := &Job{Name: "a", Retry: Retry{
		Policy: "gentle", MaxAttempts: new(3), Backoff: &Backoff{Base: new(Duration(3600e9))},
		Rules: []Rule{{If: "attempt > 3", Then: "fail", Reason: "enough"}},
	}}
	gentle := &Policy{
		Name: "gentle", MaxAttempts: new(20), MaxElapsed: new(Duration(60e9)), Otherwise: "retry",
		Rules: []Rule{{If: "http.status == 429", Then: "retry", After: "2m"}},
	}
	plan, err := Compile(job, gentle, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := plan.EffectiveRetry()
	want := EffectiveRetry{
		MaxAttempts: Setting[int]{3, "job"},
		MaxElapsed:  OptionalSetting{new(Duration(60e9)), "policy gentle"},
		Backoff: EffectiveBackoff{
			Kind:   Setting[string]{"exponential", "policy default"},
			Base:   Setting[Duration]{3600e9, "job"},
			Factor: Setting[float64]{3, "policy default"},
			Max:    Setting[Duration]{3600e9, "job"}, // raised by the base
			Jitter: Setting[float64]{0.2, "policy default"},
		},
		Otherwise:   Setting[string]{"retry", "policy gentle"},
		Interrupted: Setting[string]{"rerun", "policy default"},
		Rules: []EffectiveRule{
			{"job rule 1", job.Retry.Rules[0]},
			{"policy gentle rule 1", gentle.Rules[0]},
			{By: "reported"},
			{"policy default rule 1", DefaultPolicy().Rules[0]},
		},
	}
	if len(got.Rules) != 3+len(DefaultPolicy().Rules) {
		t.Fatalf("%d rules", len(got.Rules))
	}
	got.Rules = got.Rules[:4]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if *plan.backoff.Max != got.Backoff.Max.Value || plan.MaxAttempts(0) != got.MaxAttempts.Value ||
		plan.otherwise != got.Otherwise.Value {
		t.Errorf("the plan itself goes by %+v", plan)
	}
}

func TestEffectiveRetryOfAJobWithoutSettingsIsThePolicyDefault(t *testing.T) {
	plain, err := Compile(&Job{Name: "a"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := plain.EffectiveRetry()
	if got.MaxElapsed.Value != nil || got.MaxElapsed.From != "nobody" || got.MaxAttempts.From != "policy default" ||
		got.Rules[0].By != "reported" || got.Rules[1].By != "policy default rule 1" {
		t.Errorf("got %+v", got)
	}
	own := &Policy{Name: "default", MaxAttempts: new(2), Rules: []Rule{{If: "true", Then: "retry"}}}
	changed, err := Compile(&Job{Name: "a"}, own, own)
	if err != nil {
		t.Fatal(err)
	}
	got = changed.EffectiveRetry()
	if got.MaxAttempts.Value != 2 || got.Otherwise.From != "policy default" || len(got.Rules) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestAPolicyDefaultThatSaysNothingOfRulesKeepsThoseBuiltIn(t *testing.T) {
	for text, want := range map[string]int{
		`{"max_attempts":2}`:              1 + len(DefaultPolicy().Rules),
		`{"max_attempts":2,"rules":null}`: 1 + len(DefaultPolicy().Rules),
		`{"max_attempts":2,"rules":[]}`:   1,
	} {
		own, err := ParsePolicy([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if own, err = ParsePolicyDocument("default", own.Document()); err != nil {
			t.Fatal(err)
		}
		plan, err := Compile(&Job{Name: "a"}, nil, own)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.EffectiveRetry(); len(got.Rules) != want || got.MaxAttempts.Value != 2 {
			t.Errorf("%s: %d rules, want %d", text, len(got.Rules), want)
		}
	}
}
