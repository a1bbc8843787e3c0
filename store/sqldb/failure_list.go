package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// Which failures a list looks at, newest first: $1 the run before which to go on, $2 the oldest, $3 what
// the index is asked for, $4 how many, $5 the status.
const (
	windowDealt = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND dealt = $5 AND dealt IS NOT NULL AND $3 = ''
ORDER BY seq DESC LIMIT $4`
	windowDealtJob = `
SELECT * FROM runs
WHERE seq < $1 AND seq >= $2 AND dealt = $5 AND dealt IS NOT NULL AND job = (SELECT id FROM jobs WHERE name = $3)
ORDER BY seq DESC LIMIT $4`
	// As an equality the status would lead to the index of all failures.
	windowAlike = `
SELECT * FROM runs
WHERE seq < $1 AND seq >= $2 AND dealt IS NOT DISTINCT FROM $5 AND failure IS NOT NULL
  AND failure = (SELECT id FROM failure_groups WHERE fingerprint = $3 LIMIT 1)
ORDER BY seq DESC LIMIT $4`
	windowRetrying = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND state = 4 AND $3 = '' AND $5 >= 0
ORDER BY seq DESC LIMIT $4`

	filterFailures = `
FROM (%) r JOIN jobs j ON j.id = r.job
LEFT JOIN failure_groups g ON g.id = r.failure LEFT JOIN dealings d ON d.run = r.seq
WHERE ($6 = '' OR j.name = $6)
  AND ($7 = '' OR r.error_kind = $7)
  AND ($8 = '' OR r.error_type = $8)
  AND ($9 = '' OR r.seq BETWEEN $10 AND $11 OR r.correlation LIKE $12 ESCAPE '\'
       OR r.error_type LIKE $9 ESCAPE '\' OR r.error_message LIKE $9 ESCAPE '\')`

	// failureColumns follow runColumns and listedColumns where scanFailure reads.
	failureColumns = `, g.fingerprint, r.dealt_at, d.by, d.note, d.until,
    (SELECT a.finished_at FROM attempts a WHERE a.run = r.seq AND a.number = r.number)`
	selectListed = `
SELECT ` + runColumns + listedColumns + ` FROM runs r JOIN jobs j ON j.id = r.job WHERE r.seq = $1`
	selectFailure = `
SELECT ` + runColumns + listedColumns + failureColumns + `
FROM runs r JOIN jobs j ON j.id = r.job
LEFT JOIN failure_groups g ON g.id = r.failure LEFT JOIN dealings d ON d.run = r.seq
WHERE r.seq = $1`
)

// failureQuery is a list of failures over one window; ids tells no more of each than a filter asks.
type failureQuery struct {
	listQuery
	ids string
}

func newFailureQuery(window string) failureQuery {
	from := strings.Replace(filterFailures, "%", window, 1) + " ORDER BY r.seq DESC"
	return failureQuery{
		listQuery{
			rows:   "SELECT " + runColumns + listedColumns + failureColumns + from,
			bounds: "SELECT MIN(seq), COUNT(*) FROM (" + strings.Replace(window, "*", "seq", 1) + ") w",
		},
		"SELECT r.seq, r.tail, j.name, r.correlation, r.error_type, r.error_message, g.fingerprint" + from,
	}
}

var (
	failuresAll      = newFailureQuery(windowDealt)
	failuresJob      = newFailureQuery(windowDealtJob)
	failuresAlike    = newFailureQuery(windowAlike)
	failuresRetrying = newFailureQuery(windowRetrying)
)

// scanFailure reads runColumns, listedColumns and failureColumns.
func scanFailure(r Row) (*store.Failure, error) {
	run, err := scanListed(r)
	if err != nil {
		return nil, err
	}
	f := &store.Failure{
		Run: run, Status: jobs.FailureWillRetry, Fingerprint: r.Text(listedCount), Note: r.Text(listedCount + 3),
		LastAttemptAt: r.Time(listedCount + 5),
	}
	if run.Dealt == nil {
		f.Fingerprint = jobs.Fingerprint(run.Job, run.Error)
		return f, nil
	}
	f.Status, f.DealtAt = *run.Dealt, r.Time(listedCount+1)
	if f.DealtAt != 0 {
		f.By, f.Until = r.Text(listedCount+2), r.Time(listedCount+4)
	}
	return f, nil
}

