package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	jobColumns = `name, revision, version, doc, paused_at, pause_note, created_at, updated_at, deleted_at, id,
    in_set`

	selectJob = `SELECT ` + jobColumns + ` FROM jobs WHERE name = $1`
	// Newest first, by the id that the name got when it was first used.
	selectJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE id < $1 AND deleted_at IS NULL AND name <> '_group' ORDER BY id DESC LIMIT $2`
	insertJob  = `
INSERT INTO jobs (name, revision, version, doc, queue, in_set, created_at, updated_at)
VALUES ($1, 1, 1, $2, $3, $4, $5, $5) RETURNING id`
	updateJob = `
UPDATE jobs SET revision = revision + 1, version = $2, doc = $3, queue = $4, in_set = $5,
    updated_at = $6
WHERE id = $1`
	updateJobSet = `UPDATE jobs SET in_set = $2 WHERE id = $1`
	// Made again, a job goes on with its versions, history and keys, but not paused.
	updateJobAnew = `
UPDATE jobs SET deleted_at = NULL, created_at = $2, paused_at = NULL, pause_note = NULL
WHERE id = $1`
	updateJobDeleted = `
UPDATE jobs SET revision = revision + 1, deleted_at = $2, updated_at = $2, in_set = NULL
WHERE id = $1`
	updateJobPaused = `UPDATE jobs SET paused_at = $2, pause_note = $3 WHERE id = $1`
	insertVersion   = `
INSERT INTO versions (job, version, spec, created_at) VALUES ($1, $2, $3, $4)`
	// Deleted ones bear no set.
	selectSetJobs = `SELECT name FROM jobs WHERE in_set = $1 ORDER BY id LIMIT 1000000`
	selectVersion = `
SELECT version, spec, created_at FROM versions WHERE job = $1 AND version = $2`
	selectVersions = `
SELECT version, spec, created_at FROM versions WHERE job = $1 AND version < $2
ORDER BY version DESC LIMIT $3`

	// The unfinished runs of a job, each sort through the index that holds no ended ones: + keeps
	// the planner from the index of all of a job's runs, of which there may be millions.
	queuedOf  = ` WHERE state = 2 AND lane IN (SELECT id FROM lanes WHERE job = $1)`
	dueOf     = ` WHERE state IN (1, 4) AND due_at > 0 AND +job = $1`
	waitingOf = ` WHERE state IN (3, 5) AND state = 5 AND +job = $1`
	runningOf = ` WHERE state IN (3, 5) AND state = 3 AND +job = $1`

	slicedOf = queuedOf + ` AND slices IS NOT NULL`

	cancelRuns = `
UPDATE runs SET state = 8, lane = NULL, finished_at = $2, cancel_at = $2, queue = $3, attempt_at = NULL,
    slices = NULL, said = NULL, batch = CASE WHEN bkey IS NULL THEN NULL ELSE 3 END, long_at = NULL`
	updateQueuedCancelled  = cancelRuns + queuedOf
	updateDueCancelled     = cancelRuns + dueOf
	updateWaitingCancelled = cancelRuns + waitingOf + ` AND members IS NULL`
	selectWaitingOf        = `SELECT seq, number FROM runs` + waitingOf + ` AND members IS NULL`
	selectSlicedOf         = `SELECT seq, number FROM runs` + slicedOf
	// An attempt under way ends without another: its run has left the lane.
	updateRunningOrphaned = `UPDATE runs SET lane = NULL` + runningOf

	updateLaneVersion = `
UPDATE runs SET lane = $2, version = $3, host = NULL, members = $4 WHERE lane = $1 AND state = 2 AND version <> $3`
	selectLaneVersion = `
