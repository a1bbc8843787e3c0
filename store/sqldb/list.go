package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"strconv"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// maxLooked is how many runs one request looks at: a page may hold fewer than asked for.
	maxLooked = 50_000
	// maxSearched is how many of them one looks at whose texts it has to read.
	maxSearched = 20_000
	maxQ        = 1024 // bytes of RunFilter.Q
	// textsCursor begins the cursor of a list that has come to the texts.
	textsCursor = "t"
)

// Which runs a list looks at, newest first: $1 the run before which to go on, $2 the oldest,
// $3 what the index is asked for, $4 how many.
const (
	windowAll = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND $3 = '' ORDER BY seq DESC LIMIT $4`
	windowJob = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND job = (SELECT id FROM jobs WHERE name = $3)
ORDER BY seq DESC LIMIT $4`
	windowSchedule = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND schedule = $3 AND schedule IS NOT NULL
ORDER BY seq DESC LIMIT $4`
	windowGroups = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND members IS NOT NULL AND $3 = ''
ORDER BY seq DESC LIMIT $4`
	windowFailed = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND state = 7 AND $3 = ''
ORDER BY seq DESC LIMIT $4`
	windowRunning = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND state IN (3, 5) AND state = 3 AND $3 = ''
UNION ALL SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND state = 2 AND slices IS NOT NULL
ORDER BY seq DESC LIMIT $4`
	windowCorrelation = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND correlation = $3
UNION ALL SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND seq = $14 AND correlation IS NULL
ORDER BY seq DESC LIMIT $4`
	windowIDs = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND seq BETWEEN $14 AND $15 AND $3 = ''
ORDER BY seq DESC LIMIT $4`

	filterRuns = `
FROM (%) r JOIN jobs j ON j.id = r.job
WHERE ($5 = 0 OR ($5 >> (r.state + (r.state = 2 AND r.slices IS NOT NULL))) & 1 = 1)
  AND ($6 = '' OR j.name = $6)
  AND ($7 = '' OR COALESCE(r.queue, j.queue) = $7)
  AND ($8 = '' OR r.error_kind = $8)
  AND ($9 = '' OR r.error_type = $9)
  AND ($10 = '' OR r.cause = $10)
  AND ($11 = '' OR r.created_by = $11)
  AND ($12 = '' OR r.labels LIKE $12 ESCAPE '\')
  AND ($17 = 0 OR r.members IS NOT NULL)
  AND ($13 = '' OR r.seq BETWEEN $14 AND $15 OR r.correlation LIKE $16 ESCAPE '\'
       OR r.error_type LIKE $13 ESCAPE '\' OR r.error_message LIKE $13 ESCAPE '\')`
)

// listQuery is a list over one window.
type listQuery struct{ rows, bounds string }

func newListQuery(window string) listQuery {
	return listQuery{
		rows: "SELECT " + runColumns + listedColumns +
			strings.Replace(filterRuns, "%", window, 1) + " ORDER BY r.seq DESC",
		bounds: "SELECT MIN(seq), COUNT(*) FROM (" + strings.Replace(window, "*", "seq", 2) + ") w",
	}
}

var (
	listAll         = newListQuery(windowAll)
	listJob         = newListQuery(windowJob)
	listSchedule    = newListQuery(windowSchedule)
	listGroups      = newListQuery(windowGroups)
	listFailed      = newListQuery(windowFailed)
	listRunning     = newListQuery(windowRunning)
	listCorrelation = newListQuery(windowCorrelation)
	listIDs         = newListQuery(windowIDs)
)

var errEnough = errors.New("enough rows")

// runList is one list: its statement, the arguments, and what SQL cannot say exactly.
type runList struct {
	query listQuery
	args  []driver.Value
	keep  func(*jobs.Run) bool
}

// checkQ bounds what is searched for.
func checkQ(q string) error {
	if len(q) <= maxQ {
		return nil
	}
	return jobs.Invalid([]jobs.Fault{{Location: "q", Message: "too long: want at most 1024 bytes"}})
}

