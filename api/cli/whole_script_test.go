package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func TestStopOfAScriptTakesItsWholeTree(t *testing.T) { // case 77, S1, S2, F6
	t.Parallel()
	p := start(t, t.TempDir())
	tree := "sleep 300 & (setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' &) ; " +
		"echo begun; kill -STOP $$; sleep 300"
	p.put("late", doc{
		"script":  doc{"source": tree, "grace": "100ms"},
		"timeout": "400ms", "retry": doc{"max_attempts": 1},
	})
	p.put("cancelled", doc{"script": doc{"source": tree, "grace": "100ms"}})
	late, cancelled := p.enqueue("late", nil), p.enqueue("cancelled", nil)
	p.until("it has begun", func() bool { return strings.Contains(p.logOf(cancelled), "begun") })
	if status := p.call("POST", "/v1/runs/"+cancelled+"/cancel", nil, nil); status != 202 {
		t.Errorf("cancel: %d", status)
	}
	for id, want := range map[string]string{late: "failed", cancelled: "cancelled"} {
		if run := p.end(id); run.State != want || len(run.Attempts) != 1 {
			t.Errorf("%s, want %s: %s", run.State, want, run.outcomes())
		}
		// The attempt is over when its processes are gone: nothing is waited for here.
		if pids := living("NIGHTSHIFT_RUN=" + id); pids != nil {
			t.Errorf("processes %v live on", pids)
		}
	}
}

func TestChildThatHoldsTheOutputDoesNotHoldTheRun(t *testing.T) { // case 79
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("leave", doc{"script": doc{"source": "echo hi; sleep 300 & exit 0"}})
	id := p.enqueue("leave", nil)
	if run := p.end(id); run.State != "succeeded" || p.logOf(id) != "hi\n" {
		t.Errorf("%s with %q", run.State, p.logOf(id))
	}
	if pids := living("NIGHTSHIFT_RUN=" + id); pids != nil {
		t.Errorf("processes %v live on", pids)
	}
}

func TestOutputOfEverySortIsKept(t *testing.T) { // cases 81, 82, 85
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("line", doc{"script": doc{"source": "head -c 5000000 /dev/zero | tr '\\0' x; echo END"}})
	p.put(
		"bytes",
		doc{
			"script": doc{
				"source": `printf '\377\376 ok\n\000\033[31m<script>\n'; ` +
					`printf '\377\376 ok too\n' >&2; exit 1`,
			},
		},
	)
	line, raw := p.enqueue("line", nil), p.enqueue("bytes", nil)
	run := p.end(line)
	text := p.logOf(line)
	if run.State != "succeeded" || !strings.HasSuffix(text, "xEND\n") ||
		!strings.HasPrefix(text, "xxx") ||
		!strings.Contains(text, " bytes missing ...]") ||
		len(text) > 1<<20+100 {
		t.Errorf("%s, %d bytes, ends %q", run.State, len(text), text[max(0, len(text)-20):])
	}
	run = p.end(raw)
	if run.State != "failed" || run.Attempts[0].ExitCode != 1 || run.Error.Exit.Code != 1 ||
		run.Error.Kind != "exit" {
		t.Errorf("%s: %+v", run.State, run.Error)
	}
	tail := run.Attempts[0].OutputTail
	if !utf8.ValidString(tail) || !strings.Contains(tail, " ok\n") ||
		!strings.Contains(tail, " ok too\n") {
		t.Errorf("the tail is %q", tail)
	}
	if got := p.logOf(raw); got != "\377\376 ok\n\000\033[31m<script>\n\377\376 ok too\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestEndlessOutputCostsNeitherMemoryNorDisk(t *testing.T) { // case 84, S3, P10
	t.Parallel()
	p := start(t, t.TempDir(), "--script-workers", "3")
	size := "200M"
	if os.Getenv("NIGHTSHIFT_TEST_LONG") != "" {
		size = "2G"
	}
	p.put("flood", doc{"script": doc{"source": "head -c " + size + " /dev/zero | tr '\\0' x"}})
	before := p.rss()
	most := int64(0)
	ids := []string{p.enqueue("flood", nil), p.enqueue("flood", nil), p.enqueue("flood", nil)}
	for _, id := range ids {
		run := p.awaitRun(id, "it ends", func(r *aRun) bool {
			most = max(most, p.rss())
			return r.ended()
		})
		if run.State != "succeeded" {
			t.Errorf("%s", run.State)
		}
		if text := p.logOf(id); len(text) > 1<<20+100 ||
			!strings.Contains(text, " bytes missing ...]") {
			t.Errorf("%d bytes are kept", len(text))
		}
	}
	t.Logf("the server grew by %d MiB", (most-before)>>20)
	if most-before > 100<<20 {
		t.Errorf("the server grew by %d MiB", (most-before)>>20)
	}
	disk := int64(0)
	files, _ := filepath.Glob(filepath.Join(p.dir, "nightshift.db*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			disk += info.Size()
		}
	}
	if disk > 64<<20 {
		t.Errorf("database and log take %d MiB", disk>>20)
	}
}

