package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// LatestName is the copy that is published again and again: whoever copies it gets a whole file.
	LatestName = "latest.db"
	datedForm  = "nightshift-20060102T150405Z.db"
	// tempPrefix begins the names of copies that are not whole yet.
	tempPrefix = ".nightshift-"

	snapshotRest  = 20               // times what the last copy took, before the next
	snapshotAhead = 64 << 20         // a file under that has its first copy before it is ready
	snapshotLast  = 5 * time.Second  // what the copy at a stop may take
	backupLook    = 10 * time.Second // how often is looked whether one is due
	backupAgain   = time.Minute      // after one that failed
	staleAfter    = 24 * time.Hour
	// backupRoom is what a copy leaves free of its disk: the database goes on in it.
	backupRoom = 64 << 20
)

// BackupName is the name of a backup of a time.
func BackupName(at time.Time) string { return at.UTC().Format(datedForm) }

var datedName = regexp.MustCompile(`^nightshift-\d{8}T\d{6}Z\.db$`)

// BackupConfig is where copies of the database go, and when.
type BackupConfig struct {
	Dir      string                    // "": no copies are made
	Snapshot time.Duration             // latest.db, at least so long apart, where something changed; 0: never
	Every    time.Duration             // dated copies; 0: none
	Keep     int                       // how many of these
	Disk     func() (jobs.Disk, error) // of Dir; nil: not known
}

// BackupState is how the copies stand.
type BackupState struct {
	Path    string // of latest.db; "": it is not made
	AsOf    jobs.Time
	Size    int64
	Took    time.Duration
	Dated   int       // how many dated copies there are
	Failed  string    // why the last one could not be made; "": it could
	Failing jobs.Time // since when none could
	Stale   bool      // latest.db is a day behind
}

type backups struct {
	making sync.Mutex    // held while a copy is made: two at once would take the room of two
	lock   *os.File      // of Dir
	made   bool          // by this process
	began  time.Duration // clock.ran when that was, which holds what was written until then
	ended  time.Duration // of the last try
	behind bool          // something was written since
	first  time.Duration // clock.ran when that was noticed
	well   bool          // it is noted that latest.db is not stale

	mu    sync.Mutex
	state BackupState
}

// Backups tells how the copies stand.
func (r *Runtime) Backups() BackupState {
	r.backups.mu.Lock()
	defer r.backups.mu.Unlock()
	return r.backups.state
}

func (b *backups) set(change func(*BackupState)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.state)
}

// firstBackup makes ready to make copies, and makes the first one where there is none and the file is small.
func (r *Runtime) firstBackup() {
	c := &r.cfg.Backups
	if c.Dir == "" {
		return
	}
	err := r.openBackups()
	if err != nil {
		r.backupFailed(err)
		return
	}
	size, err := r.store.Size(r.base)
	if err == nil && c.Snapshot > 0 && r.Backups().AsOf == 0 && size.Size+size.Log < snapshotAhead {
		r.snapshot(r.base)
	}
}

// openBackups makes the folder, takes it for this server alone and reads what is in it.
func (r *Runtime) openBackups() error {
	c, b := &r.cfg.Backups, &r.backups
	if b.lock != nil {
		ours, err := b.lock.Stat()
		there, gone := os.Stat(b.lock.Name())
		if err == nil && gone == nil && os.SameFile(ours, there) {
			return nil
		}
		_ = b.lock.Close() // the folder was removed
		b.lock = nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of backups: %w", err)
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return err
	}
	if err := r.readBackups(); err != nil {
		_ = lock.Close() // nothing is written there before it is known what there is
		return err
	}
	b.lock = lock
	return nil
}

// readBackups clears the folder of what is not whole, and reads what is in it.
func (r *Runtime) readBackups() error {
	c, b := &r.cfg.Backups, &r.backups
	list, err := os.ReadDir(c.Dir)
	if err != nil {
		return fmt.Errorf("list the backups: %w", err)
	}
	for _, e := range list { // of a server that died
		if strings.HasPrefix(e.Name(), tempPrefix) {
			_ = os.Remove(filepath.Join(c.Dir, e.Name()))
		}
	}
	names, err := r.dated()
	if err != nil {
		return err
	}
	b.set(func(s *BackupState) { s.Dated = len(names) })
	if c.Snapshot <= 0 {
		return nil
	}
	path := filepath.Join(c.Dir, LatestName)
	copied, err := r.store.Copy(r.base, path)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.log.Warn("the last backup cannot be read: a new one is made", "error", err)
	}
	size, err := r.store.Size(r.base)
	if err != nil {
		return err
	}
	if copied.Of != "" && copied.Of != size.Path {
		if _, err := os.Stat(copied.Of); err == nil {
			return fmt.Errorf("%s is the backup of another database, %s, which would have none any more: give this one a "+
				"folder of its own (--backup-dir)", path, copied.Of)
		}
	}
	if copied.Foreign {
		if err := r.keepForeign(path, copied.AsOf); err != nil {
			return err
		}
		copied = store.Copy{}
	}
	b.set(func(s *BackupState) { s.Path, s.AsOf, s.Size = path, copied.AsOf, copied.Size })
	return nil
}

