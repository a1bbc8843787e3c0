package web

import (
	"strconv"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
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

// charts are those of what ended in the last day, of a job or of all, and the numbers they are made of.
func (v *view) charts(job string) (stats wire.Stats, drawn []*chart, err error) {
	stats, err = v.API.Stats(v.ctx(), client.StatsFilter{
		Job: job, Since: jobs.TimeOf(v.At.Now.Add(-chartsBack)), Step: jobs.Duration(chartsStep),
	})
	if err != nil {
		return stats, nil, err
	}
	ended := &chart{
		ID: "ended", Title: "Runs and retries in 24 hours", Unit: "runs", Step: chartsStep, Bars: true,
		Series: []chartSeries{{"Succeeded", "good"}, {"Failed", "bad"}, {"Cancelled", "idle"}, {"Retries", "warn"}},
	}
	took := &chart{
		ID: "took", Title: "How long attempts took", Unit: "ms", Step: chartsStep,
		Series: []chartSeries{{"Half of them", "busy"}, {"95 %", "warn"}},
	}
	if total := stats.Totals; total == (wire.StatTotals{}) {
		return stats, []*chart{ended, took}, nil
	}
	for _, s := range stats.Series {
		ended.Rows = append(ended.Rows, chartRow{s.At, []*int64{&s.Succeeded, &s.Failed, &s.Cancelled, &s.Retried}})
		took.Rows = append(took.Rows, chartRow{s.At, []*int64{msOf(s.P50), msOf(s.P95)}})
	}
	return stats, []*chart{ended, took}, nil
}

func msOf(d *jobs.Duration) *int64 {
	if d == nil {
		return nil
	}
	return new(d.Std().Milliseconds())
}
