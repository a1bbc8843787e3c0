package api

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// stopGrace is how long calls under way have to end.
	stopGrace = 5 * time.Second
	// quietGrace is how long a new connection that has asked for nothing is kept meanwhile.
	quietGrace = 300 * time.Millisecond
	// quietLook is how often it is looked which calls have ended.
	quietLook = 10 * time.Millisecond
)

// Stop ends streams and waits. Where no other server takes over the listener it takes no more calls but those of
// attempts, which may end in good order, and probes. Each answer from now on is the last one of its connection.
func (s *Server) Stop() { s.stop() }

// Shutdown stops, closes the listener, and lets calls end in a few seconds, or until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Stop()
	grace, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	var err error
	if s.handover {
		err = s.handOver(grace)
	} else if err = s.http.Shutdown(grace); err != nil {
		err = s.http.Close()
	}
	s.loops.Wait()
	if touched := s.access.touch(context.WithoutCancel(ctx)); touched != nil {
		s.log.Warn("when tokens were last used is not kept", "error", touched)
	}
	return err
}

// takesStill reports whether calls of a route are taken while the server stops. Where another one takes over that is all
// of them but what would begin something in this one, or take longer than it has.
func (s *Server) takesStill(r *route) bool {
	return r.attempt || r.probe ||
		s.handover && !strings.HasPrefix(r.path, "/v1/server/") && r.path != "/v1/backup"
}

// askTheNext refuses what only the next server can do.
func askTheNext(in time.Duration) *problem {
	return &problem{kind: probStopping, retryAfter: in, detail: "ask the next one, once it has started"}
}

// handOver closes the listener and ends with the last call; the error says that some were cut off. net/http is shut down
// only then, for it drops calls that come in later without a word, and closes connections as a call comes in.
func (s *Server) handOver(ctx context.Context) error {
	s.conns.leave()
	err := s.conns.drain(ctx)
	_ = s.http.Close()
	return err
}

// conns are the open connections and where they come from.
type conns struct {
	mu   sync.Mutex
	ln   net.Listener  // nil: there is none yet
	over chan struct{} // closed once none comes from ln any more
	open map[*countedConn]struct{}
	left bool // ln was closed to leave it to another server
}

// listen takes connections of ln; end must be called once it gives none any more.
func (all *conns) listen(ln net.Listener) (end func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.ln, all.over, all.open = ln, make(chan struct{}), map[*countedConn]struct{}{}
	return func() { close(all.over) }
}

// leave closes the listener; what it has accepted by then is among the open connections afterwards.
func (all *conns) leave() {
	all.mu.Lock()
	all.left = true
	ln, over := all.ln, all.over
	all.mu.Unlock()
	if ln != nil {
		_ = ln.Close()
		<-over
	}
}

func (all *conns) hasLeft() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.left
}

func (all *conns) add(c *countedConn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open != nil {
		all.open[c] = struct{}{}
	}
}

func (all *conns) remove(c *countedConn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, c)
}

// drain closes all connections as their calls end, until ctx ends. One without a call is closed at once, a new one when
// it has asked for nothing for a moment.
func (all *conns) drain(ctx context.Context) error {
	tick := time.NewTicker(quietLook)
	defer tick.Stop()
	for began := time.Now(); ; {
		left := 0
		for _, c := range all.list() {
			switch {
			case c.busy.Load() || c.waiting(), !c.used.Load() && time.Since(began) < quietGrace:
				left++
			default:
				_ = c.Close()
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d took too long", left)
		case <-tick.C:
		}
	}
}

func (all *conns) list() []*countedConn {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.open))
}

// connState is told by net/http when a connection waits for its next call.
func connState(conn net.Conn, state http.ConnState) {
	if c, ok := conn.(*countedConn); ok && state == http.StateIdle {
		c.called.Store(false)
		c.busy.Store(false)
	}
}

// waiting reports whether bytes have come that nobody has read.
func (c *countedConn) waiting() bool {
	sys, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, _ = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
