package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/scripts/internal/rig"
)

// receiver is the webhook endpoint of all jobs: it writes down each delivery before it answers, and calls
// back. What it chooses depends on the seed, the run and the attempt.
type receiver struct {
	history *history
	api     rig.API
	seed    uint64
	server  *http.Server
	url     string
	stop    atomic.Bool     // savers end
	results atomic.Int64    // given so far: each is another one
	ctx     context.Context // of what goes on after an answer
	cancel  context.CancelFunc
	work    sync.WaitGroup
}

func newReceiver(h *history, api rig.API, seed uint64) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{history: h, api: api, seed: seed, url: "http://" + l.Addr().String()}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	for path, take := range map[string]func(*request){
		saveHook: r.save, sliced: r.slice, batched: r.batch, called: r.called, beaten: r.called,
	} {
		mux.HandleFunc("POST /"+path, func(w http.ResponseWriter, req *http.Request) {
			if in, ok := r.open(w, req); ok {
				take(in)
			}
		})
	}
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

// close ends all that goes on after an answer, and then the receiver.
func (r *receiver) close() {
	r.cancel()
	r.work.Wait()
	_ = r.server.Close()
}

// request is one delivery, read.
type request struct {
	*attempt
	w         http.ResponseWriter
	ctx       context.Context // ends with the connection
	random    *rand.Rand
	delivery  *delivery
	operation string
	read      value
	payload   struct {
		Total int
		Batch string
		Plain bool // nothing is drawn: it does what is right
	}
}

// open reads a request and writes the delivery down.
func (r *receiver) open(w http.ResponseWriter, req *http.Request) (*request, bool) {
	in := &request{w: w, ctx: req.Context()}
	err := in.parse(r, req)
	if err != nil {
		r.history.fault("a delivery to %s: %v", req.URL.Path, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	r.history.delivered(in.run, in.delivery)
	sum := fnv.New64a()
	_, _ = fmt.Fprint(sum, in.run, in.number, in.delivery.k)
	in.random = rand.New(rand.NewPCG(r.seed, sum.Sum64()))
	return in, true
}

// idLength is that of an id as text.
const idLength = 36

func (in *request) parse(r *receiver, req *http.Request) (err error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &in.payload); err != nil {
		return fmt.Errorf("the payload: %w", err)
	}
	if in.attempt, err = attemptOf(r.history, r.api, req.Header); err != nil {
		return err
	}
	in.delivery = &delivery{attempt: in.number}
	key := req.Header.Get("Idempotency-Key")
	if len(key) < idLength {
		return fmt.Errorf("Idempotency-Key %q is not that of an operation", key)
	}
	in.operation = key[:idLength]
	if suffix := key[idLength:]; suffix != "" {
		if in.delivery.k, err = strconv.Atoi(strings.TrimPrefix(suffix, "-")); err != nil || in.delivery.k < 1 {
			return fmt.Errorf("Idempotency-Key %q does not end in the number of continues", key)
		}
	}
	in.read, err = readValue(req.Header.Get("Nightshift-Checkpoint"))
	return err
}

// answer writes a JSON answer; what is meant is noted before.
func (r *receiver) answer(in *request, meant string, status int, body any) {
	r.history.means(in.delivery, meant)
	in.w.Header().Set("Content-Type", "application/json")
	if meant == goesOn {
		in.w.Header().Set("Nightshift-Continue", "true")
	}
	in.w.WriteHeader(status)
	_ = json.NewEncoder(in.w).Encode(body)
	_ = http.NewResponseController(in.w).Flush()
}

// cancels cancels the run while it is answered or ended, one in so many times.
func (r *receiver) cancels(in *request, oneIn int) {
	if !in.payload.Plain && in.random.IntN(oneIn) == 0 {
		r.work.Go(func() { cancel(r.ctx, r.api, r.history, in.run) })
	}
}

// save saves as fast as it can while the request is open, and goes on after it was cut off until it is
// refused.
func (r *receiver) save(in *request) {
	s := r.history.begins(in.run, in.number, in.read)
	if v, ok := in.reads(in.ctx); ok && v != in.read {
		r.history.fault("run %s: attempt %d: the header said %v, the callback %v", in.run, in.number, in.read, v)
	}
	ended := make(chan struct{})
	r.work.Go(func() {
		defer close(ended)
		for !r.stop.Load() {
			switch status := in.save(r.ctx, s); {
			case status == http.StatusConflict:
				r.tooLate(in)
				return
			case status != http.StatusNoContent && !pause(r.ctx, 10*time.Millisecond):
				return
			}
		}
	})
	select {
	case <-ended:
		r.answer(in, done, http.StatusOK, map[string]any{"saved": s.sent})
	case <-in.ctx.Done():
	}
}

// What an attempt says when it is too late must leave no trace.
const (
	tooLateText = "too late"
	tooLateDone = 999
)

// tooLate says all that an attempt can say once more, after it was refused: none of it may be taken.
func (r *receiver) tooLate(in *request) {
	said := map[string]any{
		heartbeat: nil, progress: map[string]any{"done": tooLateDone}, logs: map[string]any{"text": tooLateText},
		complete: map[string]any{"result": tooLateText},
		fail:     map[string]any{"type": "TooLate", "message": tooLateText, "retryable": false},
	}
	for name, body := range said {
		c := in.until(r.ctx, name, body)
		if c.taken() {
			r.history.fault("run %s: attempt %d was refused a checkpoint, and then its %s was taken with %d", in.run,
				in.number, name, c.status)
		}
	}
}

// stranger calls with tokens that do not fit: none of it may be let in.
func (r *receiver) stranger(in *request) {
	other, mine := r.history.other(in.run), in.path
	forged := in.token[:len(in.token)-1] + "A"
	if forged == in.token {
		forged = in.token[:len(in.token)-1] + "Q"
	}
	for _, c := range []struct{ what, path, token string }{
		{"the token of another run", strings.Replace(mine, in.run, other, 1), in.token},
		{"a forged token", mine, forged},
		{"the token of the server", mine, rig.Token},
	} {
		status, err := in.api.With(c.token).Do(r.ctx, http.MethodPost, c.path+"/"+heartbeat, "", nil, nil)
		if status != http.StatusUnauthorized && (status/100 == 2 || status/100 == 4) {
			r.history.fault("run %s: a heartbeat with %s was answered with %d (%v); want 401", in.run, c.what, status, err)
		}
	}
	status, _ := in.api.Do(r.ctx, http.MethodGet, "/v1/runs/"+in.run, "", nil, nil)
	if status != http.StatusUnauthorized && (status/100 == 2 || status/100 == 4) {
		r.history.fault("run %s: its own token reads it with %d; want 401", in.run, status)
	}
}
