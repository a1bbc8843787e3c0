// Package sqlite opens the database file and runs the transactions of sqldb on it: one writer
// with group commit, a pool of readers, checkpoints of its own, synchronous=FULL.
//
// It must not know what the statements mean. Nothing here, nor elsewhere in the process, opens
// the database, its -wal or its -shm but SQLite: closing a descriptor drops SQLite's locks.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	driverlib "modernc.org/sqlite"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
)

// syncData makes SQLite commit with fdatasync(2), as it does wherever its configure script finds it:
// data and size reach the disk, the time of the last change need not. Where it is unavailable
// commits go by fsync(2), which is slower and no safer.
func syncData() { _, _ = driverlib.Fdatasync(true) }

//go:embed migrations/*.sql
var migrations embed.FS

// readTimeout cuts reads, so that no reader keeps the WAL from being used again.
const readTimeout = 30 * time.Second

// Config says how to open; its zero value works.
type Config struct {
	Readers int          // connections that read; 0: 4
	Log     *slog.Logger // nil: none
	Now     jobs.Time    // of the start
	// Start is a number of this start that no other one has, by which a file that was served since is told from a copy
	// of it; 31 bits count. A file that is new is named by it. 0: one more than that of the start before.
	Start int64
	// NoUpgradeCopy brings an older schema up to date without a copy of the file being made first.
	NoUpgradeCopy bool

	migrations fs.FS  // nil: those of this program
	driver     string // of database/sql; "": sqlite
	// freeOn tells how many bytes are free on the disk of a folder; nil: the system is asked.
	freeOn func(folder string) (n int64, known bool)
}

type db struct {
	path    string
	driver  string
	lock    *lockFile
	writing *sql.DB
	reading *sql.DB
	w       *writer
	readers chan *conn
	release []chan struct{} // closed to give reader connections back
	wg      sync.WaitGroup
	once    sync.Once // closes

	quiet string // immutable=1& of a file that nobody serves and that has no log: SQLite would make one

	was   head // before this start
	found fileFacts
	why   store.HeldWhy // it is to be held; "": it is not
	note  servedNote
	// numbered: the file has the number of this start.
	numbered bool
}

// Open opens or makes the database file at path, brings its schema up to date and locks it
// against other processes. Close leaves one complete file.
func Open(ctx context.Context, path string, cfg Config) (store.Store, error) {
	syncData()
	d, err := openDB(ctx, path, cfg)
	if err != nil {
		return nil, err
	}
	s := sqldb.New(d)
	name := strconv.FormatUint(uint64(cfg.Start), 36)
	hold := func() error { return errors.Join(s.Name(ctx, name), s.Hold(ctx, d.why, cfg.Now)) }
	if err := d.begin(ctx, cfg.Start, d.was, hold); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("open database %s: %w", path, explainOpen(err))
	}
	return s, nil
}

func openDB(ctx context.Context, path string, cfg Config) (*db, error) {
	real, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := checkLinks(real); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := checkMount(real); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	lk, err := lock(real)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	d := &db{path: real, driver: cmp.Or(cfg.driver, "sqlite"), lock: lk, w: newWriter(real)}
	if err := d.open(ctx, cfg); err != nil {
		d.closeAll()
		return nil, fmt.Errorf("open database %s: %w", path, explainOpen(err))
	}
	return d, nil
}

func (d *db) open(ctx context.Context, cfg Config) error {
	facts, err := d.lookAt()
	if err != nil {
		return err
	}
	if d.why, err = facts.judge(); err != nil {
		return err
	}
	d.was, d.found = facts.head, facts
	if err := makeFile(d.path); err != nil {
		return err
	}
	up, err := newUpgrade(cfg)
	if err != nil {
		return err
	}
	if up.have, err = d.look(ctx); err != nil {
		return err
	}
	if err := d.check(up); err != nil {
		return err
	}
	if err := d.checkMark(ctx); err != nil {
		return err
	}
	d.writing = d.pool("mode=rw&_txlock=immediate" +
		"&_pragma=auto_vacuum(INCREMENTAL)&_pragma=journal_mode(WAL)" +
		"&_pragma=wal_autocheckpoint(0)&_pragma=cache_size(-32768)")
	d.writing.SetMaxOpenConns(1)
	if err := checkPragmas(ctx, d.writing); err != nil {
		return err
	}
	if err := d.upgrade(ctx, up); err != nil {
		return err
	}
	if err := d.startWriter(ctx); err != nil {
		return err
	}
	n := cfg.Readers
	if n <= 0 {
		n = 4
	}
	d.reading = d.pool("mode=ro&_pragma=query_only(1)&_pragma=cache_size(-8192)")
	d.reading.SetMaxOpenConns(n)
	d.readers = make(chan *conn, n)
	for range n {
		if err := d.startReader(ctx); err != nil {
			return err
		}
	}
	return nil
}

// makeFile makes an empty file that nobody else may read, before SQLite opens it: the -wal and
// -shm take over its mode. It is closed before SQLite holds any lock.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *db) pool(params string) *sql.DB {
	name := "file:" + (&url.URL{Path: d.path}).EscapedPath() + "?" + params +
		"&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_dqs=0"
	p, err := sql.Open(d.driver, name)
	if err != nil {
		panic(err) // only an unregistered driver
	}
	p.SetConnMaxIdleTime(0)
	p.SetConnMaxLifetime(0)
	return p
}

