package web

import (
	"strconv"
	"time"

	"nightshift/api/words"
	"nightshift/jobs"
)

// chart is numbers over time: a table, which a browser with JavaScript draws. Made for the part "chart".
type chart struct {
	ID     string // of the page's own
	Title  string
	Sum    string // of all of it, in words; may be empty
	Unit   string // runs | ms
	Step   time.Duration
	Bars   bool // as bars that stand on each other; else as lines
	Series []chartSeries
	Rows   []chartRow // oldest first
}

type chartSeries struct {
	Name   string
	Colour string // the variable of style.css: good, bad, warn, busy, idle
}

// chartRow is one step: a value for each series; nil: there is none.
type chartRow struct {
	At     jobs.Time
	Values []*int64
}

// Seconds are those of a step.
func (c *chart) Seconds() int64 { return int64(c.Step / time.Second) }

// amount writes a value of a chart for people.
func amount(unit string, n *int64) string {
	switch {
	case n == nil:
		return ""
	case unit == "ms":
		return words.Roundly(time.Duration(*n) * time.Millisecond)
	}
	return number(strconv.FormatInt(*n, 10))
}
