package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// What runs share in the walk.
var (
	walkQueues       = []string{jobs.DefaultQueue, "slow", "fast"}
	walkDependencies = []string{"x", "y", "127.0.0.1:9", "127.0.0.1:10"}
)

func (w *walker) either(texts ...string) string { return texts[w.IntN(len(texts))] }

// anyJobDocument shares this and that with others.
func (w *walker) anyJobDocument(name string) *jobs.Job {
	n := strconv.Itoa(w.IntN(3))
	does := `"webhook":{"url":"http://127.0.0.1:` + w.either("9", "9", "10") + `/` + n + `"}`
	if w.IntN(3) == 0 {
		does = `"script":{"source":"echo ` + n + `"}`
	}
	key := w.either("", `,"key":"payload.k"`)
	return document(`{"name":"` + name + `",` + does + w.either("", `,"checkpoint":{"ttl":"2h"}`) +
		w.either("", `,"priority":1`, `,"retain":{"succeeded":"1h","cancelled":"3h","failed":"2h"}`) +
		w.either("", "", `,"queue":"slow"`, `,"queue":"fast"`) +
		w.either("", "", `,"concurrency":{"limit":`+strconv.Itoa(1+w.IntN(3))+key+`}`) +
		w.either("", "", "", `,"rate":{"limit":`+strconv.Itoa(1+w.IntN(4))+`,"per":"`+w.anyPer()+`"`+key+`}`) +
		w.either("", "", `,"dependencies":["x"]`, `,"dependencies":["x","y"]`, `,"dependencies":["y","x"]`) +
		w.either("", `,"schedules":[{"name":"s",`+w.anyTimes("1h")+`}]`) + `}`)
}

func (w *walker) anyPer() string { return w.either("100ms", "1s", "7s", "1m", "1h", "1d") }

// anyKeys are those with which a run is counted.
func (w *walker) anyKeys() jobs.Keys {
	any := func() *string {
		if w.IntN(3) == 0 {
			return nil
		}
		return new(w.either("", "a", "b"))
	}
	keys := jobs.Keys{Concurrency: any(), Rate: any()}
	if w.IntN(4) == 0 {
		keys.Checkpoint = any()
	}
	return keys
}

func (w *walker) anySignal() jobs.Signal {
	s := jobs.Signal{ExitCode: -1}
	switch w.IntN(10) {
	case 0, 1:
		s.Kind, s.HTTPStatus = jobs.FailHTTP, 503
	case 2:
		s.Kind, s.HTTPStatus, s.RetryAfter = jobs.FailHTTP, 503, time.Duration(w.IntN(120))*time.Second
	case 3:
		s.Kind = jobs.FailConnection
	case 4:
		s.Kind, s.HTTPStatus = jobs.FailHTTP, 404
	case 5:
		s.Kind, s.HTTPStatus, s.RetryAfter = jobs.FailHTTP, 429, time.Duration(w.IntN(60))*time.Second
	case 6:
		s.Ended = true
	}
	return s
}

// anyGate is a queue or a dependency.
func (w *walker) anyGate() gateName {
	if w.IntN(2) == 0 {
		return gateName{jobs.GateQueue, w.either(walkQueues...), ""}
	}
	return gateName{jobs.GateDependency, w.either(walkDependencies...), ""}
}

// anyLimits is a document; "" is none.
func (w *walker) anyLimits(n gateName) string {
	concurrency := w.either("", `"concurrency":null`, `"concurrency":`+strconv.Itoa(1+w.IntN(5)))
	if n.kind == jobs.GateQueue {
		return w.either("", "{"+concurrency+"}", "{"+concurrency+"}")
	}
	var parts []string
	for _, part := range []string{
		concurrency,
		w.either("", `"rate":null`, `"rate":{"limit":`+strconv.Itoa(1+w.IntN(5))+`,"per":"`+w.anyPer()+`"}`),
		w.either("", `"breaker":null`, `"breaker":{"failures":`+strconv.Itoa(1+w.IntN(3))+`,"open_for":"`+
			w.either("1s", "20s", "1m")+`","max_open":"2m"}`),
	} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return w.either("", "{"+strings.Join(parts, ",")+"}", "{"+strings.Join(parts, ",")+"}")
}

