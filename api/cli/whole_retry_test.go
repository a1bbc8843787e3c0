package cli_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// quick is a backoff that does not keep a test waiting.
var quick = doc{"kind": "fixed", "base": "1ms", "jitter": 0}

func TestTimeoutsUseUpTheAttempts(t *testing.T) { // case 49
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("slow", doc{
		"script": doc{"source": "sleep 60"}, "timeout": "300ms",
		"retry": doc{"max_attempts": 4, "backoff": quick},
	})
	run := p.end(p.enqueue("slow", nil))
	want := "failed:timeout failed:timeout failed:timeout failed:timeout"
	if got := run.outcomes(); got != want || run.State != "failed" {
		t.Errorf("%s: %s, want %s", run.State, got, want)
	}
	if by := run.Attempts[3].Decision.By; by != "max_attempts" {
		t.Errorf("decided by %s", by)
	}
	// A requeue has the whole budget again, and what was is kept (case 52).
	var again aRun
	if status := p.call("POST", "/v1/runs/"+run.ID+"/requeue", nil, &again); status/100 != 2 {
		t.Fatalf("requeue: %d", status)
	}
	fresh := p.end(again.ID)
	if got := fresh.outcomes(); got != want || fresh.OperationID != run.OperationID {
		t.Errorf("requeued: %s, operation %s of %s", got, fresh.OperationID, run.OperationID)
	}
	if got := p.run(run.ID).outcomes(); got != want {
		t.Errorf("the attempts of the first are %s", got)
	}
}

func TestMessageOfATimeoutNamesTheTimeoutOfTheRun(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("slow", doc{"script": doc{"source": "sleep 60"}, "retry": doc{"max_attempts": 1}})
	run := p.end(p.enqueue("slow", doc{"timeout": "120ms"}))
	if run.Error == nil || run.Error.Kind != "timeout" ||
		!strings.Contains(run.Error.Message, "120ms") {
		t.Errorf("error %+v", run.Error)
	}
}

func TestBackoffIsCappedAndNeverABurst(t *testing.T) { // case 53
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	const attempts, limit, jitter = 81, 30 * time.Millisecond, 0.2
	p.put("burst", doc{
		"webhook": doc{"url": s.URL},
		"retry": doc{"max_attempts": attempts, "backoff": doc{
			"kind": "exponential", "base": "1ms", "factor": 10, "max": limit.String(), "jitter": jitter,
		}},
	})
	run := p.end(p.enqueue("burst", nil))
	got := s.deliveries()
	if len(got) != attempts || len(run.Attempts) != attempts {
		t.Fatalf("%d requests, %d attempts kept, want %d", len(got), len(run.Attempts), attempts)
	}
	for i, a := range run.Attempts[:attempts-1] {
		wait := a.Decision.NextAttemptAt.Sub(a.FinishedAt)
		if i >= 2 && wait < limit*8/10-time.Millisecond || wait > limit*12/10+time.Millisecond {
			t.Errorf("after attempt %d: waits %v", i+1, wait)
		}
		if early := a.Decision.NextAttemptAt.Sub(run.Attempts[i+1].StartedAt); early > 0 {
			t.Errorf("attempt %d started %v early", i+2, early)
		}
	}
	for i, d := range got {
		if n := d.header.Get("Nightshift-Attempt"); n != strconv.Itoa(i+1) {
			t.Fatalf("request %d says attempt %s", i+1, n)
		}
		if n := d.header.Get("Nightshift-Max-Attempts"); n != "81" {
			t.Fatalf("request %d says max attempts %s", i+1, n)
		}
		if key := d.header.Get("Idempotency-Key"); key != run.OperationID {
			t.Fatalf("request %d has the key %s", i+1, key)
		}
	}
}

