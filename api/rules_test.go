package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

const quickRetry = `"retry":{"max_attempts":3,"backoff":{"base":"5ms","jitter":0},` +
	`"rules":[{"if":"http.status == 418","then":"fail","reason":"a teapot"}]}`

// answering is a receiver that answers with a status.
func answering(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":"no_such_user"}`))
	}
}

// waitsOf are the waits of a check.
func (a *answer) waitsOf() string {
	a.t.Helper()
	var out struct{ Waits []string }
	a.into(&out)
	return strings.Join(out.Waits, " ")
}

func TestCheckOfAnErrorThatIsTold(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("shop", answering(200), `"payload":{"total":7},"labels":{"team":"data"},"retry":{"max_attempts":4,`+
		`"backoff":{"jitter":0.5},"rules":[{"if":"http.status == 418","then":"fail","reason":"a teapot"},`+
		`{"if":"payload.total > 5 && job.labels.team == \"data\"","then":"retry","after":"1m"}]}`)
	for name, c := range map[string]struct{ body, action, by, waits, end string }{
		"by the job": {
			`{"job":"shop","error":{"http":{"status":418}}}`, "fail", "job rule 1", "", "job rule 1",
		},
		"with the job's payload": {
			`{"job":"shop","error":{"http":{"status":500}}}`, "retry", "job rule 2", "1m 1m 1m", "max_attempts",
		},
		"with a payload": {
			`{"job":"shop","error":{"http":{"status":500},"payload":{"total":1}}}`, "retry",
			"policy default rule 2", "10s 30s 1m30s", "max_attempts",
		},
		"by rules in place of the job's": {
			`{"job":"shop","rules":[{"if":"http.body.code == \"x\"","then":"retry","max_attempts":2,"after":"attempt * 3"}],
			"error":{"kind":"http","http":{"status":400,"body":{"code":"x"}}}}`, "retry", "job rule 1", "3s", "max_attempts",
		},
		"by rules alone, the body as text": {
			`{"rules":[{"if":"http.body.code == \"x\"","then":"retry"}],"error":{"http":{"status":400,"body":"{\"code\":\"x\"}"}}}`,
			"retry", "job rule 1", "10s 30s 1m30s 4m30s 13m30s 30m 30m", "max_attempts",
		},
		"by no rules": {
			`{"rules":[],"error":{"kind":"exit","exit":{"code":3}}}`, "fail", "otherwise", "", "otherwise",
		},
		"of a script that was killed": {
			`{"rules":[{"if":"exit.code == -1 && exit.signal == \"SIGKILL\" && error.kind == \"signal\"","then":"fail"}],
			"error":{"exit":{"signal":"SIGKILL"}}}`, "fail", "job rule 1", "", "job rule 1",
		},
		"with a Retry-After": {
			`{"rules":[],"error":{"http":{"status":429,"headers":{"Retry-After":"45"}}}}`, "retry",
			"policy default rule 2", "45s 45s 1m30s 4m30s 13m30s 30m 30m", "max_attempts",
		},
		"with what the job reported": {
			`{"rules":[],"error":{"kind":"reported","reported":{"retry_after":"7s"}}}`, "retry", "reported",
			"7s 7s 7s 7s 7s 7s 7s", "max_attempts",
		},
		"with output, progress and time": {
			`{"rules":[{"if":"output contains \"disk\" && progress.done == 3 && elapsed > duration(\"1h\")","then":"fail"}],
			"error":{"kind":"exit","exit":{"code":1},"output":"disk full","progress":{"done":3,"total":9},"elapsed":"2h"}}`,
			"fail", "job rule 1", "", "job rule 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := ts.call("POST", "/v1/rules/check", c.body).want(200)
			if a.field("action") != c.action || a.field("by") != c.by || a.waitsOf() != c.waits ||
				a.field("end.by") != c.end || a.field("reason") == "" {
				t.Errorf("%s", a.body)
			}
		})
	}
}

