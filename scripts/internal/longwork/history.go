package main

import (
	"fmt"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// history is what the receiver, the scripts and the clients saw: the only witness against the server.
type history struct {
	mu         sync.Mutex
	runs       map[string]*record
	operations map[string]*operation     // of slices, by id
	batches    map[string]map[int]*saved // by checkpoint key: what its deliveries saved, numbered from 1
	thaws      []time.Time               // when the server went on after it had stood still
	deaths     []time.Time               // when the server was gone
	unanswered int                       // calls without an answer: repeated
	faults     []string                  // seen while the server ran
}

// record is one run as it was seen from outside.
type record struct {
	id, job    string
	batch      string // its checkpoint key
	told       bool   // a client was told of it
	newest     int    // the highest number of an attempt that was delivered
	deliveries []*delivery
	calls      []*call        // with the tokens of its attempts
	cancels    []*call        // by clients
	saves      map[int]*saved // by the number of the attempt
	shared     map[int]*saved // the same, where the checkpoint belongs to a key
	waited     map[int]bool   // attempts that were seen waiting for their callback
	ended      *rig.Run       // as it was first seen ended
	endedAt    time.Time      // when that answer had come
	final      *rig.Run       // as it was read last
}

// delivery is one request that the receiver took.
type delivery struct {
	attempt int
	k       int // continues before it, of slices
	at      time.Time
	meant   string // what the receiver chose to answer; "": nothing yet
}

// What a receiver answers.
const (
	goesOn  = "continue"
	done    = "done"
	accepts = "accepted"
	refuses = "503"
	hangsUp = "no answer"
)

// call is one request with the token of an attempt, or one to cancel a run.
type call struct {
	attempt int
	name    string
	value   string // the result, of complete
	over    bool   // when it was sent the attempt was known to be over
	sent    time.Time
	status  int    // 0: no answer, or one that says nothing
	state   string // of the run, in the answer
}

// taken reports that it was acknowledged, open that it may have been taken.
func (c *call) taken() bool { return c.status/100 == 2 }
func (c *call) open() bool  { return c.status == 0 || c.taken() }

func newHistory() *history {
	return &history{
		runs: map[string]*record{}, operations: map[string]*operation{}, batches: map[string]map[int]*saved{},
	}
}

func (h *history) record(id string) *record {
	r := h.runs[id]
	if r == nil {
		r = &record{id: id, saves: map[int]*saved{}, shared: map[int]*saved{}, waited: map[int]bool{}}
		h.runs[id] = r
	}
	return r
}

func (h *history) fault(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// tell notes that a client was told of a run.
func (h *history) tell(run rig.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run.ID)
	r.told, r.job = true, run.Job
}

// died notes that the server is gone.
func (h *history) died() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaths = append(h.deaths, time.Now())
}

// thawed notes that the server goes on.
func (h *history) thawed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.thaws = append(h.thaws, time.Now())
}

// delivered notes a request for an attempt.
func (h *history) delivered(run string, d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run)
	d.at = time.Now()
	if r.ended != nil {
		h.faults = append(h.faults, fmt.Sprintf("run %s: attempt %d was delivered %v after it was seen %s", run,
			d.attempt, d.at.Sub(r.endedAt), r.ended.State))
	}
	if d.attempt < r.newest {
		h.faults = append(h.faults, fmt.Sprintf("run %s: attempt %d was delivered after attempt %d", run,
			d.attempt, r.newest))
	}
	r.newest = max(r.newest, d.attempt)
	r.deliveries = append(r.deliveries, d)
}

// other is another run than this one, where there is one.
func (h *history) other(run string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.runs {
		if id != run {
			return id
		}
	}
	return "00000000-0000-7000-8000-000000000000"
}

// means notes what the receiver is about to answer.
func (h *history) means(d *delivery, answer string) {
	h.mu.Lock()
	d.meant = answer
	h.mu.Unlock()
}

// calls notes a request of an attempt that is about to be sent.
func (h *history) calls(run string, c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run)
	c.sent, c.over = time.Now(), r.newest > c.attempt || r.ended != nil
	r.calls = append(r.calls, c)
}

// answered notes what came of a request. What an attempt says that is over must not be taken; but the
// call that has ended it may be repeated.
func (h *history) answered(run string, c *call, status int, state string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.status, c.state = status, state
	if status == 0 {
		h.unanswered++
	}
	if !c.taken() || !c.over {
		return
	}
	for _, before := range h.runs[run].calls {
		if before != c && before.attempt == c.attempt && before.name == c.name && before.open() && c.ends() {
			return
		}
	}
	h.faults = append(h.faults, fmt.Sprintf("run %s: attempt %d was over, and its %s was taken with %d", run,
		c.attempt, c.name, status))
}

// ends reports whether a call can end an attempt.
func (c *call) ends() bool { return c.name == complete || c.name == fail }

// cancels notes a request to cancel a run that is about to be sent.
func (h *history) cancels(run string) *call {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &call{name: "cancel", sent: time.Now()}
	r := h.record(run)
	r.cancels = append(r.cancels, c)
	return c
}

// cancelled notes what came of it.
func (h *history) cancelled(c *call, status int) {
	h.mu.Lock()
	c.status = status
	h.mu.Unlock()
}

// saw notes a run as it was read; one that ended must not be seen otherwise later.
func (h *history) saw(run rig.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run.ID)
	r.job, r.final = run.Job, &run
	if run.Terminal() && r.ended == nil {
		r.ended, r.endedAt = &run, time.Now()
	}
	if n := len(run.Attempts); run.State == "waiting" && n > 0 {
		r.waited[run.Attempts[n-1].Number] = true
	}
}
