package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// living are the processes whose environment has an entry.
func living(entry string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(entry)) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// lingering takes a signal with all sorts of attempts and callers under way.
type lingering struct {
	*process
	marker                string
	polite, deaf, hanging string // runs
}

func linger(t *testing.T, grace string) *lingering {
	t.Helper()
	l := &lingering{
		process: start(t, t.TempDir(), "--shutdown-grace", grace, "--script-workers", "4"),
	}
	l.marker = filepath.Join(l.dir, "cleaned")
	release := make(chan struct{})
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	l.put(
		"polite",
		doc{"script": doc{"grace": "2s", "interpreter": []string{"sh"}, "source": fmt.Sprintf(
			"trap 'echo cleaning; echo x > %s; exit 0' TERM; echo begun; sleep 600 & wait",
			l.marker,
		)}},
	)
	l.put("deaf", doc{"script": doc{
		"grace": "1h", "interpreter": []string{"sh"},
		"source": "trap '' TERM; echo begun; (setsid sleep 600 &) ; while :; do sleep 0.1; done",
	}})
	l.put("hanging", doc{"webhook": doc{"url": s.URL}})
	l.polite, l.deaf = l.enqueue("polite", nil), l.enqueue("deaf", nil)
	l.hanging = l.enqueue("hanging", nil)
	for _, id := range []string{l.polite, l.deaf} {
		l.until(
			"the script has begun",
			func() bool { return strings.Contains(l.logOf(id), "begun") },
		)
	}
	l.until("the webhook hangs", func() bool { return len(s.deliveries()) == 1 })
	return l
}

// callers keep the server busy: one waits, one follows, one sends a body that never ends.
func (l *lingering) callers() {
	l.t.Helper()
	go func() { _, _, _ = l.try("GET", "/v1/runs/"+l.deaf+"?wait=60s", nil) }()
	follow := exec.Command(binary, "logs", l.deaf, "-f")
	follow.Dir, follow.Env = l.dir, environment("NIGHTSHIFT_SERVER="+l.url)
	if err := follow.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = follow.Process.Kill()
		_ = follow.Wait()
	})
	token, _ := os.ReadFile(filepath.Join(l.dir, "nightshift.db.token"))
	c, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(
		c,
		"POST /v1/jobs/polite/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Content-Length: 100\r\n\r\n{",
		strings.TrimSpace(string(token)),
	)
	// The server has read the head of it once it answers a call that was sent later.
	l.run(l.deaf)
}

func (l *lingering) checkEnd(code int) {
	l.t.Helper()
	if code != 0 {
		l.t.Errorf("exit code %d\n%s", code, l.log)
	}
	if left, _ := filepath.Glob(filepath.Join(l.dir, "nightshift.db-*")); left != nil {
		l.t.Errorf("it left %v", left)
	}
	for _, id := range []string{l.polite, l.deaf} {
		if pids := living("NIGHTSHIFT_RUN=" + id); pids != nil {
			l.t.Errorf("processes %v live on", pids)
		}
	}
}

func TestStopIsOverSoonAfterTheGrace(t *testing.T) { // cases 67 and 87, F4
	t.Parallel()
	l := linger(t, "3s")
	l.callers()
	began := time.Now()
	code := l.stop(syscall.SIGTERM)
	// 3 s and 2 s, and what a busy machine adds.
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	l.checkEnd(code)
	if _, err := os.Stat(l.marker); err != nil {
		t.Errorf("the script that traps TERM was not let clean up: %v", err)
	}
	next := start(t, l.dir)
	for _, id := range []string{l.polite, l.deaf, l.hanging} {
		run := next.run(id)
		first := run.Attempts[0]
		if first.Outcome != "interrupted" || first.Error == nil || first.Error.Kind != "shutdown" ||
			first.Decision.Action != "rerun" || run.ended() || run.Attempt != 1 {
			t.Errorf("%s: %s, attempt %d, %+v", id, run.State, run.Attempt, first)
		}
	}
	next.awaitRun(l.deaf, "it runs again", func(r *aRun) bool { return len(r.Attempts) == 2 })
	if code := next.stopForced(); code != 0 {
		t.Errorf("forced: exit code %d\n%s", code, next.log)
	}
}

