package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	jobsByID map[int64]*jobRow
	laneRows map[laneKey]*laneRow
	laneByID map[int64]*laneRow
	specs    map[specKey]*pinned
	pruned   pruneCursor
	runs     runPruner // of who prunes
	most     mostPruner
	// ticksPruned is when all schedules were last looked at for old ticks.
	ticksPruned jobs.Time
	saves       saves // whether any checkpoint is kept
	lastTurn    int64 // microseconds; turns only grow, whatever the clock does

	workers   workers
	gates     *gateBook
	epoch     int                          // grows as the book is read anew
	changed   []*gateRow                   // that remember something new
	aheadRuns int                          // that lanes keep; see keepAhead
	freed     []int64                      // runs that have given their slots back
	stirred   map[int64]struct{}           // gates that may have opened; kept over a rollback
	stirAll   bool                         // all may have
	behind    map[int64]map[int64]struct{} // by a gate that is shut, those at which lanes stay for it too
	seen      map[int64]struct{}           // stirred gates that the last claim looked at
	seenAll   bool                         // it looked at all
	stopped   stoppedBulks
	told      int    // events that were kept, also those undone since
	onEvents  func() // see OnEvents
	onEnded   func([]store.EndedNow)
	endedNow  []store.EndedNow // in the call under way
	streaks   map[int64]int    // how many there are of each job that has any; nil: not read yet
	cached    int              // bounds the rows kept from call to call

	ids     *jobs.IDs          // name the merges of groups
	groups  groupSight         // see there
	quiet   map[int64]struct{} // groups of which the ends of members are taken in at once
	tallies map[tallied]count  // what has ended in the transaction under way
	folding *string            // the job whose counts were folded last; nil: none yet
	idle    [store.Pools]bool  // pools without a lane that has its turn: a claim need not look

	unfinished unfinished
	onCommit   func() (done func()) // see OnCommit
}

// jobRow is what the queue needs of a job.
type jobRow struct {
	id      int64
	name    string
	version int
	pool    store.Pool // of the newest version
	paused  bool
	note    string // why it is paused
	deleted bool

	queue        string // of the document, as it stands
	concurrency  *jobs.Concurrency
	rate         *jobs.Rate
	dependencies []string
	longAfter    time.Duration // 0: never

	templated bool   // the URL of the newest version may name a host by what a run brings
	hosts     *hosts // of that version; nil: not read yet
}

// maxCached bounds the rows of each sort that are kept from call to call. A call itself may read more.
const maxCached = 20_000

