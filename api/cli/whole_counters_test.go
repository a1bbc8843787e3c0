package cli_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Case 156: after a kill no counter says for ever that something runs.
func TestCountersAreThoseOfTheListsAfterAKillAndNoneWhenIdle(t *testing.T) {
	p, been := start(t, t.TempDir()), t.TempDir()
	p.put("work", map[string]any{
		"script": map[string]any{"source": `mkdir "$BEEN/$NIGHTSHIFT_RUN" && sleep 600; sleep 2`, "env": map[string]any{"BEEN": been}},
		"retry":  map[string]any{"max_attempts": 3, "backoff": map[string]any{"kind": "fixed", "base": "10ms"}},
	})
	var ids []string
	for range 3 {
		ids = append(ids, p.enqueue("work", map[string]any{}))
	}
	p.until("three scripts to be at work", func() bool {
		begun, err := os.ReadDir(been)
		return err == nil && len(begun) == 3
	})
	p.until("three runs to be under way in each counter", func() bool {
		return p.running() == counters{list: 3, queue: 3, metrics: 3}
	})
	p = p.kill9()
	p.until("three runs to be under way again, in each counter", func() bool {
		return p.running() == counters{list: 3, queue: 3, metrics: 3}
	})
	for _, id := range ids {
		if run := p.end(id); run.State != "succeeded" {
			t.Errorf("run %s is %s: %s", id, run.State, run.outcomes())
		}
	}
	p.until("all counters to be 0", func() bool { return p.running() == counters{} })
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("stopped with %d", code)
	}
}

// counters are how many runs are said to be under way.
type counters struct{ list, queue, metrics int }

// running asks whatever counts.
func (p *process) running() (c counters) {
	p.t.Helper()
	var list struct{ Items []aRun }
	p.call("GET", "/v1/runs?state=running", nil, &list)
	c.list = len(list.Items)
	var queue struct{ Running int }
	p.call("GET", "/v1/queues/default", nil, &queue)
	c.queue = queue.Running
	_, after, _ := strings.Cut(p.metrics(), "\nnightshift_runs{state=\"running\"} ")
	value, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(value)
	if err != nil {
		p.t.Fatalf("metrics say that %q run", value)
	}
	c.metrics = n
	return c
}
