package sqldb

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	jobColumns = `name, revision, version, doc, paused_at, pause_note, created_at, updated_at, deleted_at, id`

	selectJob = `SELECT ` + jobColumns + ` FROM jobs WHERE name = $1`
	// Newest first, by the id that the name got when it was first used.
	selectJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE id < $1 AND deleted_at IS NULL ORDER BY id DESC LIMIT $2`
	insertJob  = `
INSERT INTO jobs (name, revision, version, doc, queue, created_at, updated_at)
VALUES ($1, 1, 1, $2, $3, $4, $4) RETURNING id`
	updateJob = `
UPDATE jobs SET revision = revision + 1, version = $2, doc = $3, queue = $4, updated_at = $5
WHERE id = $1`
	// Made again, a job goes on with its versions, history and keys, but not paused.
	updateJobAnew = `
UPDATE jobs SET deleted_at = NULL, created_at = $2, paused_at = NULL, pause_note = NULL
WHERE id = $1`
	updateJobDeleted = `
UPDATE jobs SET revision = revision + 1, deleted_at = $2, updated_at = $2 WHERE id = $1`
	updateJobPaused = `UPDATE jobs SET paused_at = $2, pause_note = $3 WHERE id = $1`
	insertVersion   = `
INSERT INTO versions (job, version, spec, created_at) VALUES ($1, $2, $3, $4)`
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

	cancelRuns = `
