package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nightshift/api/words"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// FileTools work on database files that no server of this process has open.
type FileTools struct {
	// Destination gives the path that a backup is written to; an error where what has that name is no backup.
	Destination func(path string) (string, error)
	// Backup writes a checked copy of a file that nobody serves.
	Backup func(ctx context.Context, db, dest string, now jobs.Time) (store.Copy, error)
	// Verify looks at a file; whole: at every page of it.
	Verify func(ctx context.Context, path string, whole bool) (store.Verified, error)
	// Restore puts a backup in the place of a file that nobody serves; moved is where that is then, "": there was none.
	Restore func(ctx context.Context, backup, db string, now jobs.Time) (v store.Verified, moved string, err error)
}

type backupCmd struct {
	Dest string `arg:"" help:"The file to write, or a folder, in which it is named by its time."`
	DB   string `name:"db" default:"nightshift.db" env:"NIGHTSHIFT_DB" placeholder:"FILE" help:"The database, where no server answers (${env})."`
}

// Help says what a backup is.
func (backupCmd) Help() string {
	return `Writes a whole, checked copy of the database with everything that was acknowledged before the call, and
replaces an earlier backup at DEST only once it is complete; another file is left alone. The server makes it; where none answers and nobody serves --db, the
copy is made from that file.

Back up the key too (nightshift.db.key): secrets are sealed with it. Scripts that jobs name by path lie in
their own folder. While the server works, backups/latest.db beside the database is always whole: tools
that copy files may take that one.`
}

// backedUp is what --json prints.
type backedUp struct {
	Path string    `json:"path"`
	Size int64     `json:"size"`
	AsOf jobs.Time `json:"as_of"`
}

// Run writes a backup.
func (cmd backupCmd) Run(s *session) error {
	dest := cmd.Dest
	switch dest {
	case "":
		return usage("DEST: want the path of a file or a folder")
	case "-":
		return usage("DEST: want the path of a file or a folder; GET /v1/backup gives a stream")
	}
	if info, err := os.Stat(dest); err == nil && info.IsDir() {
		dest = filepath.Join(dest, runtime.BackupName(time.Now()))
	}
	real, err := s.parts.Files.Destination(dest)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer s.untilTold()()
	done, err := cmd.fromServer(s, real)
	if noServer(err) {
		if _, serr := os.Stat(resolved(cmd.DB)); serr != nil {
			return fmt.Errorf("%w; and there is no file %s to copy without one", err, cmd.DB)
		}
		var c store.Copy
		c, err = s.parts.Files.Backup(s.ctx, cmd.DB, real, jobs.TimeOf(time.Now()))
		if err != nil {
			err = fmt.Errorf("no server answers at %s (--server names another), and without one: %w", s.remote.Server, err)
		}
		done = backedUp{real, c.Size, c.AsOf}
	}
	if err != nil {
		return s.interrupted(err)
	}
	done.Path = dest
	if s.out.json {
		s.out.value(done)
		return nil
	}
	s.out.line("%s: whole, %s, with everything up to %s.", words.Clean(done.Path), words.Bytes(done.Size), done.AsOf)
	return nil
}

// untilTold ends what is under way once the process is told to end, so that no half of a large file is left; told once
// more, the process ends at once.
func (s *session) untilTold() (stop func()) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	s.ctx, stop = signal.NotifyContext(s.ctx, signals...)
	context.AfterFunc(s.ctx, stop)
	return stop
}

// interrupted says that it was a signal which has ended a command.
func (s *session) interrupted(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	return err
}

// noServer reports whether nothing listens where the server should.
func noServer(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}

