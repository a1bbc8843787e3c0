package sqldb

import (
	"fmt"

	"nightshift/jobs"
)

const (
	selectLink    = `SELECT tail, state, dealt, requeued_from, requeued_to, failure FROM runs WHERE seq = $1`
	updateDealt   = `UPDATE runs SET dealt = $2, dealt_at = $3 WHERE seq = $1`
	upsertDealing = `
INSERT INTO dealings (run, by, note, until, came) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (run) DO UPDATE
SET by = excluded.by, note = COALESCE(excluded.note, dealings.note), until = excluded.until, came = excluded.came`
	// What is said once more of what was dealt with already.
	updateDealing = `
UPDATE dealings SET note = COALESCE($2, note), until = COALESCE($3, until)
WHERE run = $1 AND (COALESCE($2, note, '') <> COALESCE(note, '') OR COALESCE($3, until, 0) <> COALESCE(until, 0))`
	deleteDealing = `DELETE FROM dealings WHERE run = $1`
	// A requeue of what has failed stands in its place.
	updateRequeuedTo = `
UPDATE runs SET requeued_to = $2, dealt = CASE WHEN dealt IS NULL THEN NULL ELSE 1 END, dealt_at = NULL WHERE seq = $1`
	updateTo   = `UPDATE runs SET requeued_to = $3 WHERE seq = $1 AND requeued_to = $2`
	updateFrom = `UPDATE runs SET requeued_from = $3 WHERE seq = $1 AND requeued_from = $2`
)

// link is a run in a chain of requeues.
type link struct {
	id       jobs.ID
	state    jobs.State
	failed   bool
	dealt    jobs.FailureStatus // of a failed one
	from, to jobs.ID            // requeued
	group    int64              // of failures that are alike
}

// readLink gives found false where there is no such run.
func readLink(tx Tx, id jobs.ID) (l link, found bool, err error) {
	_, err = one(tx, selectLink, func(r Row) {
		if found = r.Int(0) == id.Tail(); found {
			l = link{
				id, jobs.State(r.Int(1)), !r.Null(2), jobs.FailureStatus(r.Int(2)), r.ID(3), r.ID(4), r.Int(5),
			}
		}
	}, id.Seq())
	return l, found, err
}

// behind calls each for the failures that a run was requeued from and stands for, newest first, until it
// says that there is no more to do.
func behind(tx Tx, id jobs.ID, each func(*link) (more bool, err error)) error {
	l, found, err := readLink(tx, id)
	for err == nil && found && !l.from.IsNil() {
		newer := l.id
		if l, found, err = readLink(tx, l.from); err != nil || !found || l.to != newer || l.state == jobs.Succeeded {
			return err
		}
		if !l.failed {
			continue
		}
		if more, err := each(&l); err != nil || !more {
			return err
		}
	}
	return err
}

// settling is how failures are dealt with.
type settling struct {
	status jobs.FailureStatus // resolved or ignored
	by     string
	note   string
	until  jobs.Time
	now    jobs.Time
}

// settle makes a failure resolved or ignored.
func settle(tx Tx, l *link, how *settling) error {
	if err := must(tx.Exec(updateDealt, l.id.Seq(), int(how.status), int64(how.now))); err != nil {
		return err
	}
	_, err := tx.Exec(upsertDealing, l.id.Seq(), how.by, noneText(how.note), none(how.until), nil)
	return err
}

// settleChain is settle with those that were requeued behind it: it stands in their place.
func settleChain(tx Tx, l *link, how *settling) error {
	if err := settle(tx, l, how); err != nil {
		return err
	}
	return behind(tx, l.id, func(older *link) (bool, error) {
		if older.dealt != jobs.FailureRequeued {
			return false, nil
		}
		return true, settle(tx, older, how)
	})
}

// endOf is the run that a requeue of another is made behind: the last of those that stand for it, up to one
// that succeeded. A chain has no branches: what is open or unfinished is at its end. unfinished: that end has
// not ended, and is the requeue.
func endOf(tx Tx, of jobs.ID) (end jobs.ID, unfinished bool, err error) {
	l, found, err := readLink(tx, of)
	for end = of; err == nil && found && !l.to.IsNil(); end = l.id {
		newer := l.to
		older := l.id
		if l, found, err = readLink(tx, newer); err != nil || !found || l.from != older || l.state == jobs.Succeeded {
			break
		}
		if !l.state.Terminal() {
			return l.id, true, nil
		}
	}
	return end, false, err
}

// requeuedOf notes that a run was to be requeued, and has been at the end of its chain: no failure from there
// on is dealt with any more.
func requeuedOf(tx Tx, of jobs.ID, run *jobs.Run) error {
	if err := requeuedBy(tx, run); err != nil || of == run.RequeuedFrom {
		return err
	}
	if l, _, err := readLink(tx, of); err != nil || !l.failed {
		return err
	}
	return behind(tx, run.ID, func(l *link) (more bool, err error) {
		if l.dealt != jobs.FailureRequeued {
			err = must(tx.Exec(updateDealt, l.id.Seq(), int(jobs.FailureRequeued), nil))
		}
		return l.id != of, err
	})
}

// requeuedBy notes that a run has been requeued: it is no open failure any more, nor is the one that it
// stood for until it was cancelled.
func requeuedBy(tx Tx, run *jobs.Run) error {
	of := run.RequeuedFrom
	if err := must(tx.Exec(updateRequeuedTo, of.Seq(), run.ID[:])); err != nil {
		return err
	}
	old, _, err := readLink(tx, of)
	if err != nil || old.failed || old.state != jobs.Cancelled || old.from.IsNil() {
		return err
	}
	return behind(tx, of, func(l *link) (bool, error) {
		if l.dealt != jobs.FailureOpen {
			return false, nil
		}
		return false, must(tx.Exec(updateDealt, l.id.Seq(), int(jobs.FailureRequeued), nil))
	})
}

// unlink takes a run out of its chain, before it is deleted. Where a requeue of it stands, that stands
// for what is behind it too; else the failure that it stood for is open again. It reads the run's links as
// they are now: a neighbour that was deleted in the same step has changed them.
func unlink(tx Tx, id jobs.ID) error {
	l, found, err := readLink(tx, id)
	if err != nil || !found || l.from.IsNil() {
		return err
	}
	if open := l.failed && l.dealt == jobs.FailureOpen; !open && !l.to.IsNil() {
		next, found, err := readLink(tx, l.to)
		if err != nil {
			return err
		}
		if found && next.from == id {
			if _, err := tx.Exec(updateTo, l.from.Seq(), id[:], l.to[:]); err != nil {
				return err
			}
			_, err := tx.Exec(updateFrom, l.to.Seq(), id[:], l.from[:])
			return err
		}
	}
	if err := reopenBehind(tx, id); err != nil {
		return fmt.Errorf("open what run %s stood for: %w", id, err)
	}
	_, err = tx.Exec(updateTo, l.from.Seq(), id[:], nil)
	return err
}
