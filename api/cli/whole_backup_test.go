package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// The file goes to another machine: backed up under load, restored, looked at while it is held, resumed.
func TestBackupIsRestoredAndHeldUntilItIsResumed(t *testing.T) {
	sink := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
	p := start(t, t.TempDir())
	p.put("a", map[string]any{"webhook": map[string]any{"url": sink.URL}})
	p.put("every", map[string]any{
		"webhook": map[string]any{"url": sink.URL}, "schedules": []any{map[string]any{"every": "1s"}},
	})
	p.call("PUT", "/v1/secrets/API", map[string]any{"value": "a-secret-of-this-test"}, nil)
	ran := p.end(p.enqueue("a", nil))
	later := p.enqueue("a", map[string]any{"delay": "1h"})

	var acked sync.Map
	var stop atomic.Bool
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for !stop.Load() {
				status, text, err := p.try("POST", "/v1/jobs/a/runs", "")
				if err == nil && status == 202 {
					acked.Store(idIn(t, text), true)
				}
			}
		})
	}
	count := func() (n int) {
		acked.Range(func(any, any) bool { n++; return true })
		return n
	}
	p.until("runs are acknowledged", func() bool { return count() >= 50 })
	dir := t.TempDir()
	backup := filepath.Join(dir, "b.db")
	var mustHold []string
	acked.Range(func(id, _ any) bool { mustHold = append(mustHold, id.(string)); return true })
	p.cli("backup", backup).want(0).has("whole", "with everything up to")
	stop.Store(true)
	clients.Wait()
	p.cli("backup", dir).want(0).has("nightshift-20")
	p.cli("backup", filepath.Join(dir, "none", "x.db")).want(1).has("does not exist")
	p.cli("backup", "-").want(2).has("GET /v1/backup")
	p.cli("backup", "").want(2).has("DEST")
	for _, other := range []string{"nightshift.db", "nightshift.db-wal", "nightshift.db.key", "/dev/null"} {
		p.cli("backup", other).want(1).has("write the backup: " + other)
	}
	p.cli("backup", backup).want(0) // an earlier one is replaced
	p.cli("verify", backup).want(0).has("whole", "backup as of", "newest run", "secrets        API")
	p.cli("restore", backup).want(1).has("is being served by another process")

	// Restored beside no key, on another machine.
	other := t.TempDir()
	run(t, other, "", nil, "restore", backup).want(0).
		has("is restored from", "as of 20", "set these secrets again", "API", "There is no token", "nightshift resume")
	token, err := os.ReadFile(filepath.Join(p.dir, "nightshift.db.token"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "nightshift.db.token", string(token))
	q := start(t, other)
	var server struct {
		Restored *struct{ Why, Reason string }
	}
	q.call("GET", "/v1/server", nil, &server)
	if server.Restored == nil || server.Restored.Why != "backup" || !strings.Contains(server.Restored.Reason, "is a backup as of") {
		t.Fatalf("held: %+v", server.Restored)
	}
	if status := q.call("GET", "/readyz", nil, nil); status != 503 {
		t.Errorf("it says that it is ready: %d", status)
	}
	if !strings.Contains(q.log.String(), "the database is held") || !strings.Contains(q.log.String(), `"secrets":"API"`) {
		t.Errorf("its log does not say so:\n%s", q.log)
	}
	for _, id := range append(mustHold, ran.ID, later) {
		if status := q.call("GET", "/v1/runs/"+id, nil, nil); status != 200 {
			t.Errorf("run %s, acknowledged before the backup: %d", id, status)
		}
	}
	_ = p.stop(syscall.SIGTERM)
	calls := len(sink.deliveries())
	id := q.enqueue("a", nil)
	if r := q.run(id); r.State != "queued" || r.HeldBy == nil || r.HeldBy.Kind != "restored" {
		t.Errorf("run %s held by %+v", r.State, r.HeldBy)
	}
	q.cli("runs", "show", id).want(0).has("nothing starts until nightshift resume")
	if n := len(sink.deliveries()); n != calls {
		t.Errorf("%d calls were made while it was held", n-calls)
	}
	q.cli("resume", "--cancel-waiting").want(0).has("cancelled", "starts attempts")
	for _, id := range []string{id, later} {
		if r := q.end(id); r.State != "cancelled" {
			t.Errorf("run %s has %s", id, r.State)
		}
	}
	if r := q.end(q.enqueue("a", nil)); r.State != "succeeded" {
		t.Errorf("after the resume a run has %s", r.State)
	}
	if code := q.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	q = start(t, other)
	if q.call("GET", "/v1/server", nil, &server); server.Restored != nil {
		t.Error("held again")
	}
}

// idIn is the id of a run in an answer.
func idIn(t testing.TB, text []byte) string {
	_, rest, ok := strings.Cut(string(text), `"id":"`)
	if !ok || len(rest) < 36 {
		t.Errorf("no id in %s", text)
		return ""
	}
	return rest[:36]
}

