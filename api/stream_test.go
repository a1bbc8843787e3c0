package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLogIsFollowedFromAnyEventOn(t *testing.T) {
	ts := newTestServer(t)
	goOn := filepath.Join(t.TempDir(), "go")
	source := `printf 'one \303'; sleep 0.2; printf '\251\n'; while [ ! -e ` + goOn + ` ]; do sleep 0.02; done; printf 'two \377'`
	ts.call("PUT", "/v1/jobs/a", fmt.Sprintf(`{"script":{"source":%q,"interpreter":["sh","-e"]}}`, source)).want(201)
	id := ts.enqueue("a", "")
	admin := as(ts.admin)
	res := ts.stream("/v1/runs/"+id+"/log", admin...)
	lines := bufio.NewReader(res.Body)
	var seen strings.Builder
	lastID := ""
	for !strings.Contains(seen.String(), `é\n`) {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended early: %q, %v", seen.String(), err)
		}
		if id, found := strings.CutPrefix(line, "id: "); found {
			lastID = strings.TrimSpace(id)
		}
		seen.WriteString(line)
	}
	res.Body.Close()
	if lastID != "7" { // bytes: "one é\n"
		t.Errorf("the last id is %s", lastID)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ts.until(id, "succeeded")
	rest := eventsOf(t, ts.stream("/v1/runs/"+id+"/log", append(admin, "Last-Event-ID", lastID)...).Body)
	want := []string{`log {"text":"two ` + "\uFFFD" + `"}`, `end {"state":"succeeded"}`}
	if strings.Join(rest, "\n") != strings.Join(want, "\n") {
		t.Errorf("from there on %q, want %q", rest, want)
	}
	plain := ts.call("GET", "/v1/runs/"+id+"/log", "").want(200)
	if string(plain.body) != "one é\ntwo \xff" || plain.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the log is %q, %v", plain.body, plain.header)
	}
	ts.call("GET", "/v1/runs/"+id+"/log", "", "Accept", "text/event-stream", "Last-Event-ID", "x").problem(probInvalid)
}

func TestStreamsPastTheBoundAreRefused(t *testing.T) {
	ts := newTestServer(t)
	handle, _ := gate(t)
	ts.hook("a", handle)
	id := ts.enqueue("a", "")
	ts.api.streams.Store(maxStreams)
	got := ts.call("GET", "/v1/runs/"+id+"/log", "", "Accept", "text/event-stream")
	got.problem(probOverload)
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	ts.api.streams.Store(0)
	res := ts.stream("/v1/runs/"+id+"/log", as(ts.admin)...)
	if res.StatusCode != http.StatusOK || ts.api.streams.Load() != 1 {
		t.Errorf("status %d, %d streams", res.StatusCode, ts.api.streams.Load())
	}
}

func TestStoppingEndsStreams(t *testing.T) {
	ts := newTestServer(t)
	handle, _ := gate(t)
	ts.hook("a", handle)
	id := ts.enqueue("a", "")
	ts.until(id, "running")
	res := ts.stream("/v1/runs/"+id+"/log", as(ts.admin)...)
	ts.api.stop()
	for _, line := range eventsOf(t, res.Body) {
		if strings.HasPrefix(line, "end ") {
			t.Error("the stream says that the run has ended")
		}
	}
}

func TestLastUseOfATokenIsKeptByTheMinute(t *testing.T) {
	ts := newTestServer(t)
	secret := as(ts.token(`{"name":"r","scopes":["read"]}`))
	for range 3 {
		ts.call("GET", "/v1/jobs", "", secret...).want(200)
	}
	if err := ts.api.access.touch(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := ts.rt.Store().Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tok, _ := named(all, "r")
	if tok.LastUsed == 0 {
		t.Error("the store does not know that it was used")
	}
	// Used again within the minute, nothing is written.
	ts.call("GET", "/v1/jobs", "", secret...).want(200)
	ts.api.access.mu.Lock()
	defer ts.api.access.mu.Unlock()
	if at, again := ts.api.access.used["r"]; again {
		t.Errorf("it is to be written again, at %s", at)
	}
}

// deadlined stands for a connection on which nothing may be written without a time by which it must be taken: a caller
// that reads nothing would hold it for ever.
type deadlined struct {
	httptest.ResponseRecorder
	until   time.Time
	without int // writes
}

func (d *deadlined) SetWriteDeadline(until time.Time) error { d.until = until; return nil }
func (d *deadlined) SetReadDeadline(time.Time) error        { return nil }
func (d *deadlined) FlushError() error                      { return nil }

func (d *deadlined) Write(b []byte) (int, error) {
	if left := time.Until(d.until); left <= 0 || left > 30*time.Second {
		d.without++
	}
	return d.ResponseRecorder.Write(b)
}

func TestCallersThatDoNotReadAreCutOff(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/a", `{"script":{"source":"echo said"}}`).want(201)
	run := ts.enqueue("a", "")
	ts.until(run, "succeeded")
	for _, path := range []string{
		"/v1/jobs", "/v1/runs/" + run, "/v1/runs/" + run + "/log", "/v1/runs/" + run + "/log (stream)", "/v1/events (stream)",
		"/v1/backup", "/v1/export", "/v1/none", "/metrics", "/openapi.json", "/docs", "/healthz", "/sign-in",
		"/static/htmx.js", "/", "/jobs", "/callback-of-nobody",
	} {
		path, stream := strings.CutSuffix(path, " (stream)")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+ts.admin)
		if stream {
			r.Header.Set("Accept", "text/event-stream")
			if strings.HasSuffix(path, "/events") {
				r.Header.Set("Last-Event-ID", "0")
				time.AfterFunc(50*time.Millisecond, cancel)
			}
		}
		w := &deadlined{ResponseRecorder: *httptest.NewRecorder()}
		ts.api.ServeHTTP(w, r)
		cancel()
		if w.Body.Len() == 0 && !strings.HasSuffix(path, "/events") || w.without > 0 {
			t.Errorf("GET %s: %d bytes, %d writes without a deadline", path, w.Body.Len(), w.without)
		}
	}
}
