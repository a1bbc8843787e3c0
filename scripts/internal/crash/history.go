package main

import (
	"net/http"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// history is what the clients and the receiver saw: the only witness against the server.
type history struct {
	mu        sync.Mutex
	keys      map[string]*sent   // by idempotency key
	runs      map[string]*record // by id
	acked     []*record          // in the order of the first answers
	lost      int                // requests without an answer, or with a passing error: repeated
	repeats   int                // answers to a key that was known
	surprises []string           // violations seen while the server ran

	life   int            // of the server: how often it has died
	flying map[string]int // requests in flight by what they have in common
	peaks  map[string]int // the most there were
	lentAt []time.Time    // when requests that use the dependency came
}

// sent is what was answered for one idempotency key.
type sent struct {
	job     string
	runs    map[string]bool // ids in all answers
	created int             // answers that said the run is new
	sentAt  time.Time       // before the first request
	madeAt  time.Time       // after the first answer that said so
}

// record is one run as it was seen from outside.
type record struct {
	id, job    string
	acked      bool
	after      string // of a run that follows another: the other's id
	trigger    string // of such a run
	deliveries []delivery
	ended      *rig.Run  // as it was first seen ended
	endedAt    time.Time // when that answer had come
	final      *rig.Run  // as it was read last; nil: never
	missing    bool      // it was acknowledged, and answered with 404 later
	activeAt   time.Time // when it had not ended yet, as far as is known
}

// delivery is one start of the job that the receiver or the script wrote down.
type delivery struct {
	at        time.Time // zero for scripts
	operation string    // "" for scripts
	status    int       // what the receiver meant to answer; 0 for scripts
}

func newHistory() *history {
	return &history{
		keys: map[string]*sent{}, runs: map[string]*record{},
		flying: map[string]int{}, peaks: map[string]int{},
	}
}

func (h *history) record(id string) *record {
	r := h.runs[id]
	if r == nil {
		r = &record{id: id}
		h.runs[id] = r
	}
	return r
}

// intend notes that a client is about to send a key.
func (h *history) intend(key, job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[key] = &sent{job: job, runs: map[string]bool{}, sentAt: time.Now()}
}

// answered notes a 2xx for a key.
func (h *history) answered(key string, run rig.Run, status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keys[key]
	k.runs[run.ID] = true
	if status == http.StatusAccepted && !run.Duplicate {
		if k.created++; k.created == 1 {
			k.madeAt = time.Now()
		}
	} else {
		h.repeats++
	}
	r := h.record(run.ID)
	r.job = k.job
	if !r.acked {
		r.acked = true
		h.acked = append(h.acked, r)
	}
}

func (h *history) unanswered() {
	h.mu.Lock()
	h.lost++
	h.mu.Unlock()
}

func (h *history) surprise(text string) {
	h.mu.Lock()
	h.surprises = append(h.surprises, text)
	h.mu.Unlock()
}

// delivered notes a start and gives how many came for the run before.
func (h *history) delivered(run string, d delivery) (before int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run)
	r.deliveries = append(r.deliveries, d)
	return len(r.deliveries) - 1
}

// answer notes the status the receiver chose for the nth delivery of a run.
func (h *history) answer(run string, n, status int) {
	h.mu.Lock()
	h.runs[run].deliveries[n].status = status
	h.mu.Unlock()
}

// saw notes a run as it was read, from the time it was asked for until that of the answer; a run
// that ended must not be seen otherwise later.
func (h *history) saw(run rig.Run, asked, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run.ID)
	if run.Terminal() && r.ended == nil {
		r.ended, r.endedAt = &run, at
	}
	if !run.Terminal() && asked.After(r.activeAt) {
		r.activeAt = asked
	}
	r.final = &run
}

// notFound notes a 404 for an acknowledged run.
func (h *history) notFound(r *record) {
	h.mu.Lock()
	r.missing = true
	h.mu.Unlock()
}

// unended are the acknowledged runs that nobody has seen ended yet, without those that are lost.
func (h *history) unended() []*record {
	h.mu.Lock()
	defer h.mu.Unlock()
	var open []*record
	for _, r := range h.acked {
		if r.ended == nil && !r.missing {
			open = append(open, r)
		}
	}
	return open
}
