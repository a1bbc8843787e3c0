package jobs

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompileNamesEveryFaultWithItsPlace(t *testing.T) {
	day := Duration(24 * time.Hour)
	job := &Job{Retry: Retry{
		MaxAttempts: new(0),
		MaxElapsed:  new(Duration(-1)),
		Backoff: &Backoff{
			Kind: "linear", Base: &day, Factor: new(0.5), Max: new(Duration(time.Second)), Jitter: new(1.5),
		},
		Rules: []Rule{
			{If: "http.sttus == 429", Then: "retri"},
			{If: "attempt + 1", Then: ThenRetry, MaxAttempts: new(1001), Reason: strings.Repeat("x", 501)},
			{Then: ThenFail, After: "2m", MaxAttempts: new(3)},
			{If: "true", Then: ThenRetry, After: "soon"},
			{If: "true", Then: ThenRetry, After: "attempt > 1"},
			{If: "\n  true &&\n  error.kind", Then: ThenRetry, After: "-5s"},
		},
		Otherwise:   "maybe",
		Interrupted: "retry",
	}}
	_, err := Compile(job, nil, nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		`retry.max_attempts: is 0: want a whole number from 1 to 1000`,
		`retry.max_elapsed: is -1ns: want a duration from 0s to 3653d`,
		`retry.otherwise: is "maybe": want retry or fail`,
		`retry.interrupted: is "retry": want rerun or fail`,
		`retry.backoff.kind: is "linear": want exponential or fixed`,
		`retry.backoff.max: is 1s: want no less than base, which is 1d`,
		`retry.backoff.factor: is 0.5: want a number from 1 to 1000`,
		`retry.backoff.jitter: is 1.5: want a number from 0 to 1, such as 0.2`,
		`retry.rules[0].if: line 1, column 6: http has no member sttus; known there: body, headers, status`,
		`retry.rules[0].then: is "retri": want retry or fail`,
		`retry.rules[1].if: line 1, column 1: gives a number: want true or false`,
		`retry.rules[1].max_attempts: is 1001: want a whole number from 1 to 1000`,
		`retry.rules[1].reason: has 501 bytes: at most 500`,
		`retry.rules[2].if: line 1, column 1: an expression is wanted, such as http.status == 429`,
		`retry.rules[2].max_attempts: is of use with then: retry only`,
		`retry.rules[2].after: is of use with then: retry only`,
		`retry.rules[3].after: neither a duration such as "2m" nor an expression that gives one: ` +
			`line 1, column 1: unknown name soon; known here: ` + inRules.names,
		`retry.rules[4].after: line 1, column 1: gives true or false: want a duration or a number of seconds`,
		`retry.rules[5].if: line 2, column 8: invalid operation: && (mismatched types bool and string)`,
		`retry.rules[5].after: neither a duration such as "2m" nor an expression that gives one: ` +
			`line 1, column 3: bad number`,
	}
	var got []string
	for _, f := range invalid.Faults {
		got = append(got, f.Location+": "+f.Message)
	}
	for i := range want { // the last ends with words of the parser
		if i < len(got) && strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompileFindsFaultsOfPoliciesToo(t *testing.T) {
	named := &Policy{Name: "team", Rules: []Rule{{If: "foo", Then: ThenRetry}}}
	_, err := Compile(&Job{}, named, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "policy(team).rules[0].if: line 1, column 1: unknown name foo") {
		t.Errorf("got %v", err)
	}
	if err := Invalid(named.Check()); err == nil || !strings.HasPrefix(err.Error(), "rules[0].if: ") {
		t.Errorf("got %v", err)
	}
	if err := Invalid(DefaultPolicy().Check()); err != nil {
		t.Errorf("the policy default: %v", err)
	}
}

func TestFieldsFallToThePolicyThenToTheDefault(t *testing.T) {
	named := &Policy{
		Name: "team", MaxAttempts: new(5), Otherwise: ThenRetry, Interrupted: InterruptedFail,
		MaxElapsed: new(Duration(time.Hour)),
		Backoff:    &Backoff{Base: new(Duration(time.Second)), Jitter: new(0.0)},
	}
	job := &Job{Retry: Retry{MaxAttempts: new(3), Backoff: &Backoff{Jitter: new(0.5)}}}
	p, err := Compile(job, named, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.MaxAttempts(0) != 3 || p.MaxAttempts(9) != 9 || p.otherwise != ThenRetry || !p.atMostOnce {
		t.Errorf("plan is %+v", p)
	}
	if *p.maxElapsed != Duration(time.Hour) || p.Job != job {
		t.Errorf("plan is %+v", p)
	}
	b := p.backoff
	if *b.Base != Duration(time.Second) || *b.Jitter != 0.5 || *b.Factor != 3 ||
		*b.Max != Duration(30*time.Minute) || b.Kind != BackoffExponential {
		t.Errorf("backoff is %+v", b)
	}
	changed := *DefaultPolicy()
	changed.MaxAttempts, changed.Rules, changed.Otherwise = new(2), []Rule{}, ThenRetry
	if p, err = Compile(&Job{}, &changed, &changed); err != nil {
		t.Fatal(err)
	}
	if p.MaxAttempts(0) != 2 || p.otherwiseBy != "policy default" || len(p.own)+len(p.defaults) != 0 {
		t.Errorf("plan is %+v", p)
	}
	if p, err = Compile(&Job{}, nil, &Policy{Name: PolicyDefault}); err != nil {
		t.Fatal(err)
	}
	if p.MaxAttempts(0) != DefaultMaxAttempts || p.otherwise != ThenFail || p.atMostOnce {
		t.Errorf("an empty policy default: %+v", p)
	}
}

func TestBudgetKeyStaysWhileTheConditionDoes(t *testing.T) {
	r := Rule{If: "true", Then: ThenRetry, MaxAttempts: new(3)}
	edited := Rule{If: "true", Then: ThenRetry, MaxAttempts: new(9), Reason: "why", After: "2m"}
	if r.BudgetKey("job") != edited.BudgetKey("job") {
		t.Error("an edit of the number starts the budget anew")
	}
	other := Rule{If: "false"}
	keys := []string{r.BudgetKey("job"), r.BudgetKey("policy a"), other.BudgetKey("job")}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 3 {
		t.Errorf("keys are shared: %v", keys)
	}
}

func TestPolicyDefaultRetriesWhatPasses(t *testing.T) {
	p, err := Compile(&Job{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	decides := func(f *Failure) bool {
		got := Decide(Ending{Plan: p, Report: report(f), Now: at, RunAt: at})
		if strings.Contains(got.Decision.Reason, "failed and counts") {
			t.Errorf("%+v: %s", f, got.Decision.Reason)
		}
		return got.Decision.Action == ActionRetry
	}
	for _, status := range []int{300, 302, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 501, 505, 511} {
		if decides(failHTTP(status)) {
			t.Errorf("%d is retried", status)
		}
	}
	for _, status := range []int{408, 425, 429, 500, 502, 503, 504} {
		if !decides(failHTTP(status)) {
			t.Errorf("%d is not retried", status)
		}
	}
	for _, kind := range []FailureKind{FailTimeout, FailConnection, FailDNS, "heartbeat"} {
		if !decides(&Failure{Kind: kind}) {
			t.Errorf("%s is not retried", kind)
		}
	}
	for _, kind := range []FailureKind{
		FailTLS, FailExit, FailSignal, FailSpawn, FailReported, FailInvalid, FailBlocked, "memory",
	} {
		if decides(&Failure{Kind: kind}) {
			t.Errorf("%s is retried", kind)
		}
	}
	for code, want := range map[int]bool{0: false, 1: false, 2: false, 74: false, 75: true, 76: false, 143: false} {
		if decides(failExit(code, "")) != want {
			t.Errorf("exit %d: retried is %v", code, !want)
		}
	}
}

func TestPolicyDefaultIsCheapEnoughForTheLargestError(t *testing.T) {
	full := strings.Repeat("Caused by: java.net.Connec ECONNREFUSE ", MaxStack/39)
	for _, typ := range []string{"Error", "TypeError", "panic", "PDOException", "urllib.error.URLError"} {
		for _, message := range []string{full[:MaxMessage], "fetch failed"} {
			f := &Failure{Kind: FailExit, Type: typ, Message: message, Stack: full}
			got := Decide(Ending{Report: Report{Failure: f, OutputTail: full[:MaxOutput]}, Now: at})
			if got.Decision.By == "" || strings.Contains(got.Decision.Reason, "counts as not matching") {
				t.Errorf("%s: %s", typ, got.Decision.Reason)
			}
		}
	}
}

func TestPolicyDefaultKnowsPassingExceptions(t *testing.T) {
	p, err := Compile(&Job{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	java := "\n\tat A.main(A.java:1)\nCaused by: "
	for _, c := range []struct {
		output string
		want   bool
	}{
		{"Traceback (most recent call last):\n  File \"a\", line 1\nTimeoutError: x", true},
		{"Traceback (most recent call last):\n  File \"a\", line 1\nValidationError: timed out", false},
		{"Traceback (most recent call last):\n  File \"a\", line 1\nrequests.exceptions.ConnectionError: x", true},
		{"Traceback (most recent call last):\n  File \"a\", line 1\nrequests.exceptions.SSLError: x", false},
		{"Traceback (most recent call last):\n  File \"a\", line 1\nrequests.exceptions.HTTPError: 404", false},
		{"Traceback (most recent call last):\n  File \"a\", line 1\nurllib.error.URLError: <urlopen error [Errno 111] Connection refused>", true},
		{"Traceback (most recent call last):\n  File \"a\", line 1\nurllib.error.URLError: <urlopen error [SSL: CERTIFICATE_VERIFY_FAILED]>", false},
		{nodeEvent, true},
		{nodeCause, true},
		{strings.ReplaceAll(nodeCause, "ECONNREFUSED", "CERT_HAS_EXPIRED"), false},
		{"TypeError: x is not a function\n    at f (a.js:1:2)", false},
		{"Error: no ECONNREFUSEDX\n    at f (a.js:1:2)", false},
		{javaChain, true},
		{"java.lang.IllegalStateException: a" + java + "java.lang.NumberFormatException: b\n\tat A.b(A.java:2)", false},
		{"java.net.SocketTimeoutException: Read timed out\n\tat A.b(A.java:2)", true},
		{"a.rb:1:in 'f': execution expired (Net::OpenTimeout)", true},
		{"a.rb:1:in 'f': refused (Errno::ECONNREFUSED)\n\tfrom a.rb:2:in '<main>'", true},
		{"a.rb:1:in 'f': no (ArgumentError)", false},
		{"panic: Get \"http://a\": dial tcp 127.0.0.1:1: connect: connection refused\n\ngoroutine 1 [running]:\n", true},
		{"panic: runtime error: index out of range [5] with length 0\n\ngoroutine 1 [running]:\n", false},
		{"PHP Fatal error:  Uncaught GuzzleHttp\\Exception\\ConnectException: cURL error 7 in /a.php:3\n", true},
		{"PHP Fatal error:  Uncaught PDOException: SQLSTATE[40001]: Deadlock found in /a.php:3\n", true},
		{"PHP Fatal error:  Uncaught PDOException: SQLSTATE[42S02]: no such table in /a.php:3\n", false},
	} {
		typ, message, stack, ok := TraceOf(c.output)
		if !ok {
			t.Errorf("no trace in %q", c.output)
			continue
		}
		f := &Failure{Kind: FailExit, Type: typ, Message: message, Stack: stack, Exit: &ExitFailure{Code: 1}}
		got := Decide(Ending{Plan: p, Report: report(f), Now: at, RunAt: at})
		if retried := got.Decision.Action == ActionRetry; retried != c.want {
			t.Errorf("%s: %s: retried is %v by %s", typ, message, retried, got.Decision.By)
		}
	}
}