// stopForced sends signals until the server has ended.
func (p *process) stopForced() int {
	p.t.Helper()
	p.until("it ends", func() bool {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	return p.exit()
}

func TestSecondSignalEndsEverythingAtOnce(t *testing.T) { // case 67
	t.Parallel()
	l := linger(t, "10m")
	l.callers()
	l.checkEnd(l.stopForced())
}

func TestStopOfAServerThatWasStoppedByAnotherSignal(t *testing.T) { // F5
	t.Parallel()
	p := start(t, t.TempDir())
	answer := make(chan struct{})
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-answer
		}
		_, _ = io.WriteString(w, "1")
	})
	once := doc{"max_attempts": 3, "backoff": quick}
	p.put("slow", doc{"webhook": doc{"url": s.URL + "/slow"}, "timeout": "1s", "retry": once})
	p.put("script", doc{"script": doc{"source": "sleep 600"}, "timeout": "1s", "retry": once})
	p.put("fine", doc{"webhook": doc{"url": s.URL + "/fine"}, "retry": once})
	hook, script := p.enqueue("slow", nil), p.enqueue("script", nil)
	for _, id := range []string{hook, script} {
		p.awaitRun(id, "it runs", func(r *aRun) bool { return r.State == "running" })
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // longer than the timeouts
	close(answer)
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{hook, script} {
		run := p.end(id)
		for i, a := range run.Attempts {
			if a.Number != i+1 || i > 0 && a.StartedAt.Before(run.Attempts[i-1].FinishedAt) {
				t.Errorf("attempt %d is number %d, started %v", i+1, a.Number, a.StartedAt)
			}
			if a.Error != nil && a.Error.Kind != "timeout" {
				t.Errorf("attempt %d: %+v", a.Number, a.Error)
			}
		}
	}
	if run := p.end(p.enqueue("fine", nil)); run.State != "succeeded" {
		t.Errorf("afterwards: %s", run.State)
	}
	slow := 0
	for _, d := range s.deliveries() {
		if d.path == "/slow" {
			slow++
		}
	}
	if run := p.run(hook); slow != len(run.Attempts) {
		t.Errorf("%d requests of %d attempts", slow, len(run.Attempts))
	}
}

func TestStopUnderLoadLosesNothingAcknowledged(t *testing.T) { // F4, P1
	t.Parallel()
	p := start(t, t.TempDir(), "--shutdown-grace", "5s")
	s := newSink(
		t,
		func(int, http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Millisecond) },
	)
	p.put("job", doc{"webhook": doc{"url": s.URL}})
	var (
		mu           sync.Mutex
		acknowledged []string
		wg           sync.WaitGroup
	)
	for range 16 {
		wg.Go(func() {
			for {
				status, text, err := p.try("POST", "/v1/jobs/job/runs", nil)
				if err != nil || status == 503 && problem(t, text) == "stopping" {
					return // nobody listens any more
				}
				var run aRun
				if status != 202 || json.Unmarshal(text, &run) != nil {
					t.Errorf("enqueue: %d %s", status, text)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, run.ID)
				mu.Unlock()
			}
		})
	}
	p.until("work is done", func() bool { return len(s.deliveries()) > 500 })
	began := time.Now()
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	t.Logf("stopped in %v", time.Since(began))
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(p.dir, "nightshift.db-*")); left != nil {
		t.Errorf("it left %v", left)
	}
	p = start(t, p.dir)
	requests := map[string]int{}
	for _, id := range acknowledged {
		run := p.end(id)
		requests[id] = len(run.Attempts)
		if run.State != "succeeded" || len(run.Attempts) != 1 {
			t.Errorf("%s: %s", run.State, run.outcomes())
		}
	}
	for _, d := range s.deliveries() {
		requests[d.header.Get("Nightshift-Run")]--
	}
	for id, n := range requests {
		if n != 0 {
			t.Errorf("run %s: its attempts less its requests are %d", id, n)
		}
	}
}
