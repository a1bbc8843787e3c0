package runtime

import (
	"testing"
	"time"
)

func TestClockTellsASetClockFromOneThatRuns(t *testing.T) {
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := []struct {
		name       string
		wall, ran  time.Duration // since the start
		known      time.Duration // steps the store knows
		want       time.Duration
		stillAfter time.Duration // what is left when it has been moved
	}{
		{name: "runs", wall: time.Hour, ran: time.Hour},
		{name: "slewed a little", wall: time.Hour + 99*time.Millisecond, ran: time.Hour},
		{name: "slewed back a little", wall: time.Hour - 99*time.Millisecond, ran: time.Hour},
		{name: "set forward", wall: 2 * time.Hour, ran: time.Hour, want: time.Hour},
		{name: "set back", wall: -time.Hour, ran: time.Second, want: -time.Hour - time.Second},
		{name: "known", wall: 2 * time.Hour, ran: time.Hour, known: time.Hour},
		{name: "set back again", wall: time.Hour, ran: time.Hour, known: time.Hour, want: -time.Hour},
		{name: "small ones add up", wall: time.Hour + 100*time.Millisecond, ran: time.Hour, want: 100 * time.Millisecond},
	}
	for _, c := range cases {
		var k clock
		k.begin(nil, began)
		k.drift = c.known
		got, _ := k.step(began.Add(c.wall), c.ran)
		if got != c.want {
			t.Errorf("%s: step %v, want %v", c.name, got, c.want)
		}
		k.moved(clockLook{step: got})
		if again, _ := k.step(began.Add(c.wall), c.ran); again != 0 {
			t.Errorf("%s: %v is left after it was moved", c.name, again)
		}
	}
}

func TestReadingsTellAStepOnlyWithinOneBoot(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC)
	first := reading{"boot-1/time:[1]", time.Hour, at}
	cases := []struct {
		name string
		next reading
		want time.Duration
	}{
		{"nothing was set", reading{first.boot, 3 * time.Hour, at.Add(2 * time.Hour)}, 0},
		{"set forward", reading{first.boot, 3 * time.Hour, at.Add(26 * time.Hour)}, 24 * time.Hour},
		{"set back", reading{first.boot, 3 * time.Hour, at.Add(-time.Hour)}, -3 * time.Hour},
		{"another boot", reading{"boot-2/time:[1]", 3 * time.Hour, at.Add(26 * time.Hour)}, 0},
		{"another time namespace", reading{"boot-1/time:[2]", 3 * time.Hour, at.Add(26 * time.Hour)}, 0},
		{"the uptime went back", reading{first.boot, time.Minute, at.Add(time.Hour)}, 0},
	}
	for _, c := range cases {
		if got := c.next.since(&first); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	kept, ok := parseReading(first.String())
	if !ok || kept.boot != first.boot || kept.up != first.up || !kept.wall.Equal(first.wall) {
		t.Errorf("%q was read as %+v", first.String(), kept)
	}
	for _, text := range []string{"", noMark, "boot", "boot 1", "boot one 2", "boot 1 two"} {
		if r, ok := parseReading(text); ok {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
}

func TestMachineUptimeRunsOnWithinOneBoot(t *testing.T) {
	boot, up, ok := MachineUptime()
	if !ok {
		t.Skip("this machine has no such clock")
	}
	began := time.Now()
	for time.Since(began) < 2*time.Millisecond {
	}
	again, later, ok := MachineUptime()
	if !ok || again != boot || later-up < 2*time.Millisecond || later-up > time.Minute {
		t.Errorf("%s %v, then %s %v", boot, up, again, later)
	}
}
