package main

import (
	"bufio"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// receiver is the webhook endpoint: it writes down each delivery before it answers. What it answers
// depends on the seed and the run alone.
type receiver struct {
	history *history
	seed    uint64
	server  *http.Server
	url     string
}

func newReceiver(h *history, seed uint64) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{history: h, seed: seed, url: "http://" + l.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /quick", func(w http.ResponseWriter, req *http.Request) {
		r.take(w, req, func(uint64, int) (time.Duration, int) { return 0, http.StatusOK })
	})
	mux.HandleFunc("POST /slow", func(w http.ResponseWriter, req *http.Request) {
		r.take(w, req, func(draw uint64, _ int) (time.Duration, int) {
			return time.Duration(50+draw%250) * time.Millisecond, http.StatusOK
		})
	})
	for _, job := range []string{keyed, trio, borrower, lone} {
		mux.HandleFunc("POST /"+job, func(w http.ResponseWriter, req *http.Request) {
			r.take(w, req, func(draw uint64, _ int) (time.Duration, int) {
				return time.Duration(20+draw%150) * time.Millisecond, http.StatusOK
			})
		})
	}
	for _, path := range []string{"/flaky", "/" + chained, "/" + follower} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, req *http.Request) {
			r.take(w, req, func(draw uint64, before int) (time.Duration, int) {
				if before == 0 && draw%2 == 0 {
					return 0, http.StatusServiceUnavailable
				}
				return time.Duration(draw%20) * time.Millisecond, http.StatusOK
			})
		})
	}
	r.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, lifeKey{}, h.alive())
		},
	}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

// lifeKey is where the context of a connection says in which life of the server it was made.
type lifeKey struct{}

// take writes a delivery down, waits and answers as choose says of a draw and the number of
// deliveries before this one.
func (r *receiver) take(
	w http.ResponseWriter, req *http.Request,
	choose func(draw uint64, before int) (wait time.Duration, status int),
) {
	run := req.Header.Get("Nightshift-Run")
	d := delivery{at: time.Now(), operation: req.Header.Get("Idempotency-Key")}
	if run == "" || d.operation == "" {
		r.history.surprise("a delivery to " + req.URL.Path +
			" without Nightshift-Run or Idempotency-Key")
		http.Error(w, "no run", http.StatusBadRequest)
		return
	}
	before := r.history.delivered(run, d)
	body, _ := io.ReadAll(req.Body)
	life, _ := req.Context().Value(lifeKey{}).(int)
	defer r.history.enters(life, strings.TrimPrefix(req.URL.Path, "/"), body)()
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, strconv.FormatUint(r.seed, 16)+run)
	wait, status := choose(sum.Sum64(), before)
	r.history.answer(run, before, status)
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-req.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"deliveries": `+strconv.Itoa(before+1)+`}`)
}

func (r *receiver) close() { _ = r.server.Close() }

// scriptSource is a job that writes its run down before it works.
const scriptSource = `#!/bin/sh
printf '%s\n' "$NIGHTSHIFT_RUN" >>"$CRASH_STARTS"
sleep 0.1
echo done
`

// readOverlaps takes in which scripts found another one of their job alive.
func (h *history) readOverlaps(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for run := range strings.Lines(string(text)) {
		h.surprise("run " + strings.TrimSpace(run) + " of " + locked + " began while another one's processes lived")
	}
	return err
}

// readStarts adds the starts of scripts to the history.
func (h *history) readStarts(file string) error {
	f, err := os.Open(file)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		h.delivered(strings.TrimSpace(lines.Text()), delivery{})
	}
	return lines.Err()
}