// While it works the file to copy is latest.db, and any copy of it is whole.
func TestLatestIsCopiedWhileTheServerWorks(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "--snapshot-every", "100ms", "--scripts", "off")
	p.put("a", map[string]any{"webhook": map[string]any{"url": "http://127.0.0.1:9/"}})
	p.call("POST", "/v1/jobs/a/pause", map[string]any{}, nil)
	var made atomic.Int64
	var stop atomic.Bool
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for !stop.Load() {
				if status, _, err := p.try("POST", "/v1/jobs/a/runs", ""); err == nil && status == 202 {
					made.Add(1)
				}
			}
		})
	}
	copies := map[string]bool{}
	for i := 0; len(copies) < 3; i++ {
		if i == 500 {
			t.Fatalf("%d states in %d copies: it is not published", len(copies), i)
		}
		text, err := os.ReadFile(filepath.Join(dir, "backups", "latest.db"))
		if err != nil {
			t.Fatal(err)
		}
		name := write(t, t.TempDir(), fmt.Sprintf("%d.db", i), string(text))
		copies[run(t, dir, "", nil, "verify", "--json", name).want(0).json()["as_of"].(string)] = true
	}
	stop.Store(true)
	clients.Wait()
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, p.log)
	}
	last := run(t, dir, "", nil, "verify", "--json", filepath.Join("backups", "latest.db")).want(0).json()
	if got := last["runs"].(map[string]any)["queued"]; got != float64(made.Load()) {
		t.Errorf("after the stop it holds %v runs, %d were acknowledged", got, made.Load())
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "backups", "nightshift-*.db")); len(list) != 1 {
		t.Errorf("dated copies: %v", list)
	}
}

func TestDamagedFileIsNeitherVerifiedNorRestored(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	for i := range 60 {
		p.put(fmt.Sprint("job", i), map[string]any{"webhook": map[string]any{"url": "http://127.0.0.1:9/"}})
	}
	p.cli("backup", "good.db").want(0)
	_ = p.stop(syscall.SIGTERM)
	text, err := os.ReadFile(filepath.Join(dir, "good.db"))
	if err != nil {
		t.Fatal(err)
	}
	for page := 40; page < len(text)/4096; page++ { // what each page says it is
		for at := range 8 {
			text[page*4096+at] ^= 0x55
		}
	}
	write(t, dir, "bad.db", string(text))
	run(t, dir, "", nil, "verify", "good.db").want(0)
	run(t, dir, "", nil, "verify", "bad.db").want(1).has("WRONG", "Do not serve or restore this file")
	if v := run(t, dir, "", nil, "verify", "--json", "bad.db").want(1).json(); v["ok"] != false {
		t.Errorf("%v", v)
	}
	before, err := os.ReadFile(filepath.Join(dir, "nightshift.db"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "", nil, "restore", "bad.db").want(1).has("bad.db is damaged", "nothing was changed")
	if after, _ := os.ReadFile(filepath.Join(dir, "nightshift.db")); string(after) != string(before) {
		t.Error("the database was changed")
	}
	run(t, dir, "", nil, "verify", write(t, dir, "text.txt", "no database")).want(1).has("not a Nightshift database")
	run(t, dir, "", nil, "restore", "text.txt").want(1).has("not a Nightshift database", "unpacked")
	run(t, dir, "", nil, "verify", "none.db").want(1).has("no such file")

	// What was there is kept, and can be put back.
	done := run(t, dir, "", nil, "restore", "--json", "good.db").want(0).json()
	moved := done["moved"].(string)
	run(t, dir, "", nil, "verify", moved).want(0)
	run(t, dir, "", nil, "backup", "offline.db").want(0).has("whole") // no server is needed
	run(t, dir, "", nil, "restore", moved).want(0).has("as it was when its server stopped")
	q := start(t, dir, "--resume")
	if status := q.call("GET", "/v1/jobs/job59", nil, nil); status != 200 {
		t.Errorf("a job of the original: %d", status)
	}
	if status := q.call("GET", "/readyz", nil, nil); status != 200 {
		t.Errorf("--resume has not let it go: %d\n%s", status, q.log)
	}
}

// The event stands until a backup is made; the log of each server says it.
func TestEachServerLogsThatItsBackupsFail(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "file", "")
	for range 2 {
		p := start(t, dir, "--backup-dir", filepath.Base(file))
		p.until("it says so, and of which folder", func() bool {
			return strings.Contains(p.log.String(), "no backup could be made") && strings.Contains(p.log.String(), "mkdir "+file)
		})
		p.stop(syscall.SIGTERM)
	}
}

func TestBackupThatASignalEndsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	begun := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.Header().Set("Nightshift-As-Of", "2026-12-01T12:00:00.000Z")
		_, _ = w.Write(make([]byte, 100_000))
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) { // by who runs the tests
			continue
		}
		cmd := exec.Command(binary, "backup", "b.db", "--server", server.URL, "--token", "t")
		cmd.Dir, cmd.Env = dir, environment()
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-begun
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Fatalf("under way: %v, want a file that is not whole", left)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "interrupted: ") {
			t.Errorf("%v: %v, %s", sig, cmd.ProcessState, stderr.String())
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v: left %v", sig, left)
		}
	}
}
