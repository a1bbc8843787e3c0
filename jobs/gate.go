package jobs

import (
	"fmt"
	"math"
	"time"
)

// GateKind is the sort of a gate. The numbers are stored.
type GateKind int

// The sorts of gates, in the order in which a run asks them.
const (
	GateQueue       GateKind = 1
	GateConcurrency GateKind = 2 // of a job, or of one of its keys
	GateRate        GateKind = 3 // of a job, or of one of its keys
	GateDependency  GateKind = 4
	GateCatchUp     GateKind = 5 // of a pool of workers, asked by runs for ticks that were missed
)

// Gate says whether a run may start now, and why not: what runs share. It is plain data and asks no
// clock: a store keeps Used, Starts and State, and what changed of them after each call.
//
// Times are those of the wall clock; who keeps a gate moves them along when that is set, since
// they stand for waits that were given as durations.
type Gate struct {
	Kind GateKind
	Name string  // of the queue or dependency; of the job; of the pool
	Key  *string // of a job's gate for one key; nil: for all of its runs
	Host bool    // a dependency host:port, with the breaker of hosts

	Limit   int      // of attempts under way; 0: none
	Workers int      // of the pool, of which Limit may catch up
	Rate    *Rate    // nil: none
	Breaker *Breaker // nil: none

	PausedAt Time // zero: it is not paused
	Note     string

	Used   int      // attempts under way that hold it, where Limit is set
	Starts []Starts // the last ones, oldest first, where Rate is set
	State  BreakerState
}

// CatchUpGate is what runs for ticks that were missed pass beside their other gates. They take half
// of the workers of their pool at most, so that those that are due find one; one of them in any case.
func CatchUpGate(pool string, workers int) Gate {
	return Gate{Kind: GateCatchUp, Name: pool, Limit: max(workers/2, 1), Workers: workers}
}

// Rate bounds how many attempts start in any window of a length.
type Rate struct {
	Limit int      `json:"limit"`
	Per   Duration `json:"per"`
	Key   string   `json:"key,omitempty"` // of a job's: an expression; runs of each key are counted alone
}

// Starts are attempts that started close to each other: a rate is kept as up to 61 of these.
type Starts struct {
	ID          int64 // of the row that keeps it; 0: of none yet
	First, Last Time
	Count       int
}

// rateParts is into how many counters the window of a rate is cut.
const rateParts = 60

// Room is how many runs the gate lets through now. It grows by the passing of time alone, shrinks
// by one with each Take, and is 0 while a breaker that is open waits for its probe.
func (g *Gate) Room(now Time) int {
	if g.PausedAt != 0 {
		return 0
	}
	room := math.MaxInt
	if g.Limit > 0 {
		room = max(g.Limit-g.Used, 0)
	}
	if g.Rate != nil {
		room = min(room, max(g.Rate.Limit-g.started(now), 0))
	}
	if g.Kind == GateDependency {
		room = min(room, g.State.room(g.Breaker, now))
	}
	return room
}

// Shut says why no run may start now, and until when as far as that is known; nil: one may. Of
// several reasons it gives the first, so another may come after it.
func (g *Gate) Shut(now Time) *HeldBy {
	if g.Room(now) > 0 {
		return nil
	}
	h := &HeldBy{Kind: g.heldKind(), Name: g.Name}
	h.Reason, h.Until = g.why(now)
	return h
}

// Wake is when a gate that is shut opens by the passing of time, if its slots are free by then, not
// a millisecond sooner; zero: it does not.
func (g *Gate) Wake(now Time) Time {
	if g.PausedAt != 0 || g.Room(now) > 0 {
		return 0
	}
	at := now
	if g.Kind == GateDependency {
		opens := g.State.opens(g.Breaker, now)
		if opens == 0 {
			return 0
		}
		at = max(at, opens)
	}
	if g.Rate != nil {
		at = max(at, g.rateOpens(now))
	}
	if at == now {
		return 0 // slots are all that it lacks
	}
	return at
}

func (g *Gate) heldKind() string {
	switch {
	case g.Kind == GateQueue && g.PausedAt != 0:
		return HeldPaused
	case g.Kind == GateQueue:
		return HeldQueue
	case g.Kind == GateConcurrency:
		return HeldConcurrency
	case g.Kind == GateRate:
		return HeldRate
	case g.Kind == GateCatchUp:
		return HeldWorkers
	}
	return HeldDependency
}

