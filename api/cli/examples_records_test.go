package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// recordScripts is a scripts folder as README.md of examples/records makes one.
func recordScripts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{
		"records/records.py", "records/records.mjs", "records/records.sh", "clients/nightshift.py", "clients/nightshift.mjs",
	} {
		text, err := os.ReadFile(example(t, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, filepath.Base(name), string(text))
	}
	return dir
}

// records are those of a run of examples/records, as its file has them.
type records struct {
	p       *process
	id, out string
}

const allRecords = 10000

func startRecords(p *process, job string) *records {
	p.t.Helper()
	out := filepath.Join(p.t.TempDir(), "records")
	payload := doc{"records": allRecords, "pause": 0.02, "out": out}
	return &records{p: p, id: p.enqueue(job, doc{"payload": payload}), out: out}
}

// done are the numbers of the records that were done, in order.
func (r *records) done() (list []int) {
	r.p.t.Helper()
	text, _ := os.ReadFile(r.out) // it is there once the first was done
	whole := string(text[:1+strings.LastIndexByte(string(text), '\n')])
	for line := range strings.Lines(whole) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			r.p.t.Fatalf("%s: %q is no number", r.out, line)
		}
		list = append(list, n)
	}
	return list
}

// said is what the attempts said when they started: their process, and after which record they go on.
func (r *records) said() [][]string {
	r.p.t.Helper()
	line := regexp.MustCompile(`process (\d+) goes on after record (\d+)`)
	return line.FindAllStringSubmatch(r.p.logOf(r.id), -1)
}

// inTheMiddle reports whether a good part of the records is done, and not all.
func (r *records) inTheMiddle() bool {
	r.p.t.Helper()
	n := len(r.done())
	if n >= allRecords {
		r.p.t.Fatalf("all %d records were done before anything could be killed", n)
	}
	return n >= 2000
}

// killScript ends the script of the run without a word.
func (r *records) killScript() {
	r.p.t.Helper()
	pid, err := strconv.Atoi(r.said()[0][1])
	if err != nil {
		r.p.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.p.t.Fatalf("kill the script: %v", err)
	}
}

// check waits for the end: every record was done, none up to the checkpoint twice, and few after it.
func (r *records) check(outcomes string) {
	r.p.t.Helper()
	run := r.p.end(r.id)
	if run.outcomes() != outcomes {
		r.p.t.Errorf("attempts: %s, want %s\n%s", run.outcomes(), outcomes, r.p.logOf(r.id))
	}
	said := r.said()
	checkpoint, _ := strconv.Atoi(said[len(said)-1][2])
	if checkpoint < 1900 || checkpoint >= allRecords || checkpoint%100 != 0 {
		r.p.t.Errorf("it went on after record %d", checkpoint)
	}
	r.p.wantResult(r.id, fmt.Sprintf(`{"records":%d,"this_time":%d}`, allRecords, allRecords-checkpoint))
	times := make([]int, allRecords+1)
	for _, n := range r.done() {
		times[n]++
	}
	for n, k := range times {
		most := 1
		if n > checkpoint && n <= checkpoint+100 {
			most = 2
		}
		if n > 0 && (k < 1 || k > most) {
			r.p.t.Fatalf("record %d was done %d times; it went on after record %d", n, k, checkpoint)
		}
	}
}

func TestRecordsExampleGoesOnAfterItsScriptIsKilled(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--scripts", recordScripts(t), "--script-workers", "3", "--apply", example(t, "records/jobs.yaml"))
	var runs, alive []*records
	for job, program := range map[string]string{"records-python": "python3", "records-node": "node", "records-bash": "curl"} {
		t.Run(job, func(t *testing.T) { needs(t, program) })
		if _, err := exec.LookPath(program); err == nil {
			runs = append(runs, startRecords(p, job))
		}
	}
	alive = slices.Clone(runs)
	p.until("each is killed in the middle", func() bool {
		alive = slices.DeleteFunc(alive, func(r *records) bool {
			if !r.inTheMiddle() {
				return false
			}
			r.killScript()
			return true
		})
		return len(alive) == 0
	})
	for _, r := range runs {
		r.check("failed:signal succeeded")
	}
}

func TestRecordsExampleGoesOnAfterTheServerIsKilled(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	scripts := recordScripts(t)
	p := start(t, t.TempDir(), "--scripts", scripts, "--apply", example(t, "records/jobs.yaml"))
	r := startRecords(p, "records-python")
	p.until("a good part is done", r.inTheMiddle)
	r.p = p.kill9("--scripts", scripts)
	r.check("interrupted:lost succeeded")
}
