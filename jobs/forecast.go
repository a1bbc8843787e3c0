package jobs

import "time"

// MaxForecast is how many waits a forecast tells.
const MaxForecast = 1000

// Forecast is what would become of a failed attempt, and of those that follow were the same failure
// to repeat.
type Forecast struct {
	Decision Decision
	// Waits are those before each following attempt, jitter at its middle.
	Waits []Duration
	// End is the decision about the last of them; nil: the waits were cut before it.
	End *Decision
}

// Foresee decides about the end of an attempt, and again and again as if each following attempt
// took as long as lasts and failed alike, until the run fails. It stops at MaxForecast waits, or
// once enough says so.
func Foresee(e Ending, lasts time.Duration, enough func() bool) Forecast {
	e.Random, e.watch = middle, &watch{}
	t := Decide(e)
	f := Forecast{Decision: t.Decision, Waits: []Duration{}}
	for t.Decision.Action == ActionRetry {
		f.Waits = append(f.Waits, Duration(t.DueAt.Sub(e.Now)))
		if len(f.Waits) == MaxForecast || enough() {
			return f
		}
		e.Counts = t.Counts
		e.Counts.Number++
		e.Now = t.DueAt.Add(lasts)
		t = Decide(e)
	}
	f.End = &t.Decision
	return f
}

// CountsAt rebuilds what a run had used up before attempt number, as these rules would have charged
// it: run.Attempts are those that failed, in their order. It stops, not ok, once enough says so.
func CountsAt(p *Plan, run *Run, number int, enough func() bool) (counts Counts, ok bool) {
	c := NewReplay(p, 0, enough).course(run)
	c.on = true
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if a.Number > KeptAttempts {
			c.fillGap(a)
		}
		if a.Number == number {
			c.begin(a)
		}
		if a.Number >= number || enough() {
			break
		}
		c.decide(a)
	}
	c.counts.Number = number
	return c.counts, !enough()
}
