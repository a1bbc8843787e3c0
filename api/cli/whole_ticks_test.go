package cli_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// preview gives the instants that a schedule would have.
func (p *process) preview(request doc) []string {
	p.t.Helper()
	var list struct{ Items []string }
	if status := p.call("POST", "/v1/schedules/preview", request, &list); status != 200 {
		p.t.Fatalf("preview of %v: %d", request, status)
	}
	return list.Items
}

// Each second is a tick: over kills right at the tick each makes one run, and none is missing.
func TestKillsAtATickLoseNoneAndRepeatNone(t *testing.T) { // case 39, F24, P9
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	p.put("a", doc{"webhook": doc{"url": s.URL}, "schedules": []doc{
		{"cron": "* * * * * *", "overlap": "allow", "catch_up": doc{"mode": "all", "limit": 10_000}},
	}})
	p.until("a tick", func() bool { return len(p.ticks("a:default")) > 0 })
	for i := range 4 {
		at := time.Now().Truncate(time.Second).Add(time.Second + time.Duration(i*3)*time.Millisecond)
		time.Sleep(time.Until(at))
		p = p.kill9()
	}
	killed := time.Now()
	p.until("regular ticks after the last kill", func() bool {
		last := p.ticks("a:default")[0]
		at, err := time.Parse(time.RFC3339, last.At)
		return err == nil && at.After(killed.Add(time.Second)) && last.Outcome == "ran"
	})
	p.call("POST", "/v1/schedules/a:default/pause", nil, nil)
	p.until("all is caught up", func() bool {
		var sched struct{ Backlog int }
		p.call("GET", "/v1/schedules/a:default", nil, &sched)
		return sched.Backlog == 0
	})
	rows := slices.DeleteFunc(p.ticks("a:default"), func(row aTick) bool { return row.Reason == "paused" })
	slices.Reverse(rows)
	var next time.Time
	runs := map[string]bool{}
	for _, row := range rows {
		at, err := time.Parse(time.RFC3339, row.At)
		if err != nil || row.Run == "" || runs[row.Run] || !next.IsZero() && !at.Equal(next) {
			t.Errorf("after the tick before %s comes %+v, %v", next, row, err)
		}
		runs[row.Run], next = true, at.Add(time.Second)
	}
	twice := sqlite(t, dir+"/nightshift.db",
		"SELECT scheduled_for, count(*) FROM runs WHERE scheduled_for IS NOT NULL GROUP BY 1 HAVING count(*) > 1")
	if made := strings.TrimSpace(sqlite(t, dir+"/nightshift.db", "SELECT count(*) FROM runs")); twice != "" ||
		made != strings.TrimSpace(sqlite(t, dir+"/nightshift.db", "SELECT count(DISTINCT scheduled_for) FROM runs")) {
		t.Errorf("%s runs; twice: %s", made, twice)
	}
}

func TestTheZoneOfTheHostDoesNotMatter(t *testing.T) { // case 7
	t.Parallel()
	p := startWith(t, t.TempDir(), []string{"TZ=Australia/Sydney"})
	want := []string{
		"2027-10-02T14:00:00.000Z", "2027-10-02T15:00:00.000Z", "2027-10-02T16:00:00.000Z",
		"2027-10-02T17:00:00.000Z", "2027-10-02T18:00:00.000Z", "2027-10-02T19:00:00.000Z",
	}
	for _, zone := range []any{"UTC", nil} {
		request := doc{"cron": "0 * * * *", "from": "2027-10-02T13:00:00Z", "count": 6, "timezone": zone}
		if got := p.preview(request); !slices.Equal(got, want) {
			t.Errorf("in the zone %v ticks are at %s, want %s", zone, got, want)
		}
	}
	// What is saved without a zone is in UTC.
	p.put("a", doc{"webhook": doc{"url": "http://127.0.0.1:9/"}, "schedules": []doc{{"cron": "30 3 1 1 *"}}})
	var sched struct{ Next, Reads string }
	p.call("GET", "/v1/schedules/a:default", nil, &sched)
	if !strings.HasSuffix(sched.Next, "-01-01T03:30:00.000Z") || !strings.HasSuffix(sched.Reads, "UTC") {
		t.Errorf("without a zone it ticks at %s, %s", sched.Next, sched.Reads)
	}
	p.cli("schedules", "preview", "0 * * * *", "--from", "2027-10-02T13:00:00Z").want(0).has("Sat 2027-10-02 14:00:00 UTC")
}

