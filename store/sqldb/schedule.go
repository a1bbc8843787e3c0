package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	scheduleColumns = `s.id, s.name, s.job, s.in_job, s.doc, s.stamp, s.anchor, s.cursor, s.due_at, s.at_start,
    s.backlog, s.paused_at, s.pause_note, s.created_at, s.updated_at, s.deleted_at`
	// whole are the columns that describe one as it stands, besides its own.
	scheduleWhole = `, j.name, j.paused_at, j.in_set, j.revision, d.in_set, d.revision
FROM schedules s JOIN jobs j ON j.id = s.job LEFT JOIN documents d ON d.kind = 'schedule' AND d.name = s.name`

	selectScheduleRow  = `SELECT ` + scheduleColumns + ` FROM schedules s WHERE s.name = $1`
	selectSchedule     = `SELECT ` + scheduleColumns + scheduleWhole + ` WHERE s.name = $1 AND s.deleted_at IS NULL`
	selectSchedulesAll = `
SELECT ` + scheduleColumns + scheduleWhole + `
WHERE s.id < $1 AND s.deleted_at IS NULL AND ($3 = '' OR instr(s.name, $3) > 0) ORDER BY s.id DESC LIMIT $2`
	selectSchedulesJob = `
SELECT ` + scheduleColumns + scheduleWhole + `
WHERE s.id < $1 AND s.job = (SELECT id FROM jobs WHERE name = $4) AND s.deleted_at IS NULL AND ($3 = '' OR instr(s.name, $3) > 0)
ORDER BY s.id DESC LIMIT $2`
	// The one that fell due last comes first: what has long been due can wait.
	selectSchedulesDue = `
SELECT ` + scheduleColumns + scheduleWhole + `
WHERE s.due_at <= $1 AND s.due_at IS NOT NULL ORDER BY s.due_at DESC LIMIT $2`
	selectNextSchedule = `
SELECT due_at FROM schedules WHERE due_at > $1 AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`
	selectSchedulesStart = `
SELECT ` + scheduleColumns + scheduleWhole + `
WHERE s.at_start = 1 AND s.name > $1 ORDER BY s.name LIMIT $2`
	selectSchedulesBacklog = `
SELECT ` + scheduleColumns + scheduleWhole + `
WHERE s.backlog IS NOT NULL ORDER BY s.id LIMIT $1`
)

// scheduleRow is a schedule's row, also of one that is gone.
type scheduleRow struct {
	id, job   int64
	name      string
	inJob     bool
	doc       []byte
	schedule  jobs.Schedule // with its name
	stamp     int64
	anchor    jobs.Time
	cursor    jobs.Time
	due       jobs.Time
	atStart   bool
	backlog   jobs.TickRange
	paused    jobs.Time
	note      string
	createdAt jobs.Time
	updatedAt jobs.Time
	deleted   bool
}

func scanSchedule(r Row) (*scheduleRow, error) {
	row, err := scanStanding(r)
	if err != nil {
		return nil, err
	}
	if err := jobs.DecodeLenient(row.doc, &row.schedule); err != nil {
		return nil, fmt.Errorf("read document of schedule %s: %w", row.name, err)
	}
	row.schedule.Name = row.name
	return row, nil
}

// scanStanding is scanSchedule without reading what the document says.
func scanStanding(r Row) (*scheduleRow, error) {
	row := &scheduleRow{
		id: r.Int(0), name: r.Text(1), job: r.Int(2), inJob: r.Int(3) == 1, doc: r.Bytes(4), stamp: r.Int(5),
		anchor: r.Time(6), cursor: r.Time(7), due: r.Time(8), atStart: r.Int(9) == 1, paused: r.Time(11),
		note: r.Text(12), createdAt: r.Time(13), updatedAt: r.Time(14), deleted: !r.Null(15),
	}
	if !r.Null(10) {
		if err := json.Unmarshal(r.Bytes(10), &row.backlog); err != nil {
			return nil, fmt.Errorf("read what schedule %s has to catch up: %w", row.name, err)
		}
	}
	return row, nil
}

const scheduleColumnCount = 16

// scanScheduleWhole reads scheduleColumns and what follows in scheduleWhole.
func scanScheduleWhole(r Row) (*store.Schedule, *scheduleRow, error) {
	row, err := scanSchedule(r)
	if err != nil {
		return nil, nil, err
	}
	const n = scheduleColumnCount
	out := &store.Schedule{
		Schedule: row.schedule, InJob: row.inJob, CreatedAt: row.createdAt, UpdatedAt: row.updatedAt,
		PausedAt: row.paused, PauseNote: row.note, JobPaused: !r.Null(n + 1), Set: r.Text(n + 2),
		Revision: r.Int(n + 3), Stamp: row.stamp, Anchor: row.anchor, Cursor: row.cursor, Backlog: row.backlog,
	}
	out.Job = r.Text(n)
	if !row.inJob {
		out.Set, out.Revision = r.Text(n+4), r.Int(n+5)
	}
	return out, row, nil
}

// scheduleRowOf gives nil where the name was never used.
func scheduleRowOf(tx Tx, name string) (*scheduleRow, error) { return rowOf(tx, name, scanSchedule) }

// standingOf is scheduleRowOf without reading what the document says.
func standingOf(tx Tx, name string) (*scheduleRow, error) { return rowOf(tx, name, scanStanding) }

