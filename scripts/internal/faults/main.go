// Command faults does to a server what disks, systems and people do to servers, one experiment for
// each fault, and checks after each that the file is whole, that all which was acknowledged is in it
// and that nothing in it is stuck.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// plan is what the command line asks for.
type plan struct {
	short bool
	list  bool
	tried bool
	at    int
	ready time.Duration
	seed  uint64
	bin   string
	keep  bool
	names []string
}

func main() {
	var p plan
	flag.BoolVar(&p.short, "short", false, "the short form of each experiment, all within a minute; those that have none are left out")
	flag.BoolVar(&p.list, "list", false, "tell which experiments there are, and do nothing")
	flag.BoolVar(&p.tried, "controls", false, "build the product with a mistake for each experiment, and want the experiment to find it")
	flag.IntVar(&p.at, "at-once", 0, "how many experiments run side by side; left out: 1, of the short forms 6")
	flag.DurationVar(&p.ready, "ready-within", 0, "a start of kills and ten-million that takes longer is a violation; left out: 2s, of the short forms 10s")
	flag.Uint64Var(&p.seed, "seed", uint64(time.Now().UnixNano()), "of all random choices")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the files and the logs")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: scripts/faults [--short] [--list] [flags] [NAME...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if p.names = flag.Args(); p.ready == 0 {
		p.ready = 2 * time.Second
		if p.short || p.tried {
			p.ready = 10 * time.Second // machines that test are busy
		}
	}
	if p.list {
		for _, e := range experiments {
			fmt.Printf("%-18s %s\n", e.name, e.about)
		}
		return
	}
	chosen, err := p.choose()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	rig.Main("faults", &p.bin, p.keep, func(ctx context.Context, dir string) (bool, error) {
		if p.tried {
			return p.controls(ctx, dir, chosen)
		}
		return p.execute(ctx, dir, chosen)
	})
}

// choose finds the experiments that are named, or all.
func (p *plan) choose() ([]experiment, error) {
	if len(p.names) == 0 {
		return slices.DeleteFunc(slices.Clone(experiments), func(e experiment) bool { return p.short && e.longOnly }), nil
	}
	var chosen []experiment
	for _, name := range p.names {
		i := slices.IndexFunc(experiments, func(e experiment) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no experiment %q: scripts/faults --list tells which there are", name)
		}
		chosen = append(chosen, experiments[i])
	}
	return chosen, nil
}

// execute runs experiments and tells of each when it is over.
func (p *plan) execute(ctx context.Context, dir string, chosen []experiment) (ok bool, err error) {
	if p.at < 1 {
		p.at = 1
		if p.short {
			p.at = 6 // most of them wait most of the time
		}
	}
	fmt.Printf("faults: %d experiments, seed %d\n", len(chosen), p.seed)
	var (
		mu      sync.Mutex
		all     sync.WaitGroup
		room    = make(chan struct{}, p.at)
		summary = make([]string, len(chosen))
		begun   = time.Now()
	)
	ok = true
	for i, e := range chosen {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			l := p.newLab(dir, e)
			outcome := l.conduct(ctx)
			mu.Lock()
			defer mu.Unlock()
			fmt.Printf("\n=== %s: %s\n", e.name, e.about)
			l.Print()
			summary[i] = fmt.Sprintf("%-18s %6.1f s  %s", e.name, l.took.Seconds(), outcome)
			fmt.Println("---", summary[i])
			if len(l.Faults) > 0 {
				ok = false
			}
		})
	}
	all.Wait()
	fmt.Printf("\n=== summary\n%s\n%-18s %6.1f s  %s\n", strings.Join(summary, "\n"), "total", time.Since(begun).Seconds(),
		map[bool]string{true: "ok", false: "FAILED"}[ok])
	return ok, ctx.Err()
}

func (p *plan) newLab(dir string, e experiment) *lab {
	return &lab{
		plan: p, experiment: e, dir: filepath.Join(dir, e.name),
		random: rand.New(rand.NewPCG(p.seed, uint64(len(e.name)))),
	}
}
