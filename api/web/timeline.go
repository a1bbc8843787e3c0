package web

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// shownLine is a schedule's row of the time line, as it is drawn: for each outcome a path of all its marks, which
// differ in colour and in shape. A cell is 10 wide; what came of a tick stands on the base line, what did not come
// of it hangs below, and what was missed cuts through both.
type shownLine struct {
	wire.TimelineRow
	From, Until jobs.Time
	Width       int
	Now         string // where now is
	Grid        string // full quarters of a day, by UTC
	Base        string
	Marks       []tickMark
	Says        string // all of it in words
	Quiet       bool   // there is no tick on it
}

// tickMark is a path of the marks of one outcome.
type tickMark struct{ Class, Path string }

const cellWide = 10

// shapes are how outcomes are drawn within a cell, from its left edge; the base line is at 28.
var shapes = []struct {
	class, shape string
	count        func(*wire.TickCounts) int
}{
	{"planned", "m3 -8h4v8h-4z", func(n *wire.TickCounts) int { return n.Planned }},
	{"pending", "m1 -16h8v4h-8zm0 8h8v4h-8z", func(n *wire.TickCounts) int { return n.Pending }},
	{"ran", "m1 -18h8v18h-8z", func(n *wire.TickCounts) int { return n.Ran }},
	{"caught", "m1 -18l8 18h-8z", func(n *wire.TickCounts) int { return n.CaughtUp }},
	{"skipped", "m1 3h8v5h-8z", func(n *wire.TickCounts) int { return n.Skipped }},
	{"missed", "m1 -26h8l-3 17l3 17h-8l3 -17z", func(n *wire.TickCounts) int { return n.Missed }},
	{"late", "m5 -27l5 7h-10z", func(n *wire.TickCounts) int { return n.Late }},
}

// drawn draws a row of a line.
func drawn(line *wire.Timeline, i int) shownLine {
	row := line.Items[i]
	step := line.Step.Std()
	place := func(t jobs.Time) float64 { return float64(t.Sub(line.From)) / float64(step) * cellWide }
	out := shownLine{TimelineRow: row, From: line.From, Until: line.Until, Width: int(place(line.Until))}
	out.Now = fmt.Sprintf("M%.1f 0v40", place(line.Now))
	out.Base = fmt.Sprintf("M0 28h%d", out.Width)
	var grid strings.Builder
	const quarter = jobs.Time(6 * time.Hour / time.Millisecond)
	for t := line.From - line.From%quarter + quarter; t < line.Until; t += quarter {
		fmt.Fprintf(&grid, "M%.1f 0v40", place(t))
	}
	out.Grid = grid.String()
	for _, s := range shapes {
		var path strings.Builder
		for c := range row.Cells {
			if s.count(&row.Cells[c].TickCounts) > 0 {
				fmt.Fprintf(&path, "M%.0f 28%s", place(row.Cells[c].At), s.shape)
			}
		}
		if path.Len() > 0 {
			out.Marks = append(out.Marks, tickMark{s.class, path.String()})
		}
	}
	out.Says = saysTicks(&row.Total)
	out.Quiet = row.Total == (wire.TickCounts{})
	return out
}

// saysTicks says what became of the ticks of a line.
func saysTicks(n *wire.TickCounts) string {
	var parts []string
	say := func(k int, what string) {
		if k > 0 {
			parts = append(parts, number(k)+" "+what)
		}
	}
	say(n.Missed, "missed")
	say(n.Late, "late")
	say(n.CaughtUp, "caught up")
	say(n.Skipped, "skipped")
	say(n.Pending, "not decided yet")
	say(n.Ran, "ran")
	say(n.Planned, "to come")
	if len(parts) == 0 {
		return "no tick in these two days"
	}
	return strings.Join(parts, ", ")
}

// tickWhy says why a tick was skipped.
func tickWhy(reason string) string {
	switch reason {
	case jobs.SkipMissed:
		return "the server was away or held, and it was too late to catch up"
	case jobs.SkipLimit:
		return "more were missed than are caught up"
	case jobs.SkipOverlap:
		return "an earlier run had not ended"
	case jobs.SkipPaused:
		return "the schedule was paused"
	case jobs.SkipUnique:
		return "an alike run stood"
	}
	return reason
}
