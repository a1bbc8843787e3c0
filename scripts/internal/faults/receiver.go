package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// receiver is the webhook endpoint. It writes down each delivery before it answers.
type receiver struct {
	url    string
	server *http.Server
	save   http.HandlerFunc // of /save; set before the server starts

	mu         sync.Mutex
	deliveries map[string][]delivery // by run
	last       time.Time
}

// delivery is one request for a run.
type delivery struct {
	at        time.Time
	path      string
	operation string
	attempt   string
	token     string // of the attempt, for its callback
}

func newReceiver() (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String(), deliveries: map[string][]delivery{}}
	r.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: r}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

// ServeHTTP answers /quick at once, /slow after 300 ms, /hold after 3 s, /flaky with 503 the first time.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	run := req.Header.Get("Nightshift-Run")
	r.mu.Lock()
	before := len(r.deliveries[run])
	r.last = time.Now()
	r.deliveries[run] = append(r.deliveries[run], delivery{
		at: r.last, path: req.URL.Path, operation: req.Header.Get("Idempotency-Key"),
		attempt: req.Header.Get("Nightshift-Attempt"), token: req.Header.Get("Nightshift-Token"),
	})
	r.mu.Unlock()
	_, _ = io.Copy(io.Discard, req.Body)
	if req.URL.Path == "/save" {
		r.save(w, req)
		return
	}
	wait := map[string]time.Duration{"/slow": 300 * time.Millisecond, "/hold": 3 * time.Second}[req.URL.Path]
	select {
	case <-time.After(wait):
	case <-req.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if req.URL.Path == "/flaky" && before == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, `{"taken": true}`)
}

// of are the deliveries of a run so far.
func (r *receiver) of(run string) []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.deliveries[run]...)
}

// total is how many deliveries there were, and how many of them began after a time.
func (r *receiver) total(after time.Time) (all, later int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, list := range r.deliveries {
		for _, d := range list {
			all++
			if d.at.After(after) {
				later++
			}
		}
	}
	return all, later
}

func (r *receiver) close() { _ = r.server.Close() }
