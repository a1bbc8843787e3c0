// Command backups copies the published copy of a database with cp, over and over, and has backups made, while the
// server takes writes, and checks from outside that each copy is whole and holds all that was acknowledged before what
// it says it is as of, and each backup all that was acknowledged before it was asked for.
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
	copies, perRound int
	backups, loaded  int
	rate             int
	bin              string
	keep             bool
}

func main() {
	var p plan
	flag.IntVar(&p.copies, "copies", 1000, "how often latest.db is copied")
	flag.IntVar(&p.perRound, "per-round", 100, "after so many copies it goes on with a new file, so that looking into them does not take longer and longer")
	flag.IntVar(&p.backups, "backups", 20, "how many backups are made")
	flag.IntVar(&p.loaded, "loaded", 100_000, "runs in the file of which backups are made")
	flag.IntVar(&p.rate, "rate", 200, "runs enqueued a second meanwhile, and executed")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the files and the logs")
	flag.Parse()
	if flag.NArg() > 0 || p.copies < 1 || p.perRound < 1 || p.backups < 1 || p.rate < 1 {
		fmt.Fprintln(os.Stderr, "backups: wants numbers above 0, and no arguments")
		os.Exit(2)
	}
	rig.Main("backups", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	report := &rig.Report{}
	began := time.Now()
	c := &copying{plan: p, report: report, states: map[int64]bool{}}
	for round := 0; c.made < p.copies; round++ {
		if err := p.with(ctx, dir, fmt.Sprintf("copies-%d", round), c.round); err != nil {
			return false, fmt.Errorf("copies of latest.db: %w", err)
		}
	}
	report.Row("copies of latest.db by cp", c.made)
	report.Row("  states among them", len(c.states))
	report.Row("  the oldest was behind by", c.oldest.Round(time.Millisecond))
	report.Row("  acknowledged runs looked for", c.looked)
	if len(c.states) < 2 || c.looked == 0 {
		report.Faults = append(report.Faults, "all copies are of one state: nothing was published meanwhile")
	}
	b := &asking{plan: p, report: report}
	if err := p.with(ctx, dir, "backups", b.round); err != nil {
		return false, fmt.Errorf("backups: %w", err)
	}
	report.Row("took in all", time.Since(began).Round(time.Second))
	report.Print()
	return len(report.Faults) == 0, nil
}
