package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pool keeps idle connections by key, the last used first to be used again. The zero value with
// its bounds set is ready.
type pool struct {
	perHost int
	total   int
	idleFor time.Duration

	mu     sync.Mutex
	idle   map[string][]*conn // in the order in which they were put
	count  int
	timer  *time.Timer // sweeps; nil: none set, for nothing is idle
	closed bool
}

// take gives a live connection, or nil.
func (p *pool) take(key string) *conn {
	for {
		c := p.pop(key)
		if c == nil {
			return nil
		}
		if time.Now().Before(c.until) && c.alive() {
			c.kept = true
			return c
		}
		c.Close()
	}
}

func (p *pool) pop(key string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	list[len(list)-1] = nil
	p.idle[key] = list[:len(list)-1]
	p.count--
	return c
}

// put keeps a connection after an answer with these headers. False: the caller closes it.
func (p *pool) put(c *conn, answer http.Header) bool {
	keep := p.idleFor
	if said, ok := keepAliveTimeout(answer); ok {
		// A second early: the other side's clock started before its answer was on the way.
		keep = min(keep, said-time.Second)
	}
	if keep <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.count >= p.total || len(p.idle[c.key]) >= p.perHost {
		return false
	}
	if p.idle == nil {
		p.idle = map[string][]*conn{}
	}
	c.until = time.Now().Add(keep)
	p.idle[c.key] = append(p.idle[c.key], c)
	p.count++
	if p.timer == nil {
		p.timer = time.AfterFunc(p.idleFor, p.sweep)
	}
	return true
}

// keepAliveTimeout reads "Keep-Alive: timeout=5, max=100".
func keepAliveTimeout(answer http.Header) (time.Duration, bool) {
	values := answer["Keep-Alive"]
	if len(values) == 0 {
		return 0, false
	}
	for _, part := range strings.Split(values[0], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
		return time.Duration(n) * time.Second, err == nil
	}
	return 0, false
}

// sweep closes what has been idle for too long, and comes again while anything is left.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	now := time.Now()
	for key, list := range p.idle {
		kept := list[:0]
		for _, c := range list {
			if now.Before(c.until) {
				kept = append(kept, c)
				continue
			}
			c.Close()
			p.count--
		}
		clear(list[len(kept):])
		if p.idle[key] = kept; len(kept) == 0 {
			delete(p.idle, key)
		}
	}
	p.timer = nil
	if p.count > 0 {
		p.timer = time.AfterFunc(p.idleFor, p.sweep)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, list := range p.idle {
		for _, c := range list {
			c.Close()
		}
	}
	p.idle, p.count = nil, 0
}
