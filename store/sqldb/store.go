package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// Store implements store.Store.
type Store struct {
	db    DB
	ready chan struct{}

	// What follows belongs to the writer's turn: rows that every enqueue needs, as they stand
	// in the transaction under way. Dropped whole when anything is rolled back.
	jobRows  map[string]*jobRow
	laneRows map[laneKey]*laneRow
	laneByID map[int64]*laneRow
	specs    map[specKey]*pinned
	pruned   pruneCursor
	saves    saves // whether any checkpoint is kept
	lastTurn int64 // microseconds; turns only grow, whatever the clock does
}

// jobRow is what the queue needs of a job.
type jobRow struct {
	id      int64
	name    string
	version int
	pool    store.Pool // of the newest version
	paused  bool
	deleted bool

	templated bool   // the URL of the newest version may name a host by what a run brings
	hosts     *hosts // of that version; nil: not read yet
}

// maxCached bounds the rows kept between transactions.
const maxCached = 50_000

// New makes a store over a database whose schema is up to date.
func New(db DB) *Store {
	s := &Store{db: db, ready: make(chan struct{}, 1)}
	s.forget()
	db.OnRollback(s.forget)
	db.OnWake(s.signal)
	return s
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Ready implements store.Queue.
func (s *Store) Ready() <-chan struct{} { return s.ready }

// Tidy implements store.Ledger.
func (s *Store) Tidy(ctx context.Context, idle bool) error { return s.db.Tidy(ctx, idle) }

func (s *Store) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *Store) forget() {
	s.jobRows = map[string]*jobRow{}
	s.laneRows = map[laneKey]*laneRow{}
	s.laneByID = map[int64]*laneRow{}
	s.specs = map[specKey]*pinned{}
	s.saves = savesUnknown
}

const selectJobRow = `
SELECT j.id, j.version, j.paused_at, j.deleted_at, v.spec
FROM jobs j JOIN versions v ON v.job = j.id AND v.version = j.version
WHERE j.name = $1`

// jobRow gives the row of a job, also of a deleted one; nil where the name was never used.
func (s *Store) jobRow(tx Tx, name string) (*jobRow, error) {
	if row := s.jobRows[name]; row != nil {
		return row, nil
	}
	var row *jobRow
	var bad error
	_, err := one(tx, selectJobRow, func(r Row) {
		spec, err := parseSpec(r.Bytes(4))
		if err != nil {
			bad = fmt.Errorf("read spec of job %s: %w", name, err)
			return
		}
		row = &jobRow{
			id: r.Int(0), name: name, version: int(r.Int(1)), pool: store.PoolOf(spec.Kind()),
			paused: !r.Null(2), deleted: !r.Null(3), templated: templated(spec),
		}
	}, name)
	if err == nil {
		err = bad
	}
	if err != nil || row == nil {
		return nil, err
	}
	if len(s.jobRows) >= maxCached {
		clear(s.jobRows)
	}
	s.jobRows[name] = row
	return row, nil
}

// liveJob is jobRow for a job that stands; store.ErrNotFound else.
func (s *Store) liveJob(tx Tx, name string) (*jobRow, error) {
	row, err := s.jobRow(tx, name)
	if err == nil && (row == nil || row.deleted) {
		err = fmt.Errorf("job %q: %w", name, store.ErrNotFound)
	}
	return row, err
}

func parseSpec(text []byte) (*jobs.Spec, error) {
	spec := &jobs.Spec{}
	if err := jobs.DecodeLenient(text, spec); err != nil {
		return nil, err
	}
	return spec, nil
}

// marshalSpec keeps what is JSON in a spec byte for byte.
func marshalSpec(spec jobs.Spec) string { return string(jobs.AppendJSON(nil, spec)) }