// New makes a store over a database whose schema is up to date.
func New(db DB) *Store {
	s := &Store{
		db: db, ready: make(chan struct{}, 1), stirred: map[int64]struct{}{}, stirAll: true,
		behind: map[int64]map[int64]struct{}{},
		cached: maxCached, onEvents: func() {}, tallies: map[tallied]count{},
	}
	s.forget()
	s.unfinished.seen.Store(-1)
	s.onCommit = func() func() { return func() {} }
	db.OnRollback(s.undone)
	db.OnCommit(s.commits)
	db.OnWake(s.signal)
	return s
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Ready implements store.Queue.
func (s *Store) Ready() <-chan struct{} { return s.ready }

// Size implements store.Ledger.
func (s *Store) Size(ctx context.Context) (store.FileSize, error) { return s.db.Size(ctx) }

// Tidy implements store.Ledger.
func (s *Store) Tidy(ctx context.Context, idle bool) error { return s.db.Tidy(ctx, idle) }

// Shrink implements store.Ledger.
func (s *Store) Shrink(ctx context.Context, pages int) error { return s.db.Shrink(ctx, pages) }

// OnEvents implements store.History.
func (s *Store) OnEvents(fn func()) { s.onEvents = fn }

// write is a transaction of the store.
func (s *Store) write(ctx context.Context, fn func(Tx) error) error {
	told, ended := false, []store.EndedNow(nil)
	err := s.db.Write(ctx, func(tx Tx) error {
		s.trim()
		before := s.told
		clear(s.tallies)
		s.endedNow = s.endedNow[:0]
		err := s.unfinished.begin(tx)
		if err == nil {
			err = fn(tx)
		}
		if err == nil {
			err = s.keepTallies(tx)
		}
		if err == nil {
			s.unfinished.keep()
		}
		told, ended = s.told > before, slices.Clone(s.endedNow)
		return err
	})
	if err == nil && len(ended) > 0 {
		s.onEnded(ended)
	}
	if err == nil && told {
		s.onEvents()
	}
	return err
}

// trim drops rows where too many are kept, between two calls: within one, nobody may read a second
// copy of a row that another part of it holds and changes.
func (s *Store) trim() {
	if len(s.jobRows) > s.cached {
		clear(s.jobRows)
		clear(s.jobsByID)
	}
	if len(s.laneByID) > s.cached {
		s.aheadRuns = 0
		clear(s.laneRows)
		clear(s.laneByID)
	}
	if len(s.specs) > s.cached {
		clear(s.specs)
	}
	if len(s.gates.byID) > s.cached {
		s.forgetGates()
	}
}

func (s *Store) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// undone is told of what was rolled back.
func (s *Store) undone(all bool) {
	s.forget()
	if all {
		s.unfinished.undo()
	}
}

// commits is told of a commit.
func (s *Store) commits(tx Tx) (func(error), error) {
	done := s.onCommit()
	return func(err error) {
		if done(); err == nil {
			s.unfinished.commit()
		}
	}, s.unfinished.save(tx)
}

func (s *Store) forget() {
	s.jobRows = map[string]*jobRow{}
	s.jobsByID = map[int64]*jobRow{}
	s.laneRows = map[laneKey]*laneRow{}
	s.laneByID = map[int64]*laneRow{}
	s.specs = map[specKey]*pinned{}
	s.saves, s.streaks = savesUnknown, nil
	s.changed, s.freed = nil, nil
	s.stopped = stoppedBulks{}
	s.aheadRuns = 0
	s.groups, s.quiet, s.idle = groupSight{}, map[int64]struct{}{}, [store.Pools]bool{}
	s.forgetGates()
	s.folding = nil
	// What the claim under way has looked at is as it was.
	for id := range s.seen {
		s.stirred[id] = struct{}{}
	}
	s.stirAll = s.stirAll || s.seenAll
	s.seen, s.seenAll = map[int64]struct{}{}, false
}

const (
	jobRowColumns = `
SELECT j.id, j.version, j.paused_at, j.deleted_at, v.spec, j.name, j.doc, j.pause_note
FROM jobs j JOIN versions v ON v.job = j.id AND v.version = j.version`
	selectJobRow   = jobRowColumns + ` WHERE j.name = $1`
	selectJobRowID = jobRowColumns + ` WHERE j.id = $1`
)

// jobRow gives the row of a job, also of a deleted one; nil where the name was never used.
func (s *Store) jobRow(tx Tx, name string) (*jobRow, error) {
	if row := s.jobRows[name]; row != nil {
		return row, nil
	}
	row, err := readJobRow(tx, selectJobRow, name)
	if err == nil && row != nil {
		s.keepJobRow(row)
	}
	return row, err
}

// jobByID is jobRow by the number that others know the job by.
func (s *Store) jobByID(tx Tx, id int64) (*jobRow, error) {
	if row := s.jobsByID[id]; row != nil {
		return row, nil
	}
	row, err := readJobRow(tx, selectJobRowID, id)
	if err == nil && row == nil {
		err = fmt.Errorf("job number %d: %w", id, store.ErrNotFound)
	}
	if err == nil {
		s.keepJobRow(row)
	}
	return row, err
}

func (s *Store) keepJobRow(row *jobRow) {
	s.jobRows[row.name], s.jobsByID[row.id] = row, row
}

// forgetJob drops what was read of a job before it changed.
func (s *Store) forgetJob(name string) {
	if row := s.jobRows[name]; row != nil {
		delete(s.jobRows, name)
		delete(s.jobsByID, row.id)
	}
}

// readJobRow gives nil where there is none.
func readJobRow(tx Tx, query string, arg any) (row *jobRow, err error) {
	var bad error
	_, err = one(tx, query, func(r Row) { row, bad = scanJobRow(r) }, arg)
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	return row, nil
}

func scanJobRow(r Row) (*jobRow, error) {
	spec, err := parseSpec(r.Bytes(4))
	if err != nil {
		return nil, fmt.Errorf("read spec of job %s: %w", r.Text(5), err)
	}
	doc, err := jobs.ParseDocument(r.Bytes(6))
	if err != nil {
		return nil, fmt.Errorf("read document of job %s: %w", r.Text(5), err)
	}
	row := &jobRow{
		id: r.Int(0), name: r.Text(5), version: int(r.Int(1)), pool: store.PoolOf(spec.Kind()),
		paused: !r.Null(2), note: r.Text(7), deleted: !r.Null(3), templated: templated(spec),
		queue: doc.QueueOf(), concurrency: doc.Concurrency, rate: doc.Rate, dependencies: doc.Dependencies,
	}
	if doc.LongAfter != nil {
		row.longAfter = doc.LongAfter.Std()
	}
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
