// Command longwork kills a server over and over under work that saves checkpoints, goes on in slices or calls
// back, and checks from outside that what was acknowledged held: what was saved is read, no slice is left
// out, each call had the effect that its answer said.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"nightshift/scripts/internal/rig"
)

// plan is what the command line asks for.
type plan struct {
	kills       int
	every       time.Duration
	freeze      time.Duration
	readyWithin time.Duration
	drainWithin time.Duration
	seed        uint64
	bin         string
	keep        bool
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == scriptArg {
		if err := runScript(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var p plan
	flag.IntVar(&p.kills, "kills", 25, "how often the server is killed; one end in six is an orderly stop instead")
	flag.DurationVar(&p.every, "every", 5*time.Second,
		"the longest time that the server is left alone between two kills")
	flag.DurationVar(&p.freeze, "freeze", 5*time.Second,
		"how long the server is stopped by SIGSTOP, one time in ten before it is killed; 0: never")
	flag.DurationVar(&p.readyWithin, "ready-within", 2*time.Second,
		"a start that takes longer until /readyz answers 200 fails")
	flag.DurationVar(&p.drainWithin, "drain-within", 5*time.Minute,
		"a run that has not ended so long after the last kill is stuck")
	flag.Uint64Var(&p.seed, "seed", uint64(time.Now().UnixNano()), "of all random choices")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the file and the logs")
	flag.Parse()
	if flag.NArg() > 0 || p.kills < 1 {
		fmt.Fprintln(os.Stderr, "longwork: wants at least one kill, and no arguments")
		os.Exit(2)
	}
	rig.Main("longwork", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	s, err := newStorm(p, dir)
	if err != nil {
		return false, err
	}
	defer s.close()
	fmt.Printf("longwork: %d kills, seed %d\n", p.kills, p.seed)
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
