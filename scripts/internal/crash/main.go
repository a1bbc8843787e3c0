// Command crash kills a server under load, over and over, and checks from outside that nothing
// acknowledged was lost, done twice without a reason, left lying, or done past a limit.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// plan is what the command line asks for.
type plan struct {
	kills       int
	clients     int
	pause       time.Duration
	sharing     float64
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
	flag.Float64Var(&p.sharing, "sharing", 0.14,
		"the part of the requests that is for jobs which share something: it must not outrun their limits")
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
	rig.Main("crash", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
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
	server   *rig.Starts
	history  *history
	receiver *receiver
	random   *rand.Rand
	starts   string // the file in which scripts write their starts
	overlaps string // the one in which they write that another one lives

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
		plan: p, history: h, receiver: r,
		server: &rig.Starts{Server: server, Within: p.readyWithin, Slow: h.surprise},
		random: rand.New(rand.NewPCG(p.seed, 1<<32)),
		starts: filepath.Join(dir, "starts"), overlaps: filepath.Join(dir, "overlaps"),
	}, nil
}

func (s *storm) close() {
	s.server.Close()
	s.receiver.close()
}

// run registers the jobs, lets the clients loose, kills as often as planned and waits until all
// has ended.
func (s *storm) run(ctx context.Context) error {
	if err := s.server.Begin(); err != nil {
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
		sharing: s.sharing,
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
	paths, documents := sharing(s.receiver.url, soon, s.starts, s.overlaps)
	for _, path := range paths {
		if _, err := s.server.Do(ctx, http.MethodPut, "/v1/"+path, "", documents[path], nil); err != nil {
			return fmt.Errorf("put %s: %w", path, err)
		}
	}
	return s.server.Register(ctx, "script", map[string]any{
		"script": map[string]any{
			"source": scriptSource, "env": map[string]string{"CRASH_STARTS": s.starts},
		},
		"retry": soon,
	})
}

// killAll kills after up to s.every of work each; one start in eight is killed before it
// is ready or just then.
func (s *storm) killAll(ctx context.Context) error {
	for n := 1; n <= s.kills; n++ {
		wait := time.Duration(s.random.Float64() * float64(s.every))
		if err := s.server.Leave(ctx, wait); err != nil {
			return fmt.Errorf("before kill %d: %w", n, err)
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
		if err := s.server.Begin(); err != nil {
			return fmt.Errorf("after kill %d: %w", n, err)
		}
		if n%20 == 0 {
			fmt.Printf("crash: %d kills, slowest start %v\n", n, s.server.Slowest())
		}
	}
	return nil
}

// kill kills the server. Now and then it waits to see that no script outlives it.
func (s *storm) kill() error {
	if err := s.server.Kill(); err != nil {
		return err
	}
	s.history.died()
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
	err := s.server.KillEarly(time.Duration(s.random.IntN(300)) * time.Millisecond)
	s.history.died()
	return err
}

// judge reads every run once more, stops the server and checks all that was seen.
func (s *storm) judge(ctx context.Context) ([]string, error) {
	readAll(ctx, s.server.API, s.history, s.history.acked)
	used, err := checkFree(ctx, s.server.API)
	if err != nil {
		return nil, err
	}
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
	if err := s.history.readOverlaps(s.overlaps); err != nil {
		return nil, err
	}
	if info, err := os.Stat(s.server.DB()); err == nil {
		s.fileBytes = info.Size()
	}
	stored, err := rig.Inspect(ctx, s.server.DB())
	if err != nil {
		return nil, err
	}
	slots, err := rig.Slots(ctx, s.server.DB())
	if err != nil {
		return nil, err
	}
	faults := append(s.history.check(stored), used...)
	if slots != 0 {
		faults = append(faults, fmt.Sprintf("all runs have ended, and %d slots are in the file", slots))
	}
	return faults, nil
}
