package cli_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile are expressions that hung, crashed or bloated evaluators elsewhere. Each must be refused
// as it is saved.
var hostile = map[string]string{
	"a call of what is no function": `foo() > 0`,
	"a call of a fact":              `error() == nil`,
	"a call of nil":                 `nil()`,
	"a member of a number":          `attempt.foo.bar == 1`,
	"a division by a literal zero":  `attempt / 0 > 1`,
	"a remainder of a literal zero": `attempt % 0 == 1`,
	"text against a number":         `"a" > 1`,
	"an unknown name":               `status == 1`,
	"no boolean":                    `1 + 1`,
	"a list of all numbers":         `len(1..1000000000) > 0`,
	"a list of nearly all numbers":  `1 in -9223372036854775807..9223372036854775807`,
	"a predicate":                   `all(1..100000, {all(1..100000, {# > 0})})`,
	"a filter":                      `len(filter([1,2,3], {# > 1})) > 1`,
	"a map":                         `map(1..10, {#}) == nil`,
	"a reduction":                   `reduce(1..9, {#acc + #}) > 1`,
	"repetition":                    `repeat("x", 1000000000) == ""`,
	"nested repetition":             `repeat(repeat(repeat("x", 1000), 1000), 1000) == ""`,
	"a pattern from data":           `error.message matches payload.pattern`,
	"a pattern that is none":        `error.message matches "("`,
	"a pattern that explodes":       `error.message matches "((((a{1,1000}){1,1000}){1,1000}){1,1000})"`,
	"variables":                     `let a = "xxxxxxxxxx"; let b = a + a; b + b == ""`,
	"unending nesting":              strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000),
	"unending negation":             strings.Repeat("!", 4000) + "true",
	"unending minus":                strings.Repeat("-", 4000) + "1 == 1",
	"unending members":              "payload" + strings.Repeat(".a", 1900) + " == 1",
	"unending indexes":              "payload" + strings.Repeat("[0]", 1300) + " == 1",
	"unending lists": strings.Repeat(
		"[",
		1500,
	) + strings.Repeat(
		"]",
		1500,
	) + " == 1",
	"an unending source":       `error.message == "` + strings.Repeat("x", 5000) + `"`,
	"the environment":          `$env["payload"] == nil`,
	"a number past all":        `attempt == 99999999999999999999999`,
	"a text that does not end": `error.type == "abc`,
	"nothing":                  ` `,
	"a duration that is none":  `elapsed > duration("soon")`,
	"a method of Go":           `elapsed.String() == ""`,
	"the time of day":          `now() > date("2026-01-01")`,
	"bytes that are no text":   "error.type == \"\x00\"",
}

func TestHostileRulesAreRefusedAtOnce(t *testing.T) { // case 59
	t.Parallel()
	p := start(t, t.TempDir())
	save := func(cond string) (int, []byte) {
		text, _ := json.Marshal(
			doc{
				"script": doc{"source": "true"},
				"retry":  doc{"rules": []doc{{"if": cond, "then": "fail"}}},
			},
		)
		status, answer, err := p.try("PUT", "/v1/jobs/rules", string(text))
		if err != nil {
			t.Fatal(err)
		}
		return status, answer
	}
	save("true")
	before := p.rss()
	slowest := p.elsewhere(func() {
		for name, cond := range hostile {
			began := time.Now()
			status, answer := save(cond)
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			if status != 422 || !strings.Contains(string(answer), "body.retry.rules[0].if") {
				t.Errorf("%s: %d %s", name, status, answer)
			}
		}
	})
	if slowest > 2*time.Second {
		t.Errorf("another call took %v meanwhile", slowest)
	}
	if grown := p.rss() - before; grown > 64<<20 {
		t.Errorf("the server grew by %d MiB", grown>>20)
	}
}

// elsewhere calls the server over and over while fn runs, and tells how long a call took at most.
func (p *process) elsewhere(fn func()) (slowest time.Duration) {
	p.t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			began := time.Now()
			if status, _, err := p.try("GET", "/v1/jobs", nil); err != nil || status != 200 {
				p.t.Errorf("another call meanwhile: %d %v", status, err)
			}
			slowest = max(slowest, time.Since(began))
		}
	})
	fn()
	close(stop)
	wg.Wait()
	return slowest
}

func TestRulesThatAreHardToEvaluateAreBounded(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	big := strings.Repeat("ab", 30_000)
	conds := []string{
		`payload.text + payload.text + payload.text + payload.text == ""`,
		`payload.text matches "(a|b|ab)*(a|b|ab)*(a|b|ab)*c$"`,
		`len(split(payload.text, "")) > 1000000`,
		`payload.deep == payload.deep && payload.text == 1`,
		`payload.number * payload.number * payload.number > 0`,
		`payload.text in payload.list`,
		`replace(payload.text, "a", payload.text) == ""`,
		`join(split(payload.text, "a"), payload.text) == ""`,
	}
	var rules []doc
	for _, cond := range conds {
		text, _ := json.Marshal(
			doc{
				"script": doc{"source": "true"},
				"retry":  doc{"rules": []doc{{"if": cond, "then": "fail"}}},
			},
		)
		if status, _, _ := p.try("PUT", "/v1/jobs/one", string(text)); status/100 == 2 {
			rules = append(rules, doc{"if": cond, "then": "fail"})
		}
	}
	if len(rules) < 4 {
		t.Fatalf("only %d of the rules are taken", len(rules))
	}
	p.put("hard", doc{
		"script": doc{"source": "exit 3"},
		"retry":  doc{"max_attempts": 2, "backoff": quick, "otherwise": "retry", "rules": rules},
	})
	before := p.rss()
	slowest := p.elsewhere(func() {
		run := p.end(p.enqueue("hard", doc{"payload": doc{
			"text": big, "deep": strings.Split(big[:10_000], "a"), "number": 1 << 62, "list": []string{"x"},
		}}))
		if len(run.Attempts) != 2 || run.Attempts[1].Decision.By != "max_attempts" {
			t.Errorf("%s: %s, %+v", run.State, run.outcomes(), run.Attempts[0].Decision)
		}
	})
	if slowest > 2*time.Second {
		t.Errorf("another call took %v meanwhile", slowest)
	}
	if grown := p.rss() - before; grown > 64<<20 {
		t.Errorf("the server grew by %d MiB", grown>>20)
	}
}