func TestRetryAfterIsAFloorOfTheWait(t *testing.T) { // case 54, W9
	t.Parallel()
	p := start(t, t.TempDir())
	values := map[string]struct {
		status int
		header []string
		least  time.Duration
		most   time.Duration
	}{
		"seconds": {429, []string{"5"}, 5 * time.Second, 5 * time.Second},
		"date": {
			503,
			[]string{time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)},
			50 * time.Second,
			61 * time.Second,
		},
		"past date": {
			503,
			[]string{"Sun, 06 Nov 1994 08:49:37 GMT"},
			1 * time.Second,
			1 * time.Second,
		},
		"zero":            {429, []string{"0"}, 1 * time.Second, 1 * time.Second},
		"negative":        {429, []string{"-1"}, 1 * time.Second, 1 * time.Second},
		"huge":            {429, []string{"1000000000"}, time.Hour, time.Hour},
		"past int64":      {429, []string{"99999999999999999999"}, 1 * time.Second, time.Hour},
		"exponent":        {429, []string{"1e9"}, 1 * time.Second, 1 * time.Second},
		"garbage":         {429, []string{"soon"}, 1 * time.Second, 1 * time.Second},
		"the largest":     {429, []string{"3", "9"}, 9 * time.Second, 9 * time.Second},
		"not of a 500":    {500, []string{"5"}, 1 * time.Second, 1 * time.Second},
		"smaller than it": {429, []string{"1"}, 1 * time.Second, 1 * time.Second},
	}
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		v := values[r.URL.Query().Get("case")]
		w.Header()["Retry-After"] = v.header
		w.WriteHeader(v.status)
	})
	i := 0
	for name, v := range values {
		job := fmt.Sprintf("after-%d", i)
		i++
		p.put(job, doc{
			"webhook": doc{"url": s.URL + "/?case=" + strings.ReplaceAll(name, " ", "%20")},
			"retry":   doc{"backoff": doc{"kind": "fixed", "base": "1s", "jitter": 0}},
		})
		run := p.awaitRun(
			p.enqueue(job, nil),
			"it retries",
			func(r *aRun) bool { return r.State == "retrying" },
		)
		a := run.Attempts[0]
		if wait := a.Decision.NextAttemptAt.Sub(a.FinishedAt); wait < v.least || wait > v.most {
			t.Errorf(
				"%s: waits %v, want %v to %v: %s",
				name,
				wait,
				v.least,
				v.most,
				a.Decision.Reason,
			)
		}
		p.call("POST", "/v1/runs/"+run.ID+"/cancel", nil, nil)
		p.call("POST", "/v1/dependencies/"+strings.TrimPrefix(s.URL, "http://")+"/reset", nil, nil) // it holds all
	}
}

func TestStatusDecidesByThePolicyDefault(t *testing.T) { // case 56, W8
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.WriteHeader(status)
	})
	want := map[string][]int{
		"succeeded": {200, 201, 202, 204, 299},
		"retrying":  {408, 425, 429, 500, 502, 503, 504},
		"failed":    {300, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 422, 501, 505, 599},
	}
	for state, list := range want {
		for _, status := range list {
			job := fmt.Sprintf("s-%d", status)
			p.put(job, doc{"webhook": doc{"url": fmt.Sprintf("%s/%d", s.URL, status)}})
			run := p.awaitRun(p.enqueue(job, nil), "it is decided", func(r *aRun) bool {
				return r.ended() || r.State == "retrying"
			})
			a := run.Attempts[0]
			if run.State != state || a.HTTPStatus != status || len(run.Attempts) != 1 {
				t.Errorf("%d: %s with status %d, want %s", status, run.State, a.HTTPStatus, state)
			}
			if state == "succeeded" != (a.Error == nil) ||
				state != "succeeded" && a.Error.Kind != "http" {
				t.Errorf("%d: error %+v", status, a.Error)
			}
			p.call("POST", "/v1/runs/"+run.ID+"/cancel", nil, nil)
		}
	}
}

func TestErrorComesBeforeTheVerdict(t *testing.T) { // case 57
	t.Parallel()
	p := start(t, t.TempDir())
	rules := []doc{{"if": "false", "then": "retry"}}
	p.put("good", doc{"script": doc{"source": "true"}, "retry": doc{"rules": rules}})
	p.put(
		"bad",
		doc{
			"script": doc{"source": "echo 'no such table' >&2; exit 3"},
			"retry":  doc{"rules": rules},
		},
	)
	if run := p.end(p.enqueue("good", nil)); run.State != "succeeded" || run.Error != nil ||
		run.Attempts[0].Error != nil {
		t.Errorf("%s, error %+v", run.State, run.Error)
	}
	run := p.end(p.enqueue("bad", nil))
	if run.Error == nil || !strings.Contains(run.Error.Message, "exit 3") ||
		strings.Contains(run.Error.Message, "rule") {
		t.Errorf("error %+v", run.Error)
	}
	if d := run.Attempts[0].Decision; d.By != "otherwise" ||
		!strings.Contains(d.Reason, "no rule matches") {
		t.Errorf("decision %+v", d)
	}
}

func TestRulesSeeHowTheAttemptEnded(t *testing.T) { // case 58
	t.Parallel()
	p := start(t, t.TempDir())
	script := func(text string) doc { return doc{"script": doc{"source": text}} }
	hook := func(url string) doc { return doc{"webhook": doc{"url": url}} }
	for name, c := range map[string]struct {
		job  doc
		cond string
	}{
		"exit":    {script("exit 3"), `error.kind == "exit" && exit.code == 3 && exit.signal == ""`},
		"signal":  {script("kill -9 $$"), `error.kind == "signal" && exit.code == -1 && exit.signal == "SIGKILL"`},
		"timeout": {script("sleep 60"), `error.kind == "timeout" && elapsed >= duration("0s")`},
		"refused": {hook("http://127.0.0.1:1/"), `error.kind == "connection" && http.status == 0`},
		"dns":     {hook("http://nobody.invalid/"), `error.kind == "dns" && http.status == 0`},
	} {
		c.job["timeout"] = "5s"
		if name == "timeout" {
			c.job["timeout"] = "200ms"
		}
		c.job["retry"] = doc{"rules": []doc{
			{
				"if":     c.cond + " && attempt == 1 && max_attempts == 8",
				"then":   "fail",
				"reason": "seen",
			},
			{"if": "true", "then": "fail", "reason": "not seen"},
		}}
		p.put(name, c.job)
		run := p.end(p.enqueue(name, nil))
		if d := run.Attempts[0].Decision; d.By != "job rule 1" {
			t.Errorf("%s: %+v, error %+v", name, d, run.Error)
		}
	}
}

