package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"
)

// riverTask is a probe that runs a task of River in a process of its own on a new file. Where
// arrivals is set that many webhooks must arrive, each once.
func (l *lab) riverTask(task string, a childArgs, arrivals int) measurement {
	return func(ctx context.Context) (values, error) {
		dir, done, err := l.folder()
		if err != nil {
			return nil, err
		}
		defer done()
		a.DB = filepath.Join(dir, "river.db")
		a.Workers = l.opts.workers
		round := l.receiver.begin(arrivals)
		if arrivals > 0 {
			a.URL = l.receiver.url()
		}
		got, err := l.child(ctx, task, a)
		if err != nil {
			return nil, err
		}
		if err := round.check(); err != nil {
			return nil, fmt.Errorf("river: %w", err)
		}
		if task == "child-river-latency" {
			got = waitsOf(round)
		}
		return got, nil
	}
}

// riverBesideMillion is riverMillion; how many of its webhooks arrive is not known beforehand.
func (l *lab) riverBesideMillion(n int, length time.Duration) measurement {
	return func(ctx context.Context) (values, error) {
		dir, done, err := l.folder()
		if err != nil {
			return nil, err
		}
		defer done()
		l.receiver.begin(n + millionDrain)
		return l.child(ctx, "child-river-million", childArgs{
			DB: filepath.Join(dir, "river.db"), URL: l.receiver.url(),
			N: n, Callers: 32, Workers: l.opts.workers, For: length,
		})
	}
}

// ceiling measures the bare parts of the loop; see ceiling.go for what the figure means.
func (l *lab) ceiling(length time.Duration) measurement {
	return func(ctx context.Context) (values, error) {
		echo, echoServer, err := l.echoPart(ctx, length)
		if err != nil {
			return nil, fmt.Errorf("ceiling, echo: %w", err)
		}
		dir, done, err := l.folder()
		if err != nil {
			return nil, err
		}
		defer done()
		commit, err := l.child(ctx, "child-ceiling-commit", childArgs{
			DB: filepath.Join(dir, "bare.db"), Callers: loopClients, For: length,
		})
		if err != nil {
			return nil, err
		}
		l.receiver.begin(1) // all are run 0
		own := ownCPU()
		client, err := l.child(ctx, "child-ceiling-client", childArgs{
			URL: l.receiver.url(), Callers: ceilingWorkers, For: length,
		})
		if err != nil {
			return nil, err
		}
		received := float64((ownCPU() - own).Microseconds()) / client["n"]
		sum := echo + commit["cpu_us"] + client["cpu_us"] + received
		return values{
			"per_s":     float64(runtime.NumCPU()) * 1e6 / sum,
			"sum_us":    sum,
			"echo_us":   echo,
			"commit_us": commit["cpu_us"],
			"client_us": client["cpu_us"] + received,
			"server_us": echoServer + commit["cpu_us"] + client["cpu_us"],
		}, nil
	}
}

// echoPart gives the CPU of one echo request in µs, both ends together and the server's alone.
func (l *lab) echoPart(ctx context.Context, length time.Duration) (both, alone float64, err error) {
	s, err := l.serve(ctx, "child-ceiling-echo", childArgs{})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	wires, closeAll, err := dialWires(ctx, s.addr, loopClients)
	if err != nil {
		return 0, 0, err
	}
	defer closeAll()
	before, err := cpuOf(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	own := ownCPU()
	body, path := runBody(0, 0), runsPath(benchJob)
	took, _, err := hammer(loopClients, length, func(c int) error {
		return wires[c].post(path, body)
	})
	if err != nil {
		return 0, 0, err
	}
	own = ownCPU() - own
	after, err := cpuOf(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	n := float64(len(took))
	alone = float64((after - before).Microseconds()) / n
	return alone + float64(own.Microseconds())/n, alone, nil
}
