package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	groupColumns = `
g.id, g.fingerprint, j.name, g.kind, g.type, g.message, g.count, g.first_at, g.last_at, g.ignored, g.ignored_until,
    EXISTS (SELECT 1 FROM runs r WHERE r.failure = g.id AND r.dealt = 0 AND r.failure IS NOT NULL)`
	groupsJoined        = ` FROM failure_groups g JOIN jobs j ON j.id = g.job`
	selectFailureGroups = `SELECT ` + groupColumns + groupsJoined + `
WHERE g.id < $1 AND ($2 = '' OR j.name = $2) ORDER BY g.id DESC LIMIT $3`
	selectFailureGroupsAlike = `SELECT ` + groupColumns + groupsJoined + `
WHERE g.id < $1 AND ($2 = '' OR j.name = $2) AND g.fingerprint = $4 ORDER BY g.id DESC LIMIT $3`
	selectOpenAlike = `
SELECT COUNT(*) FROM (
    SELECT seq FROM runs WHERE failure = $1 AND dealt = 0 AND failure IS NOT NULL LIMIT $2) w`
	selectNewestAlike = `
SELECT seq, tail FROM runs WHERE failure = $1 AND dealt = $2 AND failure IS NOT NULL ORDER BY seq DESC LIMIT 1`

	// The last of a group was ignored.
	updateGroupIgnored = `
UPDATE failure_groups
SET ignored_more = CASE WHEN ignored = 1 THEN ignored_more ELSE 0 END, ignored = 1, ignored_until = $2, ignored_by = $3
WHERE id = $1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE failure = failure_groups.id AND dealt = 0 AND failure IS NOT NULL)`
	updateGroupHeard = `
UPDATE failure_groups SET ignored = 0, ignored_until = NULL, ignored_by = NULL, ignored_more = 0
WHERE id = $1 AND ignored = 1`
	selectGroupsOver = `
SELECT g.id, j.name, g.fingerprint, g.ignored_more FROM failure_groups g JOIN jobs j ON j.id = g.job
WHERE g.ignored_until <= $1 AND g.ignored_until IS NOT NULL ORDER BY g.ignored_until LIMIT 100`
	// Those that came while they were ignored.
	selectCame = `
SELECT r.seq, r.tail FROM runs r JOIN dealings d ON d.run = r.seq
WHERE r.failure = $1 AND r.dealt = 3 AND r.failure IS NOT NULL AND d.came = 1 ORDER BY r.seq LIMIT $2`

	selectPruneGroups = `
SELECT id, last_at, EXISTS (SELECT 1 FROM runs WHERE failure = failure_groups.id AND failure IS NOT NULL)
FROM failure_groups WHERE id > $1 ORDER BY id LIMIT $2`
	deleteFailureGroup = `DELETE FROM failure_groups WHERE id = $1`

	retainGroups = 90 * 24 * time.Hour
	mostOpen     = 10_000 // open failures of a group that are counted
	reopenStep   = 1000   // failures that one transaction opens
)

// settleGroup takes in that a failure was dealt with by hand: failures that are alike are ignored from now
// on where the last open one was, and are not where one was resolved.
func settleGroup(tx Tx, group int64, how *settling) error {
	query, args := updateGroupHeard, []any{group}
	if how.status == jobs.FailureIgnored {
		query, args = updateGroupIgnored, append(args, none(how.until), how.by)
	}
	_, err := tx.Exec(query, values(args)...)
	return err
}

// FailureGroups implements store.Failures.
func (s *Store) FailureGroups(
	ctx context.Context, f store.FailureGroupFilter, p store.Page,
) (list []*store.FailureGroup, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	query, args := selectFailureGroups, []any{before, f.Job, maxLooked}
	if f.Fingerprint != "" {
		query, args = selectFailureGroupsAlike, append(args, f.Fingerprint)
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		var ids []int64
		looked, last := 0, int64(0)
		err := tx.Query(query, func(r Row) error {
			looked, last = looked+1, r.Int(0)
			g := scanGroup(r)
			if f.Statuses != nil && !slices.Contains(f.Statuses, g.Status) || f.Allowed != nil && !allowed(f.Allowed, g.Job) {
				return nil
			}
			if len(list) == sizeOf(p) {
				next = strconv.FormatInt(ids[len(ids)-1], 10)
				return errEnough
			}
			list, ids = append(list, g), append(ids, r.Int(0))
			return nil
		}, values(args)...)
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if looked == maxLooked && next == "" {
			next = strconv.FormatInt(last, 10)
		}
		for i, g := range list {
			if err := readFailureGroup(tx, ids[i], g); err != nil {
				return fmt.Errorf("read failure group %s: %w", g.Fingerprint, err)
			}
		}
		return nil
	})
	return list, next, err
}

