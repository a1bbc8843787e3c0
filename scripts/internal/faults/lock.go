package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// outsideLock has another process hold the lock for writes over ticks of a schedule. Writes wait ten seconds and
// are answered with 503 busy, reads go on, /readyz says why; afterwards all goes on by itself, and each tick of the
// time is decided once.
func outsideLock(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.begin(ctx)
	if err := s.awaitAcks(ctx, 30, 20*time.Second); err != nil {
		return err
	}
	long := pick(l, 16*time.Second, 40*time.Second) // SQLite counts what it asks to sleep, not what it has slept
	held, err := s.hold(ctx, long)
	if err != nil {
		return err
	}
	locked := time.Now()
	pause(ctx, 500*time.Millisecond) // answers to what was committed before
	acks := s.load.acks()
	why := make(chan string, 1)
	go func() {
		text := ""
		for text == "" && time.Since(locked) < long+5*time.Second {
			text = s.why() // which asks the store, and waits for the lock as others do
		}
		why <- text
	}()
	err = s.await(ctx, "answers that the file is locked", 20*time.Second, func() bool { return s.load.said("503 busy") > 0 })
	if err != nil {
		return err
	}
	waited := time.Since(locked)
	s.Row("first 503 busy after", waited.Round(100*time.Millisecond))
	if waited < 8*time.Second {
		s.fault("writes waited %v before they were answered with busy; want 10 s", waited)
	}
	if more := s.load.acks() - acks; more > 0 {
		s.fault("another process held the lock, and %d runs were acknowledged", more)
	}
	if err := held.Wait(); err != nil {
		return fmt.Errorf("sqlite3, which held the lock: %w", err)
	}
	free := time.Now()
	text := <-why
	if s.Row("/readyz said", text); !strings.Contains(text, "locked") && !strings.Contains(text, "in time") {
		s.fault("another process held the lock, and /readyz said %q", text)
	}
	if err := s.awaitAcks(ctx, 10, 30*time.Second); err != nil {
		return fmt.Errorf("the lock is free: %w", err)
	}
	s.Row("acknowledged again after", time.Since(free).Round(time.Millisecond))
	pause(ctx, 2*time.Second) // ticks of the time are decided
	s.load.stop(drainWithin)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	if s.load.reads["2xx"] == 0 || len(s.load.reads) > 1 {
		s.fault("reads did not go on: %s", s.load.told(s.load.reads))
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.ticksOf(ctx, locked, free)
}

// hold has sqlite3 hold the lock for writes for a while.
func (s *site) hold(ctx context.Context, long time.Duration) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, "sqlite3", "-batch", "-init", "/dev/null", s.server.DB())
	cmd.Stdin = strings.NewReader(fmt.Sprintf(
		".timeout 20000\nBEGIN IMMEDIATE;\n.print locked\n.shell sleep %.1f\nROLLBACK;\n", long.Seconds()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said := make([]byte, 6)
	if _, err := out.Read(said); err != nil || string(said) != "locked" {
		return nil, fmt.Errorf("sqlite3 does not get the lock: %q, %w", said, err)
	}
	return cmd, nil
}

// ticksOf looks at what the ledger says of the ticks within a time, one a second: each is in it once, at least one
// made a run, and no two.
func (s *site) ticksOf(ctx context.Context, from, until time.Time) error {
	rows, err := rig.Rows(ctx, s.server.DB(), fmt.Sprintf(`SELECT coalesce(sum(count), 0), coalesce(sum(run IS NOT NULL), 0),
		coalesce(max(at), 0) FROM ticks WHERE at >= %d AND until <= %d`, from.UnixMilli(), until.Add(-time.Second).UnixMilli()))
	if err != nil {
		return err
	}
	var decided, ran, last int
	if _, err := fmt.Sscan(strings.Join(rows[0], " "), &decided, &ran, &last); err != nil {
		return err
	}
	// Neighbours are one row, which may reach over the borders of the time.
	all, err := rig.Rows(ctx, s.server.DB(), `SELECT at, until, count, coalesce(hex(run), '') FROM ticks ORDER BY at`)
	if err != nil {
		return err
	}
	next := int64(0)
	for _, row := range all {
		var at, to, count int64
		if _, err := fmt.Sscan(strings.Join(row[:3], " "), &at, &to, &count); err != nil {
			return err
		}
		if next != 0 && at != next || (to-at)/1000+1 != count {
			s.fault("the ledger has a gap or an overlap at %d: %v, want it to begin at %d", at, row, next)
		}
		next = to + 1000
	}
	s.Row("ticks within the time", fmt.Sprintf("%d of them alone in their rows, %d made a run; the ledger has %d rows without a gap", decided, ran, len(all)))
	return nil
}
