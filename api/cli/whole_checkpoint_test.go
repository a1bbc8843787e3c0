package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// readsAll prints what an attempt of a script finds saved, as each way to ask tells it.
const readsAll = `echo "attempt $NIGHTSHIFT_ATTEMPT: file $(cat "$NIGHTSHIFT_CHECKPOINT"), command $(nightshift checkpoint get), ` +
	`callback $(curl -sS -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" "$NIGHTSHIFT_CALLBACK/checkpoint")"
`

func TestWhatOneWaySavesEachWayReads(t *testing.T) { // cases 97, 98
	t.Parallel()
	needs(t, "curl")
	p := start(t, t.TempDir())
	p.put("ways", script(readsAll+`
case $NIGHTSHIFT_ATTEMPT in
1) for i in 1 2 3 4; do echo "::nightshift {\"checkpoint\": $i}"; done; exit 75;;
2) nightshift checkpoint set '{ "by" : "command", "n": 1.10 }'; exit 75;;
3) printf '[3,\n"callback"]' | curl -sSf -X PUT --data-binary @- -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" \
     "$NIGHTSHIFT_CALLBACK/checkpoint"; exit 75;;
4) nightshift checkpoint set null; exit 75;;
5) echo '"standard input"' | nightshift checkpoint set -; echo '::nightshift {"checkpoint": "the last counts"}'; exit 75;;
6) exit 75;;
esac`, nil))
	id := p.enqueue("ways", nil)
	run := p.end(id)
	want := `attempt 1: file , command , callback null
attempt 2: file 4, command 4, callback 4
attempt 3: file { "by" : "command", "n": 1.10 }, command { "by" : "command", "n": 1.10 }, callback { "by" : "command", "n": 1.10 }
attempt 4: file [3,
"callback"], command [3,
"callback"], callback [3,
"callback"]
attempt 5: file , command , callback null
attempt 6: file "the last counts", command "the last counts", callback "the last counts"
attempt 7: file "the last counts", command "the last counts", callback "the last counts"
`
	if got := withoutMarks(withoutLines(p.logOf(id))); run.State != "succeeded" || got != want {
		t.Errorf("%s (%s), it read\n%swant\n%s", run.State, run.outcomes(), got, want)
	}
	if left := p.checkpoint(id); left != "" {
		t.Errorf("a success leaves the checkpoint %s", left)
	}
	p.cli("runs", "checkpoint", id).want(1).has("there is no checkpoint")
}

// withoutLines is a log without the lines by which the script spoke, and those between its attempts.
func withoutLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "::nightshift ") && !strings.HasPrefix(line, "--- attempt ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestWebhookIsToldItsCheckpointByHeaderOrCallback(t *testing.T) { // case 98
	t.Parallel()
	p := start(t, t.TempDir())
	large := `"` + strings.Repeat("x", 5000) + `"`
	told := &lockedBuffer{}
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		v := &voice{t, r.Header.Get("Nightshift-Callback"), "", r.Header.Get("Nightshift-Token")}
		_, value := v.say("GET", "checkpoint", "")
		fmt.Fprintln(told, value)
		switch n {
		case 1:
			v.said("PUT", "checkpoint", `"overtaken"`)
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(500)
			_, _ = io.WriteString(w, `{"title": "no", "checkpoint": { "by": "é" }, "progress": {"done": 7}}`)
		case 2:
			v.said("PUT", "checkpoint", large)
			w.WriteHeader(500)
		case 3:
			v.said("PUT", "checkpoint", "null")
			w.WriteHeader(500)
		}
	})
	p.put("hook", doc{"webhook": doc{"url": s.URL}, "retry": doc{"backoff": quick}})
	p.unguarded(s.URL)
	id := p.enqueue("hook", nil)
	if run := p.end(id); run.State != "succeeded" || len(run.Attempts) != 4 || run.Progress == nil || run.Progress.Done != 7 {
		t.Errorf("%s: %s, progress %+v", run.State, run.outcomes(), run.Progress)
	}
	var at, size []string
	for _, d := range s.deliveries() {
		at = append(at, d.header.Get("Nightshift-Checkpoint"))
		size = append(size, d.header.Get("Nightshift-Checkpoint-Size"))
	}
	if want := []string{"", `{"by":"\u00e9"}`, "", ""}; fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("Nightshift-Checkpoint: %q, want %q", at, want)
	}
	if want := []string{"", "", strconv.Itoa(len(large)), ""}; fmt.Sprint(size) != fmt.Sprint(want) {
		t.Errorf("Nightshift-Checkpoint-Size: %q, want %q", size, want)
	}
	if want := "null\n{ \"by\": \"é\" }\n" + large + "\nnull\n"; told.String() != want {
		t.Errorf("the callback told %.200q, want %.200q", told, want)
	}
}

