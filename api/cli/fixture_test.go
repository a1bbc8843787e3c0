package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// idsOf are the runs of a job in a state, oldest first.
func (p *process) idsOf(job, state string) (ids []string) {
	p.t.Helper()
	for _, r := range p.runsOf("job=" + job + "&state=" + state) {
		ids = append(ids, r.ID)
	}
	return ids
}

// The real program takes up the work of a file that a program of an earlier schema has left.
func TestServerGoesOnWithTheFileOfEachReleasedSchema(t *testing.T) {
	files, err := filepath.Glob("../../store/sqlite/testdata/schema-*.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no fixtures: %v", err)
	}
	fixtureSink(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".db.gz"), func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, file, filepath.Join(dir, "nightshift.db"))
			f := &fixture{startFixture(t, dir)}
			if strings.Contains(f.log.String(), `"schema changed"`) {
				if kept, _ := filepath.Glob(filepath.Join(dir, "backups", "before-schema-*.db")); len(kept) != 1 {
					t.Errorf("the schema was changed, and the file was kept as %v", kept)
				}
			}
			// A file that comes from elsewhere waits for this word.
			f.do("POST", "/v1/server/resume", nil)
			f.goesOn()
			if code := f.stop(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit code %d\n%s", code, f.log)
			}
			if out := sqlite(t, filepath.Join(dir, "nightshift.db"), "PRAGMA integrity_check"); out != "ok\n" {
				t.Error(out)
			}
		})
	}
}

func unpack(t testing.TB, file, dest string) {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(dest, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goesOn lets everything go that fixtures left standing, and wants it done. It holds however long ago the
// fixture was made.
func (f *fixture) goesOn() {
	half := f.unfinished("half", 1)[0]
	waits := map[string][]string{}
	for job, n := range map[string]int{"long": 3, "idle": 2, "stalled": 1, "secretive": 1, "once": 1, "chained": 1} {
		waits[job] = f.unfinished(job, n)
	}
	for _, id := range waits["long"] { // one of them was under way when the server was killed
		run := f.end(id)
		if run.State != "succeeded" {
			f.t.Errorf("run %s of long: %s %+v", id, run.State, run.Error)
		}
	}
	f.do("POST", "/v1/jobs/idle/resume", nil)
	f.do("POST", "/v1/jobs/once/resume", nil)
	f.do("POST", "/v1/queues/narrow/resume", nil)
	f.do("POST", "/v1/dependencies/warehouse/resume", nil)
	f.do("POST", "/v1/dependencies/warehouse/reset", nil)
	f.do("PUT", "/v1/secrets/NOT_THERE", doc{"value": "there-0123456789"})
	for _, job := range []string{"idle", "stalled", "secretive", "once", "chained"} {
		for _, id := range waits[job] {
			f.ends(id, "succeeded")
		}
	}
	if run := f.run(f.ends(half, "succeeded")); !strings.Contains(string(run.Result), `"succeeded":["a","b"]`) {
		f.t.Errorf("the group's result is %s", run.Result)
	}

	// A checkpoint, by a requeue; the operation is that of the failure.
	var failures struct{ Items []struct{ ID string } }
	f.call("GET", "/v1/failures?job=records&status=open", nil, &failures)
	if len(failures.Items) != 1 {
		f.t.Fatalf("failures of records: %+v", failures)
	}
	failed := f.run(failures.Items[0].ID)
	f.put("records", doc{"script": doc{"source": "nightshift checkpoint get"}})
	again := f.do("POST", "/v1/failures/"+failed.ID+"/requeue", nil)
	f.ends(again, "succeeded")
	if log := f.logOf(again); !strings.Contains(log, `"at": 41`) || f.run(again).OperationID != failed.OperationID {
		f.t.Errorf("the checkpoint of the failure is %q", log)
	}

	// New work of each kind, a door, a tick.
	for _, job := range []string{"ok", "slices", "once", "whole"} {
		f.ends(f.enqueue(job, doc{"payload": doc{"order": 9}}), "succeeded")
	}
	f.ends(f.do("POST", "/in/ok/door/door-0123456789", doc{"event": "again"}), "succeeded")
	f.is(f.enqueue("mailing", doc{"payload": doc{"n": 4}}), "retrying")
	ticked := len(f.idsOf("ticking", "succeeded"))
	f.do("POST", "/v1/schedules/ticking:each/resume", nil)
	f.until("it ticks again", func() bool { return len(f.idsOf("ticking", "succeeded")) > ticked })

	// What was over is as it was.
	var run struct{ Payload json.RawMessage }
	if f.call("GET", "/v1/runs/"+f.idsOf("ok", "succeeded")[0], nil, &run); string(run.Payload) != fixturePayload {
		f.t.Errorf("the first run has the payload %s", run.Payload)
	}
}

// unfinished are the runs of a job that wait for something now, of which there must be n.
func (f *fixture) unfinished(job string, n int) []string {
	f.t.Helper()
	ids := f.idsOf(job, "queued,running,waiting")
	if len(ids) != n {
		f.t.Fatalf("%d runs of %s are unfinished, want %d", len(ids), job, n)
	}
	return ids
}
