package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sqliteRows asks the file of a running server with the sqlite3 tool, and only reads.
func (p *process) sqliteRows(query string) (rows []map[string]any) {
	p.t.Helper()
	tool, err := exec.LookPath("sqlite3")
	if err != nil {
		p.t.Skip("the sqlite3 tool is not installed: scripts/test installs it")
	}
	text, err := exec.Command(tool, "-init", "/dev/null", "-batch", "-readonly", "-json",
		filepath.Join(p.dir, "nightshift.db"), ".timeout 5000", query).CombinedOutput()
	if err != nil {
		p.t.Fatalf("sqlite3: %v: %s", err, text)
	}
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		p.t.Fatalf("%s: %v: %s", query, err, text)
	}
	return rows
}

// sameAs fails the test unless a row has what an answer has, column by column.
func sameAs(t *testing.T, what string, row, answer map[string]any, columns map[string]string) {
	t.Helper()
	for column, field := range columns {
		got, there := row[column]
		if !there || got != answer[field] {
			t.Errorf("%s: %s is %v (there: %v), the API says %v", what, column, got, there, answer[field])
		}
	}
}

// same are columns that are called as in the API.
func same(columns ...string) map[string]string {
	all := map[string]string{}
	for _, c := range columns {
		all[c] = c
	}
	return all
}

// The live file of a server, asked by another SQLite.
func TestViewsOfTheFileSayWhatTheAPISays(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	m := p.failing("sync")
	p.put("load", doc{
		"script": doc{"source": "def f():\n  raise KeyError('row 7')\nf()\n", "interpreter": []string{"python3"}},
		"labels": doc{"team": "data"}, "queue": "slow",
	})
	p.put("again", doc{
		"webhook": doc{"url": m.URL}, "retry": doc{"max_attempts": 3, "backoff": doc{"base": "1h"}},
	})
	open, resolved, dead := p.fails("sync", 1)[0], p.fails("sync", 1)[0], p.fails("load", 1)[0]
	p.cli("failures", "resolve", resolved).want(0)
	retrying := p.enqueue("again", nil)
	p.awaitRun(retrying, "it is tried again", func(r *aRun) bool { return r.State == "retrying" })
	m.good.Store(true)
	requeued := p.fails("load", 1)[0]
	p.cli("pause", "load").want(0)
	p.cli("failures", "requeue", requeued).want(0)
	p.enqueue("sync", doc{"delay": "1h"})

	statuses := map[string]string{
		open: "open", resolved: "resolved", dead: "open", retrying: "will_retry", requeued: "requeued",
	}
	rows := p.sqliteRows("SELECT * FROM failed_jobs ORDER BY id")
	if len(rows) != len(statuses) {
		t.Errorf("%d rows of failed_jobs, want %d: %v", len(rows), len(statuses), rows)
	}
	for _, row := range rows {
		id := row["id"].(string)
		var f map[string]any
		if status := p.call("GET", "/v1/failures/"+id, nil, &f); status != 200 || statuses[id] != row["status"] || len(row) != 10 {
			t.Errorf("failure %s: %d, want %s: %v", id, status, statuses[id], row)
		}
		sameAs(t, "failure "+id, row, f, same("id", "job_type", "error_message", "error_type", "stack_trace", "retries",
			"status", "created_at", "last_attempt_at"))
		if payload, _ := json.Marshal(f["payload"]); row["payload"] != string(payload) {
			t.Errorf("the payload of %s is %v, want %s", id, row["payload"], payload)
		}
	}

	history := p.sqliteRows("SELECT * FROM run_history ORDER BY created_at")
	var list struct{ Items []map[string]any }
	p.call("GET", "/v1/runs", nil, &list)
	if len(history) != len(list.Items) || len(history) < 7 {
		t.Fatalf("%d rows of run_history, the API lists %d", len(history), len(list.Items))
	}
	slices.Reverse(list.Items)
	for i, row := range history {
		r := list.Items[i]
		columns := same("id", "version", "state", "trigger", "schedule", "queue", "priority", "correlation_id", "created_by",
			"created_at", "run_at", "scheduled_for", "started_at", "finished_at", "requeued_from", "requeued_to")
		columns["job_type"], columns["group_run"] = "job", "group"
		sameAs(t, "run "+r["id"].(string), row, r, columns)
		if failure, is := r["error"].(map[string]any); is {
			sameAs(t, "the error of "+r["id"].(string), row, failure,
				map[string]string{"error_kind": "kind", "error_type": "type", "error_message": "message"})
		}
		if labels, _ := json.Marshal(r["labels"]); row["labels"] != string(labels) {
			t.Errorf("labels %v, want %s", row["labels"], labels)
		}
	}

	depth := p.sqliteRows("SELECT * FROM queue_depth ORDER BY queue")
	if len(depth) != 2 || len(depth[0]) != 8 {
		t.Fatalf("queue_depth: %v", depth)
	}
	for _, row := range depth {
		var q map[string]any
		p.call("GET", "/v1/queues/"+row["queue"].(string), nil, &q)
		sameAs(t, "queue", row, q, map[string]string{
			"queue": "name", "queued": "queued", "running": "running", "oldest_due_at": "oldest_due_at",
		})
	}
	for column, want := range map[string]float64{"scheduled": 1, "retrying": 1, "queued": 0, "paused": 0, "waiting": 0} {
		if depth[0]["queue"] != "default" || depth[0][column] != want {
			t.Errorf("%s of default: %v, want %v", column, depth[0], want)
		}
	}
	if depth[1]["queue"] != "slow" || depth[1]["queued"] != 1.0 {
		t.Errorf("the queue slow: %v", depth[1])
	}
}

// The line of README.md, as it stands there.
func TestTheQueryOfTheReadmeIsAnswered(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("the sqlite3 tool is not installed: scripts/test installs it")
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var line string
	for l := range strings.Lines(string(readme)) {
		if strings.HasPrefix(l, "sqlite3 -readonly nightshift.db ") {
			line = l
		}
	}
	p := start(t, t.TempDir())
	p.failing("sync")
	p.fails("sync", 2)
	ask := exec.Command("sh", "-c", line)
	ask.Dir = p.dir
	if out, err := ask.CombinedOutput(); err != nil || string(out) != "sync|http|2\n" {
		t.Errorf("%q: %v: %q", line, err, out)
	}
}
