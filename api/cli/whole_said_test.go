package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgressIsSeenAtOnceAndTheLastIsKept(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	p := start(t, t.TempDir())
	long := strings.Repeat("é", 250)
	p.put("far", script(`
case $NIGHTSHIFT_ATTEMPT in
1) nightshift progress 1/3 by command;;
2) echo '::nightshift {"progress": {"done": 2, "total": 3}}';;
3) curl -sSf -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" -d '{"done": 2.5, "total": 3, "note": "`+long+`"}' "$NIGHTSHIFT_CALLBACK/progress";;
*) for i in 1 2 3 4 5 6 7 8 9; do echo "::nightshift {\"progress\": {\"done\": $i, \"note\": \"line $i\"}}"; done; exit 1;;
esac
`+pauses(p, "far-$NIGHTSHIFT_ATTEMPT", "on-$NIGHTSHIFT_ATTEMPT")+"exit 75", nil))
	var made struct {
		ID    string
		Watch string `json:"watch_url"`
	}
	if status := p.call("POST", "/v1/jobs/far/runs", nil, &made); status != 202 {
		t.Fatalf("enqueue: %d", status)
	}
	for i, want := range []aProgress{{1, 3, "by command"}, {2, 3, ""}, {2.5, 3, strings.Repeat("é", 199) + "…"}} {
		p.waitFor(fmt.Sprintf("far-%d", i+1))
		p.awaitRun(made.ID, "its progress", func(r *aRun) bool { return r.Progress != nil && *r.Progress == want })
		res, err := http.Get(made.Watch)
		if err != nil {
			t.Fatal(err)
		}
		var seen struct{ Progress *aProgress }
		err = json.NewDecoder(res.Body).Decode(&seen)
		res.Body.Close()
		if err != nil || seen.Progress == nil || *seen.Progress != want {
			t.Errorf("the watch link shows %+v, %v", seen.Progress, err)
		}
		if i == 0 {
			p.cli("runs", "show", made.ID).want(0).has("It runs since", "Progress: 1 of 3 (33 %): by command.")
			p.cli("runs").want(0).has("1 of 3 (33 %): by command")
		}
		p.mark(fmt.Sprintf("on-%d", i+1))
	}
	run := p.end(made.ID)
	if want := (aProgress{9, 0, "line 9"}); run.State != "failed" || run.Progress == nil || *run.Progress != want {
		t.Errorf("%s with %+v", run.State, run.Progress)
	}
	p = p.kill9()
	if run := p.run(made.ID); run.Progress == nil || run.Progress.Done != 9 {
		t.Errorf("after a kill its progress is %+v", run.Progress)
	}
	p.put("far", script("touch "+filepath.Join(p.dir, "again")+"; sleep 600", nil))
	var again aRun
	p.call("POST", "/v1/runs/"+made.ID+"/requeue", nil, &again)
	p.waitFor("again")
	if run := p.run(again.ID); run.Progress != nil {
		t.Errorf("a requeued run begins with %+v", run.Progress)
	}
}

