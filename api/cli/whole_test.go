package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What follows tests the whole: the real program on a real file, spoken to over HTTP.

// aRun is what these tests read of a run.
type aRun struct {
	ID                string
	State, Trigger    string
	OperationID       string          `json:"operation_id"`
	HeldBy            *aHold          `json:"held_by"`
	Attempt           int             `json:"attempt"`
	MaxAttempts       int             `json:"max_attempts"`
	Result            json.RawMessage `json:"result"`
	ResultTruncated   bool            `json:"result_truncated"`
	CancelRequestedAt string          `json:"cancel_requested_at"`
	Error             *anError        `json:"error"`
	Attempts          []anAttempt     `json:"attempts"`
	Duplicate         bool            `json:"duplicate"`
	Progress          *aProgress      `json:"progress"`
	WaitingUntil      time.Time       `json:"waiting_until"`
}

type aProgress struct {
	Done, Total float64
	Note        string
}

type aHold struct{ Kind, Name, Reason, Until string }

type anError struct {
	Kind, Type, Message string
	HTTP                struct{ Status int }
	Exit                struct {
		Code   int
		Signal string
	}
}

type anAttempt struct {
	Number     int
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	Outcome    string
	Error      *anError
	HTTPStatus int    `json:"http_status"`
	ExitCode   int    `json:"exit_code"`
	OutputTail string `json:"output_tail"`
	Slices     int
	Decision   *struct {
		Action, By, Reason string
		NextAttemptAt      time.Time `json:"next_attempt_at"`
	}
}

func (r *aRun) ended() bool {
	return slices.Contains([]string{"succeeded", "failed", "cancelled"}, r.State)
}

// outcomes are those of the attempts, in order, each with the kind of its error.
func (r *aRun) outcomes() string {
	list := make([]string, len(r.Attempts))
	for i, a := range r.Attempts {
		list[i] = a.Outcome
		if a.Error != nil {
			list[i] += ":" + a.Error.Kind
		}
	}
	return strings.Join(list, " ")
}

// call speaks to the server as its administrator; the answer is read into out unless that is nil.
func (p *process) call(method, path string, body, out any) int {
	p.t.Helper()
	status, text, err := p.try(method, path, body)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, p.log)
	}
	if out != nil && status/100 == 2 {
		if err := json.Unmarshal(text, out); err != nil {
			p.t.Fatalf("%s %s: %d %s: %v", method, path, status, text, err)
		}
	}
	return status
}

// try is call where the server may not answer.
func (p *process) try(method, path string, body any) (status int, answer []byte, err error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	default:
		if text, err = json.Marshal(b); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequest(method, p.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	token, err := os.ReadFile(filepath.Join(p.dir, "nightshift.db.token"))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// put saves a job.
func (p *process) put(name string, document any) {
	p.t.Helper()
	status, text, err := p.try("PUT", "/v1/jobs/"+name, document)
	if err != nil || status/100 != 2 {
		p.t.Fatalf("PUT %s: %d %s %v", name, status, text, err)
	}
}

// enqueue makes a run; request may be nil.
func (p *process) enqueue(job string, request any) (id string) {
	p.t.Helper()
	var run aRun
	status, text, err := p.try("POST", "/v1/jobs/"+job+"/runs", request)
	if err != nil || status != 202 || json.Unmarshal(text, &run) != nil {
		p.t.Fatalf("enqueue %s: %d %s %v\n%s", job, status, text, err, p.log)
	}
	return run.ID
}

func (p *process) run(id string) *aRun {
	p.t.Helper()
	run := &aRun{}
	if status := p.call("GET", "/v1/runs/"+id, nil, run); status != 200 {
		p.t.Fatalf("GET run %s: %d", id, status)
	}
	return run
}

// awaitRun waits until a run is as wanted.
func (p *process) awaitRun(id, what string, holds func(*aRun) bool) (run *aRun) {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			text, _ := json.MarshalIndent(run, "", " ")
			p.t.Logf("run: %s", text)
		}
	}()
	p.until(what, func() bool { run = p.run(id); return holds(run) })
	return run
}

// end waits until a run has ended.
func (p *process) end(id string) *aRun {
	p.t.Helper()
	return p.awaitRun(id, "the run ends", (*aRun).ended)
}

// logOf is what is kept of a run's output.
func (p *process) logOf(id string) string {
	p.t.Helper()
	status, text, err := p.try("GET", "/v1/runs/"+id+"/log", nil)
	if err != nil || status != 200 {
		p.t.Fatalf("log of %s: %d %s %v", id, status, text, err)
	}
	return string(text)
}

// kill9 ends the server without a word and starts another on its file.
func (p *process) kill9(args ...string) *process {
	p.t.Helper()
	p.kill()
	return start(p.t, p.dir, args...)
}

// kill ends the server without a word.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// rss is the resident memory of the server in bytes.
func (p *process) rss() int64 {
	p.t.Helper()
	return statusBytes(p.t, p.cmd.Process.Pid, "VmRSS:")
}

func statusBytes(t testing.TB, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s of process %d", field, pid)
	return 0
}

// sink is a receiver of webhooks that answers as told and remembers each request.
type sink struct {
	*httptest.Server
	mu   sync.Mutex
	seen []delivery
}

type delivery struct {
	at     time.Time
	method string
	path   string
	header http.Header
	body   string
}

// newSink answers with answer, which gets the number of the request, from 1.
func newSink(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *sink {
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, delivery{time.Now(), r.Method, r.URL.Path, r.Header, string(body)})
		n := len(s.seen)
		s.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// unguarded turns off the breaker of the host of an URL: it would hold what the test waits for.
func (p *process) unguarded(target string) {
	p.t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		p.t.Fatal(err)
	}
	status, text, err := p.try("PUT", "/v1/dependencies/"+u.Host, doc{"breaker": nil})
	if err != nil || status != 201 {
		p.t.Fatalf("PUT the dependency %s: %d %s %v", u.Host, status, text, err)
	}
}

func (s *sink) deliveries() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

type doc = map[string]any

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// sqlite asks the file with the sqlite3 tool, which is another process and another SQLite.
func sqlite(t testing.TB, db, query string) string {
	t.Helper()
	tool, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("the sqlite3 tool is not installed")
	}
	out, err := exec.Command(tool, "-init", "/dev/null", "-batch", db, ".timeout 5000", query).
		CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3: %v: %s", err, out)
	}
	return string(out)
}
