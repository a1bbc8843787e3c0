package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A commit whose sync fails may be on disk or not, and the system has dropped the pages that it could not write: who
// asks again would be told that all is well. So the server answers that it does not know, and ends; the next start
// finds out.

func fsyncOnce(ctx context.Context, l *lab) error {
	return failingSync(ctx, l, "fdatasync:error=EIO:when=1", "fsync:error=EIO:when=1")
}

func fsyncForever(ctx context.Context, l *lab) error {
	return failingSync(ctx, l, "fdatasync:error=EIO", "fsync:error=EIO")
}

func failingSync(ctx context.Context, l *lab, injects ...string) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.begin(ctx)
	rounds := pick(l, 2, 12)
	for round := range rounds {
		if round > 0 {
			if err := s.start(); err != nil {
				return fmt.Errorf("start after the fault: %w", err)
			}
		}
		if err := s.awaitAcks(ctx, pick(l, 20, 50), 30*time.Second); err != nil {
			return err
		}
		status, err := s.endsBy(ctx, injects...)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(status, "exit status ") {
			s.fault("round %d: the server ended by %q; want an exit status that is not 0", round, status)
		}
		if err := s.lookIntoCopy(ctx, fmt.Sprintf("round %d, sync failed", round)); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return err
	}
	s.load.stop(drainWithin)
	s.Row("rounds", rounds)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	if s.load.said("503 outcome-unknown") == 0 {
		s.fault("nobody was answered outcome-unknown")
	}
	if lines := s.logged("must restart to find out what is on disk"); len(lines) < rounds {
		s.fault("the log says %d times why the server ended; want %d times: %q", len(lines), rounds, lines)
	}
	return s.settle(ctx)
}

// endsBy makes calls of the server go wrong until it has ended, and gives its exit status.
func (s *site) endsBy(ctx context.Context, injects ...string) (status string, err error) {
	t, err := s.tamper(ctx, injects...)
	if err != nil {
		return "", err
	}
	status, err = s.awaitEnd(20 * time.Second)
	if ended := t.end(); err == nil {
		err = ended
	}
	return status, err
}