func TestRequeueKeepsTheCheckpointUnlessItIsReset(t *testing.T) { // case 100
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("dies", script(`echo "from $(cat "$NIGHTSHIFT_CHECKPOINT")"
[ "$(cat)" != '"fine"' ] || exit 0
nightshift checkpoint set 7; exit 1`, nil))
	id := p.enqueue("dies", doc{"payload": 1})
	requeued := func(of string, body doc) string {
		t.Helper()
		var run aRun
		if status := p.call("POST", "/v1/runs/"+of+"/requeue", body, &run); status/100 != 2 {
			t.Fatalf("requeue: %d", status)
		}
		p.end(run.ID)
		return run.ID
	}
	p.end(id)
	p = p.kill9() // what is kept outlives the server
	again := requeued(id, doc{})
	reset := requeued(again, doc{"reset": true})
	other := requeued(reset, doc{"payload": 2})
	p.cli("runs", "checkpoint", other).want(0).has("7\n")
	p.cli("runs", "checkpoint", other, "--delete").want(0).has("deleted")
	p.cli("runs", "checkpoint", other, "--delete").want(1).has("there is no checkpoint")
	deleted := requeued(other, doc{})
	fine := requeued(deleted, doc{"payload": "fine"})
	after := requeued(fine, doc{}) // it had succeeded
	for of, want := range map[string]string{
		id: "from \n", again: "from 7\n", reset: "from \n", other: "from \n", deleted: "from \n", fine: "from \n", after: "from \n",
	} {
		if got := p.logOf(of); got != want {
			t.Errorf("run %s began %q, want %q", of, got, want)
		}
	}
	for of, want := range map[string]string{id: "7", again: "7", reset: "7", fine: "", after: ""} {
		if got := p.checkpoint(of); got != want {
			t.Errorf("the checkpoint of %s is %q, want %q", of, got, want)
		}
	}
}

func TestCheckpointPastItsBoundIsRefusedAndTheOneBeforeStays(t *testing.T) { // case 102
	t.Parallel()
	p := start(t, t.TempDir())
	const bound = 256 << 10
	fits := `"` + strings.Repeat("x", bound-2) + `"`
	write(t, p.dir, "large", fits[:bound-1]+`x"`)
	large := filepath.Join(p.dir, "large")
	for _, way := range []string{
		`nightshift checkpoint set - <` + large,
		`curl -sS -o /dev/null -w '%{http_code}' -X PUT -T ` + large +
			` -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" "$NIGHTSHIFT_CALLBACK/checkpoint" | grep 413`,
		`printf '::nightshift {"checkpoint": %s}\n' "$(cat ` + large + `)"`,
	} {
		p.put("large", script(`nightshift checkpoint set '"before"'; `+way+`; echo "exit code $?"; exit 1`, nil))
		id := p.enqueue("large", nil)
		run := p.end(id)
		if run.State != "failed" || len(run.Attempts) != 1 || p.checkpoint(id) != `"before"` {
			t.Errorf("%.40s: %s, %d attempts, kept %.20q", way, run.State, len(run.Attempts), p.checkpoint(id))
		}
		text := p.logOf(id)
		if text = text[max(0, len(text)-2000):]; strings.HasPrefix(way, "nightshift") != strings.Contains(text, "exit code 1") {
			t.Errorf("%.40s: it saw %s", way, text)
		}
		if strings.HasPrefix(way, "printf") && !strings.Contains(run.Attempts[0].Decision.Reason, "262144 bytes") {
			t.Errorf("the decision does not tell: %+v", run.Attempts[0].Decision)
		}
	}
	write(t, p.dir, "fits", fits)
	p.put("fits", script("cd "+p.dir+`; cat "$NIGHTSHIFT_CHECKPOINT" >file; nightshift checkpoint get >got
nightshift checkpoint set - <fits && exit 75`, doc{"retry": doc{"max_attempts": 2, "backoff": quick}}))
	id := p.enqueue("fits", nil)
	if run := p.end(id); len(run.Attempts) != 2 || p.checkpoint(id) != fits || p.waitFor("file") != fits || p.waitFor("got") != fits+"\n" {
		t.Errorf("%s: %d bytes are kept", run.outcomes(), len(p.checkpoint(id)))
	}
}