// backUp publishes copies when they are due, until the runtime stops.
func (r *Runtime) backUp() {
	c := &r.cfg.Backups
	if c.Dir == "" {
		return
	}
	look := backupLook
	if c.Snapshot > 0 {
		look = min(look, max(c.Snapshot/4, 100*time.Millisecond))
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		r.backUpDue()
		r.tellStale()
		select {
		case <-r.stopping.Done():
			return
		case <-tick.C:
		}
	}
}

// backUpDue makes what is due.
func (r *Runtime) backUpDue() {
	c, b := &r.cfg.Backups, &r.backups
	now := r.clock.ran()
	if !b.behind && (r.changed() || r.latestGone()) {
		b.behind, b.first = true, now
	}
	state := r.Backups()
	if state.Failed != "" && now-b.ended < backupAgain {
		return
	}
	if err := r.openBackups(); err != nil {
		r.backupFailed(err)
		return
	}
	fresh := true
	wait := max(c.Snapshot, snapshotRest*state.Took)
	dated, err := r.datedDue()
	if err != nil {
		r.backupFailed(err)
		return
	}
	if c.Snapshot > 0 && b.behind && (!b.made || now-b.ended >= wait || dated) || dated && c.Snapshot <= 0 {
		fresh = r.snapshot(r.stopping)
	}
	if dated && fresh && r.stopping.Err() == nil {
		if err := r.keepDated(); err != nil {
			r.backupFailed(err)
		} else if state.Failed != "" {
			r.backupsMadeAgain()
		}
	}
}

// changed reports whether something was written since the newest copy; at the start of a process nobody knows.
func (r *Runtime) changed() bool {
	return !r.backups.made || time.Duration(r.lastWork.Load()) > r.backups.began
}

// latestGone reports whether somebody has removed the published copy.
func (r *Runtime) latestGone() bool {
	c := &r.cfg.Backups
	_, err := os.Stat(filepath.Join(c.Dir, LatestName))
	return c.Snapshot > 0 && errors.Is(err, os.ErrNotExist)
}

// snapshot publishes a copy, and tells where it could not.
func (r *Runtime) snapshot(ctx context.Context) bool {
	b := &r.backups
	b.making.Lock()
	defer b.making.Unlock()
	began, name := r.clock.ran(), LatestName
	if r.cfg.Backups.Snapshot <= 0 {
		name = BackupName(r.Now().Std())
	}
	dest := filepath.Join(r.cfg.Backups.Dir, name)
	copied, err := r.backupTo(ctx, dest)
	if ctx.Err() != nil && err != nil { // it takes longer than that, which a stop does not try again
		b.set(func(s *BackupState) { s.Took = max(s.Took, r.clock.ran()-began) })
		return false
	}
	if err != nil {
		r.backupFailed(err)
		return false
	}
	failed := !b.made || r.Backups().Failed != ""
	b.made, b.began, b.ended, b.behind = true, began, r.clock.ran(), false
	b.set(func(s *BackupState) {
		if s.Took = b.ended - began; name == LatestName {
			s.AsOf, s.Size, s.Stale = copied.AsOf, copied.Size, false
		}
	})
	if failed { // by an earlier process, for all that is known
		r.backupsMadeAgain()
	}
	r.log.Debug("backup made", "path", dest, "bytes", copied.Size, "took", r.clock.ran()-began)
	return true
}

func (r *Runtime) backupsMadeAgain() {
	r.backups.set(func(s *BackupState) { s.Failed, s.Failing = "", 0 })
	if _, err := r.store.TellStanding(r.base, jobs.EventBackupFailed, nil); r.wroteIdle(err) != nil {
		r.log.Warn("that backups are made again could not be noted", "error", err)
	}
}

// backupTo writes a copy, where there is room for it.
func (r *Runtime) backupTo(ctx context.Context, dest string) (c store.Copy, err error) {
	if err := r.roomForCopy(ctx); err != nil {
		return c, err
	}
	return r.store.Backup(ctx, dest, r.Now())
}

func (r *Runtime) roomForCopy(ctx context.Context) error {
	ask := r.cfg.Backups.Disk
	if r.cfg.Backups.Dir == "" {
		ask = r.cfg.Disk // it is made beside the database
	}
	if ask == nil {
		return nil
	}
	disk, err := ask()
	if err != nil {
		return nil // it shows when it is written
	}
	size, err := r.store.Size(ctx)
	if err != nil {
		return err
	}
	if need := size.Size - size.Free + size.Log; disk.Free < need+backupRoom {
		return &NoRoomError{disk.Path, need + backupRoom, disk.Free}
	}
	return nil
}