func TestOutputIsSeenWhileItRuns(t *testing.T) { // case 86
	t.Parallel()
	p := start(t, t.TempDir())
	hold := write(t, p.dir, "hold", "")
	p.put("talk", doc{"script": doc{
		"source": "for i in 1 2 3 4 5; do echo line $i; done; while [ -e " + hold +
			" ]; do sleep 0.05; done",
	}})
	id := p.enqueue("talk", nil)
	p.until("five lines", func() bool { return strings.Count(p.logOf(id), "line ") == 5 })
	if run := p.run(id); run.State != "running" {
		t.Errorf("it is %s", run.State)
	}
	remove(t, hold)
	p.end(id)
}

func TestScriptSeesOnlyWhatIsDocumented(t *testing.T) { // cases 74 and 89
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	p.put("see", doc{"script": doc{
		"source":      `cat > "$OUT"; cmp "$OUT" "$NIGHTSHIFT_PAYLOAD" && env -0 | tr '\0' '\n'`,
		"interpreter": []string{"sh"},
		"env":         doc{"OUT": filepath.Join(dir, "stdin")},
	}})
	payload := oddPayload
	id := p.enqueue("see", `{"payload": `+payload+`}`)
	run := p.end(id)
	if run.State != "succeeded" {
		t.Fatalf("%s: %s", run.State, p.logOf(id))
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "stdin")); string(got) != payload {
		t.Errorf("stdin was %s", got)
	}
	for line := range strings.Lines(p.logOf(id)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		known := []string{
			"PATH", "LANG", "TZ", "HOME", "USER", "LOGNAME", "PYTHONUNBUFFERED",
			"OUT", "TRACEPARENT", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR",
			"NIGHTSHIFT_PAYLOAD", "NIGHTSHIFT_JOB", "NIGHTSHIFT_RUN", "NIGHTSHIFT_OPERATION",
			"NIGHTSHIFT_ATTEMPT",
			"NIGHTSHIFT_MAX_ATTEMPTS", "NIGHTSHIFT_SCHEDULED_FOR", "NIGHTSHIFT_CATCH_UP",
			"NIGHTSHIFT_DEADLINE", "NIGHTSHIFT_CHECKPOINT", "NIGHTSHIFT_CALLBACK",
			"NIGHTSHIFT_CALLBACK_TOKEN",
		}
		if !slices.Contains(known, name) {
			t.Errorf("the environment has %s=%s", name, value)
		}
	}
	// Without a payload there is the job's, and stdin ends.
	if run := p.end(p.enqueue("see", nil)); run.State != "succeeded" {
		t.Errorf("without a payload: %s", run.State)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "stdin")); string(got) != "{}" {
		t.Errorf("stdin was %q", got)
	}
}

