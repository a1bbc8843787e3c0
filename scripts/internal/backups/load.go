package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// ack is a run that was acknowledged.
type ack struct {
	id   string
	at   time.Time     // when the answer was there
	took time.Duration // since it was asked for
}

// load enqueues runs at a rate, from several clients, and remembers what was acknowledged.
type load struct {
	mu   sync.Mutex
	acks []ack
	fail error
}

func (l *load) all() []ack {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.acks)
}

func (l *load) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fail
}

// run enqueues until ctx ends.
func (l *load) run(ctx context.Context, api rig.API, rate int) {
	const clients = 8
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			tick := time.NewTicker(time.Second * clients / time.Duration(rate))
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				began := time.Now()
				run, _, err := api.Enqueue(context.WithoutCancel(ctx), "quick", "", map[string]int{"n": 1})
				l.mu.Lock()
				if err != nil {
					l.fail = err
				} else {
					l.acks = append(l.acks, ack{run.ID, time.Now(), time.Since(began)})
				}
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// with serves a new file, with a job and a receiver, under load as long as do takes.
func (p *plan) with(ctx context.Context, dir, name string, do func(context.Context, *rig.Server, *load) error) error {
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
	defer receiver.Close()
	s, err := rig.NewServer(p.bin, dir, "--scripts", "off", "--snapshot-every", "250ms")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		return err
	}
	if err := s.AwaitReady(10 * time.Second); err != nil {
		return err
	}
	if err := s.Register(ctx, "quick", map[string]any{"webhook": map[string]any{"url": receiver.URL}}); err != nil {
		return err
	}
	l := &load{}
	loading, stop := context.WithCancel(ctx)
	var under sync.WaitGroup
	under.Go(func() { l.run(loading, s.API, p.rate) })
	err = do(ctx, s, l)
	stop()
	under.Wait()
	if err == nil {
		err = l.err()
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s.LogTail())
	}
	return s.Stop(15 * time.Second)
}
