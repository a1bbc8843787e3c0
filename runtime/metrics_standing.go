package runtime

import (
	"context"
	goruntime "runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"nightshift/jobs"
	"nightshift/store"
)

// gauge is something that stands now.
func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nightshift_"+name, help, labels, nil)
}

// What stands now.
var (
	metricBuild = gauge("build_info", "1, with the version of the program.", "version", "goversion")
	metricRuns  = gauge("runs", "Runs that have not ended, by state.", "state")
	metricOpen  = gauge("unfinished_runs", "Runs that have not ended.")
	metricMost  = gauge("unfinished_runs_limit", "How many there may be before new ones are refused with 429; no series where there is no bound.")
	metricHeld  = gauge("held_runs",
		"Queued runs by what they wait for, as when they were last looked at; workers: nothing but a worker.", "kind")
	metricWorkers    = gauge("workers", "Workers that there are, by kind.", "kind")
	metricBusy       = gauge("workers_busy", "Attempts under way, of all kinds.")
	metricDepth      = gauge("queue_depth", "Runs of a queue that are due and have not started, counted up to 10,000.", "queue")
	metricOldest     = gauge("queue_oldest_seconds", "For how long the first of these is due; 0: there are none.", "queue")
	metricQueueRuns  = gauge("queue_running", "Attempts of a queue under way, and runs that wait for their callback.", "queue")
	metricQueuePause = gauge("queue_paused", "1 while it is paused.", "queue")
	metricState      = gauge("dependency_state",
		"1 for the state a dependency is in: closed, open, probing, held (by a Retry-After) or paused.", "dependency", "state")
	metricInUse        = gauge("dependency_in_use", "Attempts under way that use it.", "dependency")
	metricWaiting      = gauge("dependency_waiting", "Queued runs that it holds, counted up to 10,000.", "dependency")
	metricFailures     = gauge("failures_open", "Failures that nobody has dealt with.")
	metricUndelivered  = gauge("alerts_undelivered", "Messages that failed for good and that nobody has dealt with.")
	metricTold         = gauge("failures_told", "1 where an alert tells of failed runs; 0: failures are silent.")
	metricDraining     = gauge("draining", "1 while the server starts nothing.")
	metricRestored     = gauge("restored", "1 while the database is held: it was restored, or this path did not serve it last.")
	metricBackupAge    = gauge("backup_age_seconds", "How old latest.db is; no series where there is none.")
	metricBackupSize   = gauge("backup_bytes", "Size of latest.db.")
	metricBackupTook   = gauge("backup_seconds", "How long the newest backup took.")
	metricBackupWell   = gauge("backup_ok", "1 where the newest backup could be made, 0 while it cannot.")
	metricBackups      = gauge("backups_dated", "Dated backups that are kept.")
	metricDiskFree     = gauge("disk_free_bytes", "Free on the disk of the database.")
	metricDiskTotal    = gauge("disk_total_bytes", "Size of the disk of the database.")
	metricFile         = gauge("database_bytes", "Size of the database file.")
	metricFileFree     = gauge("database_free_bytes", "Of it, pages that will be used again.")
	metricKept         = gauge("kept_bytes", "What is kept of logs, ended runs and events, in bytes.", "kind")
	metricKeptMost     = gauge("kept_bytes_limit", "How much of it is kept at most; kinds without a bound are left out.", "kind")
	metricLog          = gauge("wal_bytes", "Size of the write-ahead log beside the database.")
	metricScheduleLate = gauge("schedule_loop_late_seconds", "By how much the loop that looks at schedules is late.")
	metricErrors       = gauge("metrics_unread", "Parts of these metrics that could not be read just now.")
)

// gathering collects what stands now.
type gathering struct {
	ctx  context.Context
	r    *Runtime
	now  jobs.Time
	list []prometheus.Metric
}

