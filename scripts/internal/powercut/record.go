package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// recording is what one traced server did.
type recording struct {
	dir, db, server, trace string
	told                   map[string]bool // ids of runs in 2xx answers, as the clients read them
}

// record runs a server under strace from its first start to its stop while clients enqueue webhook
// runs, which it delivers at the same time.
func (p *plan) record(ctx context.Context, dir string) (*recording, error) {
	hook, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	receiver := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(answer)}
	go func() { _ = receiver.Serve(hook) }()
	defer receiver.Close()

	server, err := rig.NewServer(p.bin, dir)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	rec := &recording{
		dir: dir, db: server.DB(), server: server.Addr, trace: filepath.Join(dir, "trace"),
	}
	server.Wrap = append(append([]string{"strace"}, straceArgs...), "-o", rec.trace)
	if err := server.Start(); err != nil {
		return nil, err
	}
	if err := server.AwaitReady(2 * time.Minute); err != nil {
		return nil, err
	}
	err = server.Register(ctx, "hook", map[string]any{
		"webhook": map[string]any{"url": "http://" + hook.Addr().String() + "/"},
	})
	if err != nil {
		return nil, err
	}
	if rec.told, err = p.load(ctx, server.API); err != nil {
		return nil, err
	}
	return rec, server.Stop(2 * time.Minute)
}

func answer(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"taken": "`+strings.Repeat("x", 280)+`"}`)
}

// load sends as many requests as planned and gives the ids of all runs in the answers.
func (p *plan) load(ctx context.Context, api rig.API) (map[string]bool, error) {
	var (
		mu    sync.Mutex
		told  = map[string]bool{}
		first error
		next  = make(chan int)
		all   sync.WaitGroup
	)
	for range p.clients {
		all.Go(func() {
			for n := range next {
				runs, err := p.request(ctx, api, n)
				mu.Lock()
				if err != nil && first == nil {
					first = fmt.Errorf("enqueue: %w", err)
				}
				for _, r := range runs {
					told[r.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	for n := range p.acks {
		next <- n
	}
	close(next)
	all.Wait()
	return told, first
}

// request sends the nth request: one in five is a batch, the payload of one in five is large.
func (p *plan) request(ctx context.Context, api rig.API, n int) ([]rig.Run, error) {
	random := rand.New(rand.NewPCG(p.seed, uint64(n)))
	size := 100
	if random.IntN(5) == 0 {
		size = 1 + random.IntN(p.payload)
	}
	payload := map[string]string{"text": strings.Repeat("p", size)}
	key := fmt.Sprintf("request-%d", n)
	if n%5 > 0 {
		run, _, err := api.Enqueue(ctx, "hook", key, payload)
		if err != nil {
			return nil, err
		}
		return []rig.Run{run}, nil
	}
	entries := make([]rig.Entry, 5)
	for i := range entries {
		entries[i] = rig.Entry{Job: "hook", Payload: payload, Key: fmt.Sprintf("%s-%d", key, i)}
	}
	return api.Batch(ctx, entries)
}