// walkLimit puts or deletes a document.
func (w *walker) walkLimit() {
	n := w.anyGate()
	w.putLimits(n, w.anyLimits(n))
}

func (w *walker) putLimits(n gateName, text string) {
	w.Helper()
	w.note(fmt.Sprintf("  %s: %s", n, text))
	if text == "" {
		err := w.DeleteDocument(w.ctx, store.GateDocument(n.kind), n.name, nil, w.by())
		if w.model.queues[n.name] == nil && w.model.dependencies[n.name] == nil {
			w.wantErr(err, store.ErrNotFound)
			return
		}
		w.check(err)
	} else {
		_, err := w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{{
			Kind: store.GateDocument(n.kind), Name: n.name, Doc: jobs.Raw(text),
		}}}, w.by())
		w.check(err)
	}
	w.check(w.model.putLimits(n, text, w.now))
}

// putLimits takes in a document; "": it is deleted.
func (m *model) putLimits(n gateName, text string, now jobs.Time) (err error) {
	switch {
	case n.kind == jobs.GateQueue && text == "":
		delete(m.queues, n.name)
	case n.kind == jobs.GateQueue:
		m.queues[n.name], err = jobs.ParseQueueDocument(n.name, jobs.Raw(text))
	case text == "":
		delete(m.dependencies, n.name)
	default:
		m.dependencies[n.name], err = jobs.ParseDependencyDocument(n.name, jobs.Raw(text))
	}
	m.allowAnew(now)
	if n.kind == jobs.GateDependency {
		// A breaker that was taken away holds nothing.
		if g := &m.gate(n).breaker; g.Breaker == nil && g.State.Phase != jobs.BreakerClosed {
			g.Hear(now, jobs.NilID, jobs.Signal{Void: true})
		}
	}
	return err
}

// missing reports whether the store does not know a gate, which it may have swept when nothing named
// it and it had nothing to remember.
func (w *walker) missing(n gateName, err error) bool {
	w.Helper()
	if !errors.Is(err, store.ErrNotFound) {
		return false
	}
	if g := w.model.gates[n]; w.model.named(n) || g != nil && (g.paused || !g.breaker.State.Spent(w.now)) {
		w.Fatalf("%s is unknown: %v", n, err)
	}
	delete(w.model.gates, n)
	return true
}

func (w *walker) walkPauseGate() {
	n, paused := w.anyGate(), w.IntN(3) == 0
	err := w.PauseGate(w.ctx, n.kind, n.name, paused, "note", w.by())
	if w.missing(n, err) {
		return
	}
	w.check(err)
	w.model.gate(n).paused = paused
}

func (w *walker) walkTrip() {
	n := gateName{jobs.GateDependency, w.either(walkDependencies...), ""}
	length := time.Duration(w.IntN(3)) * 10 * time.Second
	err := w.Trip(w.ctx, n.name, length, w.by())
	if w.missing(n, err) {
		return
	}
	g := w.model.gate(n)
	if g.breaker.Breaker == nil {
		w.wantErr(err, store.ErrState)
		return
	}
	w.check(err)
	g.breaker.Trip(w.now, "", length)
}

func (w *walker) walkReset() {
	n := gateName{jobs.GateDependency, w.either(walkDependencies...), ""}
	err := w.Reset(w.ctx, n.name, w.by())
	if w.missing(n, err) {
		return
	}
	w.check(err)
	w.model.gate(n).breaker.Reset(w.now)
}

// checkSwept looks which gates a round of upkeep has dropped.
func (w *walker) checkSwept() {
	for n := range w.model.gates {
		if n.kind == jobs.GateQueue || n.kind == jobs.GateDependency {
			_, err := w.Gate(w.ctx, n.kind, n.name, w.now)
			if !w.missing(n, err) {
				w.check(err)
			}
		}
	}
}

