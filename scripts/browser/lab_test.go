package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"nightshift/scripts/internal/rig"
)

// lab is what all tests share: one server, one browser, and the rules of axe. Each test has a profile of the
// browser to itself, and jobs of its own.
type lab struct {
	why     string // it cannot be; "": it can
	server  *rig.Server
	browser context.Context
	axe     string // axe-core's text; "": it is not installed
}

var shared lab

func TestMain(m *testing.M) {
	status, err := withLab(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		status = 1
	}
	os.Exit(status)
}

// withLab runs the tests in the lab, and ends what it started.
func withLab(m *testing.M) (status int, err error) {
	chromium := chromiumPath()
	if chromium == "" {
		shared.why = "there is no Chromium on the PATH (apt-get install chromium), and NIGHTSHIFT_CHROMIUM names none"
		return m.Run(), nil
	}
	if path := os.Getenv("NIGHTSHIFT_AXE"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, fmt.Errorf("NIGHTSHIFT_AXE: %w", err)
		}
		shared.axe = string(text)
	}
	if err := os.Chdir(filepath.Join("..", "..")); err != nil { // the module that is built
		return 0, err
	}
	dir, err := os.MkdirTemp("", "nightshift-browser-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bin, err := binary(dir)
	if err != nil {
		return 0, err
	}
	if shared.server, err = rig.NewServer(bin, dir); err != nil {
		return 0, err
	}
	defer shared.server.Close()
	if err := shared.server.Start(); err != nil {
		return 0, err
	}
	if err := shared.server.AwaitReady(30 * time.Second); err != nil {
		return 0, err
	}
	if err := shared.outage(context.Background()); err != nil {
		return 0, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.WSURLReadTimeout(60*time.Second))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to work for root with one
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	browser, closed := chromedp.NewContext(allocator)
	defer closed()
	if err := chromedp.Do(browser); err != nil {
		return 0, fmt.Errorf("start %s: %w", chromium, err)
	}
	shared.browser = browser
	return m.Run(), nil
}

// outageJob has a schedule of a tick a second, of which some were missed: the server was down.
const outageJob = "outage"

// outage kills the server for longer than ticks take.
func (l *lab) outage(ctx context.Context) error {
	err := l.server.Register(ctx, outageJob, fields{
		"script": fields{"source": "true"}, "schedules": []fields{{"name": "second", "every": "1s", "catch_up": fields{"mode": "none"}}},
	})
	if err != nil {
		return err
	}
	time.Sleep(1500 * time.Millisecond)
	if err := l.server.Kill(); err != nil {
		return err
	}
	time.Sleep(4 * time.Second)
	if err := errors.Join(l.server.Start(), l.server.AwaitReady(30*time.Second)); err != nil {
		return err
	}
	time.Sleep(1200 * time.Millisecond)
	_, err = l.server.Do(ctx, "POST", "/v1/schedules/"+outageJob+":second/pause", "", fields{"note": "it has shown what it shows"}, nil)
	return err
}

func chromiumPath() string {
	for _, name := range []string{os.Getenv("NIGHTSHIFT_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// binary is what is tested: NIGHTSHIFT_BINARY, else it is built.
func binary(dir string) (string, error) {
	if path := os.Getenv("NIGHTSHIFT_BINARY"); path != "" {
		return path, nil
	}
	return rig.Build(context.Background(), dir)
}

// need skips a test where the lab cannot be.
func need(t *testing.T) *lab {
	t.Helper()
	if shared.why != "" {
		t.Skip(shared.why)
	}
	return &shared
}

func (l *lab) url() string { return "http://" + l.server.Addr }

// call makes a call of the API as admin that must succeed, and reads its answer into out where that is not nil.
func (l *lab) call(t *testing.T, method, path string, in, out any) {
	t.Helper()
	if _, err := l.server.Do(t.Context(), method, path, "", in, out); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// fields are those of a JSON object.
type fields = map[string]any

// job registers a job.
func (l *lab) job(t *testing.T, name string, document fields) {
	t.Helper()
	if err := l.server.Register(t.Context(), name, document); err != nil {
		t.Fatal(err)
	}
}

// script is the document of a job that is tried once.
func script(source string, more ...fields) fields {
	doc := fields{"script": fields{"source": source}, "retry": fields{"max_attempts": 1}}
	for _, m := range more {
		for name, value := range m {
			doc[name] = value
		}
	}
	return doc
}

// run makes a run of a job and waits for its end.
func (l *lab) run(t *testing.T, job string, request fields) rig.Run {
	t.Helper()
	if request == nil {
		request = fields{}
	}
	var run rig.Run
	l.call(t, "POST", "/v1/jobs/"+job+"/runs?wait=30s", request, &run)
	if !run.Terminal() {
		t.Fatalf("the run of %s has not ended: %s", job, run.State)
	}
	return run
}

// start makes a run of a job and waits until it has this state.
func (l *lab) start(t *testing.T, job, state string) rig.Run {
	t.Helper()
	var run rig.Run
	l.call(t, "POST", "/v1/jobs/"+job+"/runs", fields{}, &run)
	within(t, "a run of "+job+" that is "+state, func() bool {
		l.call(t, "GET", "/v1/runs/"+run.ID, nil, &run)
		return run.State == state
	})
	return run
}

// patience is how long a test waits for what it expects.
const patience = 20 * time.Second

// within waits until ok holds.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// named makes a name of a test's own from that of the test.
func named(t *testing.T, end string) string {
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	return strings.NewReplacer("/", "-", "_", "-").Replace(name[:min(len(name), 30)]) + "-" + end
}