SELECT seq, p.body FROM runs r LEFT JOIN payloads p ON p.run = r.seq
WHERE lane = $1 AND state = 2 AND version <> $2 ORDER BY rank, seq`
	updateRunVersion = `UPDATE runs SET lane = $2, version = $3, host = $4, members = $5 WHERE seq = $1`
	updateDueVersion = `UPDATE runs SET version = $2, host = NULL, members = $3` + dueOf + ` AND version <> $2`
)

// changeEach executes statements with the same arguments and adds up the rows they changed.
func changeEach(tx Tx, queries []string, args ...driver.Value) (changed int, err error) {
	for _, q := range queries {
		n, err := tx.Exec(q, args...)
		if err != nil {
			return 0, err
		}
		changed += int(n)
	}
	return changed, nil
}

// storedJob is a job's row.
type storedJob struct {
	id      int64
	job     *jobs.Job
	doc     []byte
	deleted bool
}

func scanJob(r Row) (*storedJob, error) {
	doc := r.Bytes(3)
	j, err := jobs.ParseDocument(doc)
	if err != nil {
		return nil, fmt.Errorf("read document of job %s: %w", r.Text(0), err)
	}
	j.Name, j.Revision, j.Version = r.Text(0), r.Int(1), int(r.Int(2))
	j.Paused, j.PauseNote = !r.Null(4), r.Text(5)
	j.CreatedAt, j.UpdatedAt, j.Set = r.Time(6), r.Time(7), r.Text(10)
	return &storedJob{id: r.Int(9), job: j, doc: doc, deleted: !r.Null(8)}, nil
}

// storedJobRow gives nil where the name was never used.
func storedJobRow(tx Tx, name string) (row *storedJob, err error) {
	var bad error
	_, err = one(tx, selectJob, func(r Row) { row, bad = scanJob(r) }, name)
	return row, errors.Join(err, bad)
}

func liveJobRow(tx Tx, name string) (*storedJob, error) {
	row, err := storedJobRow(tx, name)
	if err == nil && (row == nil || row.deleted) {
		err = fmt.Errorf("job %q: %w", name, store.ErrNotFound)
	}
	return row, err
}

// documentedJobRow is liveJobRow for what changes a job: jobs.GroupJob is none that anybody made.
func documentedJobRow(tx Tx, name string) (*storedJob, error) {
	if name == jobs.GroupJob {
		return nil, fmt.Errorf("job %q: %w", name, store.ErrNotFound)
	}
	return liveJobRow(tx, name)
}

// Job implements store.Catalog.
func (s *Store) Job(ctx context.Context, name string) (*jobs.Job, error) {
	var row *storedJob
	err := s.db.Read(ctx, func(tx Tx) (err error) {
		row, err = liveJobRow(tx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return row.job, nil
}

// Jobs implements store.Catalog.
func (s *Store) Jobs(ctx context.Context, p store.Page) ([]*jobs.Job, string, error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	var list []*jobs.Job
	next := ""
	err = s.db.Read(ctx, func(tx Tx) error {
		last := int64(0)
		return tx.Query(selectJobs, func(r Row) error {
			if len(list) == sizeOf(p) {
				next = strconv.FormatInt(last, 10)
				return nil
			}
			row, err := scanJob(r)
			if err == nil {
				list, last = append(list, row.job), row.id
			}
			return err
		}, before, sizeOf(p)+1)
	})
	return list, next, err
}

// DeleteJob implements store.Catalog.
func (s *Store) DeleteJob(
	ctx context.Context, name string, ifMatch *int64, by store.By,
) (cancelled int, stop []jobs.ID, err error) {
	err = s.write(ctx, func(tx Tx) error {
		row, err := documentedJobRow(tx, name)
		if err != nil {
			return err
		}
		if ifMatch != nil && *ifMatch != row.job.Revision {
			return fmt.Errorf("job %q: %w", name, store.ErrStale)
		}
		if err := refuseNamed(tx, store.KindJob, name); err != nil {
			return err
		}
		if err := s.refuseInGroups(tx, name); err != nil {
			return err
		}
		gone, err := s.removeJob(tx, row, by)
		cancelled, stop = gone.cancelled, gone.stop
		return err
	})
	return cancelled, stop, err
}

// goneJob is what went with a job that was deleted.
type goneJob struct {
	cancelled int       // runs
	stop      []jobs.ID // runs of others with an attempt under way that is to end
	schedules []string  // that stood by themselves
}

// removeJob deletes a job with its schedules: what waits of it is cancelled, what runs ends without another
// attempt.
func (s *Store) removeJob(tx Tx, row *storedJob, by store.By) (gone goneJob, err error) {
	s.forgetJob(row.job.Name)
	if err := s.dropStreaks(tx, row.id); err != nil {
		return gone, err
	}
	if err := must(tx.Exec(updateJobDeleted, row.id, int64(by.Now))); err != nil {
		return gone, err
	}
	if _, err := tx.Exec(deleteRefs, row.id); err != nil {
		return gone, err
	}
	schedules, err := s.removeSchedules(tx, row.id, by)
	if err != nil {
		return gone, err
	}
	if gone, err = s.cancelAllOf(tx, row, by); err != nil {
		return gone, err
	}
	gone.schedules = schedules
	changes := jobs.Diff(row.doc, []byte("{}"))
	if gone.cancelled > 0 {
		changes = append(changes, changed("runs_cancelled", nil, gone.cancelled))
	}
	return gone, s.audit(tx, by, "delete", store.KindJob, row.job.Name, changes...)
}

// cancelAllOf cancels what waits of a job.
func (s *Store) cancelAllOf(tx Tx, row *storedJob, by store.By) (gone goneJob, err error) {
	lines, err := linesOf(tx, row.id)
	if err != nil {
		return gone, err
	}
	linked, err := s.cancelLinkedOf(tx, row.id, by)
	if err != nil {
		return gone, err
	}
	if err := s.endWaitingOf(tx, row.id, by.Now); err != nil {
		return gone, err
	}
	waiting := []string{updateQueuedCancelled, updateDueCancelled, updateWaitingCancelled}
	gone.cancelled, err = changeEach(tx, waiting, row.id, int64(by.Now), row.job.QueueOf())
	if err != nil {
		return gone, err
	}
	gone.cancelled, gone.stop = gone.cancelled+linked.cancelled, linked.stop
	if _, err := tx.Exec(updateRunningOrphaned, row.id); err != nil {
		return gone, err
	}
	if err := s.emptyLanesOf(tx, row.id); err != nil {
		return gone, err
	}
	s.lookAgain()
	// A schedule that was moved away from it may have runs of another job behind these.
	for _, schedule := range lines {
		if err := s.releaseNext(tx, schedule); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// endWaitingOf ends the attempts of a job's runs that wait for their callback or their next slice.
func (s *Store) endWaitingOf(tx Tx, job int64, now jobs.Time) error {
	var list []idle
	for _, q := range []string{selectWaitingOf, selectSlicedOf} {
		err := tx.Query(q, func(r Row) error {
			list = append(list, idle{r.Int(0), int(r.Int(1))})
			return nil
		}, job)
		if err != nil {
			return err
		}
	}
	for _, a := range list {
		if err := s.endIdle(tx, a, cancelling{now, jobs.ByJobDeleted, "the job was deleted"}); err != nil {
			return err
		}
	}
	return s.dropSlots(tx)
}

// PauseJob implements store.Catalog.
func (s *Store) PauseJob(
	ctx context.Context, name string, paused bool, note string, by store.By,
) (j *jobs.Job, err error) {
	by.Note = note
	err = s.write(ctx, func(tx Tx) error {
		row, err := documentedJobRow(tx, name)
		if err != nil {
			return err
		}
		if j = row.job; j.Paused == paused && (!paused || j.PauseNote == note) {
			return nil
		}
		s.forgetJob(name)
		at, kept, action := any(nil), any(nil), "resume"
		if paused {
			at, kept, action = int64(by.Now), note, "pause"
		}
		if err := must(tx.Exec(updateJobPaused, row.id, at, kept)); err != nil {
			return err
		}
		if _, err := tx.Exec(updateLanesOpen, row.id, !paused); err != nil {
			return err
		}
		s.lookAgain()
		tx.Wake()
		was, said := j.Paused, j.PauseNote
		j.Paused, j.PauseNote = paused, note
		if !paused {
			j.PauseNote = ""
		}
		return s.audit(tx, by, action, "job", name, pausedChange(was, said, paused, j.PauseNote)...)
	})
	return j, err
}
