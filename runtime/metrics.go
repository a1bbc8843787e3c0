package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"nightshift/jobs"
	"nightshift/store"
)

// Metrics are the counters of a server, in the text format of Prometheus, by a registry of their own. Counters begin at
// zero with the process; what stands now is read from the store when it is asked for.
type Metrics struct {
	registry     *prometheus.Registry
	jobs, alerts labels

	processed, failed   *prometheus.CounterVec
	retried             *prometheus.CounterVec
	seconds             *prometheus.HistogramVec
	ticks               *prometheus.CounterVec
	lateness, committed prometheus.Histogram
	messages            *prometheus.CounterVec
	backupsFailed       prometheus.Counter
}

// maxSeries is how many jobs, queues, dependencies and alerts have a series of their own, of each; the others count
// as otherName together, so that their number does not grow with what users name.
const (
	maxSeries = 500
	otherName = "_other"
)

// labels gives the first names it is asked for a series of their own.
type labels struct {
	mu    sync.Mutex
	known map[string]struct{}
}

func (l *labels) of(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[name]; known {
		return name
	}
	if len(l.known) >= maxSeries {
		return otherName
	}
	if l.known == nil {
		l.known = map[string]struct{}{}
	}
	l.known[name] = struct{}{}
	return name
}

// forget drops the names that are gone, so that others get their series, and gives them.
func (l *labels) forget(gone func(string) bool) (dropped []string) {
	l.mu.Lock()
	names := slices.Collect(maps.Keys(l.known))
	l.mu.Unlock()
	for _, name := range names {
		if gone(name) {
			dropped = append(dropped, name)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range dropped {
		delete(l.known, name)
	}
	return dropped
}

// forgetSeries drops the series of jobs and alerts that were deleted.
func (r *Runtime) forgetSeries() {
	m := r.metrics
	for _, job := range m.jobs.forget(func(name string) bool {
		_, err := r.store.Job(r.stopping, name)
		return errors.Is(err, store.ErrNotFound)
	}) {
		of := prometheus.Labels{"job": job}
		m.processed.DeletePartialMatch(of)
		m.failed.DeletePartialMatch(of)
		m.retried.DeletePartialMatch(of)
		m.seconds.DeletePartialMatch(of)
	}
	for _, alert := range m.alerts.forget(func(name string) bool {
		_, err := r.Alert(r.stopping, name)
		return errors.Is(err, store.ErrNotFound)
	}) {
		m.messages.DeleteLabelValues(alert)
	}
}

// Buckets, in seconds: of attempts, which take milliseconds to hours; of ticks and of commits, which should take none.
var (
	attemptBuckets = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}
	lateBuckets    = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	commitBuckets  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

func newMetrics(r *Runtime) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		processed: counter("jobs_processed_total",
			"Runs that have ended, by job and by how: succeeded, failed, cancelled.", "job", "outcome"),
		failed:  counter("jobs_failed_total", "Runs that have failed for good, by job and kind of error.", "job", "kind"),
		retried: counter("jobs_retry_total", "Attempts after which another one follows.", "job"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "job_duration_seconds", Help: "How long attempts took that have ended.", Buckets: attemptBuckets,
		}, []string{"job"}),
		ticks: counter("nightshift_schedule_ticks_total",
			"Ticks of schedules, by what became of them and, of skipped ones, why.", "outcome", "reason"),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nightshift_schedule_lateness_seconds",
			Help: "How long after their time ticks made their runs, those that were caught up left out.", Buckets: lateBuckets,
		}),
		committed: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nightshift_commit_seconds", Help: "How long commits to the database took, to disk.", Buckets: commitBuckets,
		}),
		backupsFailed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nightshift_backup_failures_total", Help: "Backups that could not be made.",
		}),
		messages: counter("nightshift_alert_messages_total", "Runs made to tell somebody, by alert.", "alert"),
	}
	m.registry.MustRegister(
		m.processed, m.failed, m.retried, m.seconds, m.ticks, m.lateness, m.committed, m.messages, m.backupsFailed,
		&standing{r: r},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, outcome := range []string{jobs.TickRan, jobs.TickCaughtUp} {
		m.ticks.WithLabelValues(outcome, "")
	}
	for _, reason := range []string{jobs.SkipMissed, jobs.SkipOverlap, jobs.SkipPaused, jobs.SkipLimit, jobs.SkipUnique} {
		m.ticks.WithLabelValues(jobs.TickSkipped, reason) // so that the first one is an increase
	}
	r.store.OnEnded(m.ended)
	r.store.OnCommit(func() func() {
		began := time.Now()
		return func() { m.committed.Observe(time.Since(began).Seconds()) }
	})
	return m
}

// Registry is where metrics are gathered from, and where others register theirs.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Metrics are those of the server.
func (r *Runtime) Metrics() *Metrics { return r.metrics }

// ended counts what has ended in a commit.
func (m *Metrics) ended(list []store.EndedNow) {
	for i := range list {
		e := &list[i]
		job := m.jobs.of(e.Job)
		if !e.Never {
			m.seconds.WithLabelValues(job).Observe(e.Took.Seconds())
		}
		switch e.As {
		case store.EndedRetried:
			m.retried.WithLabelValues(job).Inc()
		case store.EndedSucceeded:
			m.processed.WithLabelValues(job, jobs.Succeeded.String()).Inc()
		case store.EndedCancelled:
			m.processed.WithLabelValues(job, jobs.Cancelled.String()).Inc()
		case store.EndedFailed:
			m.processed.WithLabelValues(job, jobs.Failed.String()).Inc()
			m.failed.WithLabelValues(job, string(e.Kind)).Inc()
		}
	}
}

// decided counts the ticks of a decision that was carried out.
func (m *Metrics) decided(d *store.Decision, got *store.Decided, now jobs.Time) {
	for _, skipped := range d.Skipped {
		m.ticks.WithLabelValues(jobs.TickSkipped, skipped.Reason).Add(float64(skipped.Count))
	}
	for i := range got.Ran {
		made := &got.Ran[i]
		if made.Outcome == "" { // it had been decided before
			continue
		}
		m.ticks.WithLabelValues(made.Outcome, made.Reason).Inc()
		if made.Outcome == jobs.TickRan {
			m.lateness.Observe(max(0, now.Sub(tickOf(d, i).At).Seconds()))
		}
	}
}

// standing reads what stands now.
type standing struct {
	r *Runtime

	mu   sync.Mutex
	at   time.Time // when it was read
	last []prometheus.Metric
}

// Bounds of reading it: how long it may take, and for how long it is good.
const (
	standingWithin = 5 * time.Second
	standingFor    = time.Second
)

// Describe describes nothing: what there is is found out when it is collected.
func (s *standing) Describe(chan<- *prometheus.Desc) {}

// Collect reads it, or gives what was read a moment ago. A part that cannot be read is left out, and counted.
func (s *standing) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.last == nil || now.Sub(s.at) >= standingFor {
		ctx, cancel := context.WithTimeout(s.r.base, standingWithin)
		defer cancel()
		g := &gathering{ctx: ctx, r: s.r, now: s.r.Now()}
		g.all()
		s.last, s.at = g.list, now
	}
	for _, m := range s.last {
		out <- m
	}
}
