package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"nightshift/jobs"
)

// gateName names what runs share: a queue, dependency or pool by its name, a limit of a job by the job and,
// where it has keys, "=" and the key.
type gateName struct {
	kind      jobs.GateKind
	name, key string
}

// modelGate is what is remembered of it. Who holds it is told by the runs.
type modelGate struct {
	paused  bool
	breaker jobs.Gate // of a dependency: its breaker alone

	// The starts that a rate counts. A store may count them in few counters, the oldest of which
	// whole: sure are those that it must know, maybe those that it may count, at the latest time
	// at which it may take them to have been, part how long a counter may be. per is the length of
	// the rate, as it was last.
	sure, maybe []jobs.Time
	per, part   time.Duration
}

// answer is what the model knows of a gate: a store that counts starts in few counters may take it
// for shut a little longer than it must.
type answer int

const (
	open answer = iota
	either
	shut
)

func (m *model) gate(n gateName) *modelGate {
	g := m.gates[n]
	if g == nil {
		g = &modelGate{breaker: jobs.Gate{Kind: n.kind, Name: n.name, Host: jobs.IsHost(n.name)}}
		m.gates[n] = g
	}
	if n.kind == jobs.GateDependency {
		g.breaker.Breaker = m.dependency(n.name).Breaker
	}
	return g
}

// dependency is one as it stands.
func (m *model) dependency(name string) *jobs.Dependency {
	if d := m.dependencies[name]; d != nil {
		return d
	}
	return jobs.NewDependency(name)
}

// gatesOf are the gates of a run, in the order in which it asks them, as its job stands.
func (m *model) gatesOf(r *modelRun) (names []gateName) {
	j := m.job(r.Job)
	names = append(names, gateName{jobs.GateQueue, j.doc.QueueOf(), ""})
	keyed := func(kind jobs.GateKind, expression string, key *string) {
		switch {
		case expression == "":
			names = append(names, gateName{kind, r.Job, ""})
		case key != nil:
			names = append(names, gateName{kind, r.Job, "=" + *key})
		}
	}
	if c := j.doc.Concurrency; c != nil && !r.between {
		keyed(jobs.GateConcurrency, c.Key, r.Keys.Concurrency)
	}
	if c := j.doc.Rate; c != nil {
		keyed(jobs.GateRate, c.Key, r.Keys.Rate)
	}
	for _, name := range j.doc.Dependencies {
		names = append(names, gateName{jobs.GateDependency, name, ""})
	}
	if host := m.hostOf(r); host != "" {
		names = append(names, gateName{jobs.GateDependency, host, ""})
	}
	if r.Trigger == jobs.TriggerCatchUp && r.State != jobs.Waiting {
		names = append(names, gateName{jobs.GateCatchUp, j.specs[r.Version-1].Kind(), ""})
	}
	return names
}

func (m *model) hostOf(r *modelRun) string {
	return cmp.Or(r.Host, m.job(r.Job).specs[r.Version-1].Host())
}

// limit is how many runs may hold the gate at once; 0: any number.
func (m *model) limit(n gateName) int {
	limit := (*int)(nil)
	switch n.kind {
	case jobs.GateQueue:
		if q := m.queues[n.name]; q != nil {
			limit = q.Concurrency
		}
	case jobs.GateDependency:
		limit = m.dependency(n.name).Concurrency
	case jobs.GateConcurrency:
		if c := m.job(n.name).doc.Concurrency; c != nil {
			limit = &c.Limit
		}
	case jobs.GateCatchUp:
		return max(m.workers[walkPools[n.name]]/2, 1)
	}
	if limit == nil {
		return 0
	}
	return *limit
}

func (m *model) rate(n gateName) *jobs.Rate {
	switch n.kind {
	case jobs.GateDependency:
		return m.dependency(n.name).Rate
	case jobs.GateRate:
		return m.job(n.name).doc.Rate
	}
	return nil
}

// used is how many attempts under way hold the gate.
func (m *model) used(n gateName) (used int) {
	for _, r := range m.runs {
		if r.slots[n] {
			used++
		}
	}
	return used
}

// asks says whether the gate lets a run through now.
func (m *model) asks(n gateName, now jobs.Time) answer {
	g := m.gate(n)
	if g.paused {
		return shut
	}
	if limit := m.limit(n); limit > 0 && m.used(n) >= limit {
		return shut
	}
	if n.kind == jobs.GateDependency && g.breaker.Room(now) == 0 {
		return shut
	}
	if r := m.rate(n); r != nil {
		switch begin := now.Add(-r.Per.Std()); {
		case after(g.sure, begin) >= r.Limit:
			return shut
		case after(g.maybe, begin.Add(-g.part)) >= r.Limit:
			return either
		}
	}
	return open
}

// after counts the starts after an instant.
func after(starts []jobs.Time, begin jobs.Time) (n int) {
	for _, s := range starts {
		if s > begin {
			n++
		}
	}
	return n
}

// never is when a gate opens that does not by the passing of time.
const never = jobs.Time(math.MaxInt64)

// opensBy is when a gate lets a run through, at the latest, if only time passes.
func (m *model) opensBy(n gateName, now jobs.Time) jobs.Time {
	g := m.gate(n)
	if limit := m.limit(n); g.paused || limit > 0 && m.used(n) >= limit {
		return never
	}
	at := now
	if n.kind == jobs.GateDependency && g.breaker.Room(now) == 0 {
		if at = g.breaker.Wake(now); at == 0 {
			return never
		}
	}
	r := m.rate(n)
	if r == nil || after(g.maybe, at.Add(-r.Per.Std()-g.part)) < r.Limit {
		return at
	}
	return max(at, g.maybe[len(g.maybe)-r.Limit].Add(r.Per.Std()+g.part))
}