// fromServer has the server make a copy, and checks what has arrived before it gets its name.
func (cmd backupCmd) fromServer(s *session, dest string) (done backedUp, err error) {
	c, err := s.client()
	if err != nil {
		return done, err
	}
	f, err := os.CreateTemp(filepath.Dir(dest), ".nightshift-copy-*") // 0600
	if err != nil {
		return done, fmt.Errorf("write the backup: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	asOf, err := c.Backup(s.ctx, f)
	if err != nil {
		return done, err
	}
	if err := f.Sync(); err != nil {
		return done, fmt.Errorf("write the backup: %w", err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return done, err
	}
	v, err := s.parts.Files.Verify(s.ctx, f.Name(), false)
	if err != nil {
		return done, err
	}
	if v.Problems != nil {
		return done, fmt.Errorf("what has arrived is damaged: %s", v.Problems[0].What)
	}
	if err := os.Rename(f.Name(), dest); err != nil {
		return done, fmt.Errorf("write the backup: %w", err)
	}
	return backedUp{dest, size, asOf}, syncFolder(filepath.Dir(dest))
}

type restoreCmd struct {
	Backup string `arg:"" help:"The backup: latest.db, a dated one, or what nightshift backup wrote."`
	DB     string `name:"db" default:"nightshift.db" env:"NIGHTSHIFT_DB" placeholder:"FILE" help:"The database that it becomes (${env}). No server may be at work on it."`
}

// Help says what a restore does.
func (restoreCmd) Help() string {
	return `Checks every page of the backup, moves what is at --db aside (with its log; nothing is deleted), and puts
a copy of the backup there. The backup stays as it is.

The server then starts held: the API answers, and nothing starts, no tick is decided, nobody is told, until
nightshift resume. With --cancel-waiting that cancels first what waits in the backup and may have run since.`
}

// restored is what --json prints.
type restored struct {
	Path    string    `json:"path"`
	AsOf    jobs.Time `json:"as_of"`
	Moved   *string   `json:"moved"`
	Runs    *int      `json:"runs"` // null: of an older schema they are not counted
	Secrets []string  `json:"secrets_to_set"`
}

// Run restores a backup.
func (cmd restoreCmd) Run(s *session) error {
	defer s.untilTold()()
	v, moved, err := s.parts.Files.Restore(s.ctx, cmd.Backup, cmd.DB, jobs.TimeOf(time.Now()))
	if err != nil {
		return s.interrupted(err)
	}
	runs := 0
	for _, n := range v.Counts.Runs {
		runs += n
	}
	done := restored{Path: resolved(cmd.DB), Runs: &runs, Secrets: []string{}}
	has := fmt.Sprintf("%d jobs, %d runs", v.Counts.Jobs, runs)
	if v.Skipped != "" {
		done.Runs, has = nil, v.Skipped
	}
	if v.Copy != nil {
		done.AsOf = v.Copy.AsOf
	}
	if moved != "" {
		done.Moved = &moved
	}
	if _, err := os.Stat(keyPath(done.Path)); err != nil && os.Getenv("NIGHTSHIFT_KEY") == "" {
		done.Secrets = append(done.Secrets, v.Counts.Secrets...)
	}
	if s.out.json {
		s.out.value(done)
		return nil
	}
	asOf := "as it was when its server stopped"
	if done.AsOf != 0 {
		asOf = "as of " + done.AsOf.String()
	}
	s.out.line("%s is restored from %s, %s: %s.", words.Clean(done.Path), words.Clean(cmd.Backup), asOf, has)
	if moved != "" {
		s.out.line("What was there is kept as %s.", words.Clean(moved))
	}
	if len(done.Secrets) > 0 {
		s.out.line("\nThere is no key %s: put that of the backup there, or set these secrets again (nightshift secrets set): %s.",
			words.Clean(keyPath(done.Path)), words.Clean(strings.Join(done.Secrets, ", ")))
	}
	if _, err := os.Stat(tokenPath(done.Path)); err != nil && os.Getenv("NIGHTSHIFT_TOKEN") == "" {
		s.out.line("\nThere is no token %s: one that you have kept is good, and NIGHTSHIFT_TOKEN in the server's environment sets one.",
			words.Clean(tokenPath(done.Path)))
	}
	s.out.line("\nNext: nightshift serve, which starts held; look at it; then nightshift resume, or nightshift resume --cancel-waiting.")
	return nil
}

type verifyCmd struct {
	File  string `arg:"" help:"A database or a backup. A server may be at work on it."`
	Quick bool   `help:"Look at what holds the pages together, not at every index: takes a sixth of the time."`
}

// Help says what is looked at.
func (verifyCmd) Help() string {
	return `Reads the file, changes nothing, and says whether it is whole (SQLite's integrity_check and foreign keys),
whether its rows mean what they must (a queued run is in a lane, a slot is held by a run under way, ...), how
much is in it, and as of when a backup is. Exit 1 where anything is wrong.`
}

// verified is what --json prints.
type verified struct {
	Path         string         `json:"path"`
	Size         int64          `json:"size"`
	OK           bool           `json:"ok"`
	AsOf         jobs.Time      `json:"as_of"`
	NewestRun    jobs.ID        `json:"newest_run"`
	Schema       int64          `json:"schema"`
	Served       bool           `json:"served"`
	Skipped      *string        `json:"skipped"`
	Problems     []problem      `json:"problems"`
	Jobs         int            `json:"jobs"`
	Schedules    int            `json:"schedules"`
	Runs         map[string]int `json:"runs"`
	OpenFailures int            `json:"open_failures"`
	Events       int            `json:"events"`
	Audit        int            `json:"audit"`
	Secrets      []string       `json:"secrets"`
}

type problem struct {
	What    string   `json:"what"`
	Count   int      `json:"count"`
	Samples []string `json:"samples"`
}

// Run verifies a file.
func (cmd verifyCmd) Run(s *session) error {
	v, err := s.parts.Files.Verify(s.ctx, cmd.File, !cmd.Quick)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(verifiedView(&v))
	} else {
		s.printVerified(&v)
	}
	if v.Problems != nil {
		return failedError{}
	}
	return nil
}

func verifiedView(v *store.Verified) verified {
	view := verified{
		Path: v.Path, Size: v.Size, OK: v.Problems == nil, NewestRun: v.Counts.Newest, Schema: v.Schema, Served: v.Served,
		Problems: []problem{}, Jobs: v.Counts.Jobs, Schedules: v.Counts.Schedules, Runs: map[string]int{},
		OpenFailures: v.Counts.OpenFailures, Events: v.Counts.Events, Audit: v.Counts.Audit,
		Secrets: append([]string{}, v.Counts.Secrets...),
	}
	if v.Copy != nil {
		view.AsOf, view.NewestRun = v.Copy.AsOf, v.Copy.Run
	}
	if v.Skipped != "" {
		view.Skipped = &v.Skipped
	}
	for _, p := range v.Problems {
		view.Problems = append(view.Problems, problem{p.What, p.Count, append([]string{}, p.Samples...)})
	}
	for state, n := range v.Counts.Runs {
		view.Runs[state.String()] = n
	}
	return view
}

func (s *session) printVerified(v *store.Verified) {
	for _, p := range v.Problems {
		s.out.line("WRONG: %s (%d).", words.Clean(p.What), p.Count)
		for _, sample := range p.Samples {
			s.out.line("  %s", words.Clean(sample))
		}
	}
	if v.Problems != nil {
		s.out.line("\nDo not serve or restore this file. Look for a backup that is whole: nightshift verify backups/latest.db")
		return
	}
	if v.Skipped != "" {
		s.out.line("%s: whole, %s. What its rows mean was not looked at: %s.", words.Clean(v.Path), words.Bytes(v.Size), v.Skipped)
		return
	}
	total, parts := 0, []string{}
	for state := jobs.Scheduled; state <= jobs.Cancelled; state++ {
		if n := v.Counts.Runs[state]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	asOf, newest := "", v.Counts.Newest
	if v.Copy != nil {
		asOf, newest = v.Copy.AsOf.String(), v.Copy.Run
	}
	runs := fmt.Sprint(total)
	if len(parts) > 0 {
		runs += " (" + strings.Join(parts, ", ") + ")"
	}
	newestText := ""
	if !newest.IsNil() {
		newestText = newest.String()
	}
	s.out.line("%s: whole.\n", words.Clean(v.Path))
	s.out.fields(
		"size", words.Bytes(v.Size),
		"backup as of", asOf,
		"newest run", newestText,
		"runs", runs,
		"jobs", fmt.Sprint(v.Counts.Jobs),
		"schedules", fmt.Sprint(v.Counts.Schedules),
		"open failures", fmt.Sprint(v.Counts.OpenFailures),
		"events", fmt.Sprint(v.Counts.Events),
		"audit", fmt.Sprint(v.Counts.Audit),
		"secrets", words.Clean(strings.Join(v.Counts.Secrets, ", ")),
	)
}
