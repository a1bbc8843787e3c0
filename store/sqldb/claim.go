package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// runColumns are read by scanRun, in this order.
	runColumns = `r.seq, r.tail, r.version, r.state, r.due_at, r.priority, r.number, r.charged, r.deaths,
    r.cause, r.created_at, r.run_at, r.attempt_at, r.started_at, r.finished_at, r.cancel_at,
    r.max_attempts, r.timeout, r.queue, r.operation, r.requeued_from, r.requeued_to, r.correlation,
    r.key, r.labels, r.traceparent, r.created_by, r.budgets, r.error_kind, r.error_type, r.error_message,
    r.host, r.ckey, r.rkey, r.schedule, r.scheduled_for, r.bkey, r.slices, r.continues, r.progress,
    r.parent, r.place, r.tells, r.bulk, r.interrupts, r.dealt`
	runColumnCount  = 46
	columnState     = 3
	columnAttemptAt = 12

	selectDue = `
SELECT seq, tail, job, version, due_at, priority, host, ckey, rkey, cause, overlap, batch FROM runs
WHERE state IN (1, 4) AND due_at <= $1
ORDER BY due_at, state, seq LIMIT $2`
	selectNext = `
SELECT due_at FROM runs WHERE state IN (1, 4) ORDER BY due_at, state, seq LIMIT 1`
	updateQueued = `UPDATE runs SET state = 2, lane = $2 WHERE seq = $1`

	selectQueued = `
SELECT ` + runColumns + `, p.body
FROM runs r LEFT JOIN payloads p ON p.run = r.seq
WHERE r.lane = $1 AND r.state = 2 ORDER BY r.rank, r.seq LIMIT $2`
	// What goes on with its next slice is in the attempt it was in.
	runningNow = `
UPDATE runs SET state = 3, number = number + (slices IS NULL),
    attempt_at = CASE WHEN slices IS NULL THEN $1 ELSE attempt_at END, started_at = COALESCE(started_at, $1)`
	updateRunning = runningNow + `
WHERE seq = $2 AND state = 2`
	// Several at once: a claim may take many.
	updateRunningMany = runningNow + `
WHERE seq IN ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AND state = 2`
	startsAtOnce  = 16
	selectRunning = `
SELECT ` + runColumns + `, p.body, r.job,
    (SELECT SUM(LENGTH(data)) FROM logs l WHERE l.run = r.seq), r.lane IS NULL, r.said
FROM runs r LEFT JOIN payloads p ON p.run = r.seq
WHERE r.state IN (3, 5) AND r.state = 3 ORDER BY r.seq`
	selectSpec = `
SELECT j.name, v.spec FROM versions v JOIN jobs j ON j.id = v.job
WHERE v.job = $1 AND v.version = $2`
	selectLogBytes = `SELECT SUM(LENGTH(data)) FROM logs WHERE run = $1`

	updateWakesShifted  = `UPDATE gates SET wake_at = wake_at + $1 WHERE wake_at IS NOT NULL`
	updateStartsShifted = `UPDATE rates SET first_at = first_at + $1, last_at = last_at + $1`
	updateStartsAhead   = `
UPDATE rates SET first_at = CASE WHEN first_at > $1 THEN $1 ELSE first_at END, last_at = $1
WHERE last_at > $1`
	selectStatefulGates = `SELECT id FROM gates WHERE state IS NOT NULL ORDER BY id`

	maxDuePerClaim = 1000
)

type specKey struct {
	job     int64
	version int
}

// pinned is what a version of a job says; it never changes.
type pinned struct {
	job  string
	spec *jobs.Spec
	pool store.Pool
	host string // that the URL names where it is written out
}

// hostOf is the host that a run calls.
func (p *pinned) hostOf(named string) string {
	if named != "" {
		return named
	}
	return p.host
}

// maxRounds is how often one claim looks again, as gates turn out to have room for others.
const maxRounds = 8

// Claim implements store.Queue.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	var out store.Claimed
	err := s.write(ctx, func(tx Tx) (err error) {
		out, err = s.claim(tx, &c)
		if err != nil {
			s.forget() // it may have taken what it has not written yet
		}
		return err
	})
	return out, err
}

