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
	told                   map[string]bool // ids of runs and names of schedules and checkpoints in 2xx answers, as the clients read them
}

// record runs a server under strace from its first start to its stop while clients enqueue webhook
// runs, which it delivers at the same time, and one run saves checkpoints.
func (p *plan) record(ctx context.Context, dir string) (*recording, error) {
	hook, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &keeper{taken: make(chan rig.API, 1), release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/", answer)
	mux.HandleFunc("/keep", k.hold)
	receiver := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: mux}
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
	if err := k.begin(ctx, server.API, "http://"+hook.Addr().String()); err != nil {
		return nil, err
	}
	if rec.told, err = p.load(ctx, server.API, k); err != nil {
		return nil, err
	}
	close(k.release)
	return rec, server.Stop(2 * time.Minute)
}

func answer(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"taken": "`+strings.Repeat("x", 280)+`"}`)
}

// keeper saves the checkpoints of a run that is under way all the time.
type keeper struct {
	taken   chan rig.API  // with the token of the attempt
	release chan struct{} // closed: the run ends
	run     string

	mu    sync.Mutex
	api   rig.API
	saved int
}

// hold takes the run. It ends as a failure, for success would drop what it has saved.
func (k *keeper) hold(w http.ResponseWriter, req *http.Request) {
	k.taken <- rig.NewAPI("").With(req.Header.Get("Nightshift-Token"))
	<-k.release
	w.WriteHeader(http.StatusInternalServerError)
}

// begin registers the jobs and starts the run that saves.
func (k *keeper) begin(ctx context.Context, api rig.API, url string) error {
	for name, path := range map[string]string{"hook": "/", "keep": "/keep"} {
		err := api.Register(ctx, name, map[string]any{
			"webhook": map[string]any{"url": url + path}, "timeout": "1h", "retry": map[string]any{"max_attempts": 1},
		})
		if err != nil {
			return err
		}
	}
	run, _, err := api.Enqueue(ctx, "keep", "keeper", map[string]any{})
	if err != nil {
		return err
	}
	select {
	case k.api = <-k.taken:
	case <-time.After(time.Minute):
		return fmt.Errorf("run %s that saves checkpoints was not started within a minute", run.ID)
	}
	k.run, k.api.Addr = run.ID, api.Addr
	return nil
}

// save saves the next checkpoint when the one before has been answered.
func (k *keeper) save(ctx context.Context, text string) (name string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.saved++
	_, err = k.api.Do(ctx, http.MethodPut, "/v1/callback/"+k.run+"/checkpoint", "",
		map[string]any{"n": k.saved, "text": text}, nil)
	return savedName(k.saved), err
}

// load sends as many requests as planned and gives the ids and names of all that is in the answers.
func (p *plan) load(ctx context.Context, api rig.API, k *keeper) (map[string]bool, error) {
	var (
		mu    sync.Mutex
		told  = map[string]bool{k.run: true}
		first error
		next  = make(chan int)
		all   sync.WaitGroup
	)
	for range p.clients {
		all.Go(func() {
			for n := range next {
				ids, err := p.request(ctx, api, k, n)
				mu.Lock()
				if err != nil && first == nil {
					first = fmt.Errorf("request %d: %w", n, err)
				}
				for _, id := range ids {
					told[id] = true
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

// schedulePrefix is what the names of the schedules that are put begin with.
const schedulePrefix = "kept-"

// The nth checkpoint that is saved has a name too.
const savedPrefix = "saved-"

func savedName(n int) string { return fmt.Sprint(savedPrefix, n) }

// request sends the nth request: one in five is a batch, one in ten puts a schedule, one in five saves a
// checkpoint, the payload of one in five is large.
func (p *plan) request(ctx context.Context, api rig.API, k *keeper, n int) (ids []string, err error) {
	random := rand.New(rand.NewPCG(p.seed, uint64(n)))
	size := 100
	if random.IntN(5) == 0 {
		size = 1 + random.IntN(p.payload)
	}
	payload := map[string]string{"text": strings.Repeat("p", size)}
	key := fmt.Sprintf("request-%d", n)
	switch {
	case n%10 == 3:
		name := fmt.Sprint(schedulePrefix, n)
		_, err := api.Do(ctx, http.MethodPut, "/v1/schedules/"+name, "",
			map[string]any{"job": "hook", "cron": "0 0 29 2 *", "payload": payload}, nil)
		return []string{name}, err
	case n%5 == 2:
		name, err := k.save(ctx, payload["text"])
		return []string{name}, err
	case n%5 > 0:
		run, _, err := api.Enqueue(ctx, "hook", key, payload)
		return []string{run.ID}, err
	}
	entries := make([]rig.Entry, 5)
	for i := range entries {
		entries[i] = rig.Entry{Job: "hook", Payload: payload, Key: fmt.Sprintf("%s-%d", key, i)}
	}
	runs, err := api.Batch(ctx, entries)
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	return ids, err
}
