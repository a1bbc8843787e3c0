package jobs

import (
	"testing"
	"time"
)

func TestDependencyEventsSayWhatHappenedAndWhy(t *testing.T) {
	now := Time(1_770_000_000_000) // 2026-02-02T02:40:00Z
	run := NewIDs(0, func() uint64 { return 1 }).Next(now.Std())
	bad := Signal{Kind: FailHTTP, HTTPStatus: 503, ExitCode: -1}
	dependency := func() *Gate {
		return &Gate{
			Kind: GateDependency, Name: "stripe",
			Breaker: &Breaker{Failures: 1, OpenFor: Duration(30 * time.Second), MaxOpen: Duration(time.Hour)},
		}
	}
	opened := func() *Gate {
		g := dependency()
		g.Hear(now, run, bad)
		return g
	}
	probe := opened()
	probe.Take(now.Add(30*time.Second), run)
	bare := opened()
	bare.Breaker = nil
	cases := []struct {
		name string
		gate *Gate
		act  func(*Gate) string
		by   ID
		note string
		want string
	}{
		{
			"by an attempt", dependency(), func(g *Gate) string { return g.Hear(now, run, bad) }, run, "",
			`dependency.opened {"name":"stripe","reason":"HTTP 503",` +
				`"until":"2026-02-02T02:40:30.000Z","run":"` + run.String() + `","job":"sync"}`,
		},
		{
			"by hand", dependency(), func(g *Gate) string { return g.Trip(now, "moved", time.Minute) }, NilID, "moved",
			`dependency.opened {"name":"stripe","reason":"tripped: moved","until":"2026-02-02T02:41:00.000Z","run":null,"job":null}`,
		},
		{
			"with a Retry-After that is longer", dependency(), func(g *Gate) string {
				s := bad
				s.RetryAfter = time.Minute
				return g.Hear(now, run, s)
			}, run, "",
			`dependency.opened {"name":"stripe","reason":"HTTP 503",` +
				`"until":"2026-02-02T02:41:00.000Z","run":"` + run.String() + `","job":"sync"}`,
		},
		{
			"by a probe", probe, func(g *Gate) string { return g.Hear(now.Add(time.Minute), run, Signal{ExitCode: -1}) }, run, "",
			`dependency.closed {"name":"stripe","reason":"the probe succeeded","opened_at":"2026-02-02T02:40:00.000Z","run":"` +
				run.String() + `","job":"sync"}`,
		},
		{
			"by the first end without a breaker", bare, func(g *Gate) string { return g.Hear(now, run, bad) }, run, "",
			`dependency.closed {"name":"stripe","reason":"its breaker was taken away",` +
				`"opened_at":"2026-02-02T02:40:00.000Z","run":"` + run.String() + `","job":"sync"}`,
		},
		{
			"by a reset", opened(), func(g *Gate) string { return g.Reset(now) }, NilID, "they are back",
			`dependency.closed {"name":"stripe","reason":"reset: they are back","opened_at":"2026-02-02T02:40:00.000Z","run":null,"job":null}`,
		},
		{
			"by a reset without a word", opened(), func(g *Gate) string { return g.Reset(now) }, NilID, "",
			`dependency.closed {"name":"stripe","reason":"reset","opened_at":"2026-02-02T02:40:00.000Z","run":null,"job":null}`,
		},
	}
	for _, c := range cases {
		e := DependencyEvent{Gate: c.gate, Was: c.gate.State, Run: c.by, Note: c.note}
		if !c.by.IsNil() {
			e.Job = "sync"
		}
		e.Type = c.act(c.gate)
		if got := e.Type + " " + string(e.Data()); got != c.want || e.Subject() != "dependency/stripe" {
			t.Errorf("%s: %s is\n%s, want\n%s", c.name, e.Subject(), got, c.want)
		}
	}
}