func (s *Store) claim(tx Tx, c *store.Claim) (out store.Claimed, err error) {
	told := s.told
	// The claim before has been committed, or undone, which forget has seen to.
	clear(s.seen)
	s.seenAll = false
	s.setWorkers(c)
	if err := s.setClock(tx, c); err != nil {
		return out, fmt.Errorf("move along with the clock: %w", err)
	}
	out.Results = make([]store.FinishResult, len(c.Finished))
	for i := range c.Finished {
		f := &c.Finished[i]
		if out.Results[i], err = s.finish(tx, f); err != nil {
			return out, fmt.Errorf("finish run %s: %w", f.Run, err)
		}
	}
	if err := s.dropSlots(tx); err != nil {
		return out, fmt.Errorf("give slots back: %w", err)
	}
	moved, err := s.moveDue(tx, c.Now)
	if err != nil {
		return out, fmt.Errorf("queue what fell due: %w", err)
	}
	more := false
	if !c.Restored {
		if out.Stop, more, err = s.giveUp(tx, c.Now); err != nil {
			return out, fmt.Errorf("give up members of groups: %w", err)
		}
	}
	out.More = more
	if !c.Hold {
		if out.Leases, out.LongAt, more, err = s.takeAll(tx, c); err != nil {
			return out, fmt.Errorf("claim: %w", err)
		}
	}
	out.More = out.More || more || moved == maxDuePerClaim
	if more = false; !c.Restored {
		if out.Groups, more, err = s.give(tx); err != nil {
			return out, err
		}
	}
	out.More = out.More || more
	out.Events = s.told > told
	out.NextDue, err = s.nextDue(tx)
	return out, err
}

// nextDue is when the next run falls due, a gate may open or the deadline of a group comes.
func (s *Store) nextDue(tx Tx) (due jobs.Time, err error) {
	sight, err := s.sight(tx)
	if err != nil {
		return 0, err
	}
	due = sight.deadline
	for _, q := range []string{selectNext, selectNextWake} {
		_, err := one(tx, q, func(r Row) {
			if at := r.Time(0); due == 0 || at < due {
				due = at
			}
		})
		if err != nil {
			return 0, err
		}
	}
	return due, nil
}

// setClock takes in what the wall clock has done since the claim before.
func (s *Store) setClock(tx Tx, c *store.Claim) error {
	if err := s.shift(tx, c.Shift, c.Now); err != nil {
		return err
	}
	if c.First {
		s.forgetGates()
		s.lookAgain()
		s.groups.known = false
		if _, err := tx.Exec(updateStartsAhead, int64(c.Now)); err != nil {
			return err
		}
		if _, err := tx.Exec(updateGroupsAgain); err != nil {
			return err
		}
	}
	if c.Clock == "" {
		return nil
	}
	return must(tx.Exec(upsertMeta, metaClock, c.Clock))
}

// shift moves what stands for a wait after the wall clock was set.
func (s *Store) shift(tx Tx, step time.Duration, now jobs.Time) error {
	if step == 0 {
		return nil
	}
	s.groups.known = false
	for _, q := range []string{
		updateShifted, updateWaitingShifted, updateWakesShifted, updateStartsShifted, updateDeadlinesShifted,
		updateFoldsShifted, updateLongShifted,
	} {
		if _, err := tx.Exec(q, step.Milliseconds()); err != nil {
			return err
		}
	}
	s.forgetGates()
	var ids []int64
	err := tx.Query(selectStatefulGates, func(r Row) error {
		ids = append(ids, r.Int(0))
		return nil
	})
	for i := 0; err == nil && i < len(ids); i++ {
		var g *gateRow
		if g, err = s.gates.gateByID(tx, ids[i]); err == nil {
			g.State = g.State.Moved(step)
			err = keepGate(tx, g, now)
		}
	}
	return err
}

