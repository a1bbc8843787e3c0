package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// inQueue counts the attempts under way of the queue default.
func (p *process) inQueue() int {
	p.t.Helper()
	var q struct{ Running int }
	if status := p.call("GET", "/v1/queues/default", nil, &q); status != 200 {
		p.t.Fatalf("GET queue: %d", status)
	}
	return q.Running
}

func TestSlotOfAKeyIsFreeAgainAfterAKill(t *testing.T) { // case 116
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	hold, log := write(t, dir, "hold", ""), write(t, dir, "log", "")
	p.put("job", doc{
		"script": doc{"source": `echo start >> "$LOG"; while [ -e "$HOLD" ]; do sleep 0.02; done
sleep 0.05; echo end >> "$LOG"`, "env": doc{"LOG": log, "HOLD": hold}},
		"concurrency": doc{"limit": 1, "key": "payload.k"},
	})
	one := doc{"payload": doc{"k": "k"}}
	runs := []string{p.enqueue("job", one), p.enqueue("job", one), p.enqueue("job", one), p.enqueue("job", one)}
	p.awaitRun(runs[0], "it runs", func(r *aRun) bool { return r.State == "running" })
	p.until("its script has begun", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && string(text) == "start\n"
	})
	for _, id := range runs[1:] {
		if run := p.run(id); run.State != "queued" || run.HeldBy.Kind != "concurrency" {
			t.Errorf("behind it: %s, %+v", run.State, run.HeldBy)
		}
	}
	p.kill()
	p.until("nothing of it lives", func() bool { return living("NIGHTSHIFT_RUN="+runs[0]) == nil })
	remove(t, hold)
	write(t, dir, "log", "")
	boot := time.Now()
	p = start(t, dir)
	for i, id := range runs {
		run := p.end(id)
		last := run.Attempts[len(run.Attempts)-1]
		if run.State != "succeeded" || i > 0 && len(run.Attempts) != 1 {
			t.Errorf("run %d: %s after %s", i, run.State, run.outcomes())
		}
		if took := last.StartedAt.Sub(boot); i == 0 && took > 10*time.Second {
			t.Errorf("the first start came %v after the boot", took)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("start\nend\n", 4); string(text) != want {
		t.Errorf("they did not run one by one:\n%s", text)
	}
	if n := p.inQueue(); n != 0 {
		t.Errorf("%d count as running though all have ended", n)
	}
}

// asks is enqueue with the status of the answer.
func (p *process) asks(job string, request any) (int, *aRun) {
	p.t.Helper()
	run := &aRun{}
	return p.call("POST", "/v1/jobs/"+job+"/runs", request, run), run
}

func TestUniqueRunThatDiesMakesRoomForTheNext(t *testing.T) { // case 124
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	hold := write(t, dir, "hold", "")
	p.put("job", doc{
		"script": doc{
			"source": `grep -q dies && exit 3; while [ -e "$HOLD" ]; do sleep 0.02; done`,
			"env":    doc{"HOLD": hold},
		},
		"retry":  doc{"max_attempts": 1},
		"unique": doc{"key": "1", "while": "active", "on_conflict": "existing"},
	})
	dead := p.end(p.enqueue("job", doc{"payload": "dies"}))
	if dead.State != "failed" {
		t.Fatalf("it %s", dead.State)
	}
	status, run := p.asks("job", nil)
	if status != 202 || run.ID == dead.ID || run.Duplicate {
		t.Fatalf("after one that died: %d, %+v", status, run)
	}
	p.awaitRun(run.ID, "it runs", func(r *aRun) bool { return r.State == "running" })
	p = p.kill9()
	status, again := p.asks("job", nil)
	if status != 200 || again.ID != run.ID || !again.Duplicate {
		t.Errorf("after a kill: %d, %+v, want run %s, which stands", status, again, run.ID)
	}
	remove(t, hold)
	if end := p.end(run.ID); end.State != "succeeded" {
		t.Errorf("the one that stood: %s, %s", end.State, end.outcomes())
	}
	if status, next := p.asks("job", nil); status != 202 || next.ID == run.ID {
		t.Errorf("when it has ended: %d, %+v", status, next)
	}
}

func TestAttemptThatIsBeingStoppedHoldsItsSlotUntilItsProcessesAreGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	p.put("job", doc{
		"script": doc{
			"source": `if grep -q deaf; then
	trap '' TERM
	(echo begun > "$DIR/begun"; while :; do sleep 0.05; done) & echo $! > "$DIR/child"
	echo $$ > "$DIR/parent"
	while :; do sleep 0.05; done
fi
for who in parent child; do
	if kill -0 "$(cat "$DIR/$who")" 2> /dev/null; then echo "the $who lives"; exit 1; fi
done`,
			"interpreter": []string{"sh"}, "env": doc{"DIR": dir}, "grace": "700ms",
		},
		"retry":       doc{"max_attempts": 1},
		"concurrency": doc{"limit": 1, "key": "payload.key"},
	})
	deaf := p.enqueue("job", doc{"payload": doc{"key": "k", "is": "deaf"}})
	next := p.enqueue("job", doc{"payload": doc{"key": "k"}})
	p.until("both processes live", func() bool {
		_, err1 := os.Stat(filepath.Join(dir, "begun"))
		_, err2 := os.Stat(filepath.Join(dir, "parent"))
		return err1 == nil && err2 == nil
	})
	asked := time.Now()
	if status := p.call("POST", "/v1/runs/"+deaf+"/cancel", nil, nil); status != 202 {
		t.Errorf("cancel: %d", status)
	}
	if run := p.run(next); run.State != "queued" || run.HeldBy.Kind != "concurrency" {
		t.Errorf("while it is being stopped: %s, %+v", run.State, run.HeldBy)
	}
	first, second := p.end(deaf), p.end(next)
	if first.State != "cancelled" || second.State != "succeeded" {
		t.Fatalf("%s, then %s: %s", first.State, second.State, p.logOf(next))
	}
	ended, began := first.Attempts[0].FinishedAt, second.Attempts[0].StartedAt
	if ended.Sub(asked) < 650*time.Millisecond {
		t.Errorf("it was not deaf: it ended after %v", ended.Sub(asked))
	}
	if began.Before(ended) {
		t.Errorf("the next one started %v before its end", ended.Sub(began))
	}
	if took := began.Sub(ended); took > 5*time.Second {
		t.Errorf("the next one started %v after its end", took)
	}
}

