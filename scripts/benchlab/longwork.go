package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"
)

// savers is how many runs save checkpoints together.
const savers = 32

// checkpointBytes is about how long the checkpoints are that they save.
const checkpointBytes = 100

func checkpointsProbe(at scale) probe {
	label := fmt.Sprintf("acknowledged checkpoints from %d runs together", savers)
	return probe{
		name:  "checkpoints",
		about: label + ", over HTTP with the token of each attempt",
		setup: func(l *lab) (ours, peer measurement) { return l.checkpoints(at.length), nil },
		rows: []row{
			{key: "per_s", label: label, unit: "saves/s", target: reaching(2_000)},
			{key: "p50_ms", label: "  p50", unit: "ms"},
			{key: "p99_ms", label: "  p99", unit: "ms"},
			{key: "cpu_us", label: "  server CPU per save", unit: "µs"},
			{key: "db_kib", label: "  file afterwards", unit: "KiB"},
		},
	}
}

// checkpoints measures saves of runs whose webhooks are under way all the time.
func (l *lab) checkpoints(length time.Duration) measurement {
	return func(ctx context.Context) (got values, err error) {
		h, err := listenHolder(ctx)
		if err != nil {
			return nil, err
		}
		defer h.close()
		mib, err := l.with(ctx, func(s *server) (err error) {
			got, err = s.checkpointsOf(ctx, h, length)
			return err
		})
		if err == nil {
			got["db_kib"] = mib * 1024
		}
		return got, err
	}
}

func (s *server) checkpointsOf(ctx context.Context, h *holder, length time.Duration) (values, error) {
	err := errors.Join(s.free(ctx, h.host()), s.call(ctx, http.MethodPut, "/v1/jobs/"+benchJob, map[string]any{
		"webhook": map[string]any{"url": "http://" + h.host() + "/"}, "timeout": "1h",
	}, nil))
	if err != nil {
		return nil, err
	}
	if err := s.load(ctx, benchJob, savers); err != nil {
		return nil, err
	}
	held, err := h.collect(ctx, savers)
	if err != nil {
		return nil, err
	}
	wires, closeAll, err := dialWires(ctx, s.addr, savers)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	for i, w := range wires {
		w.token = held[i].token
	}
	before, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	saved := make([]int, savers)
	took, elapsed, err := hammer(savers, length, func(c int) error {
		saved[c]++
		return wires[c].send(http.MethodPut, held[c].callback+"/checkpoint", checkpoint(saved[c]), http.StatusNoContent)
	})
	if err != nil {
		return nil, err
	}
	after, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	got := pace(took, elapsed)
	got["cpu_us"] = float64((after - before).Microseconds()) / float64(len(took))
	for c, w := range wires {
		err := w.send(http.MethodGet, held[c].callback+"/checkpoint", nil, http.StatusOK)
		if err != nil {
			return nil, err
		}
		if want := string(checkpoint(saved[c])); string(w.body) != want {
			return nil, fmt.Errorf("%s/checkpoint is %s: want %s", held[c].callback, w.body, want)
		}
	}
	h.release()
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return got, s.expect(ctx, benchJob, "succeeded", savers)
}

// checkpoint is the nth that a run saves.
func checkpoint(n int) []byte {
	b := fmt.Appendf(nil, `{"done":%d,"cursor":"`, n)
	for len(b) < checkpointBytes-2 {
		b = append(b, byte('a'+len(b)%26))
	}
	return append(b, `"}`...)
}

// holder is a webhook that keeps its requests under way until it releases them all.
type holder struct {
	listener net.Listener
	server   *http.Server
	taken    chan heldRun
	released chan struct{}
}

// heldRun is one of them: where its attempt calls back, and as whom.
type heldRun struct{ callback, token string }

func listenHolder(ctx context.Context) (*holder, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	h := &holder{listener: listener, taken: make(chan heldRun, savers), released: make(chan struct{})}
	h.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(h.hold)}
	go func() { _ = h.server.Serve(listener) }()
	return h, nil
}

