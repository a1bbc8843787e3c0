package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"nightshift/store"
	"nightshift/store/sqldb"
)

const (
	maxGroup = 512 // calls that share a transaction
	// lingerSpins is how often the writer yields before it commits a transaction in which
	// somebody was woken: a claim that comes meanwhile joins it and saves an fsync.
	lingerSpins = 64
	// maxGroupBytes is how much a transaction may hold before it takes no more calls.
	maxGroupBytes = 8 << 20
)

// writer owns the one connection that writes. Calls that come while a commit is under way share
// the next transaction; one that fails spoils no other: where it had written, the group is run
// again with each in a savepoint. Callers are answered after COMMIT.
type writer struct {
	conn       *conn
	onRollback func(all bool)
	onWake     func()
	onCommit   func(sqldb.Tx) (done func(error), err error)
	refused    func() string // why the system does not let the files be written; "": not known
	files      sameFiles

	mu     sync.RWMutex // guards closed against sends
	closed bool
	calls  chan *call
	done   chan struct{}

	failed error // an unknown commit: every later call gets it
	log    logKeeper
	gate   sync.RWMutex // held for reading by reads
}

// noCommit is told of commits where nobody else is.
func noCommit(sqldb.Tx) (func(error), error) { return func(error) {}, nil }

type call struct {
	fn   func(sqldb.Tx) error
	tidy func(*conn) error // instead of fn: run outside of a transaction
	err  error
	done chan struct{}
}

func newWriter(path string) *writer {
	return &writer{
		onRollback: func(bool) {}, onWake: func() {}, onCommit: noCommit,
		refused: func() string { return refused(path) }, files: sameFiles{path: path},
		calls: make(chan *call, maxGroup), done: make(chan struct{}),
		log: logKeeper{locked: make(chan struct{}, 1)},
	}
}

// do hands a call to the writer and waits for its commit.
func (w *writer) do(ctx context.Context, c *call) error {
	c.done = make(chan struct{})
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return store.ErrClosed
	}
	select {
	case w.calls <- c:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		return ctx.Err()
	}
	<-c.done
	return c.err
}

// stop lets the calls that were accepted finish.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.calls)
	}
	w.mu.Unlock()
	<-w.done
}

// loop runs until stop.
func (w *writer) loop() {
	defer close(w.done)
	defer w.endRestart()
	for {
		select {
		case c := <-w.calls:
			if c == nil {
				return
			}
			w.commitGroup(c)
			if w.failed == nil {
				w.keepLogShort()
			}
		case <-w.log.locked:
			w.restartLog()
		}
	}
}

// commitGroup runs one transaction for first and all that comes meanwhile.
func (w *writer) commitGroup(first *call) {
	var group []*call
	if w.failed == nil {
		group = w.tryGroup(first)
	} else {
		group = w.drain([]*call{first})
		for _, c := range group {
			c.err = w.failed
		}
	}
	for _, c := range group {
		close(c.done)
	}
}

func (w *writer) tryGroup(first *call) (group []*call) {
	// What waits already shares the fate of first, also where the lock cannot be had.
	group = w.drain([]*call{first})
	if err := w.begin(); err != nil {
		// So does what came while the lock was waited for: nobody waits twice.
		group = w.drain(group)
		w.failAll(group, err)
		return group
	}
	group, end := w.runGroup(group, w.runPlain)
	if end == callSpoiled {
		// Rare: a call failed after it had written. Again, each in a savepoint, unless it is alone.
		if w.abort(); len(group) == 1 {
			return group
		}
		if err := w.begin(); err != nil {
			w.failAll(group, err)
			return group
		}
		group, end = w.runGroup(group, w.runInSavepoint)
		if end == callDone && allFailed(group) {
			w.abort() // a commit would write pages that say the same as before
			w.tidy(group)
			return group
		}
	}
	if end == transactionGone {
		w.abort()
		w.oneByOne(group)
		return group
	}
	if err := w.commit(); err != nil {
		w.abort()
		w.failAll(group, err)
		return group
	}
	w.tidy(group)
	return group
}

// commit ends the transaction under way. It has not happened where the files were taken away meanwhile.
func (w *writer) commit() error {
	done, err := w.onCommit(w.conn)
	if err = w.classify(err); err == nil {
		err = w.classifyCommit(w.exec("COMMIT"))
	}
	if err == nil {
		err = w.lostFiles()
	}
	done(err)
	return err
}

// How a call left the transaction.
type ending int

const (
	callDone        ending = iota // its error, if it has one, is its own
	callSpoiled                   // it failed after it had written
	transactionGone               // SQLite may have rolled it back
)

