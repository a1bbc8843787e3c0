package main

import (
	"context"
	"fmt"
	"time"
)

// measurement does a piece of work once and gives what it measured.
type measurement func(context.Context) (values, error)

// probe is one kind of work, measured on nightshift and, interleaved with it, on a peer.
type probe struct {
	name  string // for --only
	about string
	reps  int
	setup func(*lab) (ours, peer measurement)
	vs    string // who the peer is
	own   bool   // it measures what is in this program, whatever the binary
	rows  []row
}

// beside is the same probe with another binary as the peer, of which each figure is taken. Targets of
// ratios are none of this one.
func (p probe) beside(binary string) probe {
	setup := p.setup
	p.vs = "beside"
	p.setup = func(l *lab) (ours, peer measurement) {
		ours, _ = setup(l)
		return ours, func(ctx context.Context) (values, error) {
			measured := l.binary
			defer func() { l.binary = measured }()
			l.binary = binary
			return ours(ctx)
		}
	}
	rows := p.rows
	p.rows = nil
	for _, r := range rows {
		if r.key == "" {
			continue
		}
		r.peer = r.key
		if !r.target.own {
			r.target = target{}
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// row is one figure of a probe.
type row struct {
	key    string // of nightshift's values
	peer   string // of the peer's values; "": it has no such figure
	label  string
	unit   string
	target target
}

// target is what a figure is to reach.
type target struct {
	op    string // ">=" or "<="; "": none
	bound float64
	own   bool // of the figure itself, else of its ratio to the peer's
}

func atLeast(ratio float64) target { return target{op: ">=", bound: ratio} }
func atMost(ratio float64) target  { return target{op: "<=", bound: ratio} }
func within(bound float64) target  { return target{op: "<=", bound: bound, own: true} }
func reaching(bound float64) target {
	return target{op: ">=", bound: bound, own: true}
}

func (t target) met(own, ratio float64) bool {
	judged := ratio
	if t.own {
		judged = own
	}
	if t.op == ">=" {
		return judged >= t.bound
	}
	return judged <= t.bound
}

func (t target) String() string {
	if t.op == "" {
		return ""
	}
	return fmt.Sprintf("%s %g", map[string]string{">=": "≥", "<=": "≤"}[t.op], t.bound)
}

// scale is how much work the probes do.
type scale struct {
	small, large, million int // runs
	noop, loop, samples   int
	length                time.Duration
	claimed               int    // the large backlog of claims
	claims                string // how long each of them is measured, for go test
	burst, standing       int    // schedules due at once, and not at all
	scripts               int    // that do nothing
	idle                  time.Duration
	outage                outage
}

func scaleOf(opts options) scale {
	if opts.short {
		return scale{
			small: 1_000, large: 5_000, noop: 5_000, loop: 2_000, samples: 20,
			length: 500 * time.Millisecond, claimed: 10_000, claims: "20x",
			burst: 200, standing: 500, scripts: 200, idle: 2 * time.Second, outage: outage{schedules: 20, missed: 10, regular: 5},
		}
	}
	return scale{
		small: 10_000, large: 100_000, million: 1_000_000, noop: 20_000, loop: 30_000, samples: 200,
		length: 3 * time.Second, claimed: 1_000_000, claims: "1s",
		burst: 2_000, standing: 10_000, scripts: 10_000, idle: time.Minute,
		outage: outage{schedules: 1_000, missed: 100, regular: 100},
	}
}

// probes are all that is measured, in order. With --short the one that takes minutes is left out.
func probes(opts options) []probe {
	at := scaleOf(opts)
	all := []probe{
		enqueueProbe(at, 1, target{}), enqueueProbe(at, 32, atLeast(3)), batchProbe(at),
		drainProbe(at), limitsProbe(at), backlogProbe(at), noopProbe(at), latencyProbe(at), loopProbe(at),
		claimProbe(at), burstProbe(at), standingProbe(at), outageProbe(at),
		checkpointsProbe(at), scriptsProbe(at),
	}
	if !opts.short {
		all = append(all, millionProbe(at))
	}
	for i := range all {
		if all[i].reps == 0 {
			all[i].reps = opts.reps
		}
		if opts.beside != "" && !all[i].own {
			all[i] = all[i].beside(opts.beside)
		}
	}
	return all
}

func enqueueProbe(at scale, clients int, reach target) probe {
	label := fmt.Sprintf("enqueue over HTTP, %d clients", clients)
	if clients == 1 {
		label = "enqueue over HTTP, 1 client"
	}
	return probe{
		name:  fmt.Sprintf("enqueue%d", clients),
		about: label + "; River: insert in process by as many callers",
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.enqueue(clients, at.length),
				l.riverTask("child-river-insert", childArgs{Callers: clients, For: at.length}, 0)
		},
		rows: []row{
			{key: "per_s", peer: "per_s", label: label, unit: "runs/s", target: reach},
			{key: "p50_ms", peer: "p50_ms", label: "  p50", unit: "ms"},
			{key: "p99_ms", peer: "p99_ms", label: "  p99", unit: "ms"},
			{key: "cpu_us", peer: "cpu_us", label: "  server CPU per run", unit: "µs"},
		},
	}
}

func batchProbe(at scale) probe {
	return probe{
		name:  "batch",
		about: "batches of 1,000 over HTTP; River: bulk insert of 1,000 in process",
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.batches(at.length),
				l.riverTask("child-river-bulk", childArgs{N: batchSize, For: at.length}, 0)
		},
		rows: []row{
			{
				key: "per_s", peer: "per_s", label: "batch of 1,000 over HTTP", unit: "runs/s",
				target: atLeast(0.5),
			},
			{key: "cpu_us", label: "  server CPU per run", unit: "µs"},
		},
	}
}

func drainProbe(at scale) probe {
	n := grouped(float64(at.small))
	return probe{
		name:  "drain",
		about: "drain of " + n + " queued webhook runs, and the CPU that each takes",
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.drainBoth(at.small),
				l.riverTask("child-river-drain", childArgs{N: at.small}, at.small)
		},
		rows: []row{
			{
				key: "per_s", peer: "per_s", label: "drain of " + n + " webhook runs", unit: "runs/s",
				target: atLeast(3.5),
			},
			{key: "per_s_received", label: "  by the receiver's count", unit: "runs/s"},
			{
				key: "cpu_us", peer: "cpu_us", label: "  server CPU per run", unit: "µs",
				target: atMost(0.55),
			},
			{key: "bound_per_s", label: "  with the limits that hosts have by default", unit: "runs/s"},
			{key: "bound_cpu_us", label: "  server CPU per run", unit: "µs"},
		},
	}
}

