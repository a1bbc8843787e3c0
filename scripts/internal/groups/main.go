// Command groups kills a server over and over around the end of the last member of groups, and checks from
// outside that each group was merged exactly once, with the results of all its members in their order.
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
	groups      int
	kills       int
	around      time.Duration
	readyWithin time.Duration
	endWithin   time.Duration
	seed        uint64
	bin         string
	keep        bool
}

func main() {
	var p plan
	flag.IntVar(&p.groups, "groups", 50, "how many groups there are")
	flag.IntVar(&p.kills, "kills", 50, "how often the server is killed; the groups are dealt out to the kills")
	flag.DurationVar(&p.around, "around", 40*time.Millisecond,
		"the longest time between the end of the last members and the kill; one time in five it comes before")
	flag.DurationVar(&p.readyWithin, "ready-within", 2*time.Second,
		"a start that takes longer until /readyz answers 200 fails")
	flag.DurationVar(&p.endWithin, "end-within", 60*time.Second,
		"a group that has not ended so long after the start behind its kill is stuck")
	flag.Uint64Var(&p.seed, "seed", uint64(time.Now().UnixNano()), "of all random choices")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the file and the logs")
	flag.Parse()
	if flag.NArg() > 0 || p.kills < 1 || p.groups < p.kills || p.around <= 0 {
		fmt.Fprintln(os.Stderr, "groups: wants at least one kill, a group for each of them, and no arguments")
		os.Exit(2)
	}
	rig.Main("groups", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	s, err := newStorm(p, dir)
	if err != nil {
		return false, err
	}
	defer s.close()
	fmt.Printf("groups: %d groups, %d kills, seed %d\n", p.groups, p.kills, p.seed)
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
