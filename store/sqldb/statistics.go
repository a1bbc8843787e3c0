package sqldb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectEndedCounts = `
SELECT at, outcome, le, n, ms FROM stats WHERE job = $1 AND at >= $2 AND at < $3 ORDER BY at, outcome, le LIMIT 1000000`
	selectEndedJob = `SELECT job FROM stats WHERE job > $1 ORDER BY job LIMIT 1`
	upsertEnded    = `
INSERT INTO stats (job, at, outcome, le, n, ms) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (job, at, outcome, le) DO UPDATE SET n = stats.n + excluded.n, ms = stats.ms + excluded.ms`
	deleteEndedCounts = `DELETE FROM stats WHERE job = $1 AND at >= $2 AND at < $3`

	metaFolded = "stats-folded" // counts up to then are of hours
)

// ofAll is the name under which what all jobs did is counted: that of no job.
const ofAll = ""

// tallied is the row of a count.
type tallied struct {
	job    string
	at     jobs.Time
	as     store.EndedAs
	bucket int
}

type count struct{ n, ms int64 }

// tally counts something that has ended in this transaction; its rows are written once, at its end.
func (s *Store) tally(job string, as store.EndedAs, kind jobs.FailureKind, started, now jobs.Time) {
	if as != store.EndedRetried {
		s.unfinished.call--
	}
	bucket, ms, took := store.EndedNever, int64(0), time.Duration(0)
	if started != 0 {
		took = max(0, now.Sub(started))
		bucket, ms = store.EndedBucket(took), took.Milliseconds()
	}
	if s.onEnded != nil {
		s.endedNow = append(s.endedNow, store.EndedNow{Job: job, As: as, Kind: kind, Took: took, Never: started == 0})
	}
	for _, of := range [...]string{ofAll, job} {
		row := tallied{of, floorTo(now, store.EndedStep), as, bucket}
		t := s.tallies[row]
		s.tallies[row] = count{t.n + 1, t.ms + ms}
	}
}

// tallyMany counts runs that ended at once, with no attempt of them under way.
func (s *Store) tallyMany(job string, as store.EndedAs, n int, now jobs.Time) {
	for range n {
		s.tally(job, as, "", 0, now)
	}
}

func floorTo(t jobs.Time, step time.Duration) jobs.Time {
	return t - t%jobs.Time(step.Milliseconds())
}

// keepTallies writes what was counted in this transaction, in the order of the rows: they lie side by side.
func (s *Store) keepTallies(tx Tx) error {
	if len(s.tallies) == 0 {
		return nil
	}
	rows := slices.SortedFunc(maps.Keys(s.tallies), func(a, b tallied) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.at, b.at), cmp.Compare(a.as, b.as), cmp.Compare(a.bucket, b.bucket))
	})
	for _, row := range rows {
		t := s.tallies[row]
		_, err := tx.Exec(upsertEnded, row.job, int64(row.at), int(row.as), row.bucket, t.n, t.ms)
		if err != nil {
			return fmt.Errorf("count what has ended: %w", err)
		}
	}
	return nil
}

// tallyEnd counts the end of a run.
func (s *Store) tallyEnd(e *ended) {
	as := store.EndedSucceeded
	switch e.state {
	case jobs.Failed:
		as = store.EndedFailed
	case jobs.Cancelled:
		as = store.EndedCancelled
	}
	kind := jobs.FailureKind("")
	if e.state == jobs.Failed {
		kind = kindOf(e.failure)
	}
	s.tally(e.job, as, kind, e.started, e.now)
}

// OnEnded implements store.Statistics.
func (s *Store) OnEnded(fn func([]store.EndedNow)) { s.onEnded = fn }

// OnCommit implements store.Statistics.
func (s *Store) OnCommit(fn func() (done func())) { s.onCommit = fn }

// selectHeldRuns counts what each lane holds; of a lane nothing is shut, its runs wait for workers. One whose runs
// wait for a secret or in a line has no head.
const selectHeldRuns = `
SELECT CASE WHEN l.held <> '' THEN l.held WHEN j.paused_at IS NOT NULL THEN ':paused' ELSE '' END, COALESCE(g.kind, 0),
    g.paused_at IS NOT NULL, (SELECT COUNT(*) FROM runs r WHERE r.lane = l.id AND r.state = 2)
FROM lanes l JOIN jobs j ON j.id = l.job LEFT JOIN gates g ON g.id = l.gate
WHERE l.head IS NOT NULL OR l.held > ''`

// HeldRuns implements store.Statistics.
func (s *Store) HeldRuns(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	err := s.db.Read(ctx, func(tx Tx) error {
		clear(counts)
		return tx.Query(selectHeldRuns, func(r Row) error {
			counts[heldKind(r.Text(0), jobs.GateKind(r.Int(1)), r.Int(2) == 1)] += int(r.Int(3))
			return nil
		})
	})
	delete(counts, "")
	return counts, err
}

const selectWantedSecrets = `
SELECT DISTINCT l.held FROM lanes l
WHERE l.held > '' AND EXISTS (SELECT 1 FROM runs r WHERE r.lane = l.id AND r.state = 2) ORDER BY l.held LIMIT 1000`

// WantedSecrets implements store.Statistics.
func (s *Store) WantedSecrets(ctx context.Context) (names []string, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		names = nil
		return tx.Query(selectWantedSecrets, func(r Row) error {
			if name := r.Text(0); !isLine(name) {
				names = append(names, name)
			}
			return nil
		})
	})
	return names, err
}