// holds is the first gate that a run waits for; kind 0: none. sure: a store says the same.
func (m *model) holds(r *modelRun, now jobs.Time) (first gateName, sure bool) {
	for _, n := range m.gatesOf(r) {
		switch m.asks(n, now) {
		case shut:
			return n, true
		case either:
			return n, false
		}
	}
	return gateName{}, true
}

// startsBy is when a run can start at the latest, if only time passes.
func (m *model) startsBy(r *modelRun, now jobs.Time) (at jobs.Time) {
	for _, n := range m.gatesOf(r) {
		at = max(at, m.opensBy(n, now))
	}
	return at
}

// pass takes a run through its gates. One that goes on with its next slice has kept a slot of some.
func (m *model) pass(r *modelRun, now jobs.Time) {
	if r.slots == nil {
		r.slots = map[gateName]bool{}
	}
	for _, n := range m.gatesOf(r) {
		g := m.gate(n)
		if m.limit(n) > 0 {
			r.slots[n] = true
		}
		if rate := m.rate(n); rate != nil {
			g.start(rate, now)
		}
		if n.kind == jobs.GateDependency {
			g.breaker.Take(now, r.ID)
		}
	}
}

// start counts one for a rate.
func (g *modelGate) start(rate *jobs.Rate, now jobs.Time) {
	last := now
	if len(g.maybe) > 0 {
		last = max(last, g.maybe[len(g.maybe)-1])
	}
	g.sure, g.maybe = append(g.sure, now), append(g.maybe, last)
	g.per, g.part = rate.Per.Std(), max(g.part, rate.Per.Std()/60+time.Millisecond)
}

// hear tells the dependencies of a run how its attempt has ended.
func (m *model) hear(r *modelRun, host string, s jobs.Signal, now jobs.Time) {
	names := slices.Clone(m.job(r.Job).doc.Dependencies)
	if host != "" {
		names = append(names, host)
	}
	for _, name := range names {
		m.gate(gateName{jobs.GateDependency, name, ""}).breaker.Hear(now, r.ID, s)
	}
}

// allowAnew takes in that documents have changed: what runs counts for limits that came to be, and a
// rate that got shorter has forgotten what is past it.
func (m *model) allowAnew(now jobs.Time) {
	for _, r := range m.runs {
		if r.State != jobs.Running && r.State != jobs.Waiting {
			continue
		}
		if r.slots == nil {
			r.slots = map[gateName]bool{}
		}
		between := r.between
		r.between = false // what it holds it holds as one that works
		for _, n := range m.gatesOf(r) {
			if m.limit(n) > 0 && (!between || n.kind == jobs.GateConcurrency) {
				r.slots[n] = true
			}
		}
		r.between = between
	}
	m.forgetStarts(now)
	for n, g := range m.gates {
		if g.per = 0; m.rate(n) == nil {
			g.sure = nil
			continue
		}
		g.per = m.rate(n).Per.Std()
	}
	m.forgetStarts(now)
}

// forgetStarts drops what a store need not know any more, even if the clock is set back later.
func (m *model) forgetStarts(now jobs.Time) {
	for _, g := range m.gates {
		if g.per > 0 {
			begin := now.Add(-g.per)
			g.sure = slices.DeleteFunc(g.sure, func(at jobs.Time) bool { return at <= begin })
		}
	}
}

// shiftGates moves what stands for a wait.
func (m *model) shiftGates(step time.Duration) {
	for _, g := range m.gates {
		for i := range g.sure {
			g.sure[i] = g.sure[i].Add(step)
		}
		for i := range g.maybe {
			g.maybe[i] = g.maybe[i].Add(step)
		}
		g.breaker.State = g.breaker.State.Moved(step)
	}
}

// dropProbes leaves the probes of dependencies that a job names no more to other runs.
func (m *model) dropProbes(job string, before, after []string, now jobs.Time) {
	for _, name := range before {
		if slices.Contains(after, name) {
			continue
		}
		g := m.gate(gateName{jobs.GateDependency, name, ""})
		probe := g.breaker.State.Probe
		if r := m.runs[probe]; r != nil && r.Job == job {
			g.breaker.Hear(now, probe, jobs.Signal{Void: true})
		}
	}
}

// named reports what is named is named, by a document or a job that stands.
func (m *model) named(n gateName) bool {
	if n == (gateName{jobs.GateQueue, jobs.DefaultQueue, ""}) ||
		m.queues[n.name] != nil && n.kind == jobs.GateQueue ||
		m.dependencies[n.name] != nil && n.kind == jobs.GateDependency {
		return true
	}
	for _, j := range m.jobs {
		if !j.live {
			continue
		}
		if n.kind == jobs.GateQueue && j.doc.QueueOf() == n.name ||
			n.kind == jobs.GateDependency && slices.Contains(j.doc.Dependencies, n.name) {
			return true
		}
	}
	return false
}

func (n gateName) String() string { return fmt.Sprintf("gate %d %q %q", n.kind, n.name, n.key) }

// gatesText is what the gates of a run are like.
func (m *model) gatesText(r *modelRun, now jobs.Time) (text string) {
	for _, n := range m.gatesOf(r) {
		g := m.gate(n)
		text += fmt.Sprintf("\n%s: %d in use of %d, rate %v after %v, paused %t, opens by %s, %+v", n,
			m.used(n), m.limit(n), m.rate(n), g.maybe, g.paused, m.opensBy(n, now), g.breaker.State)
	}
	return text
}
