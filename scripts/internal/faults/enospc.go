package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// noSpace has the disk be full for a while: writes of the database fail with ENOSPC. Meanwhile callers are told
// that nothing was written, reads go on and nothing is started; then all goes on by itself.
func noSpace(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.begin(ctx)
	windows := pick(l, 1, 6)
	for window := range windows {
		if err := s.awaitAcks(ctx, 30, 30*time.Second); err != nil {
			return err
		}
		t, err := s.tamper(ctx, "pwrite64:error=ENOSPC")
		if err != nil {
			return err
		}
		if err := s.fullFor(ctx, "the disk is full", pick(l, 1500*time.Millisecond, 8*time.Second)); err != nil {
			return fmt.Errorf("window %d: %w", window, err)
		}
		if err := t.end(); err != nil {
			return err
		}
		begun := time.Now()
		if err := s.awaitAcks(ctx, 10, 20*time.Second); err != nil {
			return fmt.Errorf("window %d is over: %w", window, err)
		}
		s.Row(fmt.Sprintf("window %d: acknowledged again after", window), time.Since(begun).Round(time.Millisecond))
		s.awaitLogged("the database can be written again", window+1)
	}
	s.load.stop(drainWithin)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	s.toldOfFull(windows, windows)
	return s.settle(ctx)
}

// fullFor sees what the server does while its disk is full, from when it has noticed; says is what it tells of that.
func (s *site) fullFor(ctx context.Context, says string, long time.Duration) error {
	before := s.load.said("507 disk-full")
	err := s.await(ctx, "answers that the disk is full", 20*time.Second, func() bool {
		return s.load.said("507 disk-full") > before
	})
	if err != nil {
		return err
	}
	if err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	acks, since := s.load.acks(), time.Now()
	if err := s.saysWhy(ctx, says); err != nil {
		return err
	}
	pause(ctx, long)
	if more := s.load.acks() - acks; more > 0 {
		s.fault("the disk is full, and %d runs were acknowledged", more)
	}
	if _, started := s.receiver.total(since); started > 0 {
		s.fault("the disk is full, and %d attempts were started", started)
	}
	return nil
}

// awaitQuiet waits until nothing is acknowledged any more: what is under way is answered, and on a disk that fills up
// small writes still find room where large ones do not.
func (s *site) awaitQuiet(ctx context.Context) error {
	last, since := s.load.acks(), time.Now()
	return s.await(ctx, "nothing to be acknowledged for a while", 30*time.Second, func() bool {
		if n := s.load.acks(); n > last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 700*time.Millisecond
	})
}

// saysWhy waits until /readyz, which asks the store every two seconds, says that no work is taken, and checks why.
func (s *site) saysWhy(ctx context.Context, says string) error {
	var why string
	err := s.await(ctx, "/readyz to say that the server takes no work", 10*time.Second, func() bool {
		why = s.why()
		pause(ctx, 50*time.Millisecond)
		return why != ""
	})
	if s.Row("/readyz says", why); err == nil && !strings.Contains(why, says) {
		s.fault("/readyz says %q; want %q", why, says)
	}
	return err
}

// toldOfFull checks what was answered and logged of a disk that was full so often.
func (s *site) toldOfFull(least, most int) {
	for said, n := range s.load.answers {
		if said != "2xx" && said != "507 disk-full" && said != "no answer" {
			s.fault("the disk was full, and %d answers said %s", n, said)
		}
	}
	if s.load.reads["2xx"] == 0 || len(s.load.reads) > 1 {
		s.fault("reads did not go on: %s", s.load.told(s.load.reads))
	}
	for _, text := range []string{"nothing is started until it can", "the database can be written again"} {
		s.awaitLogged(text, least)
		if lines := s.logged(text); len(lines) < least || len(lines) > most {
			s.fault("the log says %d times %q; want %d to %d: %q", len(lines), text, least, most, lines)
		}
	}
}

// awaitLogged gives the server some time to log something so often.
func (s *site) awaitLogged(text string, times int) {
	for deadline := time.Now().Add(5 * time.Second); len(s.logged(text)) < times && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
}