func backlogProbe(at scale) probe {
	n := grouped(float64(at.large))
	return probe{
		name:  "backlog",
		about: "drain of " + n + " queued webhook runs, peak memory, size of the file",
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.drain(work{runs: at.large}),
				l.riverTask("child-river-drain", childArgs{N: at.large}, at.large)
		},
		rows: []row{
			{key: "per_s", peer: "per_s", label: "drain of " + n + " webhook runs", unit: "runs/s"},
			{key: "per_s_received", label: "  by the receiver's count", unit: "runs/s"},
			{key: "cpu_us", peer: "cpu_us", label: "  server CPU per run", unit: "µs"},
			{key: "queued_peak_mib", label: "peak memory, " + n + " queued", unit: "MiB"},
			{
				key: "peak_mib", peer: "peak_mib", label: "  and drained", unit: "MiB",
				target: within(120),
			},
			{
				key: "db_mib", peer: "db_mib", label: "file per 100,000 finished runs", unit: "MiB",
				target: within(130),
			},
		},
	}
}

func noopProbe(at scale) probe {
	n := grouped(float64(at.noop))
	return probe{
		name:  "noop",
		own:   true,
		about: "drain of " + n + " runs that do nothing, in process",
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.noop(at.noop), l.riverTask("child-river-drain", childArgs{N: at.noop}, 0)
		},
		rows: []row{
			{
				key: "per_s", peer: "per_s", label: "drain of " + n + " no-op runs in process",
				unit: "runs/s", target: atLeast(8),
			},
			{key: "cpu_us", peer: "cpu_us", label: "  CPU per run", unit: "µs"},
		},
	}
}

