package sqldb

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"path"
	"strconv"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// maxLooked is how many runs one request looks at: a page may hold fewer than asked for.
const maxLooked = 50_000

// Which runs a list looks at, newest first: $1 the run before which to go on, $2 the oldest,
// $3 what the index is asked for, $4 how many.
const (
	windowAll         = `SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND $3 = '' ORDER BY seq DESC LIMIT $4`
	windowJob         = `SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND job = (SELECT id FROM jobs WHERE name = $3) ORDER BY seq DESC LIMIT $4`
	windowFailed      = `SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND state = 7 AND $3 = '' ORDER BY seq DESC LIMIT $4`
	windowRunning     = `SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND state IN (3, 5) AND state = 3 AND $3 = '' ORDER BY seq DESC LIMIT $4`
	windowCorrelation = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND correlation = $3
UNION SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND seq = $14 AND correlation IS NULL
ORDER BY seq DESC LIMIT $4`
	windowIDs = `
SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND seq BETWEEN $14 AND $15
UNION SELECT * FROM runs WHERE seq < $1 AND seq >= $2 AND correlation >= $3 AND correlation < $16
ORDER BY seq DESC LIMIT $4`

	filterRuns = `
FROM (%) r JOIN jobs j ON j.id = r.job
WHERE ($5 = 0 OR ($5 >> r.state) & 1 = 1)
  AND ($6 = '' OR j.name = $6)
  AND ($7 = '' OR COALESCE(r.queue, j.queue) = $7)
  AND ($8 = '' OR r.error_kind = $8)
  AND ($9 = '' OR r.error_type = $9)
  AND ($10 = '' OR r.cause = $10)
  AND ($11 = '' OR r.created_by = $11)
  AND ($12 = '' OR r.labels LIKE $12 ESCAPE '\')
  AND ($13 = '' OR r.seq BETWEEN $14 AND $15 OR r.correlation LIKE $17 ESCAPE '\'
       OR r.error_type LIKE $13 ESCAPE '\' OR r.error_message LIKE $13 ESCAPE '\')`
)

// listQuery is a list over one window.
type listQuery struct{ rows, bounds string }

func newListQuery(window string) listQuery {
	return listQuery{
		rows:   "SELECT " + runColumns + ", j.name, j.queue, j.paused_at" + strings.Replace(filterRuns, "%", window, 1) + " ORDER BY r.seq DESC",
		bounds: "SELECT MIN(seq), COUNT(*) FROM (" + strings.Replace(window, "*", "seq", 2) + ") w",
	}
}

var (
	listAll         = newListQuery(windowAll)
	listJob         = newListQuery(windowJob)
	listFailed      = newListQuery(windowFailed)
	listRunning     = newListQuery(windowRunning)
	listCorrelation = newListQuery(windowCorrelation)
	listIDs         = newListQuery(windowIDs)
)

var errEnough = errors.New("enough rows")

// Runs implements store.History. Since and Until are judged by the time in the id, which is that of
// the creation unless the clock was set back.
func (s *Store) Runs(ctx context.Context, f store.RunFilter, p store.Page) (list []*jobs.Run, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	if f.Until != 0 {
		before = min(before, int64(f.Until+1)<<12)
	}
	q, args, keep := planList(f, before)
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next, err = readList(tx, q, args, p.Limit, keep)
		if err == nil && q == listIDs && len(list) == 0 && p.Cursor == "" {
			// Nothing begins so: look for it in the errors.
			args[2] = ""
			list, next, err = readList(tx, listAll, args, p.Limit, keep)
		}
		return err
	})
	return list, next, err
}

