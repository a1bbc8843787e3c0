package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// freeze stops the server for longer than its attempts, its callers and its ticks wait, and lets it go on. Attempts
// that ended meanwhile are taken as what they are, none is started twice, ticks do not come in a burst, and what an
// attempt says that is over changes nothing.
func freeze(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	// An attempt of held is answered after 3 s, and may take 2.
	if err := s.server.Register(ctx, "held", map[string]any{
		"webhook": map[string]any{"url": s.receiver.url + "/hold"}, "timeout": "2s",
		"retry":       map[string]any{"max_attempts": 2, "backoff": map[string]any{"kind": "fixed", "base": "100ms"}},
		"concurrency": map[string]any{"limit": 1},
	}); err != nil {
		return err
	}
	s.load.jobs, s.load.pause = append(s.load.jobs, "hold"), 100*time.Millisecond
	s.load.begin(ctx)
	rounds := pick(l, 1, 3)
	for round := range rounds {
		if err := s.awaitAcks(ctx, 30, 30*time.Second); err != nil {
			return err
		}
		run, _, err := s.server.Enqueue(ctx, "held", fmt.Sprint("held-", round), map[string]any{})
		if err != nil {
			return err
		}
		s.load.mu.Lock()
		s.load.keys[fmt.Sprint("held-", round)] = &sent{job: "held", id: run.ID}
		s.load.mu.Unlock()
		if err := s.await(ctx, "the attempt that the server is stopped in", 10*time.Second, func() bool { return len(s.receiver.of(run.ID)) > 0 }); err != nil {
			return err
		}
		if err := s.server.Freeze(); err != nil {
			return err
		}
		frozen := time.Now()
		pause(ctx, pick(l, 4*time.Second, 75*time.Second))
		thawed := time.Now()
		if err := s.server.Thaw(); err != nil {
			return err
		}
		if err := s.awaitAcks(ctx, 10, 30*time.Second); err != nil {
			return fmt.Errorf("it goes on: %w", err)
		}
		s.Row(fmt.Sprintf("round %d: stopped for", round), thawed.Sub(frozen).Round(time.Millisecond))
		if err := s.noBurst(ctx, round, frozen, thawed); err != nil {
			return err
		}
		if err := s.fenced(ctx, run.ID); err != nil {
			return err
		}
	}
	s.load.stop(drainWithin)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	if err := s.drain(ctx); err != nil {
		return err
	}
	if err := s.startedOnce(ctx); err != nil {
		return err
	}
	return s.settle(ctx)
}

// noBurst counts the runs that ticks of the time made: the newest tick, and what comes after.
func (s *site) noBurst(ctx context.Context, round int, frozen, thawed time.Time) error {
	pause(ctx, 1500*time.Millisecond)
	runs, _, err := s.server.Runs(ctx, "ticked", "")
	if err != nil {
		return err
	}
	made := 0
	for _, r := range runs {
		at, err := startOf(r.ID)
		if err != nil {
			return err
		}
		if at.After(thawed.Add(-200*time.Millisecond)) && at.Before(thawed.Add(time.Second)) {
			made++
		}
	}
	s.Row(fmt.Sprintf("round %d: runs of ticks in the second after", round), made)
	if made > 3 {
		s.fault("stopped for %v, ticks made %d runs in the second after", thawed.Sub(frozen), made)
	}
	return nil
}

// startOf is when an id was made: a UUIDv7 begins with milliseconds.
func startOf(id string) (time.Time, error) {
	ms, err := strconv.ParseInt(strings.ReplaceAll(id, "-", "")[:12], 16, 64)
	return time.UnixMilli(ms), err
}

// fenced says something in the name of the first attempt, which is over, and checks that it is not taken.
func (s *site) fenced(ctx context.Context, id string) error {
	err := s.await(ctx, "the run that was stopped to end", 30*time.Second, func() bool {
		run, err := s.server.Run(ctx, id)
		return err == nil && run.Terminal()
	})
	if err != nil {
		return err
	}
	deliveries := s.receiver.of(id)
	_, err = s.server.With(deliveries[0].token).Do(ctx, http.MethodPut, "/v1/callback/"+id+"/checkpoint", "", map[string]any{"late": true}, nil)
	var answer *rig.StatusError
	if !errors.As(err, &answer) || answer.Status/100 != 4 {
		s.fault("a checkpoint in the name of an attempt that is over was answered with %v", err)
	}
	run, err := s.server.Run(ctx, id)
	if err != nil {
		return err
	}
	s.Row("the run that was stopped", fmt.Sprintf("%s after %d attempts, %d requests; late: %s", run.State, len(run.Attempts), len(deliveries), saidBy(err)))
	return nil
}

// startedOnce checks that no attempt had two requests, and no run more requests than attempts.
func (s *site) startedOnce(ctx context.Context) error {
	s.receiver.mu.Lock()
	deliveries := map[string][]delivery{}
	for run, list := range s.receiver.deliveries {
		deliveries[run] = slices.Clone(list)
	}
	s.receiver.mu.Unlock()
	for id, list := range deliveries {
		seen := map[string]bool{}
		for _, d := range list {
			if seen[d.attempt] {
				s.fault("attempt %s of run %s was started twice", d.attempt, id)
			}
			seen[d.attempt] = true
		}
		if len(list) < 2 {
			continue
		}
		run, err := s.server.Run(ctx, id)
		if err != nil {
			return err
		}
		if len(list) > len(run.Attempts) {
			s.fault("run %s had %d requests and has %d attempts", id, len(list), len(run.Attempts))
		}
	}
	return nil
}