func TestCheckOfARecordedRunIsWhatHappened(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("shop", answering(503), quickRetry)
	id := ts.enqueue("shop", `{"payload":{"a":1}}`)
	run := ts.until(id, "failed")
	for number, want := range map[string]struct{ action, by, waits string }{
		"1": {"retry", "policy default rule 2", "5ms 15ms"},
		"2": {"retry", "policy default rule 2", "15ms"},
		"3": {"fail", "max_attempts", ""},
	} {
		a := ts.call("POST", "/v1/rules/check", `{"run":"`+id+`","attempt":`+number+`}`).want(200)
		if a.field("action") != want.action || a.field("by") != want.by || a.waitsOf() != want.waits {
			t.Errorf("attempt %s: %s", number, a.body)
		}
		i, _ := strconv.Atoi(number)
		if was := run.field(fmt.Sprint("attempts.", i-1, ".decision.reason")); a.field("reason") != was {
			t.Errorf("attempt %s: %s, it was %s", number, a.body, was)
		}
	}
	last := ts.call("POST", "/v1/rules/check", `{"run":"`+id+`"}`).want(200)
	if last.field("by") != "max_attempts" || last.field("end.by") != "max_attempts" {
		t.Errorf("the last: %s", last.body)
	}
	other := ts.call("POST", "/v1/rules/check", `{"run":"`+id+`","rules":[`+
		`{"if":"http.body.code == \"no_such_user\" && payload.a == 1","then":"retry","after":"1m","max_attempts":5}]}`).want(200)
	if other.field("by") != "job rule 1" || other.waitsOf() != "1m 1m" {
		t.Errorf("other rules charge other budgets: %s", other.body)
	}
	// The record as it is shown can be told.
	shown := run.body[strings.Index(string(run.body), `"error":`):]
	dec := string(shown[len(`"error":`):])
	dec = dec[:strings.Index(dec, `,"group"`)]
	if told := ts.call("POST", "/v1/rules/check", `{"job":"shop","error":`+dec+`}`).want(200); told.field("by") != "policy default rule 2" {
		t.Errorf("the error as it is shown: %s", told.body)
	}
	ts.call("DELETE", "/v1/jobs/shop", "").want(200)
	gone := ts.call("POST", "/v1/rules/check", `{"run":"`+id+`","rules":[]}`).want(200)
	if gone.field("by") != "policy default rule 2" {
		t.Errorf("of a job that is deleted: %s", gone.body)
	}
}