// heldKind is what the runs of a lane wait for.
func heldKind(held string, gate jobs.GateKind, paused bool) string {
	switch held {
	case heldOverlap:
		return jobs.HeldOverlap
	case heldBatch:
		return jobs.HeldCheckpoint
	case ":paused":
		return jobs.HeldPaused
	case "":
	default:
		return jobs.HeldSecret
	}
	switch {
	case paused:
		return jobs.HeldPaused
	case gate == jobs.GateQueue:
		return jobs.HeldQueue
	case gate == jobs.GateConcurrency:
		return jobs.HeldConcurrency
	case gate == jobs.GateRate:
		return jobs.HeldRate
	case gate == jobs.GateDependency:
		return jobs.HeldDependency
	}
	return jobs.HeldWorkers
}

// Ended implements store.Statistics.
func (s *Store) Ended(ctx context.Context, f store.EndedFilter) (list []store.Ended, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		list = nil
		if f.Allowed == nil || f.Job != "" {
			if f.Allowed != nil && !allowed(f.Allowed, f.Job) {
				return nil
			}
			list, err = endedCounts(tx, f.Job, f.Since, f.Until)
			return err
		}
		sums := map[tallied]count{}
		err := eachEndedJob(tx, func(job string) error {
			if !allowed(f.Allowed, job) {
				return nil
			}
			counts, err := endedCounts(tx, job, f.Since, f.Until)
			addUp(sums, ofAll, counts, func(at jobs.Time) jobs.Time { return at })
			return err
		})
		list = endedOf(sums)
		return err
	})
	return list, err
}

// eachEndedJob gives the jobs that anything was counted of, by one seek each.
func eachEndedJob(tx Tx, each func(job string) error) error {
	for job := ofAll; ; {
		found, err := one(tx, selectEndedJob, func(r Row) { job = r.Text(0) }, job)
		if err == nil && found {
			err = each(job)
		}
		if err != nil || !found {
			return err
		}
	}
}

func endedCounts(tx Tx, job string, since, until jobs.Time) (list []store.Ended, err error) {
	err = tx.Query(selectEndedCounts, func(r Row) error {
		list = append(list, store.Ended{
			At: r.Time(0), As: store.EndedAs(r.Int(1)), Bucket: int(r.Int(2)), Count: r.Int(3),
			Took: time.Duration(r.Int(4)) * time.Millisecond,
		})
		return nil
	}, job, int64(since), int64(until))
	return list, err
}

// addUp adds counts to sums, each at the instant that at gives its own.
func addUp(sums map[tallied]count, job string, counts []store.Ended, at func(jobs.Time) jobs.Time) {
	for _, c := range counts {
		row := tallied{job, at(c.At), c.As, c.Bucket}
		t := sums[row]
		sums[row] = count{t.n + c.Count, t.ms + c.Took.Milliseconds()}
	}
}

func endedOf(sums map[tallied]count) []store.Ended {
	list := make([]store.Ended, 0, len(sums))
	for row, t := range sums {
		list = append(list, store.Ended{
			At: row.at, As: row.as, Bucket: row.bucket, Count: t.n, Took: time.Duration(t.ms) * time.Millisecond,
		})
	}
	slices.SortFunc(list, func(a, b store.Ended) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.As, b.As), cmp.Compare(a.Bucket, b.Bucket))
	})
	return list
}

// FoldEnded implements store.Statistics.
func (s *Store) FoldEnded(ctx context.Context, now jobs.Time) (done bool, err error) {
	until := floorTo(now.Add(-store.EndedFine), store.EndedCoarse)
	err = s.write(ctx, func(tx Tx) error {
		done = true
		folded, err := foldedUntil(tx)
		if err != nil || folded >= until {
			return err
		}
		job := ofAll // the first row of all jobs has no name either: it is folded with the first step
		if s.folding != nil {
			found, err := one(tx, selectEndedJob, func(r Row) { job = r.Text(0) }, *s.folding)
			if err != nil {
				return err
			}
			if !found {
				s.folding = nil
				_, err := tx.Exec(upsertMeta, metaFolded, strconv.FormatInt(int64(until), 10))
				return err
			}
		}
		done = false
		if err := s.foldCounts(tx, job, folded, until); err != nil {
			return fmt.Errorf("fold what was counted of job %q: %w", job, err)
		}
		if _, err := tx.Exec(deleteEndedCounts, job, 0, int64(now.Add(-store.EndedKept))); err != nil {
			return err
		}
		s.folding = &job
		return nil
	})
	return done, err
}

// foldCounts joins the counts of a job from since up to until into hours. Doing it again changes nothing.
func (s *Store) foldCounts(tx Tx, job string, since, until jobs.Time) error {
	counts, err := endedCounts(tx, job, since, until)
	if err != nil || len(counts) == 0 {
		return err
	}
	sums := map[tallied]count{}
	addUp(sums, job, counts, func(at jobs.Time) jobs.Time { return floorTo(at, store.EndedCoarse) })
	if len(sums) == len(counts) && !slices.ContainsFunc(counts, func(c store.Ended) bool {
		return c.At != floorTo(c.At, store.EndedCoarse)
	}) {
		return nil
	}
	if _, err := tx.Exec(deleteEndedCounts, job, int64(since), int64(until)); err != nil {
		return err
	}
	for row, t := range sums {
		if _, err := tx.Exec(upsertEnded, job, int64(row.at), int(row.as), row.bucket, t.n, t.ms); err != nil {
			return err
		}
	}
	return nil
}

// foldedUntil is up to when counts are of hours; zero: none are.
func foldedUntil(tx Tx) (until jobs.Time, err error) {
	var bad error
	_, err = one(tx, selectMeta, func(r Row) {
		var ms int64
		ms, bad = strconv.ParseInt(r.Text(0), 10, 64)
		until = jobs.Time(ms)
	}, metaFolded)
	return until, cmp.Or(err, bad)
}
