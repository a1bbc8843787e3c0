package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
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
	history  *history
	receiver *receiver
	random   *rand.Rand
	scripts  string   // the folder in which scripts write down what they do
	savers   []string // runs that save until the storm is over

	stops   int // orderly ones
	freezes int
	drained time.Duration
}

// clientsOf are how many clients there are of a job.
var clientsOf = map[string]int{sliced: 6, called: 6, beaten: 6, batched: 4}

var saverJobs = []string{saveCall, saveLine, saveHook}

func newStorm(p *plan, dir string) (*storm, error) {
	// Scripts end at once when the server stops, and what they save then counts.
	server, err := rig.NewServer(p.bin, dir, "--shutdown-grace", "1s", "--script-workers", "4")
	if err != nil {
		return nil, err
	}
	scripts := filepath.Join(dir, "scripts")
	if err := os.Mkdir(scripts, 0o700); err != nil {
		return nil, err
	}
	h := newHistory()
	r, err := newReceiver(h, server.API, p.seed)
	if err != nil {
		return nil, err
	}
	slow := func(text string) { h.fault("%s", text) }
	starts := &rig.Starts{Server: server, Within: p.readyWithin, Slow: slow}
	return &storm{
		plan: p, server: starts, history: h, receiver: r, scripts: scripts,
		random: rand.New(rand.NewPCG(p.seed, 1<<32)),
	}, nil
}

func (s *storm) close() {
	s.server.Close()
	s.receiver.close()
}

// run lets savers and clients loose, kills as often as planned and waits until all has ended.
func (s *storm) run(ctx context.Context) error {
	if err := s.server.Begin(); err != nil {
		return err
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	for _, job := range saverJobs {
		run, _, err := s.server.Enqueue(ctx, job, "saver", map[string]any{})
		if err != nil {
			return fmt.Errorf("enqueue %s: %w", job, err)
		}
		s.history.tell(run)
		s.savers = append(s.savers, run.ID)
	}
	load, endLoad := context.WithCancel(ctx)
	defer endLoad()
	patience, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var all sync.WaitGroup
	for i, job := range slices.Sorted(maps.Keys(clientsOf)) {
		c := &clients{api: s.server.API, history: s.history, seed: s.seed + uint64(i), job: job, count: clientsOf[job]}
		all.Go(func() { c.run(load, patience) })
	}
	if err := s.killAll(ctx); err != nil {
		giveUp()
		return err
	}
	begun := time.Now()
	// Some seconds more without a kill: heartbeats and deadlines come to their end.
	pause(ctx, s.every)
	endLoad()
	if err := s.drain(ctx, &all, giveUp); err != nil {
		return err
	}
	s.drained = time.Since(begun)
	return ctx.Err()
}

// drain waits until all runs have ended, and then sees that one more of each job works.
func (s *storm) drain(ctx context.Context, clients *sync.WaitGroup, giveUp func()) error {
	if err := os.WriteFile(filepath.Join(s.scripts, "stop"), nil, 0o600); err != nil {
		return err
	}
	s.receiver.stop.Store(true)
	patience, end := context.WithTimeout(ctx, s.drainWithin)
	defer end()
	for _, id := range s.savers {
		follow(patience, s.server.API, s.history, id)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); clients.Wait() }()
	select {
	case <-ended:
	case <-patience.Done():
		s.history.fault("not all runs have ended within %v after the last start", s.drainWithin)
		giveUp()
		<-ended
	}
	return s.freshRuns(patience)
}

// killAll kills after up to s.every of work each, and stops the server now and then; one start in eight is
// killed before it is ready or just then.
func (s *storm) killAll(ctx context.Context) error {
	for n := 1; n <= s.kills; n++ {
		if err := s.leave(ctx); err != nil {
			return err
		}
		if s.random.IntN(6) == 0 {
			s.stops++
			if err := s.server.Stop(40 * time.Second); err != nil {
				return err
			}
			s.history.died()
			if err := s.server.Begin(); err != nil {
				return fmt.Errorf("after stop %d: %w", s.stops, err)
			}
			if err := s.leave(ctx); err != nil {
				return err
			}
		}
		if s.freeze > 0 && s.random.IntN(10) == 0 {
			if err := s.still(ctx); err != nil {
				return err
			}
		}
		if err := s.server.Kill(); err != nil {
			return err
		}
		s.history.died()
		for n < s.kills && s.random.IntN(8) == 0 {
			if err := s.killEarly(); err != nil {
				return err
			}
			n++
		}
		if err := s.server.Begin(); err != nil {
			return fmt.Errorf("after kill %d: %w", n, err)
		}
	}
	return nil
}

// still stops the server for a while, and then lets it go on.
func (s *storm) still(ctx context.Context) error {
	s.freezes++
	if err := s.server.Freeze(); err != nil {
		return err
	}
	pause(ctx, s.freeze)
	if err := s.server.Thaw(); err != nil {
		return err
	}
	s.history.thawed()
	return s.leave(ctx)
}

// leave leaves the server alone for a while.
func (s *storm) leave(ctx context.Context) error {
	return s.server.Leave(ctx, time.Duration(s.random.Float64()*float64(s.every)))
}

func (s *storm) killEarly() error {
	err := s.server.KillEarly(time.Duration(s.random.IntN(300)) * time.Millisecond)
	s.history.died()
	return err
}

// judge reads every run once more, stops the server and checks all that was seen.
func (s *storm) judge(ctx context.Context) ([]string, error) {
	for job := range s.documents() {
		if err := readAll(ctx, s.server.API, s.history, job); err != nil {
			return nil, err
		}
	}
	s.receiver.close() // nothing is said any more
	for _, id := range s.savers {
		if status, _ := s.server.Do(ctx, http.MethodGet, "/v1/runs/"+id+"/checkpoint", "", nil, nil); status != http.StatusNotFound {
			s.history.fault("run %s has ended, and its checkpoint is answered with %d; want 404", id, status)
		}
	}
	for _, id := range s.savers {
		switch text, err := s.server.Log(ctx, id); {
		case err != nil:
			return nil, fmt.Errorf("read the log of run %s: %w", id, err)
		case strings.Contains(text, tooLateText):
			s.history.fault("run %s: its log holds what an attempt said that was over", id)
		}
	}
	if err := s.free(ctx); err != nil {
		return nil, err
	}
	if err := s.server.Stop(40 * time.Second); err != nil {
		s.history.fault("%v", err)
		_ = s.server.Kill()
	}
	if err := s.history.readScripts(s.scripts); err != nil {
		return nil, err
	}
	stored, err := rig.Inspect(ctx, s.server.DB())
	if err != nil {
		return nil, err
	}
	slots, err := rig.Slots(ctx, s.server.DB())
	if err != nil {
		return nil, err
	}
	faults := s.history.check(stored)
	if slots != 0 {
		faults = append(faults, fmt.Sprintf("all runs have ended, and %d slots are in the file", slots))
	}
	return faults, nil
}