// moveDue queues what fell due, so that the index of queued runs holds only due ones.
func (s *Store) moveDue(tx Tx, now jobs.Time) (moved int, err error) {
	type due struct {
		job  int64
		run  *jobs.Run
		line string
	}
	var rows []due
	err = tx.Query(selectDue, func(r Row) error {
		rows = append(rows, due{r.Int(2), &jobs.Run{
			ID: jobs.IDOf(r.Int(0), r.Int(1)), Version: int(r.Int(3)), DueAt: r.Time(4),
			Priority: int(r.Int(5)), Host: r.Text(6),
			Keys: jobs.Keys{Concurrency: keyOf(r.Text(7)), Rate: keyOf(r.Text(8))}, Trigger: jobs.Trigger(r.Text(9)),
		}, lineOf(!r.Null(10), r.Int(11))})
		return nil
	}, int64(now), maxDuePerClaim)
	if err != nil {
		return 0, err
	}
	for _, d := range rows {
		if err := s.queueIn(tx, d.job, d.run, d.line); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// queueUp puts a run that is due into its lane.
func (s *Store) queueUp(tx Tx, jobID int64, run *jobs.Run) error {
	job, err := s.jobByID(tx, jobID)
	if err != nil {
		return err
	}
	l, err := s.lane(tx, job, run)
	if err != nil {
		return err
	}
	if err := must(tx.Exec(updateQueued, run.ID.Seq(), l.id)); err != nil {
		return err
	}
	return s.joinLane(tx, l, run.DueAt, run.Priority)
}

func (s *Store) lease(tx Tx, run *jobs.Run, job int64, started jobs.Time) (store.Lease, error) {
	p, err := s.pinnedSpec(tx, specKey{job, run.Version})
	if err != nil {
		return store.Lease{}, err
	}
	run.Job = p.job
	l := store.Lease{Run: run, Spec: p.spec, Host: p.hostOf(run.Host), Started: started, Merges: merges(run)}
	if p.spec.Group != nil {
		l.Group, err = groupLease(tx, run, p.spec)
	}
	return l, err
}

// merges reports whether the payload of a run is to be composed from the members of its group.
func merges(run *jobs.Run) bool { return run.Place == mergePlace && run.Payload == nil }

func (s *Store) pinnedSpec(tx Tx, key specKey) (*pinned, error) {
	if p := s.specs[key]; p != nil {
		return p, nil
	}
	p, err := readPinned(tx, key)
	if err == nil {
		s.specs[key] = p
	}
	return p, err
}

func readPinned(tx Tx, key specKey) (*pinned, error) {
	p := &pinned{}
	var text []byte
	found, err := one(tx, selectSpec, func(r Row) { p.job, text = r.Text(0), r.Bytes(1) }, key.job,
		key.version)
	if err == nil && !found {
		err = fmt.Errorf("version %d of job %d: %w", key.version, key.job, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if p.spec, err = parseSpec(text); err != nil {
		return nil, fmt.Errorf("read version %d of job %s: %w", key.version, p.job, err)
	}
	p.pool, p.host = store.PoolOf(p.spec.Kind()), p.spec.Host()
	return p, nil
}

// Orphans implements store.Queue. Groups that had been given out and had not started are none: they are put
// back as they were before.
func (s *Store) Orphans(ctx context.Context) ([]store.Lease, error) {
	var leases []store.Lease
	err := s.write(ctx, func(tx Tx) error {
		leases = nil
		if err := s.putBack(tx); err != nil {
			return err
		}
		var owners []int64
		err := tx.Query(selectRunning, func(r Row) error {
			run, err := scanWhole(r)
			owners = append(owners, r.Int(runColumnCount+1))
			said, bad := parseSaid(r.Bytes(runColumnCount + 4))
			leases = append(leases, store.Lease{
				Run: run, Started: run.AttemptAt, LogBytes: r.Int(runColumnCount + 2),
				Deleted: r.Int(runColumnCount+3) == 1, Said: said,
			})
			return errors.Join(err, bad)
		})
		for i := 0; err == nil && i < len(leases); i++ {
			var l store.Lease
			l, err = s.lease(tx, leases[i].Run, owners[i], leases[i].Started)
			leases[i].Spec, leases[i].Host, leases[i].Group, leases[i].Merges = l.Spec, l.Host, l.Group, l.Merges
			if err == nil {
				leases[i].Checkpoint, err = s.checkpoint(tx, ownerOf(owners[i], leases[i].Run))
			}
		}
		return err
	})
	return leases, err
}
