package runtime

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// Event is something that happened to a run, told after its commit and kept nowhere.
type Event struct {
	Kind    string        // EventStarted, EventAttempt, EventEnded
	Run     *jobs.Run     // as it stands then, without result and attempts
	Attempt *jobs.Attempt // that ended; nil of EventStarted
}

// Kinds of events.
const (
	EventStarted = "run.started" // an attempt starts
	EventAttempt = "run.attempt" // an attempt ended, the run goes on
	EventEnded   = "run.ended"
)

// hub tells who waits what happened. It keeps nothing: who comes late asks the store.
type hub struct {
	mu        sync.Mutex
	watchers  map[jobs.ID]map[chan struct{}]struct{} // of one run
	listeners map[chan struct{}]struct{}             // of events that are kept
	readers   map[chan Event]struct{}
	followers map[*Follower]struct{} // of all runs
	followed  atomic.Int32           // how many followers there are
	cascade   chan struct{}          // capacity 1
}

func (h *hub) init() {
	h.watchers = map[jobs.ID]map[chan struct{}]struct{}{}
	h.listeners = map[chan struct{}]struct{}{}
	h.readers = map[chan Event]struct{}{}
	h.followers = map[*Follower]struct{}{}
	h.cascade = make(chan struct{}, 1)
}

// watch gives a channel that is signalled whenever the run changes, until stop.
func (h *hub) watch(id jobs.ID) (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[id] == nil {
		h.watchers[id] = map[chan struct{}]struct{}{}
	}
	h.watchers[id][ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[id], ch)
		if len(h.watchers[id]) == 0 {
			delete(h.watchers, id)
		}
	}
}

func (h *hub) changed(id jobs.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	signal(h.watchers[id])
	h.tellFollowers(id)
}

// changedAll lets everybody look again, after a change of many runs at once.
func (h *hub) changedAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watchers {
		signal(w)
	}
	h.tellFollowers()
}

// cascaded tells that the store has ended runs along with another one, which of them nobody was told.
func (h *hub) cascaded() {
	select {
	case h.cascade <- struct{}{}:
	default:
	}
}

// cascadePause is how long those who watch may wait for what ended along with another run: so many groups
// may fall apart at a time without all of them looking again and again.
const cascadePause = 50 * time.Millisecond

// tellCascades has everybody look again when runs have ended along with others, until the runtime stops.
func (r *Runtime) tellCascades() {
	for {
		select {
		case <-r.stopping.Done():
			return
		case <-r.hub.cascade:
		}
		r.hub.changedAll()
		select {
		case <-r.stopping.Done():
			return
		case <-time.After(cascadePause):
		}
	}
}

// watchEvents gives a channel that is signalled whenever events were kept, until stop.
func (h *hub) watchEvents() (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, ch)
	}
}

// changedEvents tells that events were kept. The store calls it after each commit that kept some.
func (h *hub) changedEvents() {
	h.mu.Lock()
	defer h.mu.Unlock()
	signal(h.listeners)
}

func signal(watchers map[chan struct{}]struct{}) {
	for ch := range watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// read gives events from now on; who does not keep up loses some.
func (h *hub) read() (events <-chan Event, stop func()) {
	ch := make(chan Event, 256)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.readers, ch)
	}
}

func (h *hub) publish(make func() Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) == 0 {
		return
	}
	e := make()
	for ch := range h.readers {
		select {
		case ch <- e:
		default:
		}
	}
}

// Changes gives a signal whenever the run changes; stop ends it.
func (r *Runtime) Changes(id jobs.ID) (changed <-chan struct{}, stop func()) { return r.hub.watch(id) }

// Live gives what happens to runs from now on (slow readers lose some of it); stop ends it.
func (r *Runtime) Live() (events <-chan Event, stop func()) { return r.hub.read() }

// Events are those that were kept after one, oldest first.
func (r *Runtime) Events(ctx context.Context, after int64, limit int) ([]store.Event, error) {
	return r.store.Events(ctx, after, limit)
}

// EventChanges gives a signal whenever events were kept; stop ends it.
func (r *Runtime) EventChanges() (changed <-chan struct{}, stop func()) { return r.hub.watchEvents() }

// started tells that an attempt starts.
func (r *Runtime) started(a *attempt) {
	r.hub.changed(a.lease.Run.ID)
	if a.lease.Run.Slices > 0 { // it has started before
		return
	}
	r.hub.publish(func() Event {
		run := *a.lease.Run
		return Event{Kind: EventStarted, Run: &run}
	})
	if r.log.Enabled(context.Background(), slog.LevelDebug) {
		r.log.Debug("attempt started", runAttrs(a.lease)...)
	}
}

