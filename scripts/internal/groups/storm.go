package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// storm is one execution of a plan.
type storm struct {
	*plan
	server   *rig.Starts
	receiver *receiver
	random   *rand.Rand
	groups   []*group
	slowest  time.Duration // from the start behind its kill to the end of a group
}

func newStorm(p *plan, dir string) (*storm, error) {
	server, err := rig.NewServer(p.bin, dir)
	if err != nil {
		return nil, err
	}
	r, err := newReceiver(server.API)
	if err != nil {
		return nil, err
	}
	slow := func(text string) { r.fault("%s", text) }
	return &storm{
		plan: p, server: &rig.Starts{Server: server, Within: p.readyWithin, Slow: slow}, receiver: r,
		random: rand.New(rand.NewPCG(p.seed, 1)),
	}, nil
}

func (s *storm) close() {
	s.server.Close()
	s.receiver.close()
}

// register puts the jobs.
func (s *storm) register(ctx context.Context) error {
	// The breaker of the host would open by chance, and members of one group wait for each other's connections.
	host := "/v1/dependencies/" + strings.TrimPrefix(s.receiver.url, "http://")
	limits := map[string]any{"breaker": nil, "concurrency": nil}
	if _, err := s.server.Do(ctx, http.MethodPut, host, "", limits, nil); err != nil {
		return err
	}
	soon := map[string]any{"backoff": map[string]any{"kind": "fixed", "base": "50ms"}}
	for _, job := range []string{memberJob, mergeJob} {
		err := s.server.Register(ctx, job, map[string]any{
			"webhook": map[string]any{"url": s.receiver.url + "/" + job}, "retry": soon,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run deals the groups out to the kills.
func (s *storm) run(ctx context.Context) error {
	if err := s.server.Begin(); err != nil {
		return err
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	for n := range s.kills {
		first, end := n*s.plan.groups/s.kills, (n+1)*s.plan.groups/s.kills
		round := make([]*group, 0, end-first)
		for i := first; i < end; i++ {
			round = append(round, newGroup(i, s.random))
		}
		s.groups = append(s.groups, round...)
		if err := s.round(ctx, round); err != nil {
			return fmt.Errorf("kill %d: %w", n+1, err)
		}
	}
	return nil
}

// round makes groups, lets their last members end at one moment, and kills the server around that.
func (s *storm) round(ctx context.Context, round []*group) error {
	for _, g := range round {
		s.receiver.expect(g)
		id, err := s.make(ctx, g)
		if err != nil {
			return err
		}
		s.receiver.told(g, id)
	}
	for _, g := range round {
		select {
		case <-g.held:
		case <-s.server.Ended():
			return errors.New("the server ended by itself\n" + s.server.LogTail())
		case <-time.After(s.endWithin):
			return fmt.Errorf("the last member of group %s has not started within %v", g.id, s.endWithin)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// Before the kill all is said once; what had no answer is said again when the server is back.
	cancels := s.endLast(ctx, round)
	if s.random.IntN(5) > 0 {
		time.Sleep(time.Duration(s.random.Int64N(int64(s.around))))
	}
	if err := s.server.Kill(); err != nil {
		return err
	}
	s.receiver.kill()
	if s.random.IntN(6) == 0 {
		if err := s.server.KillEarly(time.Duration(s.random.IntN(200)) * time.Millisecond); err != nil {
			return err
		}
		s.receiver.kill()
	}
	if err := s.server.Begin(); err != nil {
		return err
	}
	cancels.Wait()
	return s.await(ctx, round)
}

// make runs a group, and asks again where it is not answered.
func (s *storm) make(ctx context.Context, g *group) (string, error) {
	var run rig.Run
	_, err := s.server.Do(ctx, http.MethodPost, "/v1/groups", g.key, g.body(), &run)
	if err != nil {
		return "", fmt.Errorf("run group %s: %w", g.key, err)
	}
	return run.ID, nil
}

// endLast lets the last members end, by answers or by cancels, which are repeated until they are answered.
func (s *storm) endLast(ctx context.Context, round []*group) *sync.WaitGroup {
	var cancels sync.WaitGroup
	for _, g := range round {
		close(g.open)
		if g.last != byCancel {
			continue
		}
		cancels.Go(func() {
			for {
				_, err := s.server.Do(ctx, http.MethodPost, "/v1/runs/"+g.lastRun+"/cancel", "", map[string]any{}, nil)
				var answer *rig.StatusError
				if known := errors.As(err, &answer); err == nil || known && answer.Status == http.StatusConflict {
					return
				} else if known && !answer.Passing() {
					s.receiver.fault("cancel run %s: %v", g.lastRun, err)
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return &cancels
}

// await waits until the groups of a round have ended.
func (s *storm) await(ctx context.Context, round []*group) error {
	begun := time.Now()
	left := slices.Clone(round)
	for len(left) > 0 {
		if time.Since(begun) > s.endWithin {
			for _, g := range left {
				s.receiver.fault("group %s has not ended within %v", g.id, s.endWithin)
			}
			return nil
		}
		var failed error
		left = slices.DeleteFunc(left, func(g *group) bool {
			run, err := s.server.Run(ctx, g.id)
			if err != nil {
				failed = err
			}
			return err == nil && run.Terminal()
		})
		if failed != nil {
			return fmt.Errorf("read a group: %w", failed)
		}
		if err := s.server.Leave(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	s.slowest = max(s.slowest, time.Since(begun))
	return nil
}
