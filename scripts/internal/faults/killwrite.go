package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nightshift/scripts/internal/rig"
)

// killAtWrite kills the server as it is about to do its nth write: at its start, within transactions, between the
// header of a frame and its page, and within checkpoints. After each kill a copy of the files is looked into; then
// the server starts again on them, to be killed at another write.
func killAtWrite(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	s.load.size = 64 << 10 // so that the log is copied back now and then
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.server.Kill(); err != nil {
		return err
	}
	s.load.begin(ctx)
	at := map[string]int{}
	kills := 0
	for _, n := range writesToKillAt(l) {
		killed, err := s.killAt(ctx, n)
		if err != nil {
			s.load.stop(0)
			return fmt.Errorf("kill at write %d: %w", n, err)
		}
		if killed != "" {
			at[killed]++
			kills++
		}
		if err := s.lookIntoCopy(ctx, fmt.Sprintf("killed at write %d", n)); err != nil {
			s.load.stop(0)
			return err
		}
	}
	s.server.Wrap = nil
	if err := s.start(); err != nil {
		return fmt.Errorf("start after the last kill: %w", err)
	}
	s.load.stop(drainWithin)
	s.Row("kills", kills)
	s.Row("  the write was of", fmt.Sprint(at))
	s.Row("acknowledged", s.load.acks())
	s.tell()
	if kills == 0 || s.load.acks() == 0 {
		s.fault("%d kills, %d runs acknowledged: this proves nothing", kills, s.load.acks())
	}
	return s.settle(ctx)
}

// writesToKillAt are the first hundred writes and some later ones, or a few of them.
func writesToKillAt(l *lab) (list []int) {
	if l.short {
		return []int{1 + l.random.IntN(20), 20 + l.random.IntN(80), 200 + l.random.IntN(400)}
	}
	for n := 1; n <= 100; n++ {
		list = append(list, n)
	}
	for range 60 {
		list = append(list, 100+l.random.IntN(900))
	}
	for range 10 {
		list = append(list, 1000+l.random.IntN(5000))
	}
	return list
}

// killAt starts the server and gives what it wrote when it was killed; "": it was not, and was killed otherwise.
func (s *site) killAt(ctx context.Context, n int) (of string, err error) {
	trace := filepath.Join(s.root, "trace")
	s.server.Wrap = straced(fmt.Sprintf("pwrite64:signal=KILL:when=%d", n), trace)
	if err := s.server.Start(); err != nil {
		return "", err
	}
	select {
	case <-s.server.Ended():
		return lastWrite(trace), nil
	case <-time.After(pick(s.lab, 6*time.Second, 30*time.Second)):
		return "", s.server.Kill()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// lookIntoCopy opens a copy of the files of a server that is down, as sqlite3 sees it, and looks for what was
// acknowledged.
func (s *site) lookIntoCopy(ctx context.Context, when string) error {
	s.copies++
	dir := filepath.Join(s.root, fmt.Sprint("copy-", s.copies))
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(s.server.DB()))); err != nil {
		return err
	}
	db := filepath.Join(dir, filepath.Base(s.server.DB()))
	before := len(s.Faults)
	if _, err := rig.Inspect(ctx, db); err != nil {
		s.fault("%s: %v", when, err)
	} else if faults, err := s.load.check(ctx, db); err != nil {
		return err
	} else {
		for _, f := range faults {
			s.fault("%s: %s", when, f)
		}
	}
	if len(s.Faults) > before {
		return nil // the copy is kept
	}
	return os.RemoveAll(dir)
}
