// Command ticks proves the ledger of schedules from outside: it kills and stops servers about their ticks, and
// compares what became of each with arithmetic of its own.
//
// What a server says it did is judged, not how fast it was: a tick that came late on a busy machine and
// was caught up for that is right.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// plan is what the command line asks for.
type plan struct {
	kills        int
	down         time.Duration
	backlog      int
	backlogKills int
	stall        time.Duration
	restore      bool
	lateWithin   time.Duration
	drainWithin  time.Duration
	seed         uint64
	bin          string
	keep         bool
}

func main() {
	var p plan
	flag.IntVar(&p.kills, "kills", 60, "how often the server is killed about a tick; 0: this trial is left out")
	flag.DurationVar(&p.down, "down", 15*time.Second, "the longest time until it is started again")
	flag.IntVar(&p.backlog, "backlog", 10_000, "missed ticks that are caught up, up to 10000; 0: this trial is left out")
	flag.IntVar(&p.backlogKills, "backlog-kills", 20, "how often the server is killed meanwhile")
	flag.DurationVar(&p.stall, "stall", 4*time.Minute, "how long the server is stopped by SIGSTOP; 0: this trial is left out")
	flag.BoolVar(&p.restore, "restore", true, "go back to an older copy of the file")
	flag.DurationVar(&p.lateWithin, "late-within", 30*time.Second,
		"a regular run that starts later while others are caught up was held up by them")
	flag.DurationVar(&p.drainWithin, "drain-within", 10*time.Minute,
		"what has not come to its end so long after the last kill is stuck")
	flag.Uint64Var(&p.seed, "seed", uint64(time.Now().UnixNano()), "of all random choices")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the files and the logs")
	flag.Parse()
	if flag.NArg() > 0 || p.kills < 0 || p.backlog < 0 || p.backlog > 10_000 || p.backlogKills < 0 {
		fmt.Fprintln(os.Stderr, "ticks: wants no negative numbers, a backlog of up to 10000 ticks, and no arguments")
		os.Exit(2)
	}
	rig.Main("ticks", &p.bin, p.keep, p.execute)
}

// trial is one way to put schedules to the proof, on a server of its own.
type trial struct {
	name string
	run  func(context.Context, *lab) error // until all has been decided
}

func (p *plan) trials() (list []trial) {
	for _, t := range []struct {
		wanted bool
		trial
	}{
		{p.kills > 0, trial{"kill at the tick", storm}},
		{p.backlog > 0, trial{"kill while catching up", catchUp}},
		{p.stall > 0, trial{"stall", stall}},
		{p.restore, trial{"older copy", restore}},
	} {
		if t.wanted {
			list = append(list, t.trial)
		}
	}
	return list
}

// execute runs all trials at the same time.
func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	fmt.Printf("ticks: seed %d\n", p.seed)
	var (
		trials  = p.trials()
		reports = make([]rig.Report, len(trials))
		failed  = make([]error, len(trials))
		all     sync.WaitGroup
	)
	for i, t := range trials {
		all.Go(func() { reports[i], failed[i] = p.try(ctx, t, dir) })
	}
	all.Wait()
	ok = true
	for i, t := range trials {
		if failed[i] != nil {
			failed[i] = fmt.Errorf("%s: %w", t.name, failed[i])
			continue
		}
		fmt.Printf("--- %s\n", t.name)
		reports[i].Print()
		ok = ok && len(reports[i].Faults) == 0
	}
	err = errors.Join(failed...)
	return ok && err == nil, err
}

// try runs a trial and judges every schedule of it.
func (p *plan) try(ctx context.Context, t trial, dir string) (r rig.Report, err error) {
	l, err := newLab(p, dir)
	if err != nil {
		return r, err
	}
	defer l.close()
	if err := t.run(ctx, l); err != nil {
		return r, err
	}
	return l.judge(ctx)
}
