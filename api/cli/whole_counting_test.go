package cli_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// env prints how the script sees its attempt, and blocks while the file hold stands.
const env = `echo "attempt $NIGHTSHIFT_ATTEMPT of $NIGHTSHIFT_MAX_ATTEMPTS"; ` +
	`while [ -e "$HOLD" ]; do sleep 0.05; done; `

// holding is a server with a job whose script blocks while the file hold stands, then does the
// rest.
func holding(t *testing.T, rest string, retry doc) (p *process, hold string) {
	t.Helper()
	p = start(t, t.TempDir())
	hold = write(t, p.dir, "hold", "")
	p.put("job", doc{
		"script": doc{"source": env + rest, "env": doc{"HOLD": hold}}, "retry": retry,
	})
	return p, hold
}

// begun waits until an attempt of the run has printed something.
func (p *process) begun(id string, number int) {
	p.t.Helper()
	p.awaitRun(id, fmt.Sprintf("attempt %d runs", number), func(r *aRun) bool {
		return len(r.Attempts) == number && r.State == "running"
	})
	p.until("the script prints", func() bool {
		text := p.logOf(id)
		if number > 1 {
			_, text, _ = strings.Cut(text, fmt.Sprintf("--- attempt %d ---\n", number))
		}
		return strings.Contains(text, "attempt ")
	})
}

func TestDeathOfTheServerUsesUpNothing(t *testing.T) { // case 47
	t.Parallel()
	for _, limit := range []int{1, 4} {
		p, hold := holding(t, "exit 75", doc{"max_attempts": limit, "backoff": quick})
		id := p.enqueue("job", nil)
		p.begun(id, 1)
		p.onDisk()
		p = p.kill9()
		run := p.awaitRun(id, "it runs again", func(r *aRun) bool { return len(r.Attempts) >= 2 })
		a := run.Attempts[0]
		if a.Outcome != "interrupted" || a.Error.Kind != "lost" || a.Decision.By != "interrupted" ||
			a.Decision.Action != "rerun" {
			t.Errorf("attempt 1: %+v %+v", a, a.Decision)
		}
		if wait := a.Decision.NextAttemptAt.Sub(a.FinishedAt); wait != 0 {
			t.Errorf("it waits %v", wait)
		}
		remove(t, hold)
		run = p.end(id)
		// The lost one and as many as max_attempts says.
		if len(run.Attempts) != limit+1 || run.State != "failed" ||
			run.Attempts[limit].Decision.By != "max_attempts" {
			t.Errorf("max_attempts %d: %s %s", limit, run.State, run.outcomes())
		}
		var want strings.Builder
		for i := range limit + 1 {
			if i > 0 {
				fmt.Fprintf(&want, "--- attempt %d ---\n", i+1)
			}
			fmt.Fprintf(&want, "attempt %d of %d\n", max(1, i), limit)
		}
		if got := p.logOf(id); withoutMarks(got) != want.String() {
			t.Errorf("the log is %q, want %q", got, want.String())
		}
	}
}

// onDisk waits until the output of an attempt under way is kept.
func (p *process) onDisk() {
	p.t.Helper()
	db := filepath.Join(p.dir, "nightshift.db")
	p.until("the output is on disk", func() bool {
		return sqlite(p.t, db, "SELECT count(*) > 0 FROM logs") == "1\n"
	})
}

// withoutMarks leaves out the lines that the server put into a log.
func withoutMarks(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "[...") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestDeathIgnoresTheBackoffAndKeepsTheCount(t *testing.T) { // case 50
	t.Parallel()
	dir := t.TempDir()
	hold := write(t, dir, "hold", "")
	p := start(t, dir)
	p.put("job", doc{
		"script": doc{
			"source": `[ "$NIGHTSHIFT_ATTEMPT" = 1 ] && exit 75; ` + env + "exit 75",
			"env":    doc{"HOLD": hold},
		},
		"retry": doc{
			"max_attempts": 5,
			"backoff":      doc{"kind": "fixed", "base": "10m", "jitter": 0},
		},
	})
	id := p.enqueue("job", nil)
	p.awaitRun(id, "it retries", func(r *aRun) bool { return r.State == "retrying" })
	p.call("POST", "/v1/runs/"+id+"/run-now", nil, nil)
	p.begun(id, 2)
	p = p.kill9()
	p.begun(id, 3) // at once, not after ten minutes
	if run := p.run(id); run.Attempt != 2 || run.Attempts[2].Number != 3 {
		t.Errorf("number %d is attempt %d", run.Attempts[2].Number, run.Attempt)
	}
	remove(t, hold)
	run := p.awaitRun(id, "it retries", func(r *aRun) bool { return r.State == "retrying" })
	if got := run.outcomes(); got != "failed:exit interrupted:lost failed:exit" {
		t.Errorf("attempts %s", got)
	}
	if reason := run.Attempts[2].Decision.Reason; !strings.Contains(
		reason,
		"attempt 2 of 5 failed",
	) {
		t.Errorf("reason %q", reason)
	}
	if got := p.logOf(id); !strings.HasSuffix(got, "--- attempt 3 ---\nattempt 2 of 5\n") {
		t.Errorf("the log is %q", got)
	}
}