func TestRuleThatFailsDoesNotDecide(t *testing.T) { // case 59
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("a", doc{
		"script": doc{"source": "exit 3"},
		"retry": doc{"max_attempts": 2, "backoff": quick, "otherwise": "retry", "rules": []doc{
			{"if": "exit.code / (exit.code - 3) > 1", "then": "fail"},
			{"if": `payload.a.b.c == 1 || payload.list[7] == 1 || int(output) > 3`, "then": "fail"},
		}},
	})
	run := p.end(p.enqueue("a", doc{"payload": doc{"list": []int{1}}}))
	if got := run.outcomes(); got != "failed:exit failed:exit" {
		t.Errorf("attempts %s", got)
	}
	if d := run.Attempts[0].Decision; d.By != "otherwise" ||
		!strings.Contains(d.Reason, "job rule 1 failed") {
		t.Errorf("decision %+v", d)
	}
	if run := p.end(p.enqueue("a", nil)); run.State != "failed" {
		t.Errorf("the next one %s", run.State)
	}
}

func TestBudgetsOfRulesAndRunsEnd(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader([]int{500, 429}[n%2])
	})
	p.put("two", doc{"webhook": doc{"url": s.URL}, "retry": doc{
		"max_attempts": 3, "backoff": quick,
		"rules": []doc{{"if": "http.status == 429", "then": "retry", "max_attempts": 20}},
	}})
	run := p.end(p.enqueue("two", nil))
	// 429 500 429 500 429 500: three of the job's, three of the rule's twenty.
	if len(run.Attempts) != 6 || run.Attempts[5].Decision.By != "max_attempts" {
		t.Errorf("%d attempts: %s", len(run.Attempts), run.outcomes())
	}
	for i, d := range s.deliveries() {
		if n := d.header.Get("Nightshift-Attempt"); n != strconv.Itoa(i/2+1) {
			t.Errorf("request %d is attempt %s of those that use up max_attempts", i+1, n)
		}
	}
	before := len(s.deliveries())
	run = p.end(p.enqueue("two", doc{"max_attempts": 4}))
	if len(run.Attempts) != 4 || run.MaxAttempts != 4 {
		t.Errorf(
			"its own cap of 4: %d attempts, max_attempts %d",
			len(run.Attempts),
			run.MaxAttempts,
		)
	}
	for _, d := range s.deliveries()[before:] {
		if n := d.header.Get("Nightshift-Max-Attempts"); n != "4" {
			t.Errorf("a request says max attempts %s", n)
		}
	}
}

func TestWhatTheReceiverReportsIsBelievedAfterTheJobsRules(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		status, fields, _ := strings.Cut(r.URL.Query().Get("answer"), ",")
		code, _ := strconv.Atoi(status)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(code)
		fmt.Fprintf(
			w,
			`{"type": "https://example.com/no-stock", "detail": "none left", %s}`,
			fields,
		)
	})
	fails := []doc{{"if": `error.type == "https://example.com/no-stock"`, "then": "fail"}}
	for name, c := range map[string]struct {
		answer    string
		rules     []doc
		state, by string
		wait      time.Duration
	}{
		"retryable-422": {`422,"retryable": true`, nil, "retrying", "reported", time.Hour},
		"final-503":     {`503,"retryable": false`, nil, "failed", "reported", 0},
		"after-409":     {`409,"retry_after": 90`, nil, "retrying", "reported", 90 * time.Second},
		"rule-first":    {`422,"retryable": true`, fails, "failed", "job rule 1", 0},
		"nothing-500":   {`500,"x": 1`, nil, "retrying", "policy default rule", time.Hour},
	} {
		p.put(name, doc{
			"webhook": doc{"url": s.URL + "/?answer=" + url.QueryEscape(c.answer)},
			"retry": doc{
				"rules":   c.rules,
				"backoff": doc{"kind": "fixed", "base": "1h", "max": "1h", "jitter": 0},
			},
		})
		run := p.awaitRun(p.enqueue(name, nil), "it is decided", func(r *aRun) bool {
			return r.ended() || r.State == "retrying"
		})
		a := run.Attempts[0]
		if run.State != c.state || !strings.HasPrefix(a.Decision.By, c.by) {
			t.Errorf("%s: %s by %s, want %s by %s", name, run.State, a.Decision.By, c.state, c.by)
		}
		if wait := a.Decision.NextAttemptAt.Sub(a.FinishedAt); c.wait != 0 && wait != c.wait {
			t.Errorf("%s: waits %v, want %v", name, wait, c.wait)
		}
		if a.Error.Kind != "http" || a.Error.Type != "https://example.com/no-stock" ||
			a.Error.Message != "none left" {
			t.Errorf("%s: error %+v", name, a.Error)
		}
	}
}