// why is the first reason for which the gate is shut.
func (g *Gate) why(now Time) (reason string, until Time) {
	if g.PausedAt != 0 {
		if g.Note != "" {
			return fmt.Sprintf("%s is paused: %s", g.subject(), g.Note), 0
		}
		return g.subject() + " is paused", 0
	}
	if g.Kind == GateDependency {
		if reason, until = g.State.why(g.Breaker, now); reason != "" {
			return g.subject() + " " + reason, until
		}
	}
	switch {
	case g.Kind == GateCatchUp:
		return g.whyNoWorker(), 0
	case g.Limit > 0 && g.Used >= g.Limit:
		return fmt.Sprintf("%s has %d of %d running", g.subject(), g.Used, g.Limit), 0
	case g.Rate != nil && g.started(now) >= g.Rate.Limit:
		return fmt.Sprintf("%s has had %s within %s, the limit is %d",
			g.subject(), plural(g.started(now), "start"), g.Rate.Per, g.Rate.Limit), g.rateOpens(now)
	case g.Kind == GateDependency && g.State.room(g.Breaker, now) == 0:
		return g.subject() + " is back: what waited for it starts little by little", g.State.rampOpens()
	}
	return "", 0
}

// whyNoWorker is why no other tick that was missed is caught up now.
func (g *Gate) whyNoWorker() string {
	if g.Limit >= g.Workers { // nobody has said more, or there is one
		return fmt.Sprintf("%s: the %s worker is busy with a tick that was missed", WaitsForWorker, g.Name)
	}
	return fmt.Sprintf("%d of %d %s workers %s for ticks that were missed, so that those that are due find one: %d %s busy",
		g.Limit, g.Workers, g.Name, isOrAre(g.Limit), g.Used, isOrAre(g.Used))
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (g *Gate) subject() string {
	switch {
	case g.Kind == GateQueue:
		return "the queue " + g.Name
	case g.Kind == GateDependency && g.Host:
		return "the host " + g.Name
	case g.Kind == GateDependency:
		return "the dependency " + g.Name
	case g.Key != nil:
		return fmt.Sprintf("the key %q of job %s", clip(*g.Key, 60), g.Name)
	}
	return "the job " + g.Name
}

// window is the length of the rate in milliseconds, never less than it says.
func (r *Rate) window() Time {
	return max(Time((r.Per.Std()+time.Millisecond-1)/time.Millisecond), 1)
}

// part is how long one counter counts: 60 of them or fewer make a window.
func (r *Rate) part() Time { return (r.window() + rateParts - 1) / rateParts }

// started is how many attempts started in the window that ends now. A counter of which any has
// is counted whole.
func (g *Gate) started(now Time) (n int) {
	begin := now - g.Rate.window()
	for _, s := range g.Starts {
		if s.Last > begin {
			n += s.Count
		}
	}
	return n
}

// rateOpens is when enough of the starts have left the window; zero: enough have, or never will.
func (g *Gate) rateOpens(now Time) Time {
	left, begin := g.started(now), now-g.Rate.window()
	if left < g.Rate.Limit {
		return 0
	}
	for _, s := range g.Starts {
		if s.Last <= begin {
			continue
		}
		if left -= s.Count; left < g.Rate.Limit {
			return s.Last + g.Rate.window()
		}
	}
	return 0
}

// Take lets one run through. Room must be above 0.
func (g *Gate) Take(now Time, run ID) {
	if g.Limit > 0 {
		g.Used++
	}
	if g.Rate != nil {
		g.count(now)
	}
	if g.Kind == GateDependency {
		g.State.take(g.Breaker, now, run)
	}
}

func (g *Gate) count(now Time) {
	if n := len(g.Starts); n > 0 {
		if s := &g.Starts[n-1]; now < s.First+g.Rate.part() {
			s.Count++
			s.Last = max(s.Last, now)
			return
		}
	}
	g.Starts = append(g.Starts, Starts{First: now, Last: now, Count: 1})
}

// Forget drops the starts that have left the window and gives the rows that kept them.
func (g *Gate) Forget(now Time) (gone []int64) {
	kept := g.Starts[:0]
	for _, s := range g.Starts {
		switch {
		case g.Rate != nil && s.Last > now-g.Rate.window():
			kept = append(kept, s)
		case s.ID != 0:
			gone = append(gone, s.ID)
		}
	}
	g.Starts = kept
	return gone
}