func TestLastResultCountsWhicheverWayItWasSaid(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	p := start(t, t.TempDir())
	call := func(body string) string {
		return `curl -sS -w '\n' -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" -d '` + body + `' "$NIGHTSHIFT_CALLBACK/complete"
`
	}
	line := func(value string) string { return `echo '::nightshift {"result": ` + value + "}'\n" }
	command := func(value string) string { return "nightshift result '" + value + "'\n" }
	write(t, p.dir, "fits", `"`+strings.Repeat("x", 64<<10-2)+`"`)
	write(t, p.dir, "large", `"`+strings.Repeat("x", 64<<10-1)+`"`)
	printed := func(name string) string {
		return `printf '::nightshift {"result": %s}\n' "$(cat ` + filepath.Join(p.dir, name) + ")\"\n"
	}
	for name, c := range map[string]struct {
		source, result string
		truncated      bool
	}{
		"nothing":      {"echo hello", "null", false},
		"line":         {line("1") + line(`{ "b" : 1.10 }`), `{ "b" : 1.10 }`, false},
		"command":      {line("1") + command(`{"c":  9007199254740993}`), `{"c":  9007199254740993}`, false},
		"callback":     {command("1") + call(`{"result": ["d", 1e400]}`), `["d", 1e400]`, false},
		"empty":        {command("1") + call(``), "null", false},
		"fits":         {printed("fits"), `"` + strings.Repeat("x", 64<<10-2) + `"`, false},
		"large":        {command("1") + printed("large"), "null", true},
		"large first":  {printed("large") + command("2"), "2", false},
		"large, call":  {command("3") + "nightshift result - <" + filepath.Join(p.dir, "large") + " && exit 3; true\n", "3", false},
		"many in one":  {`echo '::nightshift {"result": 5, "progress": {"done": 1}, "checkpoint": 2}'`, "5", false},
		"not a line":   {`echo ' ::nightshift {"result": 5}'; echo '::nightshift{"result": 6}'; echo '::nightshift {"result": 7'`, "null", false},
		"not stdout":   {`echo '::nightshift {"result": 5}' >&2`, "null", false},
		"without end":  {`printf '::nightshift {"result": 8}'`, "8", false},
		"carriage":     {`printf '::nightshift {"result": 9}\r\n'`, "9", false},
		"wrong member": {line("4") + `echo '::nightshift {"results": 5}'`, "4", false},
	} {
		job := strings.NewReplacer(" ", "-", ",", "").Replace(name)
		p.put(job, script(c.source, nil))
		run := p.end(p.enqueue(job, nil))
		if run.State != "succeeded" || string(run.Result) != c.result || run.ResultTruncated != c.truncated {
			t.Errorf("%s: %s, result %.60s, truncated %v: %.300s", name, run.State, run.Result, run.ResultTruncated, p.logOf(run.ID))
		}
	}
	p.put("refused", script(call(`{"result": "`+strings.Repeat("x", 64<<10-1)+`"}`), nil))
	run := p.end(p.enqueue("refused", nil))
	if text := p.logOf(run.ID); run.State != "succeeded" || string(run.Result) != "null" || run.ResultTruncated || !strings.Contains(text, `"status":413`) {
		t.Errorf("%s, result %s, told %s", run.State, run.Result, text)
	}
}

func TestWhatAJobReportsDecides(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	reported := func(e string) string { return `echo '::nightshift {"error": ` + e + "}'\n" }
	retry := doc{"max_attempts": 2, "backoff": quick}
	for name, c := range map[string]struct {
		source, kind, typ, message string
		attempts                   int
	}{
		"error and exit 0":   {reported(`{"type": "Gone", "message": "no such user"}`), "reported", "Gone", "no such user", 1},
		"error and exit 3":   {reported(`{"type": "Gone", "message": "no such user"}`) + "exit 3", "exit", "Gone", "no such user", 1},
		"final and exit 75":  {reported(`{"message": "m", "retryable": false}`) + "exit 75", "exit", "exit", "m", 1},
		"retryable, exit 1":  {reported(`{"message": "m", "retryable": true}`) + "exit 1", "exit", "exit", "m", 2},
		"retryable, exit 0":  {reported(`{"message": "m", "retryable": true}`), "reported", "reported", "m", 2},
		"fail and exit 0":    {"nightshift fail --type Gone no such user || exit 9", "reported", "Gone", "no such user", 1},
		"fail without words": {"nightshift fail || exit 9", "reported", "reported", "the job reported a failure", 1},
		"fail and exit 75":   {"nightshift fail --final m; exit 75", "reported", "reported", "m", 1},
		"fail and a result":  {"nightshift fail m; nightshift result 1; exit 0", "reported", "reported", "m", 1},
		"fail, to be tried":  {"nightshift fail --retryable m", "reported", "reported", "m", 2},
	} {
		job := strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(name))
		p.put(job, script(c.source, doc{"retry": retry}))
		run := p.end(p.enqueue(job, nil))
		if run.State != "failed" || run.Error == nil || run.Error.Kind != c.kind || run.Error.Type != c.typ || run.Error.Message != c.message {
			t.Errorf("%s: %s, %+v, want %s %s: %s", name, run.State, run.Error, c.kind, c.typ, c.message)
		}
		if len(run.Attempts) != c.attempts {
			t.Errorf("%s: %d attempts, want %d: %+v", name, len(run.Attempts), c.attempts, run.Attempts[0].Decision)
		}
	}
	p.put("later", script("nightshift fail --retry-after 2m --type Busy 'come back'", nil))
	id := p.enqueue("later", nil)
	run := p.awaitRun(id, "it is to be tried again", func(r *aRun) bool { return r.State == "retrying" })
	a := run.Attempts[0]
	if wait := a.Decision.NextAttemptAt.Sub(a.FinishedAt); wait < 2*time.Minute || wait > 3*time.Minute || a.Decision.By != "reported" {
		t.Errorf("it waits %v by %+v", wait, a.Decision)
	}
	p.put("judged", script("nightshift fail --retryable --type Gone m", doc{"retry": doc{
		"backoff": quick, "rules": []doc{{"if": `error.kind == "reported" && error.type == "Gone"`, "then": "fail", "reason": "it is gone"}},
	}}))
	if run := p.end(p.enqueue("judged", nil)); len(run.Attempts) != 1 || run.Attempts[0].Decision.By != "job rule 1" {
		t.Errorf("the job's own rule did not come first: %+v", run.Attempts[0].Decision)
	}
}

