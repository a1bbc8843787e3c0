package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/script"
	"nightshift/jobs/webhook"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

func TestMain(m *testing.M) {
	if script.IsShim() {
		os.Exit(script.ShimMain())
	}
	os.Exit(m.Run())
}

// testServer is a whole server: the API over the runtime over a database file.
type testServer struct {
	t     testing.TB
	url   string
	admin string // a token
	api   *Server
	rt    *runtime.Runtime
	log   *syncBuffer

	described []*route // those the description knows, literal paths first
}

// syncBuffer is a buffer that several goroutines may write to.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// newTestServer starts one that runs for the time of the test.
func newTestServer(t testing.TB, changes ...func(*runtime.Config)) *testServer {
	t.Helper()
	ctx := context.Background()
	ts := &testServer{t: t, log: &syncBuffer{}}
	log := slog.New(slog.NewJSONHandler(ts.log, nil))
	st, err := sqlite.Open(ctx, filepath.Join(inMemory(t), "n.db"), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ts.admin = NewSecret()
	by := store.By{Actor: "test", Now: jobs.TimeOf(time.Now())}
	first := store.Token{Name: "admin", Hash: HashSecret(ts.admin), Scopes: []string{"admin"}}
	if _, err := st.PutToken(ctx, first, nil, by); err != nil {
		t.Fatal(err)
	}
	hooks := webhook.New(webhook.Config{})
	scripts, err := script.New(script.Config{Temp: t.TempDir(), TraceOf: jobs.TraceOf})
	if err != nil {
		t.Fatal(err)
	}
	cfg := runtime.Config{
		Store: st, Log: log,
		Kinds: map[string]jobs.Kind{jobs.KindWebhook: hooks, jobs.KindScript: scripts},
		Keys:  [][]byte{[]byte("0123456789abcdef0123456789abcdef")}, Grace: time.Second,
		SaveKeys: func([][]byte) error { return nil },
	}
	for _, change := range changes {
		change(&cfg)
	}
	ts.rt, err = runtime.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ts.url = "http://" + ln.Addr().String()
	ts.api, err = New(ctx, Config{
		Runtime: ts.rt, Log: log, Listen: "jobs.internal:8700", URL: ts.url, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	ts.described = slices.SortedStableFunc(slices.Values(ts.api.routes), func(a, b *route) int {
		return strings.Count(a.path, ":") - strings.Count(b.path, ":")
	})
	ts.rt.ServeAt(ts.url, ts.url)
	ts.rt.Start()
	served := make(chan error, 1)
	go func() { served <- ts.api.Serve(ln) }()
	t.Cleanup(func() {
		if err := ts.api.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := ts.rt.Stop(nil); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		hooks.Close()
		scripts.Close()
	})
	return ts
}

// answer is what a call gave.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call makes a call with the admin's token; headers are pairs, one named Authorization replaces it.
func (ts *testServer) call(method, path, body string, headers ...string) *answer {
	ts.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, ts.url+path, in)
	if err != nil {
		ts.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ts.admin)
	req.Header.Set("Accept", "application/json") // else events are a stream, which does not end
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		ts.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		ts.t.Fatalf("%s %s: %v", method, path, err)
	}
	ts.asDescribed(req, res, data)
	return &answer{ts.t, res.StatusCode, res.Header, data}
}

// made is what a server makes of itself when it is asked for.
func made(t testing.TB, what func() ([]byte, error)) []byte {
	t.Helper()
	text, err := what()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// specRead is the description, read once for all servers: it is the same but for where they are served.
var specRead = sync.OnceValue(func() (spec map[string]any) {
	text, err := describe(allRoutes(), "0", "http://127.0.0.1:8700")
	if err == nil {
		spec, err = readSpec(text)
	}
	if err != nil {
		panic(err)
	}
	return spec
})

// asDescribed fails the test where an answer is not what the description says.
func (ts *testServer) asDescribed(req *http.Request, res *http.Response, body []byte) {
	ts.t.Helper()
	for _, r := range ts.described {
		if r.method != req.Method || !ts.matches(r, req.URL.EscapedPath()) {
			continue
		}
		if text := undescribed(specRead(), r, res, body); text != "" {
			ts.t.Error(text)
		}
		return
	}
}

// matches reports whether the router would take the path for this route.
func (ts *testServer) matches(r *route, path string) bool {
	want, got := strings.Split(r.path, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, part := range want {
		if !strings.HasPrefix(part, ":") && part != got[i] || got[i] == "" && i > 0 {
			return false
		}
	}
	return true
}

// as gives the headers of a call with another token.
func as(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// want fails the test unless the status is one of those.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// problem fails the test unless the answer is that problem, and gives its faults as
// "location: message" lines.
func (a *answer) problem(kind problemKind) string {
	a.t.Helper()
	a.want(kind.status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("Content-Type %q", got)
	}
	var p struct {
		Type, Title, Detail string
		Status              int
		Errors              []struct{ Location, Message string }
	}
	a.into(&p)
	if p.Type != problemPrefix+kind.name || p.Title != kind.title || p.Status != kind.status {
		a.t.Fatalf("got the problem %s, want %s: %s", p.Type, kind.name, a.body)
	}
	lines := []string{p.Detail}
	for _, f := range p.Errors {
		lines = append(lines, f.Location+": "+f.Message)
	}
	return strings.Join(lines, "\n")
}

func (a *answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
}

// field is a member of the answer, by a path such as items.0.id; "" where it is null or missing.
func (a *answer) field(path string) string {
	a.t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(at) {
				return ""
			}
			v = at[i]
		default:
			return ""
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// hook registers a webhook job whose receiver is handle.
func (ts *testServer) hook(name string, handle http.HandlerFunc, fields ...string) {
	ts.t.Helper()
	receiver := httptest.NewServer(handle)
	ts.t.Cleanup(func() {
		receiver.CloseClientConnections()
		receiver.Close()
	})
	more := strings.Join(fields, ",")
	if more != "" {
		more = "," + more
	}
	doc := fmt.Sprintf(`{"webhook":{"url":%q}%s}`, receiver.URL, more)
	if a := ts.call("PUT", "/v1/jobs/"+name, doc); a.status != 201 && a.status != 200 {
		ts.t.Fatalf("register %s: %s", name, a.body)
	}
}

// unguarded turns off the breaker of the host that a job calls: it would hold what the test waits for.
func (ts *testServer) unguarded(job string) {
	ts.t.Helper()
	u, err := url.Parse(ts.call("GET", "/v1/jobs/"+job, "").want(200).field("webhook.url"))
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.call("PUT", "/v1/dependencies/"+u.Host, `{"breaker":null}`).want(201)
}

// ok answers as the job's result.
func ok(result string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, result) }
}

// gate is a receiver that answers only when it is opened.
func gate(t testing.TB) (handle http.HandlerFunc, open func()) {
	ch := make(chan struct{})
	open = sync.OnceFunc(func() { close(ch) })
	t.Cleanup(open)
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the caller has left
		select {
		case <-ch:
		case <-r.Context().Done():
		}
	}, open
}

// token makes one and gives its secret.
func (ts *testServer) token(doc string) string {
	ts.t.Helper()
	return ts.call("POST", "/v1/tokens", doc).want(201).field("secret")
}

// enqueue makes a run of a job and gives its id.
func (ts *testServer) enqueue(job, body string, headers ...string) string {
	ts.t.Helper()
	return ts.call("POST", "/v1/jobs/"+job+"/runs", body, headers...).want(202).field("id")
}

// until waits until the run is in the state.
func (ts *testServer) until(id, state string) (a *answer) {
	ts.t.Helper()
	ts.await(id+" to be "+state, func() bool {
		a = ts.call("GET", "/v1/runs/"+id, "").want(200)
		return a.field("state") == state
	})
	return a
}

// await waits for a condition.
func (ts *testServer) await(what string, holds func() bool) {
	ts.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.t.Fatalf("waited a minute for %s", what)
		}
	}
}

// inMemory is a folder in memory where the machine has that: what a test does here does not hang on the disk.
func inMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nightshift-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
