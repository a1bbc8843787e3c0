package jobs

import "testing"

func TestInterruptionsAreCountedInARow(t *testing.T) {
	before := Counts{Number: 5, Interrupts: 4}
	shutdown := Report{Stopped: ErrShutdown}
	cases := map[string]struct {
		e    Ending
		want int
	}{
		"a shutdown":                          {Ending{Report: shutdown}, 5},
		"a death":                             {Ending{Lost: true}, 5},
		"the death that ends it":              {Ending{Lost: true, Counts: Counts{Deaths: 4, Interrupts: 4}}, 5},
		"a shutdown after a checkpoint":       {Ending{Report: shutdown, Saved: true}, 1},
		"a shutdown that brings a checkpoint": {Ending{Report: Report{Stopped: ErrShutdown, Checkpoint: Raw(`1`)}}, 1},
		"a failure":                           {Ending{Report: report(failHTTP(503))}, 0},
		"a timeout":                           {Ending{Report: Report{Stopped: ErrTimeout}}, 0},
		"a success":                           {Ending{}, 0},
		"a good slice":                        {Ending{Report: Report{Continue: true, Checkpoint: Raw(`1`)}}, 0},
	}
	for name, c := range cases {
		if c.e.Counts.Interrupts == 0 {
			c.e.Counts = before
		}
		if got := Decide(c.e).Counts.Interrupts; got != c.want {
			t.Errorf("%s: %d in a row, want %d", name, got, c.want)
		}
	}
}