func TestCheckRefusesWhatItCannotAnswer(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("fine", ok("1"))
	ts.hook("flaky", answering(503), quickRetry)
	good := ts.enqueue("fine", "")
	ts.until(good, "succeeded")
	failed := ts.enqueue("flaky", "")
	ts.until(failed, "failed")
	for body, want := range map[string]string{
		`{}`:                        "body: want an error, or the run",
		`{"error":{"kind":"http"}}`: "body: want a job, or the rules",
		`{"job":"fine"}`:            "body: want an error, or the run",
		`{"rules":[],"error":{}}`:   "body.error.kind: is missing: want one of timeout",
		`{"rules":[],"error":{"kind":"tiemout"}}`:                                     "body.error.kind: want one of timeout",
		`{"rules":[],"error":{"kind":"lost"}}`:                                        "body.error.kind: rules are not asked about lost",
		`{"rules":[],"error":{"kind":"http"},"attempt":2}`:                            "body.attempt: is of use with a run only",
		`{"rules":[],"error":{"kind":"http"},"run":"` + good + `"}`:                   "body.run: want either",
		`{"rules":[],"error":{"kind":"http","code":3}}`:                               "body.error.code: unknown",
		`{"rules":[],"error":{"http":{"status":"503"}}}`:                              "body.error.http.status: want a whole number",
		`{"rules":[],"error":{"http":{"status":5030}}}`:                               "body.error.http.status: want a status",
		`{"rules":[{"if":"htp.status == 1","then":"retry"}],"error":{"kind":"http"}}`: "body.rules[0].if: line 1, column 1: unknown name htp",
		`{"rules":[{"if":"true","then":"again"}],"run":"` + failed + `"}`:             "body.rules[0].then: is",
		`{"rules":[{"if":"true","then":"retry","after":"soon"}],"error":{}}`:          "body.rules[0].after: neither a duration",
		`{"run":"` + good + `"}`:                                                      "body.run: no attempt of it has failed",
		`{"run":"` + failed + `","attempt":9}`:                                        "body.attempt: want the number of an attempt that failed: 1, 2, 3",
		`{"run":"` + failed + `","attempt":0}`:                                        "body.attempt: want a number from 1",
		`{"run":"x"}`:                                                                 "body.run: ",
	} {
		got := ts.call("POST", "/v1/rules/check", body).problem(probInvalid)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	for _, body := range []string{
		`{"job":"absent","error":{"kind":"http"}}`, `{"job":"No Name","error":{"kind":"http"}}`,
		`{"run":"0192e4a7-5b3c-7d1e-8f00-0123456789ab"}`,
	} {
		ts.call("POST", "/v1/rules/check", body).problem(probNotFound)
	}
	large := `{"rules":[],"error":{"kind":"http","payload":"` + strings.Repeat("x", jobs.MaxPayload) + `"}}`
	ts.call("POST", "/v1/rules/check", large).problem(probTooLarge)
	ts.call("POST", "/v1/rules/check", `[]`).want(422)
	ts.call("POST", "/v1/rules/check", `{`).problem(probSyntax)
}

func TestRulesOfOtherJobsAreOutOfReach(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("flaky", answering(503), quickRetry)
	ts.hook("mail-out", answering(503), quickRetry)
	foreign, own := ts.enqueue("flaky", ""), ts.enqueue("mail-out", "")
	ts.until(foreign, "failed")
	ts.until(own, "failed")
	narrow := as(ts.token(`{"name":"narrow","scopes":["read"],"jobs":["mail-*"]}`))
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"check", `{"job":"flaky","error":{"kind":"http"}}`, 404},
		{"check", `{"run":"` + foreign + `"}`, 404},
		{"check", `{"job":"mail-out","run":"` + foreign + `"}`, 404},
		{"check", `{"job":"flaky","run":"` + own + `"}`, 404},
		{"check", `{"run":"` + own + `"}`, 200},
		{"check", `{"rules":[],"error":{"kind":"http"}}`, 200},
		{"backtest", `{"job":"flaky"}`, 404},
		{"backtest", `{"job":"mail-out"}`, 200},
	} {
		if a := ts.call("POST", "/v1/rules/"+c.path, c.body, narrow...); a.status != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.path, c.body, a.status, c.status, a.body)
		}
	}
}

func TestBacktestTellsWhatWouldChange(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("shop", answering(503), quickRetry)
	ts.unguarded("shop")
	var ids []string
	for range 7 {
		ids = append(ids, ts.enqueue("shop", ""))
	}
	for _, id := range ids {
		ts.until(id, "failed")
	}
	ts.hook("shop", answering(404), quickRetry)
	gone := ts.enqueue("shop", "")
	ts.until(gone, "failed")
	body := func(rules, since string) string {
		text := `{"job":"shop"`
		if rules != "" {
			text += `,"rules":` + rules
		}
		if since != "" {
			text += `,"since":"` + since + `"`
		}
		return text + "}"
	}
	same := ts.call("POST", "/v1/rules/backtest", body("", "")).want(200)
	if got := string(same.body); got != `{"attempts":22,"spared":0,"changed":0,"changes":[],"mistakes":[]}`+"\n" {
		t.Errorf("the rules as they stand: %s", got)
	}
	rules := `[{"if":"http.status == 503","then":"fail"},{"if":"http.status == 404","then":"retry"}]`
	a := ts.call("POST", "/v1/rules/backtest", body(rules, "7d")).want(200)
	var got jobs.Backtest
	a.into(&got)
	if got.Attempts != 22 || got.Spared != 14 || got.Changed != 8 || len(got.Changes) != 2 {
		t.Fatalf("%s", a.body)
	}
	first, second := got.Changes[0], got.Changes[1]
	if first.From != "retry" || first.To != "fail" || first.By != "job rule 1" || first.Count != 7 ||
		len(first.Samples) != 5 || first.Samples[0].String() != ids[6] || first.Samples[4].String() != ids[2] {
		t.Errorf("first: %+v", first)
	}
	if second.From != "fail" || second.To != "retry" || second.By != "job rule 2" || second.Count != 1 ||
		second.Samples[0].String() != gone {
		t.Errorf("second: %+v", second)
	}
	// A rule of another job's saves nothing and changes nothing.
	if now := ts.call("GET", "/v1/jobs/shop", "").field("retry.rules.0.if"); now != "http.status == 418" {
		t.Errorf("the job's rule is %s", now)
	}
	future := jobs.TimeOf(time.Now().Add(time.Hour)).String()
	none := ts.call("POST", "/v1/rules/backtest", body(rules, future)).want(200)
	if none.field("attempts") != "0" {
		t.Errorf("since the future: %s", none.body)
	}
	broken := ts.call("POST", "/v1/rules/backtest", body(`[{"if":"payload.a.b / 0.0 > 1","then":"fail"}]`, "")).want(200)
	if broken.field("mistakes.0.count") != "22" || broken.field("changed") != "0" {
		t.Errorf("a rule that fails: %s", broken.body)
	}
}

