// Command pages serves a file with very many runs and failures, and measures from outside how long each page and each
// list takes, what they weigh, and whether the server's memory stays as it is. The file is made by the server itself,
// and its rows are then multiplied.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"nightshift/scripts/internal/rig"
)

// plan is what the command line asks for.
type plan struct {
	runs      int
	failures  int
	jobs      int
	schedules int
	members   int // of the largest group
	rounds    int
	loads     int
	median    time.Duration
	p95       time.Duration
	growth    int
	bin       string
	keep      bool
}

func main() {
	var p plan
	flag.IntVar(&p.runs, "runs", 1_000_000, "how many finished runs there are")
	flag.IntVar(&p.jobs, "jobs", 200, "how many jobs; each failed run is of one of ten fingerprints of its job")
	flag.IntVar(&p.schedules, "schedules", 1000, "how many schedules; a tenth of the runs are of their ticks")
	flag.IntVar(&p.members, "members", 10_000, "how many members the largest group has")
	flag.IntVar(&p.rounds, "rounds", 15, "how often each page is measured")
	flag.IntVar(&p.loads, "loads", 500, "how many pages are loaded while memory is watched")
	flag.DurationVar(&p.median, "median", 200*time.Millisecond, "what a page may take at the median")
	flag.DurationVar(&p.p95, "p95", 500*time.Millisecond, "what the first pages and the counters may take at the 95th percentile")
	flag.IntVar(&p.growth, "growth", 48, "MiB by which the server's memory may be larger after the loads")
	flag.StringVar(&p.bin, "bin", "", "binary to test; built from this module where left out")
	flag.BoolVar(&p.keep, "keep", false, "keep the folder with the file and the logs")
	flag.Parse()
	p.failures = p.runs / 10
	if flag.NArg() > 0 || p.runs < 1000 || p.jobs < 1 || p.schedules < p.jobs || p.rounds < 3 {
		fmt.Fprintln(os.Stderr, "pages: wants at least 1000 runs, a schedule for each job, three rounds, and no arguments")
		os.Exit(2)
	}
	rig.Main("pages", &p.bin, p.keep, p.execute)
}

func (p *plan) execute(ctx context.Context, dir string) (ok bool, err error) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"rows": 1}`))
	}))
	defer receiver.Close()
	s, err := rig.NewServer(p.bin, dir)
	if err != nil {
		return false, err
	}
	defer s.Close()
	l := &load{plan: p, server: s, receiver: receiver.URL}
	begun := time.Now()
	if err := l.fill(ctx); err != nil {
		return false, err
	}
	l.report.Row("made in", time.Since(begun).Round(100*time.Millisecond))
	if err := errors.Join(s.Start(), s.AwaitReady(time.Minute)); err != nil {
		return false, err
	}
	if err := l.measure(ctx); err != nil {
		return false, err
	}
	l.report.Print()
	return len(l.report.Faults) == 0, s.Stop(time.Minute)
}

// load is the server while it is filled and measured.
type load struct {
	*plan
	server   *rig.Server
	receiver string
	report   rig.Report
	browser  *http.Client

	group  string // the run of the largest
	failed string // a failed run
	print  string // its fingerprint
}

func jobName(n int) string { return fmt.Sprintf("job-%03d", n) }