// finished tells that an attempt has ended and its outcome is on disk, or that it goes on.
func (r *Runtime) finished(c completion) {
	t := &c.finish.Transition
	if t.State == jobs.Waiting && c.group == nil {
		r.waitFor(&c) // before anybody can look for it who saw it being judged
	}
	if c.waited {
		r.waits.drop(fenceOf(&c.lease))
		r.active.settle(&c)
	}
	r.active.remove(c)
	r.hub.changed(c.lease.Run.ID)
	if links := c.finish.Links; !links.Group.IsNil() && t.State.Terminal() {
		r.hub.changed(links.Group)
		if t.State != jobs.Succeeded {
			r.hub.cascaded() // it may have taken others along
		}
	}
	if c.answer != nil {
		c.answer(nil)
	}
	if t.Outcome == 0 {
		r.wentOn(c)
		return
	}
	r.hub.publish(func() Event {
		run := *c.lease.Run
		run.State, run.DueAt, run.Error, run.Counts = t.State, t.DueAt, t.Error, t.Counts
		kind := EventAttempt
		if t.State.Terminal() {
			kind, run.FinishedAt = EventEnded, c.finish.Now
		}
		return Event{Kind: kind, Run: &run, Attempt: attemptOf(&c.finish)}
	})
	if c.group != nil {
		r.hub.cascaded()
		r.groupOver(&c)
	}
	r.logEnd(c)
	r.traceEnd(&c)
	if t.State == jobs.Failed && c.lease.Run.Tells != jobs.TellsNothing {
		r.undelivered(c.lease.Run, t.Error)
	}
	r.orderEnded(&c.finish)
	r.spawned(&c.finish)
}

// wentOn tells that an attempt is not over: its run waits for its callback or its next slice.
func (r *Runtime) wentOn(c completion) {
	if c.finish.Group != nil {
		r.membersMade(c.lease.Run, c.finish.Group)
	}
	if !r.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	text := "a slice is done, the next is due"
	switch {
	case c.finish.Group != nil:
		text = "the group has started: it waits for its members"
	case c.finish.Transition.State == jobs.Waiting:
		text = "taken on by its receiver: the run waits for its callback"
	}
	r.log.Debug(text, append(runAttrs(c.lease), slog.Int("slices", c.finish.Slices))...)
}

// heldBack tells that a run went back to the queue to wait for a secret. One that was set meanwhile
// lets it go again.
func (r *Runtime) heldBack(c completion) {
	r.active.remove(c)
	r.hub.changed(c.lease.Run.ID)
	r.log.Warn("run held: a secret it needs is not set", append(runAttrs(c.lease), "secret", c.finish.Held)...)
	if _, ok := r.secrets.Lookup(c.finish.Held); !ok {
		return
	}
	// One step: whoever set it sees to the rest.
	if _, err := r.store.Release(r.base, []string{c.finish.Held}); r.wrote(err) != nil {
		r.log.Error("runs that wait for a secret could not be let go: tried again in a minute", "error", err)
	}
}

func attemptOf(f *store.Finish) *jobs.Attempt {
	return &jobs.Attempt{
		Number: f.Number, Version: f.Version, StartedAt: f.Started, FinishedAt: f.Now,
		Outcome: f.Transition.Outcome, Error: f.Transition.Error, HTTPStatus: f.HTTPStatus,
		ExitCode: f.ExitCode, OutputTail: f.OutputTail, Decision: &f.Transition.Decision,
	}
}

// logEnd writes a line for what somebody may want to know: successes only when debugging.
func (r *Runtime) logEnd(c completion) {
	t := &c.finish.Transition
	level, text := slog.LevelWarn, "attempt failed"
	switch {
	case t.Outcome == jobs.OutcomeSucceeded:
		level, text = slog.LevelDebug, "run succeeded"
	case t.State == jobs.Cancelled:
		level, text = slog.LevelInfo, "run cancelled"
	case t.State == jobs.Failed:
		level, text = slog.LevelError, "run failed"
	case t.Outcome == jobs.OutcomeInterrupted:
		level, text = slog.LevelInfo, "attempt interrupted"
	}
	ctx := context.Background()
	if !r.log.Enabled(ctx, level) {
		return
	}
	attrs := append(runAttrs(c.lease), slog.Duration("took", c.finish.Now.Sub(c.finish.Started)))
	if t.Error != nil {
		attrs = append(attrs, slog.String("kind", string(t.Error.Kind)), slog.String("type", t.Error.Type),
			slog.String("error", t.Error.Message))
	}
	if t.Decision.By != "success" {
		attrs = append(attrs, slog.String("decision", t.Decision.Action), slog.String("by", t.Decision.By),
			slog.String("reason", t.Decision.Reason))
	}
	r.log.Log(ctx, level, text, attrs...)
}
