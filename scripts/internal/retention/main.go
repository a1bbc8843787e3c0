// Command retention has a server end many small runs with some output, and checks from outside that its file stays as
// large as it is after a while: by age, and by the bounds on bytes.
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
	lasts   time.Duration
	retain  time.Duration
	rate    int
	scripts int
	grows   float64
	short   bool
	bin     string
	keep    bool
}

func main() {
	var p plan
	flag.DurationVar(&p.lasts, "for", 20*time.Minute, "how long runs are made with a retention by age; with bounds on bytes half as long")
	flag.DurationVar(&p.retain, "retain", time.Minute, "how long runs are kept")
	flag.IntVar(&p.rate, "rate", 200, "runs a second")
	flag.IntVar(&p.scripts, "scripts", 10, "of these, scripts; the others are webhooks with a result as large")
	flag.Float64Var(&p.grows, "grows", 1.15, "by how much the file may be larger in the last third than in the one before")
	flag.BoolVar(&p.short, "short", false, "both parts in some seventy seconds, with runs kept for five seconds; the file may be a third larger")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the file and the logs")
	flag.Parse()
	if p.short {
		p.lasts, p.retain, p.scripts, p.grows = 45*time.Second, 5*time.Second, 4, 1.34
	}
	if flag.NArg() > 0 || p.rate < 1 || p.scripts < 0 || p.scripts > p.rate || p.lasts < 4*p.retain {
		fmt.Fprintln(os.Stderr, "retention: wants a rate, not more scripts than that, four times as long as runs are kept, and no arguments")
		os.Exit(2)
	}
	rig.Main("retention", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	sink, err := newSink()
	if err != nil {
		return false, err
	}
	defer sink.close()
	var faults []string
	for _, part := range []*trial{
		{plan: p, name: "by-age", lasts: p.lasts, retain: p.retain},
		{plan: p, name: "by-bytes", lasts: p.lasts / 2, retain: 7 * 24 * time.Hour, keepRuns: p.bound(), keepLogs: 1 << 20},
	} {
		found, err := part.run(ctx, dir, sink)
		if err != nil {
			return false, fmt.Errorf("%s: %w", part.name, err)
		}
		faults = append(faults, found...)
	}
	for _, f := range faults {
		fmt.Println("VIOLATION:", f)
	}
	return len(faults) == 0, nil
}

// bound is what a fifth of the second part writes: it is reached early.
func (p *plan) bound() int64 { return int64(p.lasts.Seconds()) / 10 * int64(p.rate) * fileBytes }