func TestCheckpointOutlivesAKill(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("job", script(readsFile+`
case $NIGHTSHIFT_ATTEMPT$(cat "$NIGHTSHIFT_CHECKPOINT") in
1) nightshift checkpoint set 1;;
*) exit 0;;
esac
`+pauses(p, "saved", "never"), nil))
	id := p.enqueue("job", nil)
	p.waitFor("saved")
	p = p.kill9()
	run := p.end(id)
	if run.State != "succeeded" || run.outcomes() != "interrupted:lost succeeded" || !strings.Contains(p.logOf(id), "from 1\n") {
		t.Errorf("%s: %s: %s", run.State, run.outcomes(), p.logOf(id))
	}
}

const readsFile = `echo "from $(cat "$NIGHTSHIFT_CHECKPOINT")"
`

func TestTokenOfAnotherAttemptChangesNothing(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/done":
			_, _ = io.WriteString(w, `"right"`)
		case n == 1:
			w.WriteHeader(500)
		default:
			<-r.Context().Done()
		}
	})
	p.unguarded(s.URL)
	p.put("hook", doc{"webhook": doc{"url": s.URL}, "retry": doc{"backoff": quick}})
	p.put("done", doc{"webhook": doc{"url": s.URL + "/done"}})
	id := p.enqueue("hook", nil)
	p.until("the second attempt", func() bool { return len(s.deliveries()) == 2 })
	first, second := p.voiceOf(s.deliveries()[0]), p.voiceOf(s.deliveries()[1])
	second.said("PUT", "checkpoint", `"right"`)
	second.said("POST", "progress", `{"done": 1, "total": 2, "note": "right"}`)
	ended := p.enqueue("done", nil)
	p.end(ended)
	over := p.voiceOf(s.deliveries()[2])
	before := p.run(id)

	first.refusedAll("an attempt that is over", 409, "over")
	over.refusedAll("a run that is over", 409, "over")
	if _, answer := over.say("PUT", "checkpoint", "1"); !strings.Contains(answer, `"state":"succeeded"`) {
		t.Errorf("it is not told the state: %s", answer)
	}
	if _, answer := first.say("PUT", "checkpoint", "1"); !strings.Contains(answer, `"state":"running"`) {
		t.Errorf("it is not told the state: %s", answer)
	}
	forged := second.token[:len(second.token)-1] + "A"
	if forged == second.token {
		forged = second.token[:len(second.token)-1] + "Q"
	}
	admin := strings.TrimSpace(p.waitFor("nightshift.db.token"))
	for why, token := range map[string]string{
		"of another run": over.token, "forged": forged, "none": "", "of the server": admin, "cut": second.token[:20], "more": second.token + "AAAA",
		"with other spare bits": second.token[:len(second.token)-1] + string(second.token[len(second.token)-1]+1),
	} {
		v := *second
		v.token = token
		v.refusedAll(why, 401, "unauthorized")
	}
	for _, path := range []string{"/v1/runs", "/v1/runs/" + id, "/v1/runs/" + id + "/checkpoint", "/v1/jobs", "/v1/server", "/openapi.json"} {
		v := &voice{t, p.url, "", second.token}
		if status, answer := v.say("GET", path[1:], ""); status != 401 {
			t.Errorf("the token of an attempt opens %s: %d %.200s", path, status, answer)
		}
	}
	after := p.run(id)
	if got := p.checkpoint(id); got != `"right"` || *after.Progress != *before.Progress || after.State != "running" ||
		len(after.Attempts) != 2 || strings.Contains(p.logOf(id), "stray") {
		t.Errorf("something was changed: checkpoint %s, %+v, %s", got, after.Progress, p.logOf(id))
	}
	if run := p.run(ended); string(run.Result) != `"right"` || run.Progress != nil || p.checkpoint(ended) != "" || p.logOf(ended) != "" {
		t.Errorf("something was changed: %+v", run)
	}
	if status := p.call("DELETE", "/v1/runs/"+ended, nil, nil); status/100 != 2 {
		t.Fatalf("delete: %d", status)
	}
	over.refusedAll("a run that is gone", 404, "not-found")
}