func TestInterruptedFailIsAtMostOnce(t *testing.T) {
	t.Parallel()
	p, _ := holding(t, "exit 0", doc{"max_attempts": 5, "interrupted": "fail"})
	id := p.enqueue("job", nil)
	p.begun(id, 1)
	p = p.kill9()
	run := p.end(id)
	if run.State != "failed" || run.outcomes() != "interrupted:lost" ||
		run.Attempts[0].Decision.By != "interrupted" {
		t.Errorf("%s: %s", run.State, run.outcomes())
	}
}

func TestFifthDeathInARowEndsTheRun(t *testing.T) { // P7, S9
	t.Parallel()
	p, hold := holding(t, "exit 75", doc{"max_attempts": 2, "backoff": quick})
	id := p.enqueue("job", nil)
	for death := 1; death <= 5; death++ {
		p.call("POST", "/v1/runs/"+id+"/run-now", nil, nil)
		p.begun(id, death)
		p = p.kill9()
		run := p.run(id)
		a := run.Attempts[death-1]
		if death == 5 {
			break
		}
		want := []float64{0, 5, 20, 60}[death-1]
		if wait := a.Decision.NextAttemptAt.Sub(a.FinishedAt).Seconds(); wait != want ||
			run.ended() {
			t.Errorf("death %d: %s, waits %v s, want %v", death, run.State, wait, want)
		}
	}
	run := p.end(id)
	if run.State != "failed" || run.Error.Kind != "crash_loop" || len(run.Attempts) != 5 ||
		run.Attempt != 1 {
		t.Errorf("%s, attempt %d: %s", run.State, run.Attempt, run.outcomes())
	}
	// A requeue begins anew (case 52): the first death is forgiven again, and so are attempts.
	var again aRun
	p.call("POST", "/v1/runs/"+id+"/requeue", nil, &again)
	p.begun(again.ID, 1)
	p = p.kill9()
	p.begun(again.ID, 2)
	remove(t, hold)
	if run := p.end(again.ID); run.outcomes() != "interrupted:lost failed:exit failed:exit" {
		t.Errorf("requeued: %s", run.outcomes())
	}
}

func TestEverythingThatRanGoesOnAfterAKill(t *testing.T) { // cases 63, 65, 69, 167
	t.Parallel()
	hang := make(chan struct{})
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		<-hang
		w.WriteHeader(204)
	})
	p := start(t, t.TempDir(), "--workers", "10")
	p.put("job", doc{"webhook": doc{"url": s.URL}})
	p.put("paused", doc{"webhook": doc{"url": s.URL}})
	if status := p.call("POST", "/v1/jobs/paused/pause", doc{"note": "held"}, nil); status != 200 {
		t.Fatalf("pause: %d", status)
	}
	ids := make(map[string]bool)
	for range 60 {
		ids[p.enqueue("job", nil)] = true
	}
	held := p.enqueue("paused", nil)
	p.until("ten run", func() bool { return len(s.deliveries()) == 10 })
	cancelled := s.deliveries()[0].header.Get("Nightshift-Run")
	if status := p.call("POST", "/v1/runs/"+cancelled+"/cancel", nil, nil); status != 202 {
		t.Errorf("cancel: %d", status)
	}
	// Its worker takes the next one, whose request must not be cut off on its way.
	p.until("the next one runs", func() bool { return len(s.deliveries()) == 11 })
	p = p.kill9("--workers", "10")
	if run := p.run(cancelled); run.State != "cancelled" {
		t.Errorf("the one that was being cancelled is %s", run.State)
	}
	delete(ids, cancelled)
	close(hang)
	for id := range ids {
		if run := p.end(id); run.State != "succeeded" {
			t.Errorf("%s: %s", run.State, run.outcomes())
		}
	}
	seen := map[string]int{}
	for _, d := range s.deliveries() {
		seen[d.header.Get("Nightshift-Run")]++
	}
	for id := range ids {
		if n := len(p.run(id).Attempts); seen[id] != n {
			t.Errorf("run %s: %d requests of %d attempts", id, seen[id], n)
		}
	}
	if run := p.run(held); run.State != "queued" || run.HeldBy == nil ||
		run.HeldBy.Kind != "paused" ||
		seen[held] != 0 {
		t.Errorf("the paused one is %s, %d requests", run.State, seen[held])
	}
	p.cli("jobs").want(0).has("paused held")
}

func TestLogOfAKilledAttemptSaysThatSomethingMayBeMissing(t *testing.T) {
	t.Parallel()
	p, hold := holding(t, "exit 0", nil)
	id := p.enqueue("job", nil)
	p.begun(id, 1)
	p.onDisk()
	p = p.kill9()
	remove(t, hold)
	p.end(id)
	got := p.logOf(id)
	if !strings.HasPrefix(got, "attempt 1 of 8\n[... ") ||
		!strings.Contains(got, "may be missing") ||
		!strings.HasSuffix(got, "--- attempt 2 ---\nattempt 1 of 8\n") {
		t.Errorf("the log is %q", got)
	}
}