// waits is how long what runs share is held.
type waits struct {
	Probe  string `json:"next_probe_at"`
	Held   string `json:"held_until"`
	State  string
	Paused bool
	Note   string `json:"pause_note"`
}

func (p *process) waits(path string) (w waits) {
	p.t.Helper()
	if status := p.call("GET", path, nil, &w); status != 200 {
		p.t.Fatalf("GET %s: %d", path, status)
	}
	return w
}

func TestHoldsAreTheSameAfterAKill(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	sick := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	busy := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1800")
		w.WriteHeader(429)
	})
	paths := []string{"/v1/queues/mail"}
	for name, s := range map[string]*sink{"sick": sick, "busy": busy} {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, "/v1/dependencies/"+u.Host)
		p.put(name, doc{"webhook": doc{"url": s.URL}, "retry": doc{"max_attempts": 1}})
	}
	p.put("later", doc{"webhook": doc{"url": sick.URL}, "queue": "mail"})
	p.cli("pause", "queue/mail", "--note", "it moves").want(0)
	for range 5 {
		p.end(p.enqueue("sick", nil))
	}
	p.end(p.enqueue("busy", nil))
	runs := []string{p.enqueue("sick", nil), p.enqueue("busy", nil), p.enqueue("later", nil)}
	before, held := map[string]waits{}, map[string]aHold{}
	look := func() {
		t.Helper()
		for _, path := range paths {
			before[path] = p.waits(path)
		}
		for _, id := range runs {
			held[id] = *p.run(id).HeldBy
		}
	}
	look()
	if text, _ := json.Marshal(before); strings.Count(string(text), `"State":"open"`) != 1 ||
		!strings.Contains(string(text), `"pause_note":"it moves"`) || held[runs[1]].Until == "" {
		t.Fatalf("before the kill: %s, %+v", text, held)
	}
	p = p.kill9()
	for _, path := range paths {
		if after := p.waits(path); after != before[path] {
			t.Errorf("%s: %+v, before the kill %+v", path, after, before[path])
		}
	}
	for _, id := range runs {
		if run := p.run(id); run.State != "queued" || *run.HeldBy != held[id] {
			t.Errorf("%s, held by %+v, before the kill %+v", run.State, run.HeldBy, held[id])
		}
	}
	if n, m := len(sick.deliveries()), len(busy.deliveries()); n != 5 || m != 1 {
		t.Errorf("%d and %d requests came, want the first 5 and 1", n, m)
	}
}

// The server keeps what the clocks showed. To change that is to set the wall clock while it is down.
func TestClockThatIsSetWhileTheServerIsDownChangesNoWait(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	db := filepath.Join(p.dir, "nightshift.db")
	mark := strings.Fields(sqlite(t, db, "SELECT value FROM meta WHERE name = 'clock'"))
	if len(mark) != 3 {
		t.Skipf("this machine has no clock that is never set: %q", mark)
	}
	p.put("job", doc{"webhook": doc{"url": "http://127.0.0.1:9/"}, "dependencies": []string{"lent"}})
	p.cli("dependencies", "trip", "lent", "--for", "2h").want(0)
	probe := func() time.Time {
		at, err := time.Parse(time.RFC3339, p.dependency("lent").NextProbeAt)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	before := probe()
	p.kill()
	wall, err := strconv.ParseInt(mark[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	mark[2] = strconv.FormatInt(wall-time.Hour.Nanoseconds(), 10) // an hour less than it was
	sqlite(t, db, "UPDATE meta SET value = '"+strings.Join(mark, " ")+"' WHERE name = 'clock'")
	p = start(t, p.dir, "--resume") // the log was taken in by another program
	moved := func() bool { return probe().Sub(before).Round(time.Second) == time.Hour }
	p.until("the wait was moved with the clock", moved)
	if !strings.Contains(p.log.String(), "the wall clock was set") {
		t.Errorf("the log does not tell:\n%s", p.log)
	}
	p = p.kill9() // it is known now
	if p.end(p.enqueueOther()); !moved() {
		t.Errorf("after another start the probe is at %v, at first it was %v", probe(), before)
	}
}

// enqueueOther makes a run that has nothing to do with others: when it ends the server has claimed.
func (p *process) enqueueOther() string {
	p.t.Helper()
	p.put("other", doc{"script": doc{"source": "true"}})
	return p.enqueue("other", nil)
}