func TestScriptThatKillsItsParentHarmsNobodyElse(t *testing.T) { // S9
	t.Parallel()
	p := start(t, t.TempDir())
	p.put(
		"killer",
		doc{
			"script": doc{"source": "echo bye; kill -9 $PPID; sleep 300"},
			"retry":  doc{"max_attempts": 1},
		},
	)
	p.put("fine", doc{"script": doc{"source": "sleep 0.3"}})
	var wg sync.WaitGroup
	fine := p.enqueue("fine", nil)
	id := p.enqueue("killer", nil)
	wg.Go(func() {
		if run := p.end(fine); run.State != "succeeded" {
			t.Errorf("the other: %s", run.State)
		}
	})
	run := p.end(id)
	wg.Wait()
	if run.State != "failed" || run.Error == nil || len(run.Attempts) != 1 {
		t.Errorf("%s: %s", run.State, run.outcomes())
	}
	if pids := living("NIGHTSHIFT_RUN=" + id); pids != nil {
		t.Errorf("processes %v live on", pids)
	}
}

func TestScriptThatKillsTheServerEndsAsACrashLoop(t *testing.T) { // S9, P7
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	p.put(
		"killer",
		doc{
			"script": doc{
				"source": `kill -9 "$(cat "$PID")"; sleep 300`,
				"env":    doc{"PID": filepath.Join(dir, "pid")},
			},
		},
	)
	id := ""
	for death := 1; death <= 5; death++ {
		write(t, dir, "pid", strconv.Itoa(p.cmd.Process.Pid))
		if id == "" {
			id = p.enqueue("killer", nil)
		} else {
			_, _, _ = p.try("POST", "/v1/runs/"+id+"/run-now", nil) // the server may die first
		}
		p.exit()
		p = start(t, dir)
	}
	if run := p.end(id); run.State != "failed" || run.Error.Kind != "crash_loop" ||
		len(run.Attempts) != 5 {
		t.Errorf("%s: %s", run.State, run.outcomes())
	}
	if pids := living("NIGHTSHIFT_RUN=" + id); pids != nil {
		t.Errorf("processes %v live on", pids)
	}
}

func TestDeletedJobLeavesItsHistory(t *testing.T) { // cases 72 and 73
	t.Parallel()
	p := start(t, t.TempDir(), "--script-workers", "1")
	hold := write(t, p.dir, "hold", "")
	p.put("job", doc{
		"script": doc{
			"source": `case $(cat) in 1) exit 0;; 2) exit 3;; esac; echo begun; while [ -e ` + hold +
				` ]; do sleep 0.05; done; echo last words; exit 75`,
		},
	})
	done, dead := p.enqueue("job", doc{"payload": 1}), p.enqueue("job", doc{"payload": 2})
	p.end(done)
	p.end(dead)
	running := p.enqueue("job", nil)
	p.until("it runs", func() bool { return strings.Contains(p.logOf(running), "begun") })
	queued, later := p.enqueue("job", nil), p.enqueue("job", doc{"delay": "1h"})
	if status := p.call("DELETE", "/v1/jobs/job", nil, nil); status/100 != 2 {
		t.Fatalf("delete: %d", status)
	}
	if run := p.run(running); run.State != "running" {
		t.Errorf("the running one is %s", run.State)
	}
	remove(t, hold)
	p.end(running)
	p = p.kill9()
	want := map[string]string{
		done:    "succeeded",
		dead:    "failed",
		running: "failed",
		queued:  "cancelled",
		later:   "cancelled",
	}
	for id, state := range want {
		if run := p.run(id); run.State != state {
			t.Errorf("%s, want %s: %s", run.State, state, run.outcomes())
		}
	}
	if got := p.logOf(running); got != "begun\nlast words\n" {
		t.Errorf("its log is %q", got)
	}
	if run := p.run(running); len(run.Attempts) != 1 ||
		run.Attempts[0].Decision.By != "job deleted" {
		t.Errorf("%s %+v", run.outcomes(), run.Attempts[0].Decision)
	}
	if status := p.call("POST", "/v1/jobs/job/runs", nil, nil); status != 404 {
		t.Errorf("a new run of it: %d", status)
	}
}