// runGroup runs the calls of a group, and those that come meanwhile.
func (w *writer) runGroup(group []*call, run func(*call) ending) ([]*call, ending) {
	w.conn.bytes = 0
	for i := 0; i < len(group); i++ {
		if group[i].tidy == nil {
			if end := run(group[i]); end != callDone {
				return group, end
			}
		}
		if i == len(group)-1 {
			if c := w.next(len(group)); c != nil {
				group = append(group, c)
			}
		}
	}
	return group, callDone
}

// tidy runs the upkeep that a group asked for, outside of its transaction. A checkpoint that
// fails leaves pages that may not be on disk: nothing goes on after it.
func (w *writer) tidy(group []*call) {
	for _, c := range group {
		if c.tidy == nil {
			continue
		}
		if c.err = w.failed; c.err != nil {
			continue
		}
		if c.err = w.classify(c.tidy(w.conn)); errors.Is(c.err, store.ErrUnknown) {
			w.failed = c.err
		}
	}
}

// drain takes what waits.
func (w *writer) drain(group []*call) []*call {
	for range maxGroup {
		select {
		case c := <-w.calls:
			if c == nil {
				return group
			}
			group = append(group, c)
			continue
		default:
		}
		break
	}
	return group
}

// failAll answers a failed commit. What is known not to have happened is tried no more: the
// callers decide. What is unknown ends the writer: only a restart can tell.
func (w *writer) failAll(group []*call, err error) {
	if errors.Is(err, store.ErrUnknown) {
		w.failed = err
	}
	for _, c := range group {
		if c.err == nil {
			c.err = err
		}
	}
}

// oneByOne runs the calls of an aborted transaction again, each in its own.
func (w *writer) oneByOne(group []*call) {
	for i, c := range group {
		if c.tidy != nil {
			continue
		}
		if c.err = w.failed; c.err != nil {
			continue
		}
		if err := w.begin(); err != nil {
			c.err = err
			w.failAll(group[i+1:], err)
			break
		}
		if end := w.runPlain(c); end != callDone || c.err != nil {
			w.abort()
			if errors.Is(c.err, store.ErrUnknown) {
				w.failed = c.err
			}
			continue
		}
		if err := w.commit(); err != nil {
			w.abort()
			w.failAll([]*call{c}, err)
		}
	}
	w.tidy(group)
	w.wake()
}

// wake tells whoever waits for work, if a closure said so. Each group ends with it.
func (w *writer) wake() (woken bool) {
	if woken = w.conn.woken; woken {
		w.conn.woken = false
		w.onWake()
	}
	return woken
}

// next is a call that is there already, or that comes while who was woken gets a chance.
func (w *writer) next(have int) *call {
	spins := 0
	if w.wake() {
		spins = lingerSpins
	}
	if have >= maxGroup || w.conn.bytes >= maxGroupBytes {
		return nil
	}
	for {
		select {
		case c := <-w.calls:
			return c // nil when closed
		default:
		}
		if spins == 0 {
			return nil
		}
		spins--
		runtime.Gosched()
	}
}

// allFailed reports whether nothing that a group wrote is to stay.
func allFailed(group []*call) bool {
	return !slices.ContainsFunc(group, func(c *call) bool { return c.tidy == nil && c.err == nil })
}

// runPlain runs one call, in the hope that it does not fail after it has written.
func (w *writer) runPlain(c *call) ending {
	w.conn.wrote = false
	c.err = w.classify(protect(c.fn, w.conn))
	switch {
	case c.err == nil:
		return callDone
	case endsTransaction(c.err):
		return transactionGone
	case w.conn.wrote:
		return callSpoiled
	}
	return callDone
}

// runInSavepoint runs one call so that its failure undoes only what it wrote.
func (w *writer) runInSavepoint(c *call) ending {
	if err := w.exec("SAVEPOINT one"); err != nil {
		c.err = w.classify(err)
		return transactionGone
	}
	end := w.runPlain(c)
	if end == callSpoiled {
		w.onRollback(false)
		if err := w.exec("ROLLBACK TO one"); err != nil {
			c.err = errors.Join(c.err, err)
			return transactionGone
		}
		end = callDone
	}
	if end == transactionGone {
		return end
	}
	if err := w.exec("RELEASE one"); err != nil {
		c.err = w.classify(err)
		return transactionGone
	}
	return callDone
}

// protect turns a panic of a closure into an error: the writer serves everybody.
func protect(fn func(sqldb.Tx) error, tx sqldb.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 4<<10)
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	return fn(tx)
}

func (w *writer) begin() error { return w.classify(w.exec("BEGIN IMMEDIATE")) }

// abort rolls back; SQLite may have done so already, then ROLLBACK's own error says nothing.
func (w *writer) abort() {
	w.onRollback(true)
	_ = w.exec("ROLLBACK")
}

func (w *writer) exec(query string) error {
	_, err := w.conn.Exec(query)
	return err
}
