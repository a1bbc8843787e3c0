package cli_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// aTick is what these tests read of a row of a ledger.
type aTick struct {
	At, Outcome, Reason, Run string
	Count                    int
}

func (p *process) ticks(schedule string) []aTick {
	p.t.Helper()
	var list struct{ Items []aTick }
	if status := p.call("GET", "/v1/schedules/"+schedule+"/ticks", nil, &list); status != 200 {
		p.t.Fatalf("GET ticks of %s: %d", schedule, status)
	}
	return list.Items
}

func TestARunSaysWhichTickMadeItAndWhyItWaitsForAnother(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	release := make(chan struct{})
	s := newSink(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-release
		}
	})
	t.Cleanup(func() {
		select {
		case <-release:
		default:
			close(release)
		}
	})
	p.put("slow", doc{"webhook": doc{"url": s.URL}, "schedules": []doc{{"every": "1s"}}})
	var waiting string
	p.until("a run waits for the one before", func() bool {
		var list struct{ Items []struct{ ID string } }
		p.call("GET", "/v1/runs?schedule=slow:default&state=queued", nil, &list)
		if len(list.Items) == 0 {
			return false
		}
		waiting = list.Items[0].ID
		// It may give way to that of the next tick at any time, so it is paused, and asked again.
		p.call("POST", "/v1/schedules/slow:default/pause", nil, nil)
		return p.run(waiting).State == "queued"
	})
	run := p.run(waiting)
	if run.HeldBy.Kind != "overlap" || run.HeldBy.Name != "slow:default" || run.Trigger != "schedule" {
		t.Errorf("it waits: %+v", run)
	}
	p.cli("runs", "show", waiting).want(0).has("It has not started: ", "slow:default", "tick", "schedule")
	p.cli("runs", "--schedule", "slow:default", "--trigger", "schedule").want(0).has(waiting, "TICK", " default", "slow:default")
	if o := p.cli("runs", "--schedule", "slow:other").want(0); strings.Contains(o.stdout, waiting) {
		t.Errorf("of another schedule: %s", o.stdout)
	}
	first := p.ticks("slow:default")
	made := 0
	for _, tick := range first {
		if tick.Outcome == "ran" && tick.Run != "" {
			made++
		}
	}
	if made < 2 {
		t.Errorf("the ledger: %+v", first)
	}
	p.cli("schedules", "ticks", "slow:default").want(0).has("TICK", "OUTCOME", "ran", waiting)
	p.cli("schedules").want(0).has("slow:default", "paused", " ran")
	close(release)
	if ended := p.end(waiting); ended.State != "succeeded" {
		t.Errorf("released: %s", ended.State)
	}
	p.until("ticks of the pause", func() bool {
		return strings.Contains(p.cli("schedules", "ticks", "slow:default").want(0).stdout, "skipped (paused)")
	})
	p = p.kill9() // what was paused stays so, and no tick of the pause is made up for
	p.cli("schedules", "show", "slow:default").want(0).has("It is paused: its ticks are skipped.")
	p.cli("resume", "schedule/slow:default").want(0).has("It ticks next ")
	p.until("a tick after the pause", func() bool { return p.ticks("slow:default")[0].Outcome == "ran" })
	for _, tick := range p.ticks("slow:default") {
		if tick.Outcome == "caught_up" {
			t.Errorf("caught up: %+v", tick)
		}
	}
}

func TestTicksMissedInAnOutageAreToldOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	p.put("often", doc{"webhook": doc{"url": s.URL}, "schedules": []doc{{"every": "1s", "catch_up": doc{"mode": "none"}}}})
	p.until("a tick", func() bool { return len(p.ticks("often:default")) > 0 })
	p.stop(syscall.SIGKILL)
	down := time.Now()
	p.until("three ticks have passed", func() bool { return time.Since(down) > 3500*time.Millisecond })
	p = start(t, dir)
	var missed aTick
	p.until("the ticks of the outage are decided", func() bool {
		rows := p.ticks("often:default")
		i := slices.IndexFunc(rows, func(row aTick) bool { return row.Reason == "missed" })
		if i < 0 || rows[0].Outcome != "ran" {
			return false
		}
		missed = rows[i]
		return true
	})
	if missed.Count < 2 {
		t.Errorf("missed: %+v", missed)
	}
	p.cli("events", "--type", "schedule.missed").want(0).has("schedule.missed", "schedule/often:default",
		fmt.Sprintf("%d ticks from ", missed.Count), " were missed; none is caught up")
	p.cli("schedules", "ticks", "often:default").want(0).has("skipped (missed)", fmt.Sprintf("(%d)", missed.Count))
}

func TestAWebhookIsToldOfItsTickAndWhetherItIsMadeUpFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	p.put("told", doc{
		"webhook": doc{"url": s.URL, "headers": doc{
			"X-Run": "{{ run.trigger }} {{ run.schedule }} {{ run.scheduled_for }}",
		}},
		"schedules": []doc{{"name": "second", "every": "1s"}},
	})
	// of is a delivery that a trigger made.
	of := func(trigger string) *delivery {
		for _, d := range s.deliveries() {
			if strings.HasPrefix(d.header.Get("X-Run"), trigger+" ") {
				return &d
			}
		}
		return nil
	}
	p.until("a tick calls", func() bool { return of("schedule") != nil })
	if of("catch_up") != nil {
		t.Log("the machine is slow: a tick was missed before the kill")
	}
	p.kill()
	time.Sleep(3 * time.Second) // two ticks are missed: of these the newest is caught up
	p = start(t, dir)
	p.until("a missed tick calls", func() bool { return of("catch_up") != nil })
	for trigger, caughtUp := range map[string]string{"schedule": "false", "catch_up": "true"} {
		d := of(trigger)
		tick := d.header.Get("Nightshift-Scheduled-For")
		if d.header.Get("Nightshift-Catch-Up") != caughtUp || tick == "" ||
			d.header.Get("X-Run") != trigger+" told:second "+tick {
			t.Errorf("the webhook of %s was told %v", trigger, d.header)
		}
	}
}