func (g *gathering) add(d *prometheus.Desc, value float64, labels ...string) {
	g.list = append(g.list, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func (g *gathering) all() {
	g.add(metricBuild, 1, g.r.cfg.Version, goruntime.Version())
	g.add(metricDraining, flag(g.r.Draining()))
	g.add(metricRestored, flag(g.r.Restored() != nil))
	g.backups()
	g.add(metricBusy, float64(g.r.Running()))
	g.add(metricScheduleLate, g.r.lateTicks().Seconds())
	for pool, n := range g.r.cfg.Workers {
		g.add(metricWorkers, float64(n), store.Pool(pool).String())
	}
	unread := 0
	for _, part := range []func() error{g.runs, g.unfinished, g.held, g.queues, g.dependencies, g.failures, g.alerts, g.file, g.disk} {
		before := len(g.list)
		if err := part(); err != nil {
			g.list, unread = g.list[:before], unread+1
			g.r.log.Warn("metrics cannot be read whole", "error", err)
		}
	}
	g.add(metricErrors, float64(unread))
}

func (g *gathering) runs() error {
	counts, err := g.r.store.Stats(g.ctx)
	for s := jobs.Scheduled; !s.Terminal(); s++ {
		g.add(metricRuns, float64(counts[s]), s.String())
	}
	return err
}

// heldKinds are those of runs in the store. What holds all of them, such as a drain, has a metric of its own.
var heldKinds = []string{
	jobs.HeldDependency, jobs.HeldConcurrency, jobs.HeldRate, jobs.HeldQueue, jobs.HeldPaused, jobs.HeldWorkers, jobs.HeldOverlap,
	jobs.HeldSecret, jobs.HeldCheckpoint,
}

func (g *gathering) unfinished() error {
	n, err := g.r.store.Unfinished(g.ctx)
	if err == nil {
		g.add(metricOpen, float64(n))
	}
	if most := g.r.cfg.MaxUnfinished; most > 0 {
		g.add(metricMost, float64(most))
	}
	return err
}

func (g *gathering) held() error {
	counts, err := g.r.store.HeldRuns(g.ctx)
	for _, kind := range heldKinds {
		g.add(metricHeld, float64(counts[kind]), kind)
	}
	return err
}

// gates reads the gates of a kind, the first maxSeries by name.
func (g *gathering) gates(kind jobs.GateKind) ([]*store.GateInfo, error) {
	var all []*store.GateInfo
	err := store.Each(func(p store.Page) ([]*store.GateInfo, string, error) {
		list, next, err := g.r.store.Gates(g.ctx, kind, g.now, p)
		if len(all)+len(list) > 2*maxSeries {
			next = ""
		}
		return list, next, err
	}, func(i *store.GateInfo) { all = append(all, i) })
	// Oldest first, so that a new one takes no series from another.
	slices.Reverse(all)
	return all[:min(len(all), maxSeries)], err
}

func (g *gathering) queues() error {
	list, err := g.gates(jobs.GateQueue)
	for _, q := range list {
		oldest := 0.0
		if q.OldestAt != 0 {
			oldest = max(0, g.now.Sub(q.OldestAt).Seconds())
		}
		g.add(metricDepth, float64(q.Waiting), q.Name)
		g.add(metricOldest, oldest, q.Name)
		g.add(metricQueueRuns, float64(q.Running), q.Name)
		g.add(metricQueuePause, flag(q.PausedAt != 0), q.Name)
	}
	return err
}

func (g *gathering) dependencies() error {
	list, err := g.gates(jobs.GateDependency)
	for _, d := range list {
		state := stateOf(d, g.now)
		for _, name := range []string{"closed", "open", "probing", "held", "paused"} {
			g.add(metricState, flag(name == state), d.Name, name)
		}
		g.add(metricInUse, float64(d.Running), d.Name)
		g.add(metricWaiting, float64(d.Waiting), d.Name)
	}
	return err
}

// stateOf is the state of a dependency in a word: what keeps runs from it most.
func stateOf(d *store.GateInfo, now jobs.Time) string {
	switch {
	case d.PausedAt != 0:
		return "paused"
	case d.Breaker != nil && d.Phase() != jobs.BreakerClosed:
		return d.Phase().String()
	case d.State.HeldUntil > now:
		return "held"
	}
	return jobs.BreakerClosed.String()
}

func (g *gathering) failures() error {
	n, err := g.r.store.OpenFailures(g.ctx, maxOpen)
	g.add(metricFailures, float64(n))
	return err
}

// maxOpen is up to which open failures are counted.
const maxOpen = 10_000_000

func (g *gathering) alerts() error {
	told, err := g.r.FailuresTold(g.ctx)
	if err != nil {
		return err
	}
	g.add(metricTold, flag(told))
	n, _, err := g.r.store.Undelivered(g.ctx)
	g.add(metricUndelivered, float64(n))
	return err
}

func (g *gathering) backups() {
	if g.r.cfg.Backups.Dir == "" {
		return
	}
	s := g.r.Backups()
	if s.AsOf != 0 {
		g.add(metricBackupAge, g.now.Sub(s.AsOf).Seconds())
		g.add(metricBackupSize, float64(s.Size))
	}
	if s.Took > 0 {
		g.add(metricBackupTook, s.Took.Seconds())
	}
	g.add(metricBackupWell, flag(s.Failed == ""))
	g.add(metricBackups, float64(s.Dated))
}

func (g *gathering) file() error {
	size, err := g.r.store.Size(g.ctx)
	g.add(metricFile, float64(size.Size))
	g.add(metricFileFree, float64(size.Free))
	g.add(metricLog, float64(size.Log))
	if err != nil {
		return err
	}
	kept, err := g.r.store.Kept(g.ctx)
	for _, kind := range store.KeptKinds {
		g.add(metricKept, float64(kept[kind]), kind.String())
		if most, bounded := g.r.cfg.Keep[kind]; bounded {
			g.add(metricKeptMost, float64(most), kind.String())
		}
	}
	return err
}

func (g *gathering) disk() error {
	if g.r.cfg.Disk == nil {
		return nil
	}
	disk, err := g.r.cfg.Disk()
	g.add(metricDiskFree, float64(disk.Free))
	g.add(metricDiskTotal, float64(disk.Total))
	return err
}
