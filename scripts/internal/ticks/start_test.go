package main

import (
	"strings"
	"testing"
)

// starting is a schedule that ticks at each start, of three after it was saved, the second of which was killed before
// it could decide anything.
func starting() *seen {
	s := ticking()
	s.text, s.outages, s.rows = text{cron: "@reboot"}, nil, nil
	clear(s.runs)
	s.make(5.5, ran, 5.6)
	s.make(9.5, ran, 9.6)
	s.lives = []life{
		{begun: at(-3), ended: at(5), active: true},
		{begun: at(5.2), ready: at(6), ended: at(7), active: true},
		{begun: at(7.2), ended: at(7.4)},
		{begun: at(9.2), ready: at(9.6), active: true},
	}
	return s
}

func TestWhatIsWrongWithTicksAtStartIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*seen)
		want  string
	}{
		"sound":           {func(*seen) {}, ""},
		"killed after it": {func(s *seen) { s.make(7.3, ran, 7.31); s.sort() }, ""},
		"started at once": {func(s *seen) {
			s.make(7.39, ran, 7.391)
			s.sort()
			s.lives[3].begun = at(7.401)
		}, ""},
		"none":              {func(s *seen) { s.drop(5.5) }, "is not in the ledger"},
		"two":               {func(s *seen) { s.make(6.5, ran, 6.6); s.sort() }, "the schedule has 0"},
		"without a start":   {func(s *seen) { s.make(8, ran, 8.1); s.sort() }, "the schedule has 0"},
		"before it stood":   {func(s *seen) { s.make(0.5, ran, 0.6); s.sort() }, "the schedule has 0"},
		"its run was lost":  {func(s *seen) { delete(s.runs, "run-9.5") }, "which is not of it"},
		"skipped as missed": {func(s *seen) { s.drop(9.5); s.rows = append(s.rows, row{ms(9.5), ms(9.5), 1, skipped, "missed", ""}) }, "want 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := starting()
			c.spoil(s)
			var all tally
			got := strings.Join(s.check(&all), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestALifeIsActiveOnceItsTickerHasDecided(t *testing.T) {
	s := ticking() // runs at 1 to 5 and from 11.3 on
	lives := []life{{begun: at(0), ended: at(5.2)}, {begun: at(5.5), ended: at(6)}, {begun: at(11.2)}}
	s.mark(lives)
	if !lives[0].active || lives[1].active || !lives[2].active {
		t.Errorf("got %+v; want all but the second to be active", lives)
	}
}
