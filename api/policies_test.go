package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPoliciesAreMadeReplacedAndDeleted(t *testing.T) {
	ts := newTestServer(t)
	made := ts.call("POST", "/v1/policies", `{"name":"gentle","max_attempts":3}`).want(201)
	if made.header.Get("Location") != "/v1/policies/gentle" || made.header.Get("ETag") != `"1"` {
		t.Errorf("headers: %v", made.header)
	}
	ts.call("POST", "/v1/policies", `{"name":"gentle"}`).problem(probExists)
	ts.call("POST", "/v1/policies", `{}`).problem(probInvalid)
	// The answer may be sent back: state is ignored.
	if a := ts.call("PUT", "/v1/policies/gentle", string(made.body)).want(200); a.header.Get("ETag") != `"1"` {
		t.Errorf("the same document again changed it: %s", a.body)
	}
	ts.call("PUT", "/v1/policies/gentle", `{"max_attempts":4}`, "If-Match", `"9"`).problem(probStale)
	ts.call("PUT", "/v1/policies/gentle", `{"max_attempts":4}`, "If-None-Match", `*`).problem(probStale)
	if a := ts.call("PUT", "/v1/policies/gentle", `{"max_attempts":4}`, "If-Match", `"1"`).want(200); a.header.Get("ETag") != `"2"` {
		t.Errorf("headers: %v", a.header)
	}
	ts.call("GET", "/v1/policies/gentle", "", "If-None-Match", `"2"`).want(304)
	ts.call("PUT", "/v1/policies/gentle", `{"name":"other"}`).problem(probInvalid)
	ts.call("PUT", "/v1/policies/Gentle", `{}`).problem(probInvalid)
	ts.call("GET", "/v1/policies/absent", "").problem(probNotFound)
	ts.call("DELETE", "/v1/policies/absent", "").problem(probNotFound)

	ts.call("PUT", "/v1/jobs/a", `{"script":{"source":"x"},"retry":{"policy":"gentle"}}`).want(201)
	if p := ts.call("DELETE", "/v1/policies/gentle", "").problem(probNamed); !strings.Contains(p, "policy gentle is named by job a") {
		t.Errorf("it says %q", p)
	}
	ts.call("DELETE", "/v1/jobs/a", "").want(200)
	ts.call("DELETE", "/v1/policies/gentle", "", "If-Match", `"1"`).problem(probStale)
	ts.call("DELETE", "/v1/policies/gentle", "", "If-Match", `"2"`).want(204)
	ts.call("GET", "/v1/policies/gentle", "").problem(probNotFound)
}

func TestFaultsOfAPolicyAreAllToldWithTheirPlaces(t *testing.T) {
	ts := newTestServer(t)
	p := ts.call("PUT", "/v1/policies/p", `{"max_attempts":0,"policy":"default","backoff":{"jitter":2},
"rules":[{"if":"foo","then":"retri"}],"timeout":"1m"}`).problem(probInvalid)
	for _, want := range []string{
		"body.max_attempts: is 0", "body.policy: unknown field: a policy has the fields of a job's retry",
		"body.backoff.jitter: is 2", "body.rules[0].if: line 1, column 1: unknown name foo", "body.rules[0].then:",
		"body.timeout: unknown field",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("%q is not in\n%s", want, p)
		}
	}
}