// Runs implements store.History. Since and Until are judged by the time in the id, which is that of
// the creation unless the clock was set back. Where Q can be the start of an id, the runs whose id
// begins so come first, then those that have it in their texts.
func (s *Store) Runs(
	ctx context.Context, f store.RunFilter, p store.Page,
) (list []*jobs.Run, next string, err error) {
	if err := checkQ(f.Q); err != nil {
		return nil, "", err
	}
	text, inTexts := strings.CutPrefix(p.Cursor, textsCursor)
	before, err := cursorBefore(text)
	if err != nil {
		return nil, "", err
	}
	l := planList(f)
	ids := l.query == listIDs
	if inTexts && !ids {
		return nil, "", errCursor
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		if list = nil; !inTexts {
			if list, next, err = l.read(tx, before, sizeOf(p)); err != nil || next != "" || !ids {
				return err
			}
			before = math.MaxInt64
		}
		if len(list) == sizeOf(p) {
			next = textsCursor + strconv.FormatInt(before, 10)
			return nil
		}
		var more []*jobs.Run
		if more, next, err = l.texts().read(tx, before, sizeOf(p)-len(list)); next != "" {
			next = textsCursor + next
		}
		list = append(list, more...)
		return err
	})
	return list, next, err
}

// texts is the list that follows one of ids: the others, newest first.
func (l *runList) texts() *runList {
	lo, hi := l.args[13].(int64), l.args[14].(int64)
	return &runList{query: listAll, args: l.args, keep: func(run *jobs.Run) bool {
		seq := run.ID.Seq()
		return (seq < lo || seq > hi) && l.keep(run)
	}}
}

func (l *runList) read(tx Tx, before int64, limit int) (list []*jobs.Run, next string, err error) {
	if until := l.args[0].(int64); until != 0 {
		before = min(before, until)
	}
	args := append([]driver.Value{before}, l.args[1:]...)
	err = tx.Query(l.query.rows, func(r Row) error {
		run, err := scanListed(r)
		if err != nil || !l.keep(run) {
			return err
		}
		if len(list) == limit {
			return errEnough
		}
		list = append(list, run)
		return nil
	}, args...)
	if errors.Is(err, errEnough) {
		return list, strconv.FormatInt(list[limit-1].ID.Seq(), 10), nil
	}
	if err != nil {
		return nil, "", err
	}
	// The window may have ended before the runs did.
	_, err = one(tx, l.query.bounds, func(r Row) {
		if r.Int(1) == l.args[3].(int64) {
			next = strconv.FormatInt(r.Int(0), 10)
		}
	}, args...)
	return list, next, err
}

// planList picks the index and gives its arguments; the first is until when, zero for no bound.
func planList(f store.RunFilter) *runList {
	states, until := int64(0), int64(0)
	for _, st := range f.States {
		states |= 1 << st
	}
	if f.Until != 0 {
		until = int64(f.Until+1) << 12
	}
	looks := int64(maxLooked)
	if f.Q != "" {
		looks = maxSearched
	}
	lo, hi, isID := idRange(f.Q)
	l := &runList{
		query: listAll,
		keep:  func(run *jobs.Run) bool { return keeps(f, run) },
		args: []driver.Value{
			until, int64(f.Since) << 12, "", looks, states, f.Job, f.Queue, f.ErrorKind, f.ErrorType,
			f.Trigger, f.Creator, labelPattern(f), containing(f.Q), lo, hi, starting(f.Q), boolInt(f.Groups),
		},
	}
	switch {
	case f.CorrelationID != "":
		l.query, l.args[2], l.args[13] = listCorrelation, f.CorrelationID, int64(-1)
		if id, err := jobs.ParseID(f.CorrelationID); err == nil {
			l.args[13] = id.Seq()
		}
		l.args[12] = "" // q is judged by keep: its arguments are taken
	case isID:
		l.query = listIDs
	case f.Groups:
		l.query = listGroups
	case f.Schedule != "":
		l.query, l.args[2] = listSchedule, f.Schedule
	case states == 1<<jobs.Running:
		l.query = listRunning
	case states == 1<<jobs.Failed && f.Job == "":
		l.query = listFailed
	case f.Job != "":
		l.query, l.args[2] = listJob, f.Job
	}
	return l
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

var errCursor = jobs.Invalid([]jobs.Fault{{
	Location: "cursor", Message: "not a cursor of this list: give `next` of the page before, unchanged",
}})

// cursorBefore reads a cursor: the number of the last row given.
func cursorBefore(cursor string) (int64, error) {
	if cursor == "" {
		return math.MaxInt64, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, errCursor
	}
	return n, nil
}

// sizeOf is how many rows a page holds at most.
func sizeOf(p store.Page) int { return max(p.Limit, 1) }