func TestRunsOfACheckpointKeyGoOnFromEachOther(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("batch", script(readsFile+`
case $(cat) in
*first*) nightshift checkpoint set 4; `+pauses(p, "first", "go")+` exit 1;;
*second*) nightshift checkpoint set 5; exit 1;;
esac`, doc{"checkpoint": doc{"key": "payload.day"}}))
	ask := func(day, step string) string {
		return p.enqueue("batch", doc{"payload": doc{"day": day, "step": step}})
	}
	first := ask("may", "first")
	p.waitFor("first")
	second, third, other := ask("may", "second"), ask("may", "third"), ask("june", "third")
	if run := p.end(other); run.State != "succeeded" || !strings.Contains(p.logOf(other), "from \n") {
		t.Errorf("another key: %s, %s", run.State, p.logOf(other))
	}
	for _, id := range []string{second, third} {
		if run := p.run(id); run.State != "queued" || run.HeldBy.Kind != "checkpoint" || run.HeldBy.Name != "may" {
			t.Errorf("%s, held by %+v", run.State, run.HeldBy)
		}
	}
	p.cli("runs", "show", second).want(0).has("It has not started: an earlier run of the checkpoint key may, " + first + ", has not ended.")
	p.mark("go")
	for id, want := range map[string]string{first: "from \n", second: "from 4\n", third: "from 5\n"} {
		run := p.end(id)
		if text := p.logOf(id); text != want {
			t.Errorf("%s: it began %q, want %q", run.State, text, want)
		}
	}
	if a, b := p.run(second).Attempts[0], p.run(third).Attempts[0]; b.StartedAt.Before(a.FinishedAt) {
		t.Errorf("the third started at %v, the second ended at %v", b.StartedAt, a.FinishedAt)
	}
	fresh := ask("may", "third")
	if p.end(fresh); p.logOf(fresh) != "from \n" {
		t.Errorf("after a success it began %q", p.logOf(fresh))
	}
}

func TestScriptSavesWhileItIsStopped(t *testing.T) { // case 87
	t.Parallel()
	p := start(t, t.TempDir(), "--shutdown-grace", "2500ms")
	saves := func(how string) string {
		return readsFile + `[ -z "$(cat "$NIGHTSHIFT_CHECKPOINT")" ] || exit 0
trap '` + how + `; exit 0' TERM
touch "` + p.dir + `/$NIGHTSHIFT_JOB"
while :; do sleep 0.02; done`
	}
	command, line := `nightshift checkpoint set 1`, `echo "::nightshift {\"checkpoint\": 1}"`
	late := doc{"timeout": "1500ms", "retry": doc{"max_attempts": 2, "backoff": quick}}
	p.put("late-command", script(saves(command), late))
	p.put("late-line", script(saves(line), late))
	p.put("cancelled-command", script(saves(command), nil))
	p.put("cancelled-line", script(saves(line), nil))
	p.put("stopped-command", script(saves(command), nil))
	p.put("stopped-line", script(saves(line), nil))
	ids := map[string]string{}
	for _, job := range []string{"late-command", "late-line", "cancelled-command", "cancelled-line"} {
		ids[job] = p.enqueue(job, nil)
	}
	for _, job := range []string{"cancelled-command", "cancelled-line"} {
		p.waitFor(job)
		if status := p.call("POST", "/v1/runs/"+ids[job]+"/cancel", nil, nil); status != 202 {
			t.Errorf("cancel: %d", status)
		}
		if run := p.end(ids[job]); run.outcomes() != "cancelled" || p.checkpoint(run.ID) != "1" {
			t.Errorf("%s: %s: %s, saved %q", job, run.State, run.outcomes(), p.checkpoint(run.ID))
		}
	}
	for _, job := range []string{"late-command", "late-line"} {
		if run := p.end(ids[job]); run.outcomes() != "failed:timeout succeeded" || !strings.Contains(p.logOf(run.ID), "from 1\n") {
			t.Errorf("%s: %s: %s", job, run.outcomes(), p.logOf(run.ID))
		}
	}
	for _, job := range []string{"stopped-command", "stopped-line"} {
		ids[job] = p.enqueue(job, nil)
		p.waitFor(job)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = start(t, p.dir)
	for _, job := range []string{"stopped-command", "stopped-line"} {
		if run := p.end(ids[job]); run.outcomes() != "interrupted:shutdown succeeded" || !strings.Contains(p.logOf(run.ID), "from 1\n") {
			t.Errorf("%s: %s: %s", job, run.outcomes(), p.logOf(run.ID))
		}
	}
}