func latencyProbe(at scale) probe {
	const every = 50 * time.Millisecond
	return probe{
		name:  "latency",
		about: "enqueue to start at one run per 50 ms: sent by the client to arrived at the webhook",
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.latency(at.samples, every),
				l.riverTask("child-river-latency", childArgs{N: at.samples, Every: every}, at.samples)
		},
		rows: []row{
			{
				key: "p50_ms", peer: "p50_ms", label: "enqueue to start, p50", unit: "ms",
				target: atMost(0.35),
			},
			{key: "p99_ms", peer: "p99_ms", label: "  p99", unit: "ms"},
		},
	}
}

func loopProbe(at scale) probe {
	return probe{
		name:  "loop",
		about: "the whole loop with 128 clients against the machine's ceiling",
		vs:    "ceiling",
		setup: func(l *lab) (ours, peer measurement) {
			return l.loop(at.loop), l.ceiling(at.length)
		},
		rows: []row{
			{
				key: "per_s", peer: "per_s", label: "whole loop, 128 clients", unit: "runs/s",
				target: atLeast(0.40),
			},
			{key: "accepted_per_s", label: "  accepted meanwhile", unit: "runs/s"},
			{key: "server_us", peer: "server_us", label: "  server CPU per run", unit: "µs"},
			{key: "sum_us", peer: "sum_us", label: "  CPU per run, all ends", unit: "µs"},
			{peer: "echo_us", label: "  of the ceiling: echo, both ends", unit: "µs"},
			{peer: "commit_us", label: "  of the ceiling: group commit", unit: "µs"},
			{peer: "client_us", label: "  of the ceiling: client, both ends", unit: "µs"},
		},
	}
}

func millionProbe(at scale) probe {
	rows := []row{{key: "load_per_s", label: "load of 1,000,000 in batches", unit: "runs/s"}}
	for _, phase := range []string{"queued", "finished"} {
		with := ", 1,000,000 " + phase
		rows = append(rows,
			row{key: phase + "_enqueue_1_per_s", label: "enqueue, 1 client" + with, unit: "runs/s"},
			row{key: phase + "_enqueue_1_p99", label: "  p99", unit: "ms"},
			row{
				key: phase + "_enqueue_per_s", peer: phase + "_enqueue_per_s",
				label: "enqueue, 32 clients" + with, unit: "runs/s",
			},
			row{key: phase + "_enqueue_p99", label: "  p99", unit: "ms"},
			row{key: phase + "_batch_per_s", label: "batch of 1,000" + with, unit: "runs/s"},
			row{key: phase + "_start_p50", label: "enqueue to start, p50" + with, unit: "ms"},
			row{key: phase + "_start_p99", label: "  p99", unit: "ms"},
			row{
				key: phase + "_drain_per_s", peer: phase + "_drain_per_s",
				label: "drain of 10,000" + with, unit: "runs/s",
			})
	}
	rows = append(rows,
		row{key: "drain_all_per_s", label: "drain of 1,000,000", unit: "runs/s"},
		row{key: "peak_mib", label: "peak memory over all this", unit: "MiB"},
		row{key: "db_mib", label: "file afterwards", unit: "MiB"})
	return probe{
		name:  "million",
		about: "the same with 1,000,000 runs queued and with 1,000,000 finished",
		reps:  1,
		vs:    "river",
		setup: func(l *lab) (ours, peer measurement) {
			return l.million(at.million, at.length), l.riverBesideMillion(at.million, at.length)
		},
		rows: rows,
	}
}
