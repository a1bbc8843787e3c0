package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostileExpressions cost time or memory where nothing bounds them. Those with late may be saved: what
// bounds them stands in their evaluation.
var hostileExpressions = []struct {
	name, text string
	late       bool
}{
	{"100,000 parentheses", strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), false},
	{"100,000 open ones", strings.Repeat("(", 100_000), false},
	{"100,000 brackets", strings.Repeat("[", 100_000), false},
	{"100,000 signs", strings.Repeat("-", 100_000) + "1", false},
	{"100,000 nots", strings.Repeat("!", 100_000) + "true", false},
	{"deep fields", "payload" + strings.Repeat(".a", 100_000), false},
	{"deep indexes", "payload" + strings.Repeat("[0]", 100_000), false},
	{"a long sum", "1" + strings.Repeat("+1", 100_000), false},
	{"nested choices", strings.Repeat("true ? (", 5_000) + "1" + strings.Repeat(") : 0", 5_000), false},
	{"nested loops", "map(1..1000, map(1..1000, map(1..1000, 1)))", false},
	{"a loop over data", "all(payload.list, any(payload.list, # > 1))", false},
	{"a pattern from data", `payload.text matches payload.pattern`, false},
	{"a pattern put together", `payload.text matches ("(a+)" + "+$")`, false},
	{"NUL", "payload.a\x00", false},
	{"NUL alone", "\x00", false},
	{"no UTF-8", "payload.\xff", false},
	{"a comment that does not end", "/* 1", false},
	{"a text that does not end", `"aaaa`, false},
	{"variables", `let a = 1; let b = a; b`, true},
	{"a long range", "len(1..1000000000) > 0", true},
	{"a longer range", "(1..9223372036854775807)[0] == 1", true},
	{"texts that double", `let a = repeat("x", 1000000000); len(a) > 0`, true},
}

// exprPlaces are documents of jobs with a place for an expression: %s is its text within a JSON
// string. In a template it stands in braces.
var exprPlaces = []struct{ name, doc string }{
	{"retry.rules.if", `{"webhook":{"url":"https://h/"},"retry":{"rules":[{"if":"%s","then":"fail"}]}}`},
	{"retry.rules.after", `{"webhook":{"url":"https://h/"},"retry":{"rules":[{"if":"true","then":"retry","after":"%s"}]}}`},
	{"webhook.success", `{"webhook":{"url":"https://h/","success":"%s"}}`},
	{"webhook.url", `{"webhook":{"url":"https://h/{{ %s }}"}}`},
	{"webhook.url, the host", `{"webhook":{"url":"https://{{ %s }}.example.com/"}}`},
	{"webhook.url, whole", `{"webhook":{"url":"{{ %s }}"}}`},
	{"webhook.headers", `{"webhook":{"url":"https://h/","headers":{"X-A":"{{ %s }}"}}}`},
	{"webhook.body, a text", `{"webhook":{"url":"https://h/","body":"{{ %s }}"}}`},
	{"webhook.body, JSON", `{"webhook":{"url":"https://h/","body":{"a":["{{ %s }}"]}}}`},
	{"webhook.signing_secret", `{"webhook":{"url":"https://h/","signing_secret":"{{ %s }}"}}`},
	{"script.args", `{"script":{"source":"true","args":["{{ %s }}"]}}`},
	{"script.env", `{"script":{"source":"true","env":{"A":"{{ %s }}"}}}`},
	{"mail.to", `{"mail":{"to":["{{ %s }}"],"subject":"s","body":"b"}}`},
	{"mail.subject", `{"mail":{"to":["a@example.com"],"subject":"{{ %s }}","body":"b"}}`},
	{"mail.body", `{"mail":{"to":["a@example.com"],"subject":"s","body":"{{ %s }}"}}`},
	{"on_success.if", `{"webhook":{"url":"https://h/"},"on_success":[{"job":"other","if":"%s"}]}`},
	{"on_success.payload", `{"webhook":{"url":"https://h/"},"on_success":[{"job":"other","payload":{"a":"{{ %s }}"}}]}`},
	{"unique.key", `{"webhook":{"url":"https://h/"},"unique":{"key":"%s"}}`},
	{"inbound.if", `{"webhook":{"url":"https://h/"},"inbound":[{"name":"d","verify":"github","secret":"{{ secrets.S }}","if":"%s"}]}`},
	{"inbound.key", `{"webhook":{"url":"https://h/"},"inbound":[{"name":"d","verify":"github","secret":"{{ secrets.S }}","key":"%s"}]}`},
	{"inbound.secret", `{"webhook":{"url":"https://h/"},"inbound":[{"name":"d","verify":"github","secret":"{{ %s }}"}]}`},
}

// escaped is the text of an expression as it stands within a JSON string, bytes kept.
func escaped(text string) string {
	return strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\x00", `\u0000`).Replace(text)
}

