package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// mended is a receiver that fails until it is mended.
type mended struct {
	*sink
	good atomic.Bool
}

// failing registers a job whose receiver is to be mended.
func (p *process) failing(job string) *mended {
	p.t.Helper()
	m := &mended{}
	m.sink = newSink(p.t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !m.good.Load() {
			w.WriteHeader(500)
		}
	})
	p.put(job, doc{"webhook": doc{"url": m.URL}, "retry": doc{"max_attempts": 1}})
	return m
}

// fails makes runs that fail, with {"n": 0}, {"n": 1}, ...
func (p *process) fails(job string, n int) (ids []string) {
	p.t.Helper()
	for i := range n {
		id := p.enqueue(job, doc{"payload": doc{"n": i}})
		if run := p.end(id); run.State != "failed" {
			p.t.Fatalf("run %s is %s", id, run.State)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestMondaysCleanUpIsAFewCommands(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.cli("failures").want(0).has("No failure is open.")
	m := p.failing("sync")
	p.put("load", doc{"script": doc{"source": "def f():\n  raise KeyError('row 7')\nf()\n", "interpreter": []string{"python3"}}})
	ids, other := p.fails("sync", 4), p.fails("load", 1)[0]

	p.cli("failures").want(0).has(ids[0], ids[3], other, "exit KeyError: 'row 7'", "http: 500").
		has("5 failures are open.", "failures requeue ID, or --all")
	p.cli("failures", "list", "--job", "load").want(0).has(other).has("1 failure of load is open.")
	p.cli("failures", "-q", ids[1][:34]).want(0).has(ids[1])
	groups := p.cli("failures", "groups").want(0).has("COUNT", "sync", "load", "open")
	if n := strings.Count(groups.stdout, "\n"); n != 3 {
		t.Errorf("two groups and a head, got\n%s", groups.stdout)
	}
	p.cli("failures", "show", other).want(0).has("The run of load failed in its only attempt", "KeyError", "Nobody has dealt with it.",
		"in f\n", "Attempts", "not tried again", "failures requeue "+other, "failures resolve "+other)

	p.cli("failures", "requeue", "--job", "sync", "--patch", `{"n":null,"mode":"delta"}`, "--dry-run").want(0).
		has("4 failures would be requeued. Nothing was changed.", `- {"n":3}`, `+ {"mode":"delta"}`)
	again := p.cli("failures", "requeue", ids[0], "--wait").want(1)
	if !strings.Contains(again.stderr, "It failed") {
		t.Errorf("%s%s", again.stdout, again.stderr)
	}
	m.good.Store(true)
	p.cli("failures", "requeue", "--job", "sync", "--rate", "100/s", "--stop-after", "2", "--note", "mended", "--wait").want(0).
		has("done: 4 of 4 requeued; 4 succeeded, 0 failed, 0 cancelled.")
	p.cli("failures", "--job", "sync").want(0).has("No failure of sync is open.")
	p.cli("failures", "show", ids[0]).want(0).has("It is resolved, by run ", "Requeues, oldest first", "this one")

	p.cli("failures", "resolve", other, "--note", "by hand").want(0).has("It is resolved, by token admin.")
	p.cli("failures", "list", "--all-statuses").want(0).has(other, ids[3], "resolved").has("No failure is open.")
	ignored := p.fails("load", 1)[0]
	p.cli("failures", "ignore", "--job", "load", "--for", "7d", "--wait").want(0).has("done: 1 of 1 ignored.")
	p.cli("failures", "show", ignored).want(0).has("It is ignored until ")
	p.cli("failures", "groups", "--status", "ignored").want(0).has("ignored until ")
}

func TestAnOrderIsFollowedOverARestartAndCalledOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	m := p.failing("sync")
	ids := p.fails("sync", 3)
	m.good.Store(true)
	given := p.cli("failures", "requeue", "--all", "--rate", "1/h", "--json").want(0)
	var order struct {
		ID    string
		Count int
	}
	if err := json.Unmarshal([]byte(given.stdout), &order); err != nil || order.Count != 3 {
		t.Fatalf("%s: %v", given.stdout, err)
	}
	p.until("the first run succeeds", func() bool {
		return strings.Contains(p.cli("failures", "order", order.ID).want(0).stdout, "1 succeeded, 0 failed, 0 cancelled, 2 to go")
	})
	p = p.kill9()
	p.cli("failures", "order", order.ID).want(0).has("made: 3 of 3 requeued; 1 succeeded")
	if got := p.cli("failures", "--json").want(0); strings.Contains(got.stdout, `"open"`) {
		t.Errorf("after a restart these are open: %s", got.stdout)
	}
	p.cli("failures", "stop", order.ID).want(0).has("stopped: ")
	p.cli("failures", "order", order.ID, "--wait").want(1).has("1 succeeded, 0 failed, 2 cancelled", "It was stopped: called off by token admin.")
	left := p.cli("failures").want(0).has("2 failures are open.")
	for i, id := range ids {
		if i > 0 != strings.Contains(left.stdout, id) {
			t.Errorf("failure %d: %s", i, left.stdout)
		}
	}
	if n := len(m.deliveries()); n != 4 {
		t.Errorf("%d calls came, want three that failed and one that did not", n)
	}
}

func TestCommandsAboutFailuresSayWhatIsWrongWithThem(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"failures requeue", 2, "say which failures"},
		{"failures requeue --all --job a", 2, "say which failures"},
		{"failures resolve x", 2, `"x" is not the id of a failure`},
		{"failures show x", 2, "is not the id of a failure"},
		{"failures order x", 2, "is not the id of an order"},
		{"failures requeue --all --payload {}", 2, "--payload and --reset are for one failure"},
		{"failures requeue --all --patch {", 2, "--patch: not JSON"},
		{"failures requeue --all --rate fast", 1, `"fast" is no rate: want so many a second, minute or hour`},
		{"failures ignore --all --for ever", 2, "--for: \"ever\" is neither a duration such as 7d nor a time"},
		{"failures list --since then", 2, "--since: "},
		{"failures list --all-statuses --status open", 2, "--all-statuses shows the newest of all"},
		{"failures list --status done", 1, "unknown status: want open, will_retry"},
		{"failures show 019ad2c4-3f00-7a51-8c2e-5d0b7e9f1a01", 1, "there is no such failure"},
		{"failures stop 019ad2c4-3f00-7a51-8c2e-5d0b7e9f1a01", 1, "there is no such order"},
	} {
		p.cli(strings.Fields(c.args)...).want(c.code).has(c.says)
	}
}

func TestAnOrderIsFollowedOnOneLineOfATerminal(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	m := p.failing("sync")
	p.fails("sync", 3)
	m.good.Store(true)
	got := p.onTerminal("failures", "requeue", "--all", "--rate", "2/s", "--wait")
	for _, text := range []string{"for 3 failures. It goes on without this command", "\r\x1b[K", " to go", "done: 3 of 3 requeued; 3 succeeded"} {
		if !strings.Contains(got, text) {
			t.Errorf("it does not show %q: %q", text, got)
		}
	}
}