// NoRoomError says that a copy would fill the disk.
type NoRoomError struct {
	path       string
	need, free int64
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("no room for a backup: the disk of %s has %d MiB free, and it takes %d MiB with what the "+
		"database needs to go on. Free some, or have backups on another disk (--backup-dir)", e.path, e.free>>20, e.need>>20)
}

// Backup writes a copy with everything that was acknowledged before, and opens it; whoever gets it closes it, and
// the file is gone.
func (r *Runtime) Backup(ctx context.Context) (*os.File, store.Copy, error) {
	r.backups.making.Lock()
	defer r.backups.making.Unlock()
	if r.over.Err() != nil {
		return nil, store.Copy{}, errStopping
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.over, cancel)() // a stop does not wait for all of a large file
	dir := r.cfg.Backups.Dir
	if dir == "" {
		size, err := r.store.Size(ctx)
		if err != nil {
			return nil, store.Copy{}, err
		}
		dir = filepath.Dir(size.Path)
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, store.Copy{}, fmt.Errorf("make the folder of backups: %w", err)
	}
	dest := filepath.Join(dir, fmt.Sprintf("%sasked-%016x.db", tempPrefix, random64()))
	copied, err := r.backupTo(ctx, dest)
	if err != nil && r.over.Err() != nil {
		err = errStopping
	}
	if err != nil {
		return nil, copied, err
	}
	defer os.Remove(dest)
	f, err := os.Open(dest) // a copy, which SQLite does not have open
	return f, copied, err
}

// lastBackup publishes a copy at a stop, where that is quickly done.
func (r *Runtime) lastBackup(within time.Duration, kill <-chan struct{}) {
	b := &r.backups
	if b.lock == nil || r.restored.Load() != nil {
		return
	}
	defer func() { _ = b.lock.Close() }()
	took := r.Backups().Took
	within = min(within, snapshotLast)
	if r.cfg.Backups.Snapshot <= 0 || !r.changed() || took > within || within <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.base, within)
	defer cancel()
	go func() {
		select {
		case <-kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	if !r.snapshot(ctx) && ctx.Err() != nil {
		r.log.Info("no backup was made at the stop: it would have taken too long", "within", within)
	}
}

// backupFailed tells that no copy could be made, once until one can.
func (r *Runtime) backupFailed(err error) {
	now := r.Now()
	state, first := BackupState{}, false
	r.backups.ended = r.clock.ran()
	r.backups.set(func(s *BackupState) {
		if first = s.Failing == 0; first {
			s.Failing = now
		}
		s.Failed = err.Error()
		state = *s
	})
	r.metrics.backupsFailed.Inc()
	told, terr := r.store.TellStanding(r.base, jobs.EventBackupFailed, []store.Standing{{Event: store.Event{
		At: now, Type: jobs.EventBackupFailed, Subject: jobs.BackupSubject,
		Data: jobs.AppendJSON(nil, &jobs.BackupFailed{
			Path: filepath.Join(r.cfg.Backups.Dir, LatestName), Reason: err.Error(),
		}),
	}}})
	if first || told > 0 || terr != nil { // first: an earlier process may have told of it
		r.log.Error("no backup could be made: tried again each minute", "error", err, "newest", state.AsOf)
	}
	if r.wroteIdle(terr) != nil {
		r.log.Warn("that no backup could be made could not be noted", "error", terr)
	}
}

// tellStale tells of a published copy that is a day behind.
func (r *Runtime) tellStale() {
	b := &r.backups
	if r.cfg.Backups.Snapshot <= 0 {
		return
	}
	now := r.Now()
	var list []store.Standing
	b.set(func(s *BackupState) {
		// One of another process that is old is made anew at once, unless that fails.
		s.Stale = b.behind && (r.clock.ran()-b.first >= staleAfter ||
			!b.made && s.Failed != "" && s.AsOf != 0 && now.Sub(s.AsOf) >= staleAfter)
		if !s.Stale {
			return
		}
		reason := "for a day no backup could be made of what was written"
		if s.Failed != "" {
			reason += ": " + s.Failed
		}
		list = []store.Standing{{Event: store.Event{
			At: now, Type: jobs.EventBackupStale, Subject: jobs.BackupSubject,
			Data: jobs.AppendJSON(nil, &jobs.BackupStale{Path: s.Path, AsOf: s.AsOf, Reason: reason}),
		}}}
	})
	if list == nil && b.well {
		return // nothing was told that does not stand any more
	}
	told, err := r.store.TellStanding(r.stopping, jobs.EventBackupStale, list)
	b.well = err == nil && list == nil
	if told > 0 {
		r.log.Error("the published backup is a day behind", "path", r.Backups().Path, "as_of", r.Backups().AsOf)
	}
	if r.wroteIdle(err) != nil && r.stopping.Err() == nil {
		r.log.Warn("how old the backup is could not be noted", "error", err)
	}
}