var walkPools = map[string]store.Pool{jobs.KindWebhook: store.PoolWebhook, jobs.KindScript: store.PoolScript}

func poolOf(r *modelRun) store.Pool { return walkPools[r.lane[strings.IndexByte(r.lane, ' ')+1:]] }

// checkLeases demands that what is given out could start, in the order of its lane, and that nothing
// is left that could.
func (w *walker) checkLeases(c store.Claim, out store.Claimed) {
	w.Helper()
	if c.Hold {
		equal(w.world, "runs given out while held", len(out.Leases), 0)
	}
	lanes, free := w.model.startable(), c.Free
	for _, l := range out.Leases {
		r := w.model.runs[l.Run.ID]
		if r == nil {
			w.Fatalf("run %s was given out, which does not stand", l.Run.ID)
		}
		name := w.model.laneOf(r)
		if lane := lanes[name]; len(lane) == 0 || lane[0] != r {
			w.Fatalf("run %s was given out before its turn or when it could not start", r.ID)
		}
		if n, sure := w.model.holds(r, w.now); sure && n.kind != 0 {
			w.Fatalf("run %s of %s was given out though %s lets nothing through: %s", r.ID, r.Job, n,
				w.model.gatesText(r, w.now))
		}
		free[poolOf(r)]--
		lanes[name] = lanes[name][1:]
		w.checkLease(l, r)
		w.model.pass(r, w.now)
	}
	if slices.Min(free[:]) < 0 {
		w.Fatalf("%d runs were given out to %v workers", len(out.Leases), c.Free)
	}
	w.leases = append(w.leases, out.Leases...)
	w.checkLeft(c, out, lanes, free)
}

// checkLeft demands that no lane could go on where workers are free, and that the store looks again
// when one can.
func (w *walker) checkLeft(c store.Claim, out store.Claimed, lanes map[string][]*modelRun, free [store.Pools]int) {
	w.Helper()
	next, first := never, ""
	for _, r := range w.model.runs {
		if r.State == jobs.Scheduled || r.State == jobs.Retrying {
			if r.DueAt < next {
				next, first = r.DueAt, "run "+r.ID.String()+" is due"
			}
		}
	}
	for name, lane := range lanes {
		if len(lane) == 0 || c.Hold || out.More || free[poolOf(lane[0])] == 0 {
			continue
		}
		if n, _ := w.model.holds(lane[0], w.now); n.kind == 0 {
			w.Fatalf("run %s of lane %s was left though it could start: %s", lane[0].ID, name,
				w.model.gatesText(lane[0], w.now))
		}
		if by := w.model.startsBy(lane[0], w.now); by < next {
			next, first = by, w.model.gatesText(lane[0], w.now)
		}
	}
	switch {
	case out.NextDue == 0 && next != never:
		w.Fatalf("the store does not look again, though a run can start by %s: %s", next, first)
	case out.NextDue > next:
		w.Fatalf("the store looks again at %s, a run can start by %s: %s", out.NextDue, next, first)
	case out.NextDue != 0 && out.NextDue <= w.now && !c.Hold && !out.More:
		w.Fatalf("the store looks again at %s, which is over", out.NextDue)
	}
}

// compareGates compares what is in use and what is remembered.
func (w *walker) compareGates() {
	w.Helper()
	for n, g := range w.model.gates {
		if n.kind != jobs.GateQueue && n.kind != jobs.GateDependency {
			continue
		}
		got, err := w.Gate(w.ctx, n.kind, n.name, w.now)
		if w.missing(n, err) {
			continue
		}
		w.check(err)
		equal(w.world, n.String(), words(got.Limit, got.Used, got.PausedAt != 0, got.State),
			words(w.model.limit(n), w.model.used(n), g.paused, g.breaker.State))
	}
}