func readList(tx Tx, q listQuery, args []driver.Value, limit int, keep func(*jobs.Run) bool) (list []*jobs.Run, next string, err error) {
	err = tx.Query(q.rows, func(r Row) error {
		run, err := scanListed(r)
		if err != nil || !keep(run) {
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
	_, err = one(tx, q.bounds, func(r Row) {
		if r.Int(1) == maxLooked {
			next = strconv.FormatInt(r.Int(0), 10)
		}
	}, args...)
	return list, next, err
}

// planList picks the index and gives its arguments, and what SQL cannot say exactly.
func planList(f store.RunFilter, before int64) (q listQuery, args []driver.Value, keep func(*jobs.Run) bool) {
	states := int64(0)
	for _, st := range f.States {
		states |= 1 << st
	}
	lo, hi, isID := idRange(f.Q)
	args = []driver.Value{
		before, int64(f.Since) << 12, "", int64(maxLooked), states, f.Job, f.Queue, f.ErrorKind, f.ErrorType,
		f.Trigger, f.Creator, labelPattern(f), containing(f.Q), lo, hi, f.Q + "\U0010ffff", starting(f.Q),
	}
	q = listAll
	switch {
	case f.CorrelationID != "":
		q, args[2], args[13] = listCorrelation, f.CorrelationID, int64(-1)
		if id, err := jobs.ParseID(f.CorrelationID); err == nil {
			args[13] = id.Seq()
		}
		args[12] = "" // q is judged by keep: its arguments are taken
	case isID:
		q, args[2] = listIDs, f.Q
	case f.Job != "":
		q, args[2] = listJob, f.Job
	case states == 1<<jobs.Failed:
		q = listFailed
	case states == 1<<jobs.Running:
		q = listRunning
	}
	return q, args, func(run *jobs.Run) bool { return keeps(f, run) }
}

// keeps judges what LIKE only narrows: it ignores the case of letters.
func keeps(f store.RunFilter, run *jobs.Run) bool {
	if f.Allowed != nil && !allowed(f.Allowed, run.Job) {
		return false
	}
	if f.LabelKey != "" {
		v, ok := run.Labels[f.LabelKey]
		if !ok || f.LabelValue != nil && v != *f.LabelValue {
			return false
		}
	}
	if f.CorrelationID != "" && run.CorrelationID != f.CorrelationID {
		return false
	}
	if f.Q == "" {
		return true
	}
	q := strings.ToLower(f.Q)
	return strings.HasPrefix(run.ID.String(), q) ||
		strings.HasPrefix(strings.ToLower(run.CorrelationID), q) ||
		run.Error != nil && (strings.Contains(strings.ToLower(run.Error.Type), q) ||
			strings.Contains(strings.ToLower(run.Error.Message), q))
}

// allowed reports whether a name matches one of the patterns of a token, such as mail-*.
func allowed(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// idRange turns the start of an id, of 8 digits or more, into a range of numbers.
func idRange(q string) (lo, hi int64, ok bool) {
	lo, hi = -1, -1
	digits := strings.ReplaceAll(strings.ToLower(q), "-", "")
	if len(digits) < 8 || len(digits) > 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return lo, hi, false
	}
	if len(digits) > 12 {
		if digits[12] != '7' {
			return lo, hi, false
		}
		digits = digits[:12] + digits[13:min(16, len(digits))]
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || n > math.MaxInt64>>4 {
		return lo, hi, false
	}
	shift := 4 * (15 - len(digits))
	return int64(n) << shift, (int64(n)+1)<<shift - 1, true
}

func labelPattern(f store.RunFilter) string {
	if f.LabelKey == "" {
		return ""
	}
	key, _ := json.Marshal(f.LabelKey)
	text := string(key) + ":"
	if f.LabelValue != nil {
		value, _ := json.Marshal(*f.LabelValue)
		text += string(value)
	}
	return containing(text)
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func containing(s string) string {
	if s == "" {
		return ""
	}
	return "%" + likeEscaper.Replace(s) + "%"
}

func starting(s string) string { return likeEscaper.Replace(s) + "%" }

// cursorBefore reads a cursor: the number of the last row given.
func cursorBefore(cursor string) (int64, error) {
	if cursor == "" {
		return math.MaxInt64, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, jobs.Invalid([]jobs.Fault{{Location: "cursor", Message: "not a cursor: give `next` of the page before, unchanged"}})
	}
	return n, nil
}
