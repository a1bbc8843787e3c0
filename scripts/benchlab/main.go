// Command benchlab measures nightshift: speed, CPU, memory and size on disk, against the targets
// of the project, and beside a peer on the same work. It is its own module, so that what it needs
// for the peer stays out of nightshift's go.mod. Run it through scripts/bench.
//
// It drives the built binary over HTTP only, but for the no-op drain, which has no HTTP form.
// It must not judge a missed target as a failure: machines differ. Lost, doubled or failed runs
// and unexpected answers are failures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	if len(args) > 0 {
		if task, ok := childTasks[args[0]]; ok {
			return runChild(ctx, task, args[1:])
		}
	}
	opts, err := readOptions(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	if opts.list {
		for _, p := range probes(opts) {
			fmt.Printf("%-10s %s\n", p.name, p.about)
		}
		return 0
	}
	if err := measure(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// options are what the command line said.
type options struct {
	short   bool
	peer    string // "" or "river"
	json    string // file to write; "" none, "-" standard output
	only    map[string]bool
	list    bool
	reps    int
	dir     string // where databases are made
	binary  string // a binary to measure instead of building one
	beside  string // another binary, to be measured in turn with it
	timeout time.Duration
	workers int // River's
}

func readOptions(args []string) (options, error) {
	var opts options
	var only string
	flags := flag.NewFlagSet("scripts/bench", flag.ContinueOnError)
	flags.BoolVar(&opts.short, "short", false, "a smoke test in under a minute")
	flags.StringVar(&opts.peer, "peer", "", "also measure this peer on the same work: river")
	flags.StringVar(&opts.json, "json", "", "write JSON to this `file`, - for standard output")
	flags.StringVar(&only, "only", "", "measure only these `names`, separated by commas; see --list")
	flags.BoolVar(&opts.list, "list", false, "list what can be measured and exit")
	flags.IntVar(&opts.reps, "reps", 0, "repetitions, in turn with the peer (default 3, short 1)")
	flags.StringVar(&opts.dir, "dir", "tmp", "the `folder` for databases: on a disk, not in memory")
	flags.StringVar(&opts.binary, "binary", "", "measure this `file` instead of building it")
	flags.StringVar(&opts.beside, "beside", "", "also measure this `file`, another nightshift, on the same work")
	flags.DurationVar(&opts.timeout, "timeout", 0, "give up after this long (default 90m, short 5m)")
	flags.IntVar(&opts.workers, "river-workers", riverWorkers, "River's MaxWorkers for drains")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return opts, err
		}
		return opts, errors.New("see scripts/bench --help") // flag has printed what is wrong
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q: see scripts/bench --help", flags.Arg(0))
	}
	if opts.peer != "" && opts.peer != "river" {
		return opts, fmt.Errorf("--peer %q is not known: only river", opts.peer)
	}
	if opts.peer != "" && opts.beside != "" {
		return opts, errors.New("--peer and --beside exclude each other: there is one column for both")
	}
	if opts.reps < 0 || opts.workers < 1 {
		return opts, errors.New("--reps and --river-workers want a number from 1 up")
	}
	if opts.reps == 0 {
		opts.reps = 3
		if opts.short {
			opts.reps = 1
		}
	}
	if opts.timeout == 0 {
		opts.timeout = 90 * time.Minute
		if opts.short {
			opts.timeout = 5 * time.Minute
		}
	}
	for _, file := range []*string{&opts.binary, &opts.beside} {
		if *file == "" {
			continue
		}
		var err error
		if *file, err = filepath.Abs(*file); err != nil {
			return opts, err
		}
	}
	return opts, opts.choose(only)
}

// choose fills opts.only and refuses names that measure nothing.
func (opts *options) choose(only string) error {
	if only == "" {
		return nil
	}
	known := map[string]bool{}
	var names []string
	for _, p := range probes(*opts) {
		known[p.name] = true
		names = append(names, p.name)
	}
	opts.only = map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		if !known[name] {
			return fmt.Errorf("--only %q is not known: one of %s", name, strings.Join(names, ", "))
		}
		opts.only[name] = true
	}
	return nil
}

// measure runs the probes that were asked for, prints the table, writes the JSON. A probe whose
// results are wrong has no figures; the others are measured all the same.
func measure(ctx context.Context, opts options) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, opts.timeout,
		fmt.Errorf("not done after %s (--timeout)", opts.timeout))
	defer cancel()
	lab, err := openLab(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.close()) }()

	report := newReport(opts, lab)
	for _, p := range probes(opts) {
		if opts.only != nil && !opts.only[p.name] {
			continue
		}
		err := report.take(ctx, lab, p)
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", p.name, err)
		report.Errors = append(report.Errors, err.Error())
		progress("%v", err)
		if ctx.Err() != nil {
			report.Errors = append(report.Errors, context.Cause(ctx).Error())
			break
		}
	}
	table := os.Stdout
	if opts.json == "-" {
		table = os.Stderr
	}
	if err := errors.Join(report.print(table), report.write(opts.json)); err != nil {
		return err
	}
	if len(report.Errors) > 0 {
		return fmt.Errorf("wrong results:\n%s", strings.Join(report.Errors, "\n"))
	}
	return nil
}

// lab is what all probes share.
type lab struct {
	opts     options
	dir      string // holds everything that is removed at the end
	self     string // this program, for child processes
	binary   string // nightshift; "" until a probe asks for it
	receiver *receiver
	made     int // folders made below dir
}

func openLab(ctx context.Context, opts options) (*lab, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if err := os.MkdirAll(opts.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for databases: %w", err)
	}
	if err := refuseMemory(opts.dir); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(opts.dir, "bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for databases: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	receiver, err := listenReceiver(ctx)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &lab{opts: opts, dir: dir, self: self, binary: opts.binary, receiver: receiver}, nil
}

func (l *lab) close() error {
	return errors.Join(l.receiver.close(), os.RemoveAll(l.dir))
}

// folder makes a new empty folder; done removes it, so that one run of a
// probe does not pay for the pages that the one before left to be written.
func (l *lab) folder() (dir string, done func(), err error) {
	l.made++
	dir = filepath.Join(l.dir, fmt.Sprint(l.made))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	syscall.Sync()
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