// compareHeld compares what queued runs wait for.
func (w *walker) compareHeld() {
	w.Helper()
	var waiting []*jobs.Run
	for _, lane := range w.model.startable() {
		waiting = append(waiting, w.run(lane[0].ID))
	}
	w.check(w.Held(w.ctx, waiting, w.now))
	for _, r := range waiting {
		n, sure := w.model.holds(w.model.runs[r.ID], w.now)
		if !sure {
			continue
		}
		kind := map[jobs.GateKind]string{
			jobs.GateQueue: jobs.HeldQueue, jobs.GateConcurrency: jobs.HeldConcurrency,
			jobs.GateRate: jobs.HeldRate, jobs.GateDependency: jobs.HeldDependency, jobs.GateCatchUp: jobs.HeldWorkers, 0: jobs.HeldWorkers,
		}[n.kind]
		name := n.name
		if n.kind == jobs.GateQueue && w.model.gate(n).paused {
			kind = jobs.HeldPaused
		}
		if n.kind == 0 {
			name = r.HeldBy.Name
			equal(w.world, "why run "+r.ID.String()+" waits", r.HeldBy.Reason, jobs.WaitsForWorker)
		}
		if n.kind == jobs.GateCatchUp {
			g := jobs.CatchUpGate(name, w.model.workers[walkPools[name]])
			g.Used = w.model.used(n)
			equal(w.world, "what run "+r.ID.String()+" waits for", *r.HeldBy, *g.Shut(w.now))
		}
		equal(w.world, "what run "+r.ID.String()+" waits for", words(r.HeldBy.Kind, r.HeldBy.Name),
			words(kind, name))
	}
}

// drainAll resumes everything, raises the limits and lets time pass: nothing may be left behind.
func (w *walker) drainAll() {
	w.note("drain")
	for _, j := range w.model.jobs {
		if j.live {
			j.paused = false
			w.pause(j.name, false, "")
		}
	}
	w.release("A", "B")
	w.model.release("")
	for n, g := range w.model.gates {
		if g.paused {
			g.paused = false
			w.check(w.PauseGate(w.ctx, n.kind, n.name, false, "", w.by()))
		}
	}
	for claims := 0; ; claims++ {
		if !w.drainMore() {
			return
		}
		if claims > 100_000 {
			w.Fatal("runs are left that never start")
		}
	}
}

// drainMore ends all that runs and gives out what can start, later if need be.
func (w *walker) drainMore() bool {
	c := store.Claim{Now: w.now, Free: [store.Pools]int{7, 7}}
	left := 0
	for _, r := range w.model.sorted(func(r *modelRun) bool { return !r.State.Terminal() }) {
		if left++; !r.works() && r.State != jobs.Waiting {
			continue
		}
		f := w.succeeded(store.Lease{
			Run: &jobs.Run{
				ID: r.ID, Job: r.Job, Version: r.Version, Counts: jobs.Counts{Number: r.Counts.Number},
				Schedule: r.Schedule, Slices: r.Slices, Keys: r.Keys, RequeuedFrom: r.RequeuedFrom, Bulk: r.Bulk,
			},
			Started: r.last().StartedAt, Host: w.model.hostOf(r),
		})
		if r.CancelRequestedAt != 0 {
			f.Transition.State, f.Transition.Outcome = jobs.Cancelled, jobs.OutcomeCancelled
			f.Result = nil
		}
		equal(w.world, "end", w.model.finish(f).Err, error(nil))
		c.Finished = append(c.Finished, f)
	}
	if left == 0 {
		return false
	}
	w.model.fallDue(w.now)
	out, err := w.Claim(w.ctx, c)
	w.check(err)
	for _, res := range out.Results {
		w.check(res.Err)
	}
	w.checkLeases(c, out)
	switch {
	case len(out.Leases) > 0 || len(c.Finished) > 0 || out.More:
	case out.NextDue == 0:
		w.Fatalf("%d runs are left and none will ever start", left)
	default:
		w.now = max(w.now, out.NextDue)
	}
	return true
}
