package main

import (
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// receiver is the webhook endpoint of all jobs: it writes down when it is called by which run, and when it
// answers.
type receiver struct {
	server *http.Server
	url    string
	seed   uint64

	mu         sync.Mutex
	deliveries map[string][]*delivery // by run
	nameless   int
}

// delivery is one request for a run.
type delivery struct {
	operation string
	begun     time.Time
	answered  time.Time // zero: it was not
}

// durations are how long what is called takes, in milliseconds, by its path.
var durations = map[string]struct{ least, spread uint64 }{
	"/quick": {0, 30}, "/slow": {200, 2300}, "/lone": {100, 1500}, "/bulk": {0, 16},
}

func newReceiver(seed uint64) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String(), seed: seed, deliveries: map[string][]*delivery{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	run := req.Header.Get("Nightshift-Run")
	d := &delivery{operation: req.Header.Get("Idempotency-Key"), begun: time.Now()}
	r.mu.Lock()
	if run == "" || d.operation == "" {
		r.nameless++
	}
	r.deliveries[run] = append(r.deliveries[run], d)
	r.mu.Unlock()
	_, _ = io.Copy(io.Discard, req.Body)

	sum := fnv.New64a()
	_, _ = io.WriteString(sum, strconv.FormatUint(r.seed, 16)+run)
	takes := durations[req.URL.Path]
	select {
	case <-time.After(time.Duration(takes.least+sum.Sum64()%takes.spread) * time.Millisecond):
	case <-req.Context().Done():
		return
	}
	r.mu.Lock()
	d.answered = time.Now() // the server cannot know of the end before
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// forget drops what was received since an instant.
func (r *receiver) forget(since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for run, list := range r.deliveries {
		var kept []*delivery
		for _, d := range list {
			if d.begun.Before(since) {
				kept = append(kept, d)
			}
		}
		r.deliveries[run] = kept
	}
}

// of gives the deliveries of a run.
func (r *receiver) of(run string) (list []delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.deliveries[run] {
		list = append(list, *d)
	}
	return list
}

// called is how many runs have called.
func (r *receiver) called() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.deliveries)
}

func (r *receiver) close() { _ = r.server.Close() }