func TestWebhookSaysOfItsOutcomeWhileItIsUnderWay(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		v := &voice{t, r.Header.Get("Nightshift-Callback"), "", r.Header.Get("Nightshift-Token")}
		switch r.URL.Path {
		case "/complete":
			if state := v.said("POST", "complete", `{"result": {"a":  1}}`); !strings.Contains(state, `"state":"running"`) {
				t.Errorf("it is told %s", state)
			}
			v.said("POST", "log", `{"text": "one line"}`)
			v.said("POST", "log", `{"text": "two\nthree\n"}`)
		case "/fail":
			v.said("POST", "fail", `{"type": "Gone", "message": "m", "stack": "at line 1", "retry_after": 90}`)
		case "/both":
			v.said("POST", "fail", `{"message": "m", "retryable": false}`)
			v.said("POST", "complete", `{"result": 1}`)
		case "/bad":
			v.said("POST", "complete", `{"result": 1}`)
			w.WriteHeader(500)
		}
		_, _ = io.WriteString(w, `"body"`)
	})
	p.unguarded(s.URL)
	for _, name := range []string{"complete", "fail", "both", "bad"} {
		p.put(name, doc{"webhook": doc{"url": s.URL + "/" + name}, "retry": doc{"max_attempts": 1}})
	}
	if run := p.end(p.enqueue("complete", nil)); run.State != "succeeded" || string(run.Result) != `{"a":  1}` || p.logOf(run.ID) != "one line\ntwo\nthree\n" {
		t.Errorf("%s with %s, log %q", run.State, run.Result, p.logOf(run.ID))
	}
	run := p.end(p.enqueue("fail", nil))
	if run.State != "failed" || run.Error.Kind != "reported" || run.Error.Type != "Gone" || run.Error.Message != "m" || run.Attempts[0].HTTPStatus != 200 {
		t.Errorf("%s: %+v", run.State, run.Error)
	}
	if run := p.end(p.enqueue("both", nil)); run.State != "failed" || run.Error.Kind != "reported" {
		t.Errorf("complete undid fail: %s %+v", run.State, run.Error)
	}
	if run := p.end(p.enqueue("bad", nil)); run.State != "failed" || run.Error.Kind != "http" || string(run.Result) != "null" {
		t.Errorf("a 500 is %s: %+v, %s", run.State, run.Error, run.Result)
	}
}

func TestWhatIsSaidWronglyIsToldWhereItIsWrong(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s, open := gated(t)
	id := p.underWay(s)
	v := p.voiceOf(s.deliveries()[0])
	for _, c := range []struct {
		method, name, body string
		status             int
		says               string
	}{
		{"PUT", "checkpoint", "", 400, ""},
		{"PUT", "checkpoint", "{", 400, ""},
		{"PUT", "checkpoint", "1 2", 400, ""},
		{"PUT", "checkpoint", "\"\xff\"", 400, ""},
		{"PUT", "checkpoint", `{"a":1,"a":2}`, 422, "body.a"},
		{"PUT", "checkpoint", `"` + strings.Repeat("x", 256<<10-1) + `"`, 413, ""},
		{"POST", "progress", `{"done": -1}`, 422, "body.done"},
		{"POST", "progress", `{"done": 1, "total": -1}`, 422, "body.total"},
		{"POST", "progress", `{"done": 1e400}`, 422, "body.done"},
		{"POST", "progress", `{"done": "1"}`, 422, "body.done"},
		{"POST", "progress", `{"finished": 1}`, 422, "body.finished"},
		{"POST", "log", `{"text": 1}`, 422, "body.text"},
		{"POST", "log", `{"text": "` + strings.Repeat("x", 1<<20) + `"}`, 413, ""},
		{"POST", "complete", `{"result": "` + strings.Repeat("x", 64<<10-1) + `"}`, 413, ""},
		{"POST", "complete", `{"results": 1}`, 422, "body.results"},
		{"POST", "fail", `{"retry_after": "soon"}`, 422, "body.retry_after"},
		{"POST", "fail", `{"retryable": "no"}`, 422, "body.retryable"},
		{"POST", "checkpoint", "1", 405, ""},
		{"GET", "nothing", "", 404, ""},
	} {
		status, answer := v.say(c.method, c.name, c.body)
		if status != c.status || !strings.Contains(answer, c.says) {
			t.Errorf("%s %s %.40s: %d %.300s, want %d %s", c.method, c.name, c.body, status, answer, c.status, c.says)
		}
	}
	if run := p.run(id); run.Progress != nil || p.checkpoint(id) != "" || p.logOf(id) != "" {
		t.Errorf("something of it was taken: %+v, %s", run.Progress, p.checkpoint(id))
	}
	open()
	if run := p.end(id); run.State != "succeeded" || string(run.Result) != `"the outcome"` {
		t.Errorf("%s with %s", run.State, run.Result)
	}
}

