package sqlite

import (
	"errors"

	"nightshift/store"
	"nightshift/store/sqldb"
)

// Bounds of the WAL, in pages of 4 KiB. SQLite starts it anew by itself once all of it has been
// copied back and nobody reads from it; where reads overlap without end, that never comes.
const (
	copyPages = 4096 // copy it back, waiting for nobody: 16 MiB
	gatePages = 6144 // let no new read begin, so that it can start anew: 24 MiB
	stopPages = 8192 // write no more before that: 32 MiB. A group adds half as much again at most
	// retryPages is how much is written before a restart that somebody outside was in the way
	// of is tried again.
	retryPages = 2048
	// Looking costs as much as a statement: not after every small transaction.
	lookGroups = 16
	lookBytes  = 1 << 20
)

// logKeeper is what the writer remembers of the WAL.
type logKeeper struct {
	groups  int           // since the writer last looked
	bytes   int           // written since then
	copied  int64         // pages when it was last copied back
	waiting bool          // for the reads under way to end
	locked  chan struct{} // they have: writer.gate is held
	retryAt int64         // pages
}

// keepLogShort copies the WAL back once it has grown; it is then used again from its start, which
// also makes its fsyncs cheaper than those of a file that grows.
func (w *writer) keepLogShort() {
	w.log.groups++
	if w.log.bytes += w.conn.bytes; w.log.groups < lookGroups && w.log.bytes < lookBytes {
		return
	}
	w.log.groups, w.log.bytes = 0, 0
	pages, left, err := walPages(w.conn)
	if err == nil && left > copyPages && pages-w.log.copied > copyPages/4 {
		err = checkpoint(w.conn, "PASSIVE")
		w.log.copied = pages
	}
	if pages < w.log.copied {
		w.log.copied, w.log.retryAt = 0, 0
	}
	if w.noteFailure(err) {
		return
	}
	if pages > max(gatePages, w.log.retryAt) && !w.log.waiting {
		w.log.waiting = true
		go func() {
			w.gate.Lock()
			w.log.locked <- struct{}{}
		}()
	}
	if pages > stopPages && w.log.waiting {
		<-w.log.locked
		w.restartLog()
	}
}

// restartLog starts the WAL anew while no read is under way, and lets reads begin again.
func (w *writer) restartLog() {
	if w.failed == nil {
		w.noteFailure(checkpointNow(w.conn, "RESTART"))
		if pages, left, err := walPages(w.conn); err == nil && left > 0 {
			w.log.retryAt = pages + retryPages
		}
	}
	w.log.waiting = false
	w.gate.Unlock()
}

// endRestart lets reads go on when the writer ends.
func (w *writer) endRestart() {
	if w.log.waiting {
		<-w.log.locked
		w.log.waiting = false
		w.gate.Unlock()
	}
}

// noteFailure ends the writer after a checkpoint that failed: pages may not be on disk.
func (w *writer) noteFailure(err error) bool {
	if err = w.classify(err); errors.Is(err, store.ErrUnknown) {
		w.failed = err
	}
	return err != nil
}

// walPages tells how many pages the WAL holds and how many of them are not copied back.
func walPages(c *conn) (pages, left int64, err error) {
	err = c.Query("PRAGMA wal_checkpoint(NOOP)", func(r sqldb.Row) error {
		pages, left = r.Int(1), r.Int(1)-r.Int(2)
		return nil
	})
	return pages, left, err
}

func checkpoint(c *conn, mode string) error {
	return c.Query("PRAGMA wal_checkpoint("+mode+")", func(sqldb.Row) error { return nil })
}

// checkpointNow does not wait for a reader in the way: writers would wait with it.
func checkpointNow(c *conn, mode string) error {
	if _, err := c.Exec("PRAGMA busy_timeout=0"); err != nil {
		return err
	}
	err := checkpoint(c, mode)
	if _, berr := c.Exec("PRAGMA busy_timeout=10000"); err == nil {
		err = berr
	}
	if errors.Is(classify(err), store.ErrBusy) {
		return nil
	}
	return err
}
