package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nightshift/scripts/internal/rig"
)

// smallDisk has the load fill a file system of a few MiB, and makes room on it again.
func smallDisk(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.mount(ctx, "-t", "tmpfs", "-o", "size=6m", "tmpfs"); err != nil {
		return err
	}
	rounds := pick(l, 1, 6)
	ballast := filepath.Join(filepath.Dir(s.server.DB()), "ballast")
	if err := os.WriteFile(ballast, make([]byte, rounds*400<<10), 0o600); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.size = 64 << 10
	s.load.begin(ctx)
	for round := range rounds {
		if err := s.fullFor(ctx, "the disk is full", pick(l, 1200*time.Millisecond, 8*time.Second)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if err := os.Truncate(ballast, int64((rounds-round-1)*400<<10)); err != nil {
			return err
		}
		begun := time.Now()
		if err := s.awaitAcks(ctx, 3, 20*time.Second); err != nil {
			return fmt.Errorf("round %d, there is room again: %w", round, err)
		}
		s.Row(fmt.Sprintf("round %d: acknowledged again after", round), time.Since(begun).Round(time.Millisecond))
	}
	// The load would fill it once more.
	s.load.stop(0)
	if err := command(ctx, "mount", "-o", "remount,size=64m", filepath.Dir(s.server.DB())); err != nil {
		return err
	}
	s.Row("acknowledged", s.load.acks())
	s.tell()
	s.toldOfFull(1, rounds) // the room may be used up before the next try
	if err := s.settle(ctx); err != nil {
		return err
	}
	rows, err := rig.Rows(ctx, s.server.DB(), "SELECT count(*) FROM events WHERE type = 'disk.low'")
	if err != nil {
		return err
	}
	if rows[0][0] != "1" {
		s.fault("%s events disk.low: the disk was low all the time; want 1", rows[0][0])
	}
	return nil
}

// limitedFiles starts the server with a limit on the size of its files, and raises the limit while it runs.
func limitedFiles(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	s.server.Wrap = []string{"prlimit", "--fsize=1200000:unlimited"}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.size = 64 << 10
	s.load.begin(ctx)
	if err := s.fullFor(ctx, "raise the limit", pick(l, time.Second, 10*time.Second)); err != nil {
		return err
	}
	if err := command(ctx, "prlimit", "--fsize=unlimited", "--pid", fmt.Sprint(s.server.PID())); err != nil {
		return err
	}
	begun := time.Now()
	if err := s.awaitAcks(ctx, 10, 20*time.Second); err != nil {
		return fmt.Errorf("the limit was raised: %w", err)
	}
	s.Row("acknowledged again after", time.Since(begun).Round(time.Millisecond))
	s.load.stop(drainWithin)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	s.toldOfFull(1, 1)
	return s.settle(ctx)
}