func TestNoSecretIsKeptOfWhatAnAttemptSays(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	p := start(t, t.TempDir())
	p.set("ENV", canaries["ENV"]+"\n").want(0)
	p.put("talks", script("", doc{"script": doc{
		"interpreter": []string{"bash"}, "env": doc{"SECRET": "{{ secrets.ENV }}"},
		"source": `j=$(python3 -c 'import json, os; print(json.dumps(os.environ["SECRET"]))')
call() { curl -sS -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" -d "$2" "$NIGHTSHIFT_CALLBACK/$1"; }
case $NIGHTSHIFT_ATTEMPT in
1) nightshift progress 1/2 "$SECRET"; call log "{\"text\": $j}"
` + pauses(p, "said", "on") + `
nightshift fail --retryable --type "$SECRET" --stack "at $SECRET" "$SECRET";;
2) call progress "{\"done\": 1, \"note\": $j}"; call fail "{\"type\": $j, \"message\": $j, \"stack\": $j, \"retryable\": true}";;
3) echo "::nightshift {\"progress\": {\"done\": 1, \"note\": $j}, \"error\": {\"type\": $j, \"message\": $j, \"stack\": $j}}"; exit 75;;
4) echo "::nightshift {\"progress\": {\"done\": $j}, \"result\": $j, \"error\": $j}"; exit 75;;
5) echo "::nightshift {\"result\": {\"$SECRET";  call complete "{\"result\": $j}"; exit 75;;
6) nightshift result "{\"s\":  $j}"; nightshift progress "$SECRET"; nightshift result "$SECRET" || true;;
esac`,
	}}))
	id := p.enqueue("talks", nil)
	p.waitFor("said")
	look := func() {
		t.Helper()
		for _, path := range []string{"/v1/runs/" + id, "/v1/runs/" + id + "/log", "/v1/runs", "/v1/audit"} {
			_, text, err := p.try("GET", path, nil)
			if err != nil {
				t.Fatal(err)
			}
			sought(t, "GET "+path, text)
		}
	}
	look()
	if run := p.run(id); run.Progress == nil || run.Progress.Note != "***" || p.logOf(id) != "***\n" {
		t.Errorf("progress %+v, log %q", run.Progress, p.logOf(id))
	}
	p.mark("on")
	run := p.end(id)
	if run.State != "succeeded" || string(run.Result) != `{"s":  "***"}` || len(run.Attempts) != 6 {
		t.Errorf("%s: %s with %s", run.State, run.outcomes(), run.Result)
	}
	for i, a := range run.Attempts[:3] {
		if a.Error.Type != "***" || a.Error.Message != "***" {
			t.Errorf("attempt %d: %+v", i+1, a.Error)
		}
	}
	look()
	lookAtFiles(p)
}

func TestOutputOfCallbacksIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s, open := gated(t)
	id := p.underWay(s)
	v := p.voiceOf(s.deliveries()[0])
	for i := range 5 {
		v.said("POST", "log", fmt.Sprintf(`{"text": "%d%s"}`, i, strings.Repeat("x", 900<<10)))
	}
	v.said("POST", "log", `{"text": "END"}`)
	open()
	p.end(id)
	text := p.logOf(id)
	if len(text) > 1<<20+100 || !strings.HasPrefix(text, "0xx") || !strings.HasSuffix(text, "x\nEND\n") || !strings.Contains(text, " bytes missing ...]") {
		t.Errorf("%d bytes are kept: %.20q … %q", len(text), text, text[max(0, len(text)-20):])
	}
}