func TestBacktestRefusesWhatItCannotReplay(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("shop", answering(200))
	for body, want := range map[string]string{
		`{}`:                              "body.job: is missing",
		`{"job":"shop","since":"monday"}`: "body.since: want a time",
		`{"job":"shop","rules":[{"if":"true","then":"retry"},{"if":"nothing","then":"retry"}]}`:     "body.rules[1].if: line 1, column 1: unknown name",
		`{"job":"shop","rules":{"if":"true"}}`:                                                      "body.rules: want a list",
		`{"job":"shop","rules":[` + strings.Repeat(`{"if":"true","then":"fail"},`, 100) + `{}]}`:    "body.rules: has 101 rules",
		`{"job":"shop","rule":[]}`:                                                                  "body.rule: unknown",
		`{"job":"shop","rules":[{"if":"` + strings.Repeat("(", 100_000) + `true","then":"retry"}]}`: "body.rules[0].if",
		`{"job":"shop","rules":[{"if":"1 in 1..1000000000","then":"retry"}]}`:                       "body.rules[0].if",
		`{"job":"shop","rules":[{"if":"error.message == \"\u0000\"","then":"retry"}]}`:              "body.rules[0].if",
	} {
		got := ts.call("POST", "/v1/rules/backtest", body).problem(probInvalid)
		if !strings.Contains(got, want) {
			t.Errorf("%.80s: %s", body, got)
		}
	}
	ts.call("POST", "/v1/rules/backtest", `{"job":"absent"}`).problem(probNotFound)
	ts.call("POST", "/v1/rules/backtest", `{"job":"shop","rules":[{"if":"`+strings.Repeat("x", 1<<20)+`"}]}`).
		problem(probTooLarge)
}

// recordFailures keeps n failed attempts of a job, each with a large payload.
func (ts *testServer) recordFailures(job string, n int, payload string) {
	ts.t.Helper()
	for range n {
		sub, err := ts.rt.Submit(context.Background(), true, []jobs.Request{{Job: job, Payload: jobs.Raw(payload), Trigger: jobs.TriggerAPI}})
		if err != nil {
			ts.t.Fatal(err)
		}
		ts.until(sub[0].ID.String(), "failed")
	}
}

func TestRulesThatAreHardToEvaluateEndABacktest(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("hard", answering(404))
	ts.recordFailures("hard", 3, `{"text":"`+strings.Repeat("ab", 100_000)+`"}`)
	rules := `[{"if":"true == false","then":"fail"},` +
		`{"if":"payload.text matches \"(x?a?b?){50}(a|b|ab)*(a|b|ab)*c$\"","then":"fail"}]`
	got := ts.call("POST", "/v1/rules/backtest", `{"job":"hard","rules":`+rules+`}`).problem(probInvalid)
	if !strings.Contains(got, "body.rules[1].if: job rule 2 takes too long on the failure of run") {
		t.Errorf("%s", got)
	}
	id := ts.call("GET", "/v1/runs?job=hard&limit=1", "").field("items.0.id")
	check := ts.call("POST", "/v1/rules/check", `{"run":"`+id+`","rules":`+rules+`}`).want(200)
	if check.field("by") != "otherwise" || !strings.Contains(check.field("reason"), "takes too long") {
		t.Errorf("%s", check.body)
	}
}