// The program brings its zones along: it serves where there is nothing but itself.
func TestZonesAreReadInAnEmptyRoot(t *testing.T) { // case 41
	if os.Getuid() != 0 {
		t.Skip("only root can change the root")
	}
	t.Parallel()
	root := t.TempDir()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "nightshift"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/nightshift", "serve", "--listen", "127.0.0.1:0", "--scripts", "off")
	cmd.Dir, cmd.Env = "/", []string{"ZONEINFO=/nowhere", "TZ=Nowhere/Atall"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	p := startCommand(t, root, cmd)
	request := doc{"cron": "30 2 * * *", "timezone": "Europe/Berlin", "from": "2027-03-27T12:00:00Z", "count": 2}
	if got := strings.Join(p.preview(request), " "); got != "2027-03-28T01:00:00.000Z 2027-03-29T00:30:00.000Z" {
		t.Errorf("it ticks at %s", got)
	}
	p.put("a", doc{"webhook": doc{"url": "http://127.0.0.1:9/"}})
	p.refused("PUT", "/v1/schedules/x", doc{"job": "a", "cron": "0 2 * * *", "timezone": "Europe/Berln"}, 422,
		"body.timezone", "did you mean Europe/Berlin?")
	if status := p.call("PUT", "/v1/schedules/x", doc{"job": "a", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}, nil); status != 201 {
		t.Errorf("a schedule in Berlin: %d", status)
	}
}

// While lines that never fire are refused, the server answers others.
func TestLinesThatNeverFireHoldUpNobody(t *testing.T) { // case 19
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("a", doc{"webhook": doc{"url": "http://127.0.0.1:9/"}})
	lines := []string{"0 0 30 2 *", "0 0 31 2 *", "* * 31 2,4,6,9,11 *", "0 0 30 2 */7"}
	refused := make(chan int, 10*len(lines))
	for range 10 {
		for _, line := range lines {
			go func() {
				status, _, _ := p.try("PUT", "/v1/schedules/x", doc{"job": "a", "cron": line, "timezone": "Europe/Berlin"})
				refused <- status
			}()
		}
	}
	for range cap(refused) {
		if status := p.call("GET", "/v1/schedules", nil, nil); status != 200 {
			t.Errorf("GET schedules meanwhile: %d", status)
		}
		if status := <-refused; status != 422 {
			t.Errorf("a line that never fires: %d", status)
		}
	}
	for _, line := range lines {
		p.refused("POST", "/v1/schedules", doc{"name": "x", "job": "a", "cron": line}, 422, "body.cron", "never fires")
	}
}

// The record of a run that holds its schedule cannot be taken away; when it has ended the schedule
// goes on, with the record or without.
func TestDeletionOfARunBlocksNoSchedule(t *testing.T) { // case 46
	t.Parallel()
	p := start(t, t.TempDir())
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	s := newSink(t, func(n int, _ http.ResponseWriter, r *http.Request) {
		if n == 1 {
			arrived <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	t.Cleanup(func() { close(release) })
	p.put("a", doc{"webhook": doc{"url": s.URL}, "schedules": []doc{{"every": "1s", "overlap": "skip"}}})
	<-arrived
	var running string
	p.until("the run is known", func() bool {
		rows := p.ticks("a:default")
		running = rows[len(rows)-1].Run
		return running != ""
	})
	p.refused("DELETE", "/v1/runs/"+running, nil, 409, "only one that has ended can be deleted; cancel it first")
	p.until("a tick is skipped for it", func() bool { return p.ticks("a:default")[0].Reason == "overlap" })
	p.call("POST", "/v1/runs/"+running+"/cancel", nil, nil)
	p.end(running)
	if status := p.call("DELETE", "/v1/runs/"+running, nil, nil); status != 204 {
		t.Errorf("DELETE of the run when it has ended: %d", status)
	}
	p.until("the next tick runs", func() bool { return p.ticks("a:default")[0].Outcome == "ran" })
}
