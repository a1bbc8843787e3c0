package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// stallAfter is how long nothing may arrive before a drain counts as stuck.
const stallAfter = 60 * time.Second

const receiverAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
	"Content-Length: 11\r\n\r\n{\"ok\":true}"

// receiver is the webhook that runs call: HTTP/1.1 with kept connections. It parses with
// net/http but serves by hand, to take as little as possible of the machine that it shares
// with what is measured. It notes which runs arrived, when, and which came twice.
type receiver struct {
	listener net.Listener
	round    atomic.Pointer[round]
	serving  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil: closed
}

func listenReceiver(ctx context.Context) (*receiver, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &receiver{listener: listener, conns: map[net.Conn]struct{}{}}
	r.begin(0)
	r.serving.Go(r.accept)
	return r, nil
}

// host is the name of its host:port among the dependencies.
func (r *receiver) host() string { return r.listener.Addr().String() }

func (r *receiver) url() string { return "http://" + r.host() + "/hook" }

func (r *receiver) close() error {
	err := r.listener.Close()
	r.mu.Lock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
	r.mu.Unlock()
	r.serving.Wait()
	return err
}

func (r *receiver) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		r.mu.Lock()
		open := r.conns != nil
		if open {
			r.conns[conn] = struct{}{}
		}
		r.mu.Unlock()
		if !open {
			_ = conn.Close()
			return
		}
		r.serving.Go(func() { r.serve(conn) })
	}
}

// serve answers requests until the caller closes the connection.
func (r *receiver) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	body := make([]byte, 0, 2*payloadSize)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		now := time.Now()
		if body, err = readAll(body[:0], req.Body); err != nil {
			return
		}
		r.round.Load().arrive(body, now)
		if _, err := conn.Write([]byte(receiverAnswer)); err != nil {
			return
		}
	}
}

// readAll appends what r gives to b, without a new buffer for each body.
func readAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// begin starts to count anew: runs 0 to n-1 are expected. Nothing may be under way.
func (r *receiver) begin(n int) *round {
	round := &round{runs: make([]arrival, n), started: time.Now(), full: make(chan struct{})}
	r.round.Store(round)
	return round
}

// round is what arrived since begin.
type round struct {
	runs    []arrival
	started time.Time
	arrived atomic.Int64  // distinct runs
	doubled atomic.Int64  // further deliveries of a run
	foreign atomic.Int64  // bodies that are no payload of this round
	last    atomic.Int64  // when the newest run arrived, after started
	full    chan struct{} // closed when all have arrived
}

// arrival is when a run first came: after the round's start, and after it was sent. Zero: not yet.
type arrival struct{ at, waited atomic.Int64 }

func (r *round) arrive(body []byte, now time.Time) {
	n, sentAt, err := readPayload(body)
	if err != nil || n < 0 || n >= len(r.runs) {
		r.foreign.Add(1)
		return
	}
	at := now.Sub(r.started).Nanoseconds()
	if !r.runs[n].at.CompareAndSwap(0, max(at, 1)) {
		r.doubled.Add(1)
		return
	}
	if sentAt > 0 {
		r.runs[n].waited.Store(now.UnixNano() - sentAt)
	}
	r.last.Store(at)
	if r.arrived.Add(1) == int64(len(r.runs)) {
		close(r.full)
	}
}

// wait returns when n runs have arrived; an error where none came for stallAfter.
func (r *round) wait(ctx context.Context, n int) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	full := r.full
	if n < len(r.runs) {
		full = nil // the ticker finds it
	}
	seen, since := int64(-1), time.Now()
	for {
		switch got := r.arrived.Load(); {
		case got >= int64(n):
			return nil
		case got != seen:
			seen, since = got, time.Now()
		case time.Since(since) > stallAfter:
			return fmt.Errorf("stuck: %d of %d runs arrived, none in the last %s", got, n, stallAfter)
		}
		select {
		case <-full:
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// check fails unless each expected run arrived exactly once and nothing else did.
func (r *round) check() error {
	arrived, doubled, foreign := r.arrived.Load(), r.doubled.Load(), r.foreign.Load()
	if arrived != int64(len(r.runs)) || doubled+foreign > 0 {
		return fmt.Errorf("webhook deliveries are wrong: %d of %d runs arrived, %d came twice, "+
			"%d unknown bodies", arrived, len(r.runs), doubled, foreign)
	}
	return nil
}

// calls is how many deliveries of expected runs there were, where each may come more than once.
func (r *round) calls() int { return int(r.arrived.Load() + r.doubled.Load()) }

// waits gives how long each run took from being sent to arriving.
func (r *round) waits() []time.Duration {
	waits := make([]time.Duration, 0, len(r.runs))
	for i := range r.runs {
		if w := r.runs[i].waited.Load(); w != 0 {
			waits = append(waits, time.Duration(w))
		}
	}
	return waits
}
