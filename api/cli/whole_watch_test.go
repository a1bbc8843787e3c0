package cli_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The heartbeat comes from the process that works: it stops with it, and comes again with the next. How it
// stops with the loop alone is told in package runtime, where minutes cost nothing.
func TestHeartbeatURLIsCalledByTheServerThatIsWell(t *testing.T) { // case 148
	t.Parallel()
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 1 {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
	})
	env := []string{"NIGHTSHIFT_HEARTBEAT_URL=" + s.URL + "/ping/hidden"}
	dir := t.TempDir()
	p := startWith(t, dir, env)
	p.until("the first heartbeat", func() bool { return len(s.deliveries()) == 1 })
	first := s.deliveries()[0]
	if first.method != "GET" || first.path != "/ping/hidden" || first.body != "" || !strings.HasPrefix(first.header.Get("User-Agent"), "Nightshift/") {
		t.Errorf("it is %+v", first)
	}
	if strings.Contains(p.log.String(), "heartbeat") {
		t.Errorf("a good one is told of:\n%s", p.log)
	}
	p.kill()
	p = startWith(t, dir, env)
	p.until("it is told that redirects are not followed", func() bool {
		return strings.Contains(p.log.String(), "answered HTTP 302: redirects are not followed")
	})
	if seen := s.deliveries(); len(seen) != 2 || seen[1].path != "/ping/hidden" || strings.Contains(p.log.String(), "hidden") {
		t.Errorf("after the kill it called %+v\n%s", seen, p.log)
	}
	run(t, dir, "", nil, "serve", "--heartbeat-url", "hc.example.com/x").want(2).has("--heartbeat-url: want an address such as")
}

// Another process that holds the file keeps it from being written, while HTTP lives.
func TestReadyzSaysThatTheDatabaseIsLocked(t *testing.T) { // case 148
	t.Parallel()
	p := start(t, t.TempDir())
	ready := func() (int, string) {
		status, text, err := p.try("GET", "/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(text)
	}
	p.until("it is ready", func() bool { status, _ := ready(); return status == 200 })
	release := p.lock("EXCLUSIVE")
	began := time.Now()
	var text string
	p.until("it is not ready", func() (red bool) {
		var status int
		status, text = ready()
		return status == 503
	})
	if !strings.Contains(text, "the database") || time.Since(began) > 2*time.Minute {
		t.Errorf("after %s it says %s", time.Since(began), text)
	}
	if status := p.call("GET", "/healthz", nil, nil); status != 200 {
		t.Errorf("/healthz answers %d", status)
	}
	release()
	p.until("it is ready again", func() bool { status, _ := ready(); return status == 200 })
}