func TestThePolicyDefaultIsShownEditedAndPutBack(t *testing.T) {
	ts := newTestServer(t)
	a := ts.call("GET", "/v1/policies/default", "").want(200)
	if a.field("built_in") != "true" || a.field("max_attempts") != "8" || a.field("otherwise") != "fail" || a.header.Get("ETag") != `"0"` {
		t.Errorf("built in: %v %s", a.header, a.body)
	}
	if got := ts.call("GET", "/v1/policies", "").field("items.0.name"); got != "default" {
		t.Errorf("the list begins with %q", got)
	}
	if body := string(ts.call("GET", "/v1/export", "").body); body != "{\"jobs\":[]}\n" {
		t.Errorf("the export has %s", body)
	}
	ts.call("POST", "/v1/policies", `{"name":"default"}`).problem(probExists)
	ts.call("PUT", "/v1/policies/default", `{}`, "If-None-Match", "*").problem(probStale)
	ts.call("DELETE", "/v1/policies/default", "").want(204) // as it is
	ts.call("PUT", "/v1/policies/default", `{"max_attempts":2,"rules":[]}`, "If-Match", `"0"`).want(200)
	ts.call("PUT", "/v1/policies/default", `{}`, "If-Match", `"0"`).problem(probStale)
	ts.call("PUT", "/v1/jobs/a", `{"script":{"source":"x"}}`).want(201)
	retry := ts.call("GET", "/v1/jobs/a/retry", "").want(200)
	if retry.field("max_attempts.value") != "2" || retry.field("max_attempts.from") != "policy default" || retry.field("rules.1.by") != "" {
		t.Errorf("the job goes by %s", retry.body)
	}
	if got := ts.call("GET", "/v1/policies", "").field("items.0.built_in"); got != "" {
		t.Errorf("it is built in: %s", got)
	}
	ts.call("DELETE", "/v1/policies/default", "").want(204)
	if got := ts.call("GET", "/v1/jobs/a/retry", "").field("rules.1.by"); got != "policy default rule 1" {
		t.Errorf("the rules built in are not back: %q", got)
	}
}

func TestAChangedPolicyDecidesTheNextFailure(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/policies/teapot", `{"max_attempts":1}`).want(201)
	ts.hook("a", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) }, `"retry":{"policy":"teapot"}`)
	run := ts.until(ts.enqueue("a", ""), "failed")
	if got := run.field("attempts.0.decision.by"); got != "otherwise" {
		t.Errorf("decided by %s", got)
	}
	ts.call("PUT", "/v1/policies/teapot", `{"max_attempts":2,"backoff":{"kind":"fixed","base":"1ms"},
"rules":[{"if":"http.status == 418","then":"retry"}]}`).want(200)
	run = ts.until(ts.enqueue("a", ""), "failed")
	if by, last := run.field("attempts.0.decision.by"), run.field("attempts.1.decision.by"); by != "policy teapot rule 1" || last != "max_attempts" {
		t.Errorf("decided by %s, then %s", by, last)
	}
	if got := run.field("max_attempts"); got != "2" {
		t.Errorf("max_attempts %s", got)
	}
	ts.call("PUT", "/v1/policies/default", `{"otherwise":"retry","max_attempts":3,"backoff":{"kind":"fixed","base":"1ms"}}`).want(200)
	ts.hook("b", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	run = ts.until(ts.enqueue("b", ""), "failed")
	if got := run.field("attempts.2.decision.by"); got != "max_attempts" {
		t.Errorf("the third attempt was decided by %q: %s", got, run.body)
	}
}

func TestPagesOfPoliciesKeepTheirLimit(t *testing.T) {
	ts := newTestServer(t)
	for _, name := range []string{"a", "b", "c"} {
		ts.call("PUT", "/v1/policies/"+name, `{"max_attempts":3}`).want(201)
	}
	for limit := 1; limit <= 5; limit++ {
		var seen []string
		for cursor := ""; ; {
			page := ts.call("GET", fmt.Sprintf("/v1/policies?limit=%d&cursor=%s", limit, cursor), "").want(200)
			n := 0
			for ; page.field(fmt.Sprintf("items.%d.name", n)) != ""; n++ {
				seen = append(seen, page.field(fmt.Sprintf("items.%d.name", n)))
			}
			if n == 0 || n > limit {
				t.Fatalf("limit %d: a page of %d", limit, n)
			}
			if cursor = page.field("next"); cursor == "" {
				break
			}
		}
		if !slices.Equal(seen, []string{"c", "b", "a", "default"}) {
			t.Errorf("limit %d: %v", limit, seen)
		}
	}
}