// startWriter runs the writer inside database/sql's Raw for the life of the store.
func (d *db) startWriter(ctx context.Context) error {
	c, err := d.writing.Conn(ctx)
	if err != nil {
		return err
	}
	ready := make(chan error, 1)
	d.wg.Add(1)
	go func() {
		defer d.wg.Done()
		defer c.Close()
		err := c.Raw(func(raw any) (err error) {
			if d.w.conn, err = newConn(raw); err != nil {
				return err
			}
			ready <- nil
			d.w.loop()
			// After a write that may be half on disk nothing is checkpointed, as the last
			// connection to close would: the next start recovers.
			if d.w.failed == nil {
				d.w.conn.close()
			}
			return nil
		})
		if err != nil {
			close(d.w.done)
			ready <- err
		}
	}()
	return <-ready
}

func (d *db) startReader(ctx context.Context) error {
	c, err := d.reading.Conn(ctx)
	if err != nil {
		return err
	}
	ready, release := make(chan error, 1), make(chan struct{})
	d.wg.Add(1)
	go func() {
		defer d.wg.Done()
		defer c.Close()
		err := c.Raw(func(raw any) error {
			r, err := newConn(raw)
			if err != nil {
				return err
			}
			d.readers <- r
			ready <- nil
			<-release
			r.close()
			return nil
		})
		if err != nil {
			ready <- err
		}
	}()
	if err := <-ready; err != nil {
		return err
	}
	d.release = append(d.release, release)
	return nil
}

// Write implements sqldb.DB.
func (d *db) Write(ctx context.Context, fn func(sqldb.Tx) error) error {
	return d.w.do(ctx, &call{fn: fn})
}

// Read implements sqldb.DB. A read lasts 30 s at most.
func (d *db) Read(ctx context.Context, fn func(sqldb.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	d.w.gate.RLock()
	defer d.w.gate.RUnlock()
	var c *conn
	select {
	case c = <-d.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c == nil {
		return store.ErrClosed
	}
	defer func() { d.readers <- c }()
	if _, err := c.Exec("BEGIN"); err != nil {
		return classifyRead(err)
	}
	err := protect(fn, &reader{conn: c, ctx: ctx})
	if _, cerr := c.Exec("ROLLBACK"); err == nil && cerr != nil {
		err = cerr
	}
	return classifyRead(err)
}

// reader checks the deadline between rows.
type reader struct {
	*conn
	ctx context.Context
}

func (r *reader) Query(query string, each func(sqldb.Row) error, args ...driver.Value) error {
	return r.conn.Query(query, func(row sqldb.Row) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		return each(row)
	}, args...)
}

// OnRollback implements sqldb.DB.
func (d *db) OnRollback(fn func(all bool)) { d.w.onRollback = fn }

// OnWake implements sqldb.DB.
func (d *db) OnWake(fn func()) { d.w.onWake = fn }

// OnCommit has fn called around each commit; it is given before anything is written.
func (d *db) OnCommit(fn func(sqldb.Tx) (done func(error), err error)) { d.w.onCommit = fn }

// Shrink implements sqldb.DB. The last pages of the file move to where some are free, and the file is cut: it is as
// much writing as the pages are large.
func (d *db) Shrink(ctx context.Context, pages int) error {
	return d.w.do(ctx, &call{tidy: func(c *conn) error {
		return c.once("PRAGMA incremental_vacuum(" + strconv.Itoa(pages) + ")")
	}})
}

// Tidy implements sqldb.DB: checkpoints, and cuts the WAL when idle.
func (d *db) Tidy(ctx context.Context, idle bool) error {
	return d.w.do(ctx, &call{tidy: func(c *conn) error {
		if !idle {
			return checkpoint(c, "PASSIVE")
		}
		return checkpointNow(c, "TRUNCATE")
	}})
}

// Close answers the calls that were accepted, then leaves one complete file. It tells the error
// after which the writer gave up, if it did.
func (d *db) Close() error {
	d.once.Do(d.closeAll)
	return d.w.failed
}

// emptyLog takes the log into the file, and reports whether nothing is left of it. It waits for nobody: where another
// process reads the file, its log has to stay.
func (d *db) emptyLog() bool {
	if _, err := d.writing.Exec("PRAGMA busy_timeout=0"); err != nil {
		return false
	}
	var busy, pages, taken int
	err := d.writing.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &taken)
	if err != nil || busy != 0 || pages != 0 {
		return false
	}
	d.note.Begun = d.note.Begun && !d.numbered
	return true
}

func (d *db) closeAll() {
	if d.w.conn != nil {
		d.w.stop()
	}
	for range d.release {
		if d.readers != nil {
			<-d.readers
		}
	}
	for _, r := range d.release {
		close(r)
	}
	d.wg.Wait()
	if d.readers != nil {
		close(d.readers)
	}
	if d.reading != nil {
		_ = d.reading.Close()
	}
	note := d.w.failed == nil && d.lock.held() // else the note is another server's
	// It is noted before the log is removed: a kill in between would leave what looks like a log that somebody removed.
	if note && d.note.Start != 0 && d.emptyLog() {
		note = d.end() != nil
	}
	if d.writing != nil {
		_ = d.writing.Close() // the last connection checkpoints and removes the WAL
	}
	if note {
		end := d.end
		if d.note.Start == 0 {
			end = d.leave
		}
		if err := end(); err != nil {
			d.w.failed = err
		}
	}
	d.lock.release()
}
