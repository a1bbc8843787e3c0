package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// readyWithin is how long a start may take on the slowest machine.
const readyWithin = 2 * time.Minute

// lab is one trial under way.
type lab struct {
	*plan
	server   *rig.Server
	receiver *receiver
	random   *rand.Rand

	schedules []*schedule
	jobs      map[string]map[string]any // documents, without their schedules
	puts      map[string]int            // of jobs
	outages   []outage
	lives     []life
	ready     time.Time // when the process that runs was
	report    rig.Report

	mu        sync.Mutex
	surprises []string // violations seen while it ran
}

// outage is a time in which nothing was decided.
type outage struct{ down, up time.Time }

// life is the time of one process.
type life struct {
	begun  time.Time
	ready  time.Time // zero: it was killed before
	ended  time.Time // zero: it runs
	active bool      // it is known to have decided ticks
}

func newLab(p *plan, dir string) (*lab, error) {
	dir, err := os.MkdirTemp(dir, "trial-")
	if err != nil {
		return nil, err
	}
	r, err := newReceiver(p.seed)
	if err != nil {
		return nil, err
	}
	server, err := rig.NewServer(p.bin, dir)
	if err != nil {
		r.close()
		return nil, err
	}
	return &lab{
		plan: p, server: server, receiver: r, random: rand.New(rand.NewPCG(p.seed, 7)),
		jobs: map[string]map[string]any{}, puts: map[string]int{},
	}, nil
}

func (l *lab) close() {
	l.server.Close()
	l.receiver.close()
}

func (l *lab) surprise(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.surprises = append(l.surprises, fmt.Sprintf(format, args...))
}

// note adds a line to the report.
func (l *lab) note(what string, value any) { l.report.Row(what, value) }

// start starts the server and waits until it is ready.
func (l *lab) start() error {
	if err := l.begin(); err != nil {
		return err
	}
	if err := l.server.AwaitReady(readyWithin); err != nil {
		return err
	}
	l.ready = time.Now()
	l.lives[len(l.lives)-1].ready = l.ready
	return nil
}

// begin starts the server. An outage that it ends is over.
func (l *lab) begin() error {
	if n := len(l.outages); n > 0 && l.outages[n-1].up.IsZero() {
		l.outages[n-1].up = time.Now()
	}
	l.lives = append(l.lives, life{begun: time.Now()})
	return l.server.Start()
}

// kill kills the server. Nothing is decided until the next start.
func (l *lab) kill() error {
	if err := l.server.Kill(); err != nil {
		return err
	}
	l.died()
	return nil
}

func (l *lab) died() {
	l.outages = append(l.outages, outage{down: time.Now()})
	l.lives[len(l.lives)-1].ended = time.Now()
}

// stop ends it as one should.
func (l *lab) stop() error {
	if err := l.server.Stop(readyWithin); err != nil {
		return err
	}
	l.died()
	return nil
}

// sleep waits. It fails where the server ends meanwhile.
func (l *lab) sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-l.server.Ended():
		return errors.New("the server ended by itself\n" + l.server.LogTail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// about is how long it is until a whole second, some time from now, give or take.
func about(random *rand.Rand, later, give time.Duration) time.Duration {
	at := time.Now().Add(later).Truncate(time.Second).Add(time.Second)
	return max(0, time.Until(at)+time.Duration((2*random.Float64()-1)*float64(give)))
}

// register puts a job whose webhook calls a path of the receiver.
func (l *lab) register(ctx context.Context, name, path string, more map[string]any) error {
	doc := map[string]any{
		"webhook": map[string]any{"url": l.receiver.url + path},
		"retry":   map[string]any{"backoff": map[string]any{"kind": "fixed", "base": "100ms"}},
	}
	for field, value := range more {
		doc[field] = value
	}
	l.jobs[name] = doc
	l.puts[name]++
	return l.server.Register(ctx, name, doc)
}

// add puts new schedules under trial.
func (l *lab) add(ctx context.Context, list ...*schedule) error {
	for _, s := range list {
		l.schedules = append(l.schedules, s)
		if err := l.put(ctx, l.server.API, s, s.text); err != nil {
			return err
		}
	}
	return nil
}

// put saves a schedule with a text, one in a job with the others of it.
func (l *lab) put(ctx context.Context, api rig.API, s *schedule, t text) error {
	s.text = t
	path, doc, saved := "/v1/schedules/"+s.name, s.document(&t), []*schedule{s}
	if s.inJob {
		path, doc, saved = "/v1/jobs/"+s.job, map[string]any{}, nil
		for field, value := range l.jobs[s.job] {
			doc[field] = value
		}
		var docs []any
		for _, other := range l.schedules {
			if other.job == s.job && other.inJob {
				if len(other.changes) == 0 {
					other.before = l.puts[s.job]
				}
				saved = append(saved, other)
				docs = append(docs, other.document(&other.text))
			}
		}
		doc["schedules"] = docs
		l.puts[s.job]++
	}
	return l.change(ctx, saved, doPut, func() error {
		_, err := api.Do(ctx, http.MethodPut, path, "", doc, nil)
		return err
	})
}

func (l *lab) delete(ctx context.Context, api rig.API, s *schedule) error {
	return l.change(ctx, []*schedule{s}, doDelete, func() error {
		_, err := api.Do(ctx, http.MethodDelete, "/v1/schedules/"+s.name, "", nil, nil)
		var answer *rig.StatusError
		if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
			return nil // by an earlier request, which was not answered: the audit tells
		}
		return err
	})
}

func (l *lab) pause(ctx context.Context, s *schedule, paused bool) error {
	what := doResume
	if paused {
		what = doPause
	}
	return l.change(ctx, []*schedule{s}, what, func() error {
		_, err := l.server.Do(ctx, http.MethodPost, "/v1/schedules/"+s.name+"/"+what, "", nil, nil)
		return err
	})
}

// change repeats a request until it is answered with 2xx, and writes down what it has changed.
func (l *lab) change(ctx context.Context, saved []*schedule, what string, send func() error) error {
	c := change{what: what, sent: time.Now()}
	for {
		err := send()
		if err == nil {
			break
		}
		var answer *rig.StatusError
		if errors.As(err, &answer) && !answer.Passing() {
			return fmt.Errorf("%s schedule %s: %w", what, saved[0].name, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.answered = time.Now()
	for _, s := range saved {
		c.text = s.text
		s.changes = append(s.changes, c)
	}
	return nil
}