func scanGroup(r Row) *store.FailureGroup {
	g := &store.FailureGroup{
		Fingerprint: r.Text(1), Job: r.Text(2), Kind: r.Text(3), Type: r.Text(4), Message: r.Text(5),
		Count: int(r.Int(6)), FirstAt: r.Time(7), LastAt: r.Time(8), Status: jobs.FailureResolved,
	}
	switch {
	case r.Int(11) == 1:
		g.Status = jobs.FailureOpen
	case r.Int(9) == 1:
		g.Status, g.Until = jobs.FailureIgnored, r.Time(10)
	}
	return g
}

// readFailureGroup counts the open ones of a group, and finds the newest.
func readFailureGroup(tx Tx, id int64, g *store.FailureGroup) error {
	if _, err := one(tx, selectOpenAlike, func(r Row) { g.Open = int(r.Int(0)) }, id, mostOpen); err != nil {
		return err
	}
	for _, status := range []jobs.FailureStatus{
		jobs.FailureOpen, jobs.FailureRequeued, jobs.FailureResolved, jobs.FailureIgnored,
	} {
		_, err := one(tx, selectNewestAlike, func(r Row) {
			if run := jobs.IDOf(r.Int(0), r.Int(1)); run.Seq() > g.LastRun.Seq() || g.LastRun.IsNil() {
				g.LastRun = run
			}
		}, id, int(status))
		if err != nil {
			return err
		}
	}
	return nil
}

// ignoredGroup is one whose time to be ignored is over.
type ignoredGroup struct {
	id               int64
	job, fingerprint string
	more             int // failures that came meanwhile
}

// ReopenIgnored implements store.Failures.
func (s *Store) ReopenIgnored(ctx context.Context, now jobs.Time) (reopened int, err error) {
	var list []ignoredGroup
	err = s.db.Read(ctx, func(tx Tx) error {
		list = nil
		return tx.Query(selectGroupsOver, func(r Row) error {
			list = append(list, ignoredGroup{r.Int(0), r.Text(1), r.Text(2), int(r.Int(3))})
			return nil
		}, int64(now))
	})
	for i := 0; err == nil && i < len(list); i++ {
		var opened bool
		if opened, err = s.reopenGroup(ctx, &list[i], now); opened {
			reopened++
		}
	}
	return reopened, err
}

// reopenGroup opens those that came while the group was ignored, in steps: the last one tells of them.
func (s *Store) reopenGroup(ctx context.Context, g *ignoredGroup, now jobs.Time) (opened bool, err error) {
	for more := true; more && err == nil; {
		err = s.write(ctx, func(tx Tx) error {
			newest, left, err := openThoseThatCame(tx, g.id)
			if more, opened = left, !newest.IsNil(); err != nil || left {
				return err
			}
			if _, err := tx.Exec(updateGroupHeard, g.id); err != nil || !opened {
				return err
			}
			return s.tellReopened(tx, g, newest, now)
		})
	}
	if err != nil {
		return false, fmt.Errorf("open failure group %s, which was ignored until now: %w", g.fingerprint, err)
	}
	return opened, nil
}

// openThoseThatCame opens up to reopenStep of them, oldest first, and gives the newest of these. left: more
// are to be opened.
func openThoseThatCame(tx Tx, group int64) (newest jobs.ID, left bool, err error) {
	var came []jobs.ID
	err = tx.Query(selectCame, func(r Row) error {
		came = append(came, jobs.IDOf(r.Int(0), r.Int(1)))
		return nil
	}, group, reopenStep+1)
	if left = len(came) > reopenStep; left {
		came = came[:reopenStep]
	}
	for i := 0; err == nil && i < len(came); i++ {
		newest = came[i]
		if err = must(tx.Exec(updateDealt, newest.Seq(), int(jobs.FailureOpen), nil)); err == nil {
			_, err = tx.Exec(deleteDealing, newest.Seq())
		}
	}
	return newest, left, err
}

// pruneGroups looks at up to limit groups and drops those of which nothing is left, once no failure has
// come for 90 days.
func pruneGroups(tx Tx, at *pruneCursor, now jobs.Time, limit int) (looked int, err error) {
	var gone []int64
	err = tx.Query(selectPruneGroups, func(r Row) error {
		looked, at.group = looked+1, r.Int(0)
		if r.Time(1) <= now.Add(-retainGroups) && r.Int(2) == 0 {
			gone = append(gone, at.group)
		}
		return nil
	}, at.group, limit)
	for i := 0; err == nil && i < len(gone); i++ {
		_, err = tx.Exec(deleteFailureGroup, gone[i])
	}
	return looked, err
}
