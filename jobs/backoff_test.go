package jobs

import (
	"math"
	"testing"
	"time"
)

func TestBackoffGrowsToItsMaxAndNeverOverflows(t *testing.T) {
	hot := Backoff{
		Base: new(Duration(time.Millisecond)), Factor: new(10.0),
		Max: new(Duration(100 * time.Millisecond)), Jitter: new(0.2),
	}
	steady := Backoff{Kind: BackoffFixed, Base: new(Duration(time.Hour)), Jitter: new(0.0)}
	longest := Backoff{
		Base: new(Duration(MaxDuration)), Max: new(Duration(MaxDuration)), Factor: new(1000.0), Jitter: new(1.0),
	}
	for _, c := range []struct {
		name string
		b    Backoff
		n    int
		u    float64
		want time.Duration
	}{
		{"default, 1st", Backoff{}, 1, 0.5, 10 * time.Second},
		{"default, 2nd", Backoff{}, 2, 0.5, 30 * time.Second},
		{"default, 5th", Backoff{}, 5, 0.5, 810 * time.Second},
		{"default, 6th", Backoff{}, 6, 0.5, 30 * time.Minute},
		{"default, least", Backoff{}, 1, 0, 8 * time.Second},
		{"n of 0 counts as 1", Backoff{}, 0, 0.5, 10 * time.Second},
		{"u out of range counts as the middle", Backoff{}, 1, 7, 10 * time.Second},
		{"u that is no number", Backoff{}, 1, math.NaN(), 10 * time.Second},
		{"hot, 3rd", hot, 3, 0.5, 100 * time.Millisecond},
		{"hot, 80th", hot, 80, 0, 80 * time.Millisecond},
		{"hot, last", hot, math.MaxInt, 0.5, 100 * time.Millisecond},
		{"steady, 1st", steady, 1, 0.9, time.Hour},
		{"steady, 999th", steady, 999, 0.1, time.Hour},
		{"longest, least", longest, 1000, 0, 0},
		{"base 0", Backoff{Base: new(Duration(0))}, math.MaxInt, 0.5, 0},
	} {
		if got := c.b.Delay(c.n, c.u); got.Round(time.Microsecond) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := longest.Delay(math.MaxInt, math.Nextafter(1, 0)); got <= MaxDuration || got > 2*MaxDuration {
		t.Errorf("the longest is %s", got)
	}
}