// alongside calls the server while work is done, and gives the number of its calls, the longest and
// the largest heap seen.
func (ts *testServer) alongside(work func()) (calls int, longest time.Duration, heap uint64) {
	ts.t.Helper()
	done := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			began := time.Now()
			if got := ts.call("GET", "/v1/jobs?limit=1", ""); got.status != 200 {
				ts.t.Errorf("a call alongside: %d %s", got.status, got.body)
			}
			longest = max(longest, time.Since(began))
			calls++
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	work()
	close(done)
	other.Wait()
	return calls, longest, heap
}

// wellBehaved fails the test where work was late for others or took much memory.
func (ts *testServer) wellBehaved(work func()) {
	ts.t.Helper()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	calls, longest, heap := ts.alongside(work)
	if calls == 0 || longest > 20*time.Second {
		ts.t.Errorf("of %d calls alongside one took %s", calls, longest)
	}
	if grown := int64(heap) - int64(before.HeapAlloc); grown > 512<<20 {
		ts.t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func TestHostileExpressionsAreRefusedEverywhere(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/server/drain", "").want(200)
	ts.call("PUT", "/v1/jobs/other", hookDoc).want(201)
	ts.wellBehaved(func() {
		for _, place := range exprPlaces {
			for _, e := range hostileExpressions {
				at := place.name + ": " + e.name
				got := ts.call("PUT", "/v1/jobs/hostile", fmt.Sprintf(place.doc, escaped(e.text)))
				if e.late && got.status < 300 {
					continue
				}
				got.clear(at, e.text)
				if got.status != 422 && e.name != "no UTF-8" && got.status != 413 {
					t.Errorf("%s: %d %.300s", at, got.status, got.body)
				}
			}
			megabyte := strings.Repeat("payload.a || ", 80_000) + "true"
			got := ts.call("PUT", "/v1/jobs/hostile", fmt.Sprintf(place.doc, megabyte))
			got.clear(place.name+": 1 MB", megabyte)
		}
	})
}

func TestHostileExpressionsAreRefusedWhereRulesAreTried(t *testing.T) {
	ts := newTestServer(t)
	id := ts.failedRun()
	big, _ := json.Marshal(map[string]any{"list": make([]int, 30_000), "text": strings.Repeat("a", 30_000)})
	bodies := map[string]string{
		"/v1/rules/check, told":     `{"rules":[%s],"error":{"kind":"http","http":{"status":500},"payload":` + string(big) + `}}`,
		"/v1/rules/check, recorded": `{"rules":[%s],"run":"` + id + `"}`,
		"/v1/rules/backtest":        `{"rules":[%s],"job":"failing"}`,
	}
	rules := []string{`{"if":"%s","then":"fail"}`, `{"if":"true","then":"retry","after":"%s"}`}
	ts.wellBehaved(func() {
		for at, body := range bodies {
			path, _, _ := strings.Cut(at, ",")
			for _, rule := range rules {
				for _, e := range hostileExpressions {
					sent := strings.Replace(body, "%s", strings.Replace(rule, "%s", escaped(e.text), 1), 1)
					got := ts.call("POST", path, sent)
					if !e.late || got.status != 200 {
						got.clear(at+": "+rule+": "+e.name, e.text)
					}
				}
			}
		}
	})
}

func TestRulesThatAreHostileWhenEvaluatedCountAsNotMatching(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	big, _ := json.Marshal(map[string]any{"list": make([]int, 50_000), "text": strings.Repeat("a", 30_000)})
	ts.wellBehaved(func() {
		for _, text := range []string{
			"len(1..1000000000) > 0", "1 in 1..9223372036854775807", `len(repeat("x", 1000000000)) > 0`,
			`payload.text matches "^(a+)+$"`, `payload.list == payload.list`, `len(toJSON(payload)) > 1`,
			`len(split(payload.text, "")) > 1`, `payload.text + payload.text == payload.text`,
			`len(payload.text * 1000000) > 1`,
		} {
			doc := `{"retry":{"rules":[{"if":"` + escaped(text) + `","then":"retry","after":"1h"}]},"webhook":`
			job := ts.call("GET", "/v1/jobs/a", "").want(200)
			hook, _ := json.Marshal(map[string]string{"url": job.field("webhook.url")})
			put := ts.call("PUT", "/v1/jobs/a", doc+string(hook)+"}")
			if put.status == 422 {
				put.problem(probInvalid)
				continue
			}
			put.want(200)
			id := ts.enqueue("a", `{"payload":`+string(big)+`}`)
			run := ts.ended(id)
			if run.field("attempts.0.decision.by") == "" || run.field("attempts.0.decision.reason") == "" {
				t.Errorf("%s: no decision: %.500s", text, run.body)
			}
		}
	})
}

// ended waits until a run has an attempt that ended.
func (ts *testServer) ended(id string) (a *answer) {
	ts.t.Helper()
	ts.await("an attempt of "+id+" to end", func() bool {
		a = ts.call("GET", "/v1/runs/"+id, "").want(200)
		return a.field("attempts.0.finished_at") != ""
	})
	return a
}
