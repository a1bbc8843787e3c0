package api

import (
	"fmt"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

const (
	statsBack  = 24 * time.Hour // where nobody says since when
	statsSteps = 2500           // at most in one answer
)

// statsParams are the parameters of the route of statistics.
func statsParams() []param {
	return []param{
		{name: "job", doc: "of one job", wrong: empty},
		{name: "since", wrong: wrongTime, doc: "from this time on (RFC 3339); left out: 24 hours before until"},
		{name: "until", wrong: wrongTime, doc: "up to this time (RFC 3339); left out: now"},
		{
			name: "step", wrong: wrongStep,
			doc: "how long each step of the series is: a multiple of 5m, and of 1h where since is over 26 hours ago. " +
				"Left out: 5m and 1h",
		},
	}
}

func wrongStep(values []string) string {
	d, err := jobs.ParseDuration(values[0])
	if err != nil || d.Std() <= 0 || d.Std()%store.EndedStep != 0 {
		return "want a multiple of 5m, such as 15m or 1h"
	}
	return ""
}

// statsAsked is what somebody wants to know.
type statsAsked struct {
	job          string
	since, until jobs.Time
	step         time.Duration
}

func (c *call) statsAsked() (statsAsked, error) {
	now := c.s.rt.Now()
	q := statsAsked{job: c.query.Get("job"), until: now}
	if text := c.query.Get("until"); text != "" {
		q.until, _ = jobs.ParseTime(text)
	}
	q.since = q.until.Add(-statsBack)
	if text := c.query.Get("since"); text != "" {
		q.since, _ = jobs.ParseTime(text)
	}
	fine := now.Sub(q.since) <= store.EndedFine
	q.step = store.EndedCoarse
	if fine {
		q.step = store.EndedStep
	}
	if text := c.query.Get("step"); text != "" {
		d, _ := jobs.ParseDuration(text)
		q.step = d.Std()
	}
	q.since, q.until = floorStep(q.since, q.step), floorStep(q.until-1, q.step).Add(q.step)
	switch {
	case q.since >= q.until:
		return q, queryFault("since", "want a time before until")
	case !fine && q.step%store.EndedCoarse != 0:
		return q, queryFault("step", "of times over 26 hours ago there are hours: want a multiple of 1h")
	case q.until.Sub(q.since)/q.step > statsSteps:
		return q, queryFault("step", fmt.Sprintf("that makes over %d steps: want a longer one, or a shorter time", statsSteps))
	}
	return q, nil
}

func queryFault(name, message string) error {
	return invalid([]jobs.Fault{{Location: "query." + name, Message: message}})
}

func floorStep(t jobs.Time, step time.Duration) jobs.Time {
	return t - t%jobs.Time(step.Milliseconds())
}

func getStats(c *call) error {
	q, err := c.statsAsked()
	if err != nil {
		return err
	}
	if q.job != "" && !c.who.reaches(q.job) {
		return refuse(probNotFound, "there is no such job, or the token does not reach it")
	}
	st := c.s.rt.Store()
	counts, err := st.Ended(c.ctx(), store.EndedFilter{Job: q.job, Since: q.since, Until: q.until, Allowed: c.who.Jobs})
	if err != nil {
		return err
	}
	stats := statsOf(&q, counts)
	if q.job == "" && c.who.Jobs == nil {
		if err := c.addStanding(stats); err != nil {
			return err
		}
	}
	return c.answer(200, stats)
}

// addStanding fills in what stands now.
func (c *call) addStanding(stats *wire.Stats) error {
	st := c.s.rt.Store()
	states, err := st.Stats(c.ctx())
	if err != nil {
		return err
	}
	open, err := st.OpenFailures(c.ctx(), jobs.FailuresMany+1)
	if err != nil {
		return err
	}
	secrets, err := st.WantedSecrets(c.ctx())
	if err != nil {
		return err
	}
	stats.Runs = &wire.StatRuns{
		Scheduled: states[jobs.Scheduled], Queued: states[jobs.Queued], Running: states[jobs.Running],
		Waiting: states[jobs.Waiting], Retrying: states[jobs.Retrying],
	}
	stats.MissingSecrets = orEmpty(secrets)
	stats.Failures = &wire.StatFailures{Open: min(open, jobs.FailuresMany), More: open > jobs.FailuresMany}
	return nil
}

// statsOf sums counts by steps.
func statsOf(q *statsAsked, counts []store.Ended) *wire.Stats {
	n := int(q.until.Sub(q.since) / q.step)
	stats := &wire.Stats{
		Job: orNull(q.job), Since: q.since, Until: q.until, Step: jobs.Duration(q.step), Series: make([]wire.StatStep, n),
		MissingSecrets: []string{},
	}
	var all spread
	each := make([]spread, n)
	for i := range stats.Series {
		stats.Series[i].At = q.since.Add(time.Duration(i) * q.step)
	}
	for _, c := range counts {
		i := int(c.At.Sub(q.since) / q.step)
		addEnded(&stats.Totals, c)
		addEnded(&stats.Series[i].StatTotals, c)
		all.add(c)
		each[i].add(c)
	}
	for i := range each {
		stats.Series[i].P50, stats.Series[i].P95 = each[i].percentile(50), each[i].percentile(95)
	}
	stats.Durations = wire.StatDurations{
		P50: all.percentile(50), P90: all.percentile(90), P95: all.percentile(95), P99: all.percentile(99),
	}
	return stats
}

func addEnded(to *wire.StatTotals, c store.Ended) {
	switch c.As {
	case store.EndedSucceeded:
		to.Succeeded += c.Count
	case store.EndedFailed:
		to.Failed += c.Count
	case store.EndedCancelled:
		to.Cancelled += c.Count
	case store.EndedRetried:
		to.Retried += c.Count
	}
}

// spread counts durations by their buckets.
type spread struct {
	counts [64]int64
	all    int64
}

func (s *spread) add(c store.Ended) {
	if c.Bucket >= 0 && c.Bucket < len(s.counts) && (c.As == store.EndedSucceeded || c.As == store.EndedFailed) {
		s.counts[c.Bucket] += c.Count
		s.all += c.Count
	}
}

// percentile is the bound of the bucket that p % of all are in or below; nil: there are none.
func (s *spread) percentile(p int64) *jobs.Duration {
	if s.all == 0 {
		return nil
	}
	below := int64(0)
	for bucket, n := range s.counts {
		if below += n; below*100 >= s.all*p {
			return new(jobs.Duration(store.EndedUpTo(bucket)))
		}
	}
	return nil
}
