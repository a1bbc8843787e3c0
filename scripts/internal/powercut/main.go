// Command powercut records what a server writes and syncs while it acknowledges runs, schedules and
// checkpoints, and proves that a power cut at any acknowledgement would have lost none of them.
//
// A kill does not tell: what a dead process wrote is still in the memory of the system. Here the
// writes are replayed, and at each acknowledgement the files are rebuilt from what had been synced
// by then alone, and, some more times, with a random part of the rest.
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
	acks    int
	random  int
	payload int
	clients int
	seed    uint64
	bin     string
	keep    bool
}

func main() {
	var p plan
	flag.IntVar(&p.acks, "acks", 400, "requests to be acknowledged, one in five a batch, one in ten a schedule, "+
		"one in five a checkpoint")
	flag.IntVar(&p.random, "random", 2,
		"images per acknowledgement in which a random part of what was not synced is kept")
	flag.IntVar(&p.payload, "payload", 200<<10, "bytes of the largest payloads; with 400 "+
		"acknowledgements they make the server copy its log back and begin it anew")
	flag.IntVar(&p.clients, "clients", 4, "clients that enqueue at the same time")
	flag.Uint64Var(&p.seed, "seed", uint64(time.Now().UnixNano()), "of all random choices")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the trace, the file and the log")
	flag.Parse()
	if flag.NArg() > 0 || p.acks < 1 || p.clients < 1 || p.random < 0 ||
		p.payload < 1 || p.payload > 256000 {
		fmt.Fprintln(os.Stderr,
			"powercut: wants at least one acknowledgement and one client, payloads of 1 to 256000 bytes "+
				"and no arguments")
		os.Exit(2)
	}
	rig.Main("powercut", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	fmt.Printf("powercut: %d acknowledgements, seed %d\n", p.acks, p.seed)
	rec, err := p.record(ctx, dir)
	if err != nil {
		return false, err
	}
	v, err := p.judge(ctx, rec)
	if err != nil {
		return false, err
	}
	v.print(p)
	return len(v.faults) == 0, nil
}

// print tells what was found.
func (v *verdict) print(p *plan) {
	rows := []struct {
		what  string
		value any
	}{
		{"seed", p.seed},
		{"acknowledgements", v.cuts},
		{"runs acknowledged", len(v.acked) - v.count(schedulePrefix) - v.count(savedPrefix)},
		{"schedules acknowledged", v.count(schedulePrefix)},
		{"checkpoints acknowledged", v.count(savedPrefix)},
		{"writes", fmt.Sprintf("%d, %.1f MiB", v.disk.writes, float64(v.disk.bytes)/(1<<20))},
		{"fsyncs", fmt.Sprintf("%d %v", v.disk.syncs, v.disk.syncsOf)},
		{"  log begun anew after it was copied back", max(0, v.disk.begun[v.name+"-wal"]-1)},
		{"images with nothing but what was synced", v.poorest},
		{"  of them damaged", v.damaged[0]},
		{"  of them without what was acknowledged", v.lossy[0]},
		{"images with a random part of the rest", v.mixed},
		{"  of them damaged", v.damaged[1]},
		{"  of them without what was acknowledged", v.lossy[1]},
		{"violations", len(v.faults)},
	}
	for _, r := range rows {
		fmt.Printf("%-42s %v\n", r.what, r.value)
	}
	const most = 20
	for _, f := range v.faults[:min(len(v.faults), most)] {
		fmt.Println("VIOLATION:", f)
	}
	if more := len(v.faults) - most; more > 0 {
		fmt.Printf("and %d more\n", more)
	}
}
