package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// filesTaken removes or replaces files of the database while the server works, and while it is down after a crash.
func filesTaken(ctx context.Context, l *lab) error {
	remove := func(name string) error { return os.Remove(name) }
	replace := func(name string) error {
		if err := os.Remove(name); err != nil {
			return err
		}
		return os.WriteFile(name, nil, 0o600)
	}
	for _, c := range []struct {
		what, suffix string
		take         func(string) error
		rescued      bool
	}{
		{"the log is removed", "-wal", remove, false},
		{"the index of the log is removed", "-shm", remove, false},
		{"the log is replaced", "-wal", replace, true},
		{"the database is removed", "", remove, true},
	} {
		if err := l.takenWhileServed(ctx, c.what, c.suffix, c.take, c.rescued); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return l.takenWhileDown(ctx)
}

// noticedWithin is how long the server may take to see that a file was taken: it looks at each commit.
const noticedWithin = 10 * time.Second

// takenWhileServed: the server ends soon and says why, and what was acknowledged is in the database, or in the file
// that it names.
func (l *lab) takenWhileServed(ctx context.Context, what, suffix string, take func(string) error, rescued bool) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.begin(ctx)
	if err := s.awaitAcks(ctx, 40, 20*time.Second); err != nil {
		return err
	}
	if err := take(s.server.DB() + suffix); err != nil {
		return err
	}
	begun := time.Now()
	status, err := s.awaitEnd(noticedWithin)
	took := time.Since(begun).Round(time.Millisecond)
	if err != nil {
		return err
	}
	s.load.stop(0)
	said := s.lastLine()
	l.Row(what, fmt.Sprintf("%s after %v, %d acknowledged", status, took, s.load.acks()))
	if status != "exit status 1" || !strings.Contains(said, "while the server had it open") {
		l.fault("%s: ended by %s and said %q", what, status, said)
	}
	if rescued {
		if err := s.putRescuedBack(); err != nil {
			return err
		}
	}
	if suffix == "-shm" { // which a start makes anew
		err = s.start()
	} else {
		err = s.resume(ctx, what)
	}
	if err != nil {
		return err
	}
	return s.settle(ctx)
}

// putRescuedBack does what the server told: the file it saved takes the place of the database.
func (s *site) putRescuedBack() error {
	found, err := filepath.Glob(s.server.DB() + ".rescued-*")
	if err != nil || len(found) != 1 {
		return fmt.Errorf("rescued: %v, %w; want one file", found, err)
	}
	if !strings.Contains(s.lastLine(), found[0]) {
		s.fault("the file %s is not named: %s", found[0], s.lastLine())
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(s.server.DB() + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return os.Rename(found[0], s.server.DB())
}

// resume starts a server, whose file is held, and lets it work.
func (s *site) resume(ctx context.Context, what string) error {
	if err := s.server.Start(); err != nil {
		return err
	}
	why := ""
	err := s.await(ctx, "the server to say that its file is held", readyWithin, func() bool {
		why = s.why()
		return strings.Contains(why, "held") || why == ""
	})
	if err != nil {
		return err
	}
	if s.Row("  the next start says", why); why == "" {
		s.fault("%s, and the next start goes on as if nothing had happened", what)
	}
	if _, err := s.server.Do(ctx, "POST", "/v1/server/resume", "", map[string]any{}, nil); err != nil {
		return err
	}
	return s.server.AwaitReady(readyWithin)
}

// takenWhileDown: without its index the log is read as before; without the log the file has lost what was in it, and
// the server holds it and says so; without the database it does not start.
func (l *lab) takenWhileDown(ctx context.Context) error {
	c, err := l.crash(ctx, pick(l, 25, 60))
	if err != nil {
		return err
	}
	db := c.server.DB()
	if err := c.restore("", nil); err != nil { // without the index
		return err
	}
	if outcome, err := c.attempt(readyWithin); err != nil || outcome != "ready" {
		c.fault("without the index of the log: %s: %v: %s", outcome, err, c.lastLine())
	}
	if err := c.server.Kill(); err != nil {
		return err
	}
	if n, err := c.storedNow(ctx); err != nil || n != c.serial {
		c.fault("without the index of the log: %d of %d runs: %v", n, c.serial, err)
	}

	if err := c.restore("", nil); err != nil {
		return err
	}
	if err := os.Remove(db + "-wal"); err != nil {
		return err
	}
	if err := c.resume(ctx, "the log is removed after a crash"); err != nil {
		return err
	}
	n, err := c.storedNow(ctx)
	if err != nil {
		return err
	}
	c.Row("without the log", fmt.Sprintf("%d of %d runs are there", n, c.serial))

	if err := c.restore("", nil); err != nil {
		return err
	}
	if err := os.Remove(db); err != nil {
		return err
	}
	outcome, err := c.attempt(readyWithin)
	if err != nil {
		return err
	}
	c.Row("without the database", outcome+": "+c.lastLine())
	if outcome != "exit status 1" || !strings.Contains(c.lastLine(), "is gone or empty") {
		c.fault("without the database: %s: %s", outcome, c.lastLine())
	}
	return nil
}

// storedNow kills the server and counts the serial runs in its files.
func (c *crashed) storedNow(ctx context.Context) (int, error) {
	if err := c.server.Kill(); err != nil {
		return 0, err
	}
	return prefix(ctx, c.server.DB())
}