func rowOf(tx Tx, name string, scan func(Row) (*scheduleRow, error)) (row *scheduleRow, err error) {
	var bad error
	_, err = one(tx, selectScheduleRow, func(r Row) { row, bad = scan(r) }, name)
	return row, errors.Join(err, bad)
}

// liveScheduleRow is scheduleRowOf for one that stands; store.ErrNotFound else.
func liveScheduleRow(tx Tx, name string) (*scheduleRow, error) {
	row, err := scheduleRowOf(tx, name)
	if err == nil && (row == nil || row.deleted) {
		err = fmt.Errorf("schedule %q: %w", name, store.ErrNotFound)
	}
	return row, err
}

// timetable compiles what the row says. It compiled when it was saved.
func (row *scheduleRow) timetable() (*jobs.Timetable, error) {
	t, err := row.schedule.Timetable(row.anchor)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", row.name, err)
	}
	return t, nil
}

// undecided reports whether ticks up to now wait for a decision, or for their runs.
func (row *scheduleRow) undecided(now jobs.Time) bool {
	if row.backlog.Count > 0 {
		return true
	}
	t, err := row.timetable()
	if err != nil {
		return false // it has no ticks any more: it must be possible to mend it
	}
	next := t.Next(row.cursor)
	return next != 0 && next <= now
}

// refuseUndecided is a *store.UndecidedError while ticks up to now wait for a decision, or for their runs.
func (row *scheduleRow) refuseUndecided(now jobs.Time) error {
	if row.undecided(now) {
		return &store.UndecidedError{Names: []string{row.name}}
	}
	return nil
}

// readSchedules reads whole schedules with the newest line of their ledgers.
func readSchedules(tx Tx, query string, args ...any) (list []*store.Schedule, rows []*scheduleRow, err error) {
	err = tx.Query(query, func(r Row) error {
		sched, row, err := scanScheduleWhole(r)
		list, rows = append(list, sched), append(rows, row)
		return err
	}, values(args)...)
	return list, rows, err
}

func (s *Store) fillLast(tx Tx, list []*store.Schedule, rows []*scheduleRow) error {
	for i, row := range rows {
		last, err := newestTick(tx, row.id, row.job)
		if err != nil {
			return err
		}
		list[i].Last = last
	}
	return nil
}

// Schedule implements store.Schedules.
func (s *Store) Schedule(ctx context.Context, name string) (out *store.Schedule, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		out, err = s.readSchedule(tx, name)
		return err
	})
	return out, err
}

func (s *Store) readSchedule(tx Tx, name string) (*store.Schedule, error) {
	list, rows, err := readSchedules(tx, selectSchedule, name)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("schedule %q: %w", name, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return list[0], s.fillLast(tx, list, rows)
}

// Schedules implements store.Schedules. A page may hold fewer than asked for while there is a cursor.
func (s *Store) Schedules(
	ctx context.Context, f store.ScheduleFilter, p store.Page,
) (list []*store.Schedule, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	query, args := selectSchedulesAll, []any{before, sizeOf(p) + 1, f.Text}
	if f.Job != "" {
		query, args = selectSchedulesJob, append(args, f.Job)
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		for looked := 0; looked < maxLooked; {
			found, rows, err := readSchedules(tx, query, args...)
			if err != nil {
				return err
			}
			for i, row := range rows {
				if !allowedJob(f.Allowed, found[i].Job) {
					continue
				}
				if len(list) == sizeOf(p) {
					return nil
				}
				if err := s.fillLast(tx, found[i:i+1], rows[i:i+1]); err != nil {
					return err
				}
				list, next = append(list, found[i]), strconv.FormatInt(row.id, 10)
			}
			if len(found) <= sizeOf(p) {
				next = ""
				return nil
			}
			looked += len(found)
			args[0] = rows[len(rows)-1].id
		}
		next = strconv.FormatInt(args[0].(int64), 10)
		return nil
	})
	return list, next, err
}

// allowedJob reports whether a token that is narrowed to patterns reaches a job; nil: it is not.
func allowedJob(patterns []string, job string) bool {
	return patterns == nil || allowed(patterns, job)
}

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(
	ctx context.Context, now jobs.Time, limit int,
) (due store.DueSchedules, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		due = store.DueSchedules{}
		var err error
		if due.List, _, err = readSchedules(tx, selectSchedulesDue, int64(now), limit+1); err != nil {
			return err
		}
		if due.More = len(due.List) > limit; due.More {
			due.List = due.List[:limit]
		}
		if _, err := one(tx, selectNextSchedule, func(r Row) { due.Next = r.Time(0) }, int64(now)); err != nil {
			return err
		}
		_, err = one(tx, selectNextLate, func(r Row) {
			at := r.Time(0).Add(gatherLate)
			if due.Late = at <= now; due.Next == 0 || at < due.Next {
				due.Next = at
			}
		})
		return err
	})
	return due, err
}

// StartSchedules implements store.Schedules.
func (s *Store) StartSchedules(
	ctx context.Context, after string, limit int,
) (list []*store.Schedule, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		list, _, err = readSchedules(tx, selectSchedulesStart, after, limit)
		return err
	})
	return list, err
}

// Backlogs implements store.Schedules.
func (s *Store) Backlogs(ctx context.Context, limit int) (list []*store.Schedule, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		list, _, err = readSchedules(tx, selectSchedulesBacklog, limit)
		return err
	})
	return list, err
}
