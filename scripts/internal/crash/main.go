// Command crash kills a server under load, over and over, and checks from outside that nothing
// acknowledged was lost, done twice without a reason, or left lying.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nightshift/scripts/internal/rig"
)

// plan is what the command line asks for.
type plan struct {
	kills       int
	clients     int
	pause       time.Duration
	every       time.Duration
	readyWithin time.Duration
	drainWithin time.Duration
	seed        uint64
	bin         string
	keep        bool
}

func main() {
	var p plan
	flag.IntVar(&p.kills, "kills", 200, "how often the server is killed")
	flag.IntVar(&p.clients, "clients", 8, "clients that enqueue at the same time")
	flag.DurationVar(&p.pause, "pause", 40*time.Millisecond,
		"of a client between two requests, on average")
	flag.DurationVar(&p.every, "every", 3*time.Second,
		"the longest time that the server is left alone between two kills")
	flag.DurationVar(&p.readyWithin, "ready-within", 2*time.Second,
		"a start that takes longer until /readyz answers 200 fails")
	flag.DurationVar(&p.drainWithin, "drain-within", 5*time.Minute,
		"a run that has not ended so long after the last kill is stuck")
	flag.Uint64Var(&p.seed, "seed", uint64(time.Now().UnixNano()), "of all random choices")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the file and the log")
	flag.Parse()
	if flag.NArg() > 0 || p.kills < 1 || p.clients < 1 {
		fmt.Fprintln(os.Stderr, "crash: wants at least one kill and one client, and no arguments")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := p.execute(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func (p *plan) execute(ctx context.Context) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "crash-")
	if err != nil {
		return false, err
	}
	defer func() {
		if p.keep || !ok {
			fmt.Println("kept:", dir)
			return
		}
		_ = os.RemoveAll(dir)
	}()
	if p.bin == "" {
		if p.bin, err = rig.Build(ctx, dir); err != nil {
			return false, err
		}
	}
	s, err := newStorm(p, dir)
	if err != nil {
		return false, err
	}
	defer s.close()
	fmt.Printf("crash: %d kills, %d clients, seed %d\n", p.kills, p.clients, p.seed)
	if err := s.run(ctx); err != nil {
		return false, err
	}
	faults, err := s.judge(ctx)
	if err != nil {
		return false, err
	}
	s.report(faults)
	return len(faults) == 0, nil
}

// storm is one execution of a plan.
type storm struct {
	*plan
	server   *rig.Server
	history  *history
	receiver *receiver
	random   *rand.Rand
	starts   string // the file in which scripts write their starts

	ready     []time.Duration // of the starts that were not killed before
	early     int             // kills before the server was ready
	drained   time.Duration
	stopped   time.Duration
	fileBytes int64
}

func newStorm(p *plan, dir string) (*storm, error) {
	h := newHistory()
	r, err := newReceiver(h, p.seed)
	if err != nil {
		return nil, err
	}
	server, err := rig.NewServer(p.bin, dir)
	if err != nil {
		r.close()
		return nil, err
	}
	return &storm{
		plan: p, server: server, history: h, receiver: r,
		random: rand.New(rand.NewPCG(p.seed, 1<<32)),
		starts: filepath.Join(dir, "starts"),
	}, nil
}

func (s *storm) close() {
	s.server.Close()
	s.receiver.close()
}

// run registers the jobs, lets the clients loose, kills as often as planned and waits until all
// has ended.
func (s *storm) run(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	load, endLoad := context.WithCancel(ctx)
	defer endLoad()
	patience, giveUp := context.WithCancel(ctx)
	defer giveUp()
	c := &clients{
		api: s.server.API, history: s.history, seed: s.seed, count: s.clients, pause: s.pause,
	}
	loaded, watched := make(chan struct{}), make(chan struct{})
	go func() { defer close(loaded); c.run(load, patience) }()
	go func() { defer close(watched); watch(load, s.server.API, s.history) }()
	err := s.killAll(ctx)
	endLoad()
	<-watched
	if err != nil {
		return err
	}
	select {
	case <-loaded:
	case <-time.After(s.drainWithin):
		s.history.surprise(fmt.Sprintf("requests are not answered with 2xx within %v after the last "+
			"start", s.drainWithin))
		giveUp()
		<-loaded
	}
	begun := time.Now()
	drain(ctx, s.server.API, s.history, s.drainWithin)
	// Nothing can follow any more: all that others follow has ended.
	if err := learn(ctx, s.server.API, s.history, true); err != nil {
		return err
	}
	drain(ctx, s.server.API, s.history, s.drainWithin)
	s.drained = time.Since(begun)
	return ctx.Err()
}

func (s *storm) register(ctx context.Context) error {
	soon := map[string]any{"backoff": map[string]any{"kind": "fixed", "base": "100ms"}}
	for _, name := range []string{"quick", "slow", "flaky", follower, chained} {
		webhook := map[string]any{"url": s.receiver.url + "/" + name}
		job := map[string]any{"webhook": webhook, "retry": soon}
		if name == chained {
			job = chainedJob(webhook, soon)
		}
		if err := s.server.Register(ctx, name, job); err != nil {
			return err
		}
	}
	return s.server.Register(ctx, "script", map[string]any{
		"script": map[string]any{
			"source": scriptSource, "env": map[string]string{"CRASH_STARTS": s.starts},
		},
		"retry": soon,
	})
}

// start starts the server and notes how long it took until it was ready.
func (s *storm) start() error {
	begun := time.Now()
	if err := s.server.Start(); err != nil {
		return err
	}
	// A start that is too slow is a violation, not the end: wait for much longer.
	if err := s.server.AwaitReady(max(30*time.Second, s.readyWithin)); err != nil {
		return err
	}
	took := time.Since(begun)
	s.ready = append(s.ready, took)
	if took > s.readyWithin {
		s.history.surprise(fmt.Sprintf("start %d was ready after %v; want %v",
			len(s.ready)+s.early, took.Round(time.Millisecond), s.readyWithin))
	}
	return nil
}

// killAll kills after up to s.every of work each; one start in eight is killed before it
// is ready or just then.
func (s *storm) killAll(ctx context.Context) error {
	for n := 1; n <= s.kills; n++ {
		wait := time.Duration(s.random.Float64() * float64(s.every))
		select {
		case <-time.After(wait):
		case <-s.server.Ended():
			return fmt.Errorf("the server ended by itself before kill %d\n%s", n, s.server.LogTail())
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.kill(); err != nil {
			return err
		}
		for n < s.kills && s.random.IntN(8) == 0 {
			if err := s.killEarly(); err != nil {
				return err
			}
			n++
		}
		if err := s.start(); err != nil {
			return fmt.Errorf("after kill %d: %w", n, err)
		}
		if n%20 == 0 {
			fmt.Printf("crash: %d kills, slowest start %v\n", n,
				slices.Max(s.ready).Round(time.Millisecond))
		}
	}
	return nil
}

// kill kills the server. Now and then it waits to see that no script outlives it.
func (s *storm) kill() error {
	if err := s.server.Kill(); err != nil {
		return err
	}
	if s.random.IntN(4) > 0 {
		return nil
	}
	mark := "CRASH_STARTS=" + s.starts
	deadline := time.Now().Add(5 * time.Second)
	orphans := rig.Orphans(mark)
	for len(orphans) > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		orphans = rig.Orphans(mark)
	}
	if len(orphans) > 0 {
		s.history.surprise(fmt.Sprintf("5 s after the server was killed processes of scripts live: %v",
			orphans))
	}
	return nil
}

func (s *storm) killEarly() error {
	if err := s.server.Start(); err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(s.random.IntN(300)) * time.Millisecond):
	case <-s.server.Ended():
		return errors.New("the server ended by itself at its start\n" + s.server.LogTail())
	}
	s.early++
	return s.server.Kill()
}

// judge reads every run once more, stops the server and checks all that was seen.
func (s *storm) judge(ctx context.Context) ([]string, error) {
	readAll(ctx, s.server.API, s.history, s.history.acked)
	begun := time.Now()
	if err := s.server.Stop(40 * time.Second); err != nil {
		s.history.surprise(err.Error())
		_ = s.server.Kill()
	}
	s.stopped = time.Since(begun)
	if left := s.server.Leftovers(); len(left) > 0 {
		s.history.surprise("the stop left " + strings.Join(left, " ") + " beside the database")
	}
	if err := s.history.readStarts(s.starts); err != nil {
		return nil, err
	}
	if info, err := os.Stat(s.server.DB()); err == nil {
		s.fileBytes = info.Size()
	}
	stored, err := rig.Inspect(ctx, s.server.DB())
	if err != nil {
		return nil, err
	}
	return s.history.check(stored), nil
}
