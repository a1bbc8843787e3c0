package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nightshift/jobs"
)

const (
	// stepLeast is the least difference between the wall clock and one that is never set, from one
	// claim to the next, that moves the times which were given as durations.
	stepLeast = 100 * time.Millisecond
	// readWithin is how close together two clocks are read, if the machine allows it in readTries.
	readWithin = time.Millisecond
	readTries  = 10
	// noMark is kept where no clock but the wall's could be read: no start goes by it.
	noMark = "unknown"
)

// Uptime reads the clock that runs on while nothing of ours does, and is never set: the time since
// the machine was started, and which start that was. ok is false where the machine has none.
type Uptime func() (boot string, up time.Duration, ok bool)

// clock is the wall clock as the store knows it. When that is set, times in the store are those of
// before, and so is now; the next claim moves them and now in one step. Thus no wait that is written
// in between is moved too, or not at all.
type clock struct {
	uptime Uptime
	wallOf func(time.Time) time.Time // what the wall clock shows
	start  time.Time
	began  time.Time

	// moving is held while a claim moves times: who reads now to write it holds it against that.
	moving sync.RWMutex

	mu     sync.Mutex
	drift  time.Duration // that the store knows
	unkept bool          // the store has no mark of this boot
}

// clockLook is what the clocks show for a claim.
type clockLook struct {
	at   time.Time
	step time.Duration // by how much the wall clock was set since what the store knows
	mark string        // to be kept; "": the one that is kept will do
	// basis tells times of one clock from those of the same clock set otherwise: what it is more,
	// they are later.
	basis time.Duration
}

func (c *clock) begin(uptime Uptime, now time.Time) {
	c.uptime, c.wallOf, c.start, c.began = uptime, wallOf, now.Round(0), now
}

// wallOf drops the monotonic part of a time.
func wallOf(now time.Time) time.Time { return now.Round(0) }

// ran is how long the process has run; it is never set.
func (c *clock) ran() time.Duration { return time.Since(c.began) }

// now is the time as the store knows it, and its basis.
func (c *clock) now() (at jobs.Time, basis time.Duration) {
	now := time.Now()
	wall := c.wallOf(now)
	step, basis := c.step(wall, now.Sub(c.began))
	return jobs.TimeOf(wall.Add(-step)), basis
}

// until is how long it takes the wall clock to show a time.
func (c *clock) until(at jobs.Time) time.Duration { return at.Std().Sub(c.wallOf(time.Now())) }

// step is by how much the wall clock was set since what is known, the basis, 0 where it was not.
func (c *clock) step(wall time.Time, ran time.Duration) (step, basis time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	step = wall.Sub(c.start) - ran - c.drift
	if step.Abs() < stepLeast {
		step = 0
	}
	return step, c.drift
}

// look reads the clocks for a claim.
func (c *clock) look() clockLook {
	now := time.Now()
	look := clockLook{at: c.wallOf(now)}
	look.step, look.basis = c.step(look.at, now.Sub(c.began))
	look.basis += look.step
	c.mu.Lock()
	unkept := c.unkept
	c.mu.Unlock()
	if c.uptime != nil && (unkept || look.step != 0) {
		look.mark = noMark
		if r, ok := c.read(); ok {
			look.mark = r.String()
		}
	}
	return look
}

// moved takes a look in as known: the store has moved what it moves, and keeps the mark.
func (c *clock) moved(look clockLook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drift += look.step
	c.unkept = c.unkept && look.mark == ""
}

// reading is what the wall clock and that of the machine show at one instant.
type reading struct {
	boot string
	up   time.Duration
	wall time.Time
}

func (r *reading) String() string {
	return fmt.Sprintf("%s %d %d", r.boot, r.up.Nanoseconds(), r.wall.UnixNano())
}

func parseReading(text string) (r reading, ok bool) {
	var up, wall int64
	if _, err := fmt.Sscanf(text, "%s %d %d", &r.boot, &up, &wall); err != nil {
		return r, false
	}
	r.up, r.wall = time.Duration(up), time.Unix(0, wall)
	return r, true
}

// read reads both clocks, again where something came in between.
func (c *clock) read() (best reading, ok bool) {
	if c.uptime == nil {
		return best, false
	}
	least := time.Duration(-1)
	for range readTries {
		before := time.Now()
		boot, up, ok := c.uptime()
		if !ok {
			return best, false
		}
		took := time.Since(before)
		if least < 0 || took < least {
			least, best = took, reading{boot, up, c.wallOf(before)}
		}
		if took <= readWithin {
			break
		}
	}
	return best, true
}

// since is by how much the wall clock was set between two readings; 0 where nobody can tell, for
// the machine was started in between.
func (r *reading) since(earlier *reading) time.Duration {
	if r.boot != earlier.boot || r.up < earlier.up {
		return 0
	}
	return r.wall.Sub(earlier.wall) - (r.up - earlier.up)
}

// startClock finds out whether the wall clock was set while no process of ours ran. Until the first
// claim has moved what that moves, the time is the one of before.
func (r *Runtime) startClock(ctx context.Context) error {
	text, err := r.store.Clock(ctx)
	if err != nil {
		return err
	}
	now, ok := r.clock.read()
	if !ok {
		return nil
	}
	last, ok := parseReading(text)
	r.clock.unkept = !ok || last.boot != now.boot || last.up > now.up
	if r.clock.unkept {
		return nil
	}
	if step := now.since(&last); step.Abs() >= stepLeast {
		r.clock.drift = -step
	}
	return nil
}
