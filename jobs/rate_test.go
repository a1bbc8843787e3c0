package jobs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// seeded plays games of chance, each from a seed that it names where it fails.
func seeded(t *testing.T, games int, play func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	first := rand.Uint64()
	for n := range uint64(games) {
		seed := first + n
		ok := t.Run("", func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			play(t, rand.New(rand.NewPCG(seed, 0)))
		})
		if !ok {
			return
		}
	}
}

// testIDs are ids that differ.
func testIDs(n int) []ID {
	ids := NewIDs(0, rand.New(rand.NewPCG(1, 2)).Uint64)
	all := make([]ID, n)
	for i := range all {
		all[i] = ids.Next(at.Std())
	}
	return all
}

// anyLength draws a length, short and long ones alike often.
func anyLength(r *rand.Rand, least, most time.Duration) time.Duration {
	d := most
	for d > least && r.IntN(4) > 0 {
		d /= 1 + time.Duration(r.IntN(30))
	}
	return max(least, time.Duration(r.Int64N(int64(d)+1)))
}

// mostWithin is how many of sorted starts lie in one window of a length, at most: any two that are
// a whole window apart are in none together.
func mostWithin(starts []time.Duration, length time.Duration) (most int) {
	first := 0
	for i, at := range starts {
		for at-starts[first] >= length {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestRateLetsNoWindowOfItsLengthExceedTheLimit plays bursts and pauses on a steady clock while the
// wall clock is set to and fro, and looks at all windows there were.
func TestRateLetsNoWindowOfItsLengthExceedTheLimit(t *testing.T) {
	seeded(t, 80, func(t *testing.T, r *rand.Rand) {
		per := anyLength(r, time.Millisecond, 40*24*time.Hour)
		if r.IntN(3) == 0 {
			per = time.Duration(100+r.IntN(900)) * time.Millisecond
		}
		g := Gate{Kind: GateRate, Name: "j", Rate: &Rate{Limit: 1 + r.IntN(40), Per: Duration(per)}}
		ids := int64(0)
		wall := at
		var steady time.Duration
		var starts []time.Duration
		for range 400 {
			switch r.IntN(8) {
			case 0: // the wall clock is set, what is kept goes along
				step := (anyLength(r, 0, 100*24*time.Hour) - 50*24*time.Hour).Truncate(time.Millisecond)
				wall = wall.Add(step)
				for i := range g.Starts {
					g.Starts[i].First = g.Starts[i].First.Add(step)
					g.Starts[i].Last = g.Starts[i].Last.Add(step)
				}
			case 1: // it waits until it may
				if wake := g.Wake(wall); wake != 0 {
					steady += wake.Sub(wall)
					wall = wake
				}
			default:
				step := anyLength(r, 0, per+per/10).Truncate(time.Millisecond)
				steady += step
				wall = wall.Add(step)
			}
			exact(t, &g, wall)
			for range min(g.Room(wall), r.IntN(12)) {
				g.Take(wall, NilID)
				starts = append(starts, steady)
			}
			for i := range g.Starts {
				if g.Starts[i].ID == 0 {
					ids++
					g.Starts[i].ID = ids
				}
			}
			room, kept, counted := g.Room(wall), len(g.Starts), 0
			gone := g.Forget(wall)
			if g.Room(wall) != room || len(gone)+len(g.Starts) != kept {
				t.Fatalf("room is %d after forgetting, was %d", g.Room(wall), room)
			}
			for _, s := range g.Starts {
				counted += s.Count
			}
			if len(g.Starts) > rateParts+1 || counted > g.Rate.Limit {
				t.Fatalf("%d counters count %d starts within %s, the limit is %d",
					len(g.Starts), counted, per, g.Rate.Limit)
			}
		}
		if most := mostWithin(starts, per); most > g.Rate.Limit {
			t.Fatalf("%d starts within %s, the limit is %d", most, per, g.Rate.Limit)
		}
	})
}

// exact checks that a gate wakes when there is room and not a millisecond sooner.
func exact(t *testing.T, g *Gate, now Time) {
	t.Helper()
	wake := g.Wake(now)
	switch {
	case g.Room(now) > 0:
		if wake != 0 {
			t.Fatalf("room is %d and it wakes at %s", g.Room(now), wake)
		}
		return
	case wake == 0:
		return
	}
	free := *g // of slots
	free.Used = 0
	if wake <= now || free.Room(wake-1) != 0 || free.Room(wake) == 0 {
		t.Fatalf("shut at %d, it wakes at %d: room is %d then and %d the millisecond before",
			now, wake, free.Room(wake), free.Room(wake-1))
	}
}

// TestRateUsesItsLimitUp starts whatever it may at each moment.
func TestRateUsesItsLimitUp(t *testing.T) {
	seeded(t, 25, func(t *testing.T, r *rand.Rand) {
		per := time.Duration(1+r.IntN(5000)) * time.Millisecond
		g := Gate{Kind: GateRate, Name: "j", Rate: &Rate{Limit: 1 + r.IntN(200), Per: Duration(per)}}
		now, end, n := at, at.Add(20*per), 0
		for now < end {
			for g.Room(now) > 0 {
				g.Take(now, NilID)
				n++
			}
			if now = g.Wake(now); now == 0 {
				t.Fatal("a rate that is used up never wakes")
			}
		}
		if want := 20 * g.Rate.Limit; n != want {
			t.Fatalf("%d starts in 20 windows, want %d", n, want)
		}
	})
}

// TestRateKeepsAtMost61Counters starts at every moment there is.
func TestRateKeepsAtMost61Counters(t *testing.T) {
	for _, per := range []time.Duration{
		1, 59, 60, 61, 99, 100, 119, 120, 121, 179, 181, 599, 1000, 1001, 3599, 60_000, 86_400_000,
	} {
		per *= time.Millisecond
		g := Gate{Kind: GateRate, Name: "j", Rate: &Rate{Limit: math.MaxInt, Per: Duration(per)}}
		step := max(per/600, time.Millisecond)
		for now := at; now < at.Add(3*per); now = now.Add(step) {
			g.Take(now, NilID)
			if g.Forget(now); len(g.Starts) > rateParts+1 {
				t.Errorf("%d counters are kept of a rate per %s", len(g.Starts), per)
				break
			}
		}
	}
}

func TestRateCountsOverAClockThatRunsBackUntold(t *testing.T) {
	g := Gate{Kind: GateRate, Name: "j", Rate: &Rate{Limit: 2, Per: Duration(time.Second)}}
	g.Take(at, NilID)
	g.Take(at-60_000, NilID)
	if g.Room(at-60_000) != 0 || g.Room(at+999) != 0 || g.Room(at+1000) != 2 {
		t.Errorf("room is %d, %d, %d: want 0, 0, 2",
			g.Room(at-60_000), g.Room(at+999), g.Room(at+1000))
	}
}

func TestRateThatWasLoweredOpensWhenEnoughHaveLeft(t *testing.T) {
	g := Gate{Kind: GateRate, Name: "j", Rate: &Rate{Limit: 10, Per: Duration(time.Minute)}}
	for i := range Time(10) {
		g.Take(at+i*1000, NilID)
	}
	g.Rate.Limit = 3
	if wake := g.Wake(at + 9000); wake != at+67_000 {
		t.Errorf("it wakes at %s, want when all but 2 have left: %s", wake, at+67_000)
	}
	exact(t, &g, at+9000)
	g.Rate = nil
	g.Starts[0].ID, g.Starts[1].ID = 7, 8
	if gone := g.Forget(at); !slices.Equal(gone, []int64{7, 8}) || len(g.Starts) != 0 {
		t.Errorf("without a rate it forgets %v and keeps %d", gone, len(g.Starts))
	}
}

func TestRateOfPartsOfAMillisecondIsNotShorterThanItSays(t *testing.T) {
	g := Gate{Kind: GateRate, Name: "j", Rate: &Rate{Limit: 1, Per: Duration(1500 * time.Microsecond)}}
	g.Take(at, NilID)
	if g.Room(at+1) != 0 || g.Room(at+2) != 1 {
		t.Errorf("room is %d after 1 ms and %d after 2 ms: want 0 and 1", g.Room(at+1), g.Room(at+2))
	}
}