UPDATE runs SET state = 8, lane = NULL, finished_at = $2, cancel_at = $2, queue = $3`
	updateQueuedCancelled  = cancelRuns + queuedOf
	updateDueCancelled     = cancelRuns + dueOf
	updateWaitingCancelled = cancelRuns + waitingOf
	// An attempt under way ends without another: its run has left the lane.
	updateRunningOrphaned = `UPDATE runs SET lane = NULL` + runningOf

	moveRuns            = `UPDATE runs SET version = $2, lane = $3`
	updateQueuedVersion = moveRuns + queuedOf + ` AND version <> $2`
	updateDueVersion    = moveRuns + dueOf + ` AND version <> $2`
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
	j.CreatedAt, j.UpdatedAt = r.Time(6), r.Time(7)
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

// PutJobs implements store.Catalog.
func (s *Store) PutJobs(
	ctx context.Context, puts []store.PutJob, by store.By,
) ([]store.Saved, error) {
	if saved, same, err := s.unchanged(ctx, puts); err != nil || same {
		return saved, err
	}
	var out []store.Saved
	err := s.db.Write(ctx, func(tx Tx) error {
		out = make([]store.Saved, len(puts))
		var faults []error
		for i := range puts {
			var err error
			if out[i], err = s.putJob(tx, &puts[i], by); err != nil {
				if !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrExists) {
					return fmt.Errorf("put job %s: %w", puts[i].Job.Name, err)
				}
				faults = append(faults, &store.EntryError{Index: i, Err: err})
			}
		}
		return errors.Join(faults...)
	})
	return out, err
}

// unchanged answers puts of documents that stand already without a write.
func (s *Store) unchanged(
	ctx context.Context, puts []store.PutJob,
) (saved []store.Saved, same bool, err error) {
	same = true
	err = s.db.Read(ctx, func(tx Tx) error {
		for i := range puts {
			row, err := storedJobRow(tx, puts[i].Job.Name)
			if err != nil {
				return err
			}
			if row == nil || row.deleted || puts[i].Create || puts[i].IfMatch != nil ||
				!bytes.Equal(row.doc, puts[i].Job.Document()) {
				same = false
				return nil
			}
			saved = append(saved, store.Saved{Job: row.job})
		}
		return nil
	})
	return saved, same, err
}

func (s *Store) putJob(tx Tx, p *store.PutJob, by store.By) (store.Saved, error) {
	row, err := storedJobRow(tx, p.Job.Name)
	if err != nil {
		return store.Saved{}, err
	}
	standing := row != nil && !row.deleted
	switch {
	case p.Create && standing:
		return store.Saved{}, fmt.Errorf("job %q: %w", p.Job.Name, store.ErrExists)
	case p.IfMatch != nil && (!standing || row.job.Revision != *p.IfMatch):
		return store.Saved{}, fmt.Errorf("job %q: %w", p.Job.Name, store.ErrStale)
	}
	doc := p.Job.Document()
	if standing && bytes.Equal(row.doc, doc) {
		return store.Saved{Job: row.job}, nil
	}
	delete(s.jobRows, p.Job.Name)
	if row == nil {
		return s.makeJob(tx, p.Job, doc, by)
	}
	return s.changeJob(tx, row, p.Job, doc, by)
}

func (s *Store) makeJob(tx Tx, j *jobs.Job, doc []byte, by store.By) (store.Saved, error) {
	var id int64
	_, err := one(tx, insertJob, func(r Row) { id = r.Int(0) }, j.Name, string(doc), j.QueueOf(),
		int64(by.Now))
	if err != nil {
		return store.Saved{}, err
	}
	if err := saveVersion(tx, id, 1, j, by.Now); err != nil {
		return store.Saved{}, err
	}
	return s.saved(tx, j.Name, true, by, doc)
}

func (s *Store) changeJob(
	tx Tx, row *storedJob, j *jobs.Job, doc []byte, by store.By,
) (store.Saved, error) {
	version := row.job.Version
	if !jobs.SameSpec(row.job.Spec(), j.Spec()) {
		version++
		if err := saveVersion(tx, row.id, version, j, by.Now); err != nil {
			return store.Saved{}, err
		}
	}
	err := must(tx.Exec(updateJob, row.id, version, string(doc), j.QueueOf(), int64(by.Now)))
	if err == nil && row.deleted {
		if err = must(tx.Exec(updateJobAnew, row.id, int64(by.Now))); err == nil {
			_, err = tx.Exec(updateLanesOpen, row.id, 1)
		}
	}
	if err != nil {
		return store.Saved{}, err
	}
	return s.saved(tx, j.Name, row.deleted, by, doc)
}

func saveVersion(tx Tx, job int64, version int, j *jobs.Job, now jobs.Time) error {
	spec, err := marshalSpec(j.Spec())
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertVersion, job, version, spec, int64(now))
	return err
}

// saved reads the row back, so that the answer is what stands, and notes the change.
func (s *Store) saved(
	tx Tx, name string, created bool, by store.By, doc []byte,
) (store.Saved, error) {
	row, err := storedJobRow(tx, name)
	if err != nil {
		return store.Saved{}, err
	}
	if err := s.audit(tx, by, "put", "job", name, doc); err != nil {
		return store.Saved{}, err
	}
	return store.Saved{Job: row.job, Created: created, Changed: true}, nil
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
) (cancelled int, err error) {
	err = s.db.Write(ctx, func(tx Tx) error {
		row, err := liveJobRow(tx, name)
		if err != nil {
			return err
		}
		if ifMatch != nil && *ifMatch != row.job.Revision {
			return fmt.Errorf("job %q: %w", name, store.ErrStale)
		}
		delete(s.jobRows, name)
		if err := must(tx.Exec(updateJobDeleted, row.id, int64(by.Now))); err != nil {
			return err
		}
		waiting := []string{updateQueuedCancelled, updateDueCancelled, updateWaitingCancelled}
		cancelled, err = changeEach(tx, waiting, row.id, int64(by.Now), row.job.QueueOf())
		if err != nil {
			return err
		}
		if _, err := tx.Exec(updateRunningOrphaned, row.id); err != nil {
			return err
		}
		if err := s.refreshLanesOf(tx, row.id); err != nil {
			return err
		}
		return s.audit(tx, by, "delete", "job", name, row.doc)
	})
	return cancelled, err
}

// PauseJob implements store.Catalog.
func (s *Store) PauseJob(
	ctx context.Context, name string, paused bool, note string, by store.By,
) (j *jobs.Job, err error) {
	by.Note = note
	err = s.db.Write(ctx, func(tx Tx) error {
		row, err := liveJobRow(tx, name)
		if err != nil {
			return err
		}
		if j = row.job; j.Paused == paused && (!paused || j.PauseNote == note) {
			return nil
		}
		delete(s.jobRows, name)
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
		tx.Wake()
		j.Paused, j.PauseNote = paused, note
		if !paused {
			j.PauseNote = ""
		}
		return s.audit(tx, by, action, "job", name, nil)
	})
	return j, err
}