func TestBacktestsAreFewAtATime(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("shop", answering(404))
	ts.recordFailures("shop", 1, `{}`)
	ts.api.backtests.Store(maxBacktests)
	refused := ts.call("POST", "/v1/rules/backtest", `{"job":"shop"}`)
	refused.problem(probOverload)
	if refused.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	ts.api.backtests.Store(0)
	ts.call("POST", "/v1/rules/backtest", `{"job":"shop"}`).want(200)
	if n := ts.api.backtests.Load(); n != 0 {
		t.Errorf("%d backtests are under way", n)
	}
}

// The rule takes long on each attempt, but not too long: the whole would take minutes.
func TestBacktestEndsWithItsCaller(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("slow", answering(503), `"retry":{"max_attempts":100,"backoff":{"base":"1ms","max":"1ms"}}`)
	ts.unguarded("slow")
	for range 8 {
		ts.enqueue("slow", `{"payload":{"text":"`+strings.Repeat("ab", 100_000)+`"}}`)
	}
	ts.await("eight runs to fail", func() bool {
		return ts.call("GET", "/v1/runs?job=slow&state=failed&limit=100", "").field("items.7.id") != ""
	})
	body := `{"job":"slow","rules":[{"if":"payload.text matches \"(a|b|ab)*(a|b|ab)*(a|b|ab)*c$\"","then":"fail"}]}`
	ctx, leave := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", ts.url+"/v1/rules/backtest", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ts.admin)
	left := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	ts.await("the backtest to begin", func() bool { return ts.api.backtests.Load() > 0 })
	leave()
	if err := <-left; err == nil {
		t.Fatal("it was answered")
	}
	ts.await("the backtest to end", func() bool { return ts.api.backtests.Load() == 0 })
}

func TestTriedRulesStandAmongThePoliciesOfTheJob(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/policies/gentle", `{"max_attempts":2,"backoff":{"base":"7s","jitter":0},`+
		`"rules":[{"if":"http.status == 404","then":"retry"}]}`).want(201)
	ts.hook("shop", answering(404), `"retry":{"policy":"gentle","backoff":{"base":"7ms"},`+
		`"rules":[{"if":"http.status == 410","then":"fail"}]}`)
	check := func(rules string) *answer {
		return ts.call("POST", "/v1/rules/check", `{"job":"shop"`+rules+`,"error":{"http":{"status":404}}}`).want(200)
	}
	if a := check(""); a.field("by") != "policy gentle rule 1" || a.waitsOf() != "7ms" {
		t.Errorf("the rules as they stand: %s", a.body)
	}
	if a := check(`,"rules":[{"if":"http.status == 404","then":"fail"}]`); a.field("by") != "job rule 1" {
		t.Errorf("rules before those of the policy: %s", a.body)
	}
	if a := check(`,"rules":[]`); a.field("by") != "policy gentle rule 1" {
		t.Errorf("no rules of its own: %s", a.body)
	}
	run := ts.enqueue("shop", "")
	ts.until(run, "failed")
	ts.call("PUT", "/v1/policies/gentle", `{"max_attempts":1,"rules":[{"if":"http.status == 404","then":"retry"}]}`).want(200)
	got := ts.call("POST", "/v1/rules/backtest", `{"job":"shop"}`).want(200)
	if got.field("changed") != "1" || got.field("changes.0.by") != "max_attempts" || got.field("spared") != "1" {
		t.Errorf("after a change of the policy: %s", got.body)
	}
	ts.call("PUT", "/v1/policies/default", `{"otherwise":"retry"}`)
	alone := ts.call("POST", "/v1/rules/check", `{"rules":[],"error":{"http":{"status":404}}}`).want(200)
	if alone.field("by") != "otherwise" || alone.field("action") != "retry" {
		t.Errorf("rules alone stand over the policy default as it is: %s", alone.body)
	}
}