// failureList is one list of failures.
type failureList struct {
	query failureQuery
	args  []driver.Value // the first is until when, zero for no bound
	keep  func(*store.Failure) bool
	looks int
}

// planFailures picks the index and gives its arguments.
func planFailures(f store.FailureFilter, looks int) *failureList {
	until := int64(0)
	if f.Until != 0 {
		until = int64(f.Until+1) << 12
	}
	lo, hi, _ := idRange(f.Q)
	l := &failureList{
		query: failuresAll, looks: looks,
		keep: func(of *store.Failure) bool {
			return (f.Fingerprint == "" || of.Fingerprint == f.Fingerprint) &&
				keeps(store.RunFilter{Q: f.Q, Allowed: f.Allowed}, of.Run)
		},
		args: []driver.Value{
			until, int64(f.Since) << 12, "", int64(looks), int64(f.Status), f.Job, f.ErrorKind, f.ErrorType,
			containing(f.Q), lo, hi, starting(f.Q),
		},
	}
	switch {
	case f.Status == jobs.FailureWillRetry:
		l.query = failuresRetrying
	case f.Fingerprint != "":
		l.query, l.args[2] = failuresAlike, f.Fingerprint
	case f.Job != "":
		l.query, l.args[2] = failuresJob, f.Job
	}
	return l
}

// read gives up to limit failures before a run, and where to go on; 0: there are no more.
func (l *failureList) read(tx Tx, before int64, limit int) (list []*store.Failure, next int64, err error) {
	args := l.from(before)
	err = tx.Query(l.query.rows, func(r Row) error {
		f, err := scanFailure(r)
		if err != nil || !l.keep(f) {
			return err
		}
		if len(list) == limit {
			return errEnough
		}
		list = append(list, f)
		return nil
	}, args...)
	if errors.Is(err, errEnough) {
		return list, list[limit-1].Run.ID.Seq(), nil
	}
	if err != nil {
		return nil, 0, err
	}
	next, err = l.next(tx, args)
	return list, next, err
}

// ids are those of the failures of one window before a run.
func (l *failureList) ids(tx Tx, before int64) (list []jobs.ID, next int64, err error) {
	args := l.from(before)
	err = tx.Query(l.query.ids, func(r Row) error {
		id := jobs.IDOf(r.Int(0), r.Int(1))
		correlation := r.Text(3)
		if correlation == "" {
			correlation = id.String()
		}
		if l.keep(&store.Failure{Fingerprint: r.Text(6), Run: &jobs.Run{
			ID: id, Job: r.Text(2), CorrelationID: correlation, Error: &jobs.Failure{Type: r.Text(4), Message: r.Text(5)},
		}}) {
			list = append(list, id)
		}
		return nil
	}, args...)
	if err == nil {
		next, err = l.next(tx, args)
	}
	return list, next, err
}

// from are the arguments of a list that begins before a run.
func (l *failureList) from(before int64) []driver.Value {
	if until := l.args[0].(int64); until != 0 {
		before = min(before, until)
	}
	return append([]driver.Value{before}, l.args[1:]...)
}

// next is where to go on: the window may have ended before the failures did.
func (l *failureList) next(tx Tx, args []driver.Value) (next int64, err error) {
	_, err = one(tx, l.query.bounds, func(r Row) {
		if r.Int(1) == int64(l.looks) {
			next = r.Int(0)
		}
	}, args[:5]...)
	return next, err
}

// Failures implements store.Failures. Since and Until are judged as those of Runs are.
func (s *Store) Failures(
	ctx context.Context, f store.FailureFilter, p store.Page,
) (list []*store.Failure, next string, err error) {
	if err := checkQ(f.Q); err != nil {
		return nil, "", err
	}
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	// Failures stand far apart among the runs: 284 ms for 50,000 of 100,000 among a million.
	looks := maxLooked
	if f.Q != "" || f.ErrorKind != "" || f.ErrorType != "" {
		looks = maxSearched
	}
	l := planFailures(f, looks)
	err = s.db.Read(ctx, func(tx Tx) error {
		var more int64
		if list, more, err = l.read(tx, before, sizeOf(p)); err == nil && more != 0 {
			next = strconv.FormatInt(more, 10)
		}
		return err
	})
	return list, next, err
}