func (h *holder) host() string { return h.listener.Addr().String() }

func (h *holder) hold(w http.ResponseWriter, req *http.Request) {
	h.taken <- heldRun{
		callback: "/v1/callback/" + req.Header.Get("Nightshift-Run"), token: req.Header.Get("Nightshift-Token"),
	}
	select {
	case <-h.released:
		w.WriteHeader(http.StatusNoContent)
	case <-req.Context().Done():
	}
}

// collect waits until n requests are under way.
func (h *holder) collect(ctx context.Context, n int) (held []heldRun, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stallAfter,
		fmt.Errorf("stuck: not all of %d webhooks were called within %s", n, stallAfter))
	defer cancel()
	for len(held) < n {
		select {
		case run := <-h.taken:
			held = append(held, run)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return held, nil
}

func (h *holder) release() { close(h.released) }

func (h *holder) close() { _ = h.server.Close() }

func scriptsProbe(at scale) probe {
	n := grouped(float64(at.scripts))
	return probe{
		name:  "scripts",
		about: n + " scripts of `true`: how many a minute, and what each costs the server alone",
		setup: func(l *lab) (ours, peer measurement) { return l.scripts(at.scripts), nil },
		rows: []row{
			{key: "per_min", label: "scripts of `true`, per minute and core", unit: "runs/min", target: reaching(1_000)},
			{key: "cpu_ms", label: "  the server's own CPU per script", unit: "ms", target: within(2)},
			{key: "mib_half", label: "  memory after half of " + n, unit: "MiB"},
			{key: "mib", label: "  memory after all", unit: "MiB"},
			{key: "grown", label: "  of that after half", unit: "times", target: within(1.2)},
		},
	}
}

// scripts measures a drain of scripts that do nothing, in two halves: by then what a server keeps in memory has
// its size.
func (l *lab) scripts(n int) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			err := s.call(ctx, http.MethodPut, "/v1/jobs/"+benchJob,
				map[string]any{"script": map[string]any{"source": "true"}}, nil)
			if err != nil {
				return err
			}
			got, err = s.scriptsOf(ctx, n)
			return err
		})
		return got, err
	}
}

func (s *server) scriptsOf(ctx context.Context, n int) (values, error) {
	half := n / 2
	if _, err := s.drainScripts(ctx, half); err != nil {
		return nil, err
	}
	mib, err := residentOf(s.pid())
	if err != nil {
		return nil, err
	}
	before, err := cpuOf(s.pid()) // without children
	if err != nil {
		return nil, err
	}
	took, err := s.drainScripts(ctx, n-half)
	if err != nil {
		return nil, err
	}
	after, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	got := values{
		"per_min":  float64(n-half) / took.Minutes() / float64(runtime.NumCPU()),
		"cpu_ms":   (after - before).Seconds() * 1000 / float64(n-half),
		"mib_half": mib,
	}
	if got["mib"], err = residentOf(s.pid()); err != nil {
		return nil, err
	}
	got["grown"] = got["mib"] / mib
	return got, s.expect(ctx, benchJob, "succeeded", n)
}

// drainScripts enqueues n runs and waits until all have ended.
func (s *server) drainScripts(ctx context.Context, n int) (time.Duration, error) {
	if err := errors.Join(s.pause(ctx, benchJob), s.load(ctx, benchJob, n)); err != nil {
		return 0, err
	}
	started := time.Now()
	if err := s.resume(ctx, benchJob); err != nil {
		return 0, err
	}
	// Two lists of one run each: nobody who follows them asks for more.
	unended := func() (bool, error) {
		for _, state := range []string{"queued", "running"} {
			busy, err := s.any(ctx, state)
			if err != nil || busy {
				return false, err
			}
		}
		return true, nil
	}
	err := poll(ctx, 20*time.Millisecond, stallAfter+time.Duration(n)*100*time.Millisecond, unended)
	return time.Since(started), err
}
