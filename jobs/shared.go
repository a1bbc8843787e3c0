package jobs

import (
	"slices"
	"strings"
)

// Queue is what runs wait in, as its document says it, and its state.
type Queue struct {
	Name        string `json:"name"`
	Concurrency *int   `json:"concurrency,omitempty"` // of all its jobs together; nil: no limit

	Shared
}

// Dependency is something that runs share: a service, a lock, or the host:port of a webhook. What
// its document leaves out is filled in.
type Dependency struct {
	Name        string   `json:"name"`
	Concurrency *int     `json:"concurrency"` // nil: no limit
	Rate        *Rate    `json:"rate"`        // nil: none
	Breaker     *Breaker `json:"breaker"`     // nil: none

	Shared

	said *dependencyDoc // its document; nil: it was not read from one
}

// Shared is the state that queues and dependencies have alike: answered, ignored when a document
// brings it.
type Shared struct {
	Set       string `json:"set,omitempty"` // of the apply that made it
	Revision  int64  `json:"-"`             // grows with each change of the document; 0: it has none
	Paused    bool   `json:"paused"`
	PauseNote string `json:"pause_note,omitempty"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// Gate is the gate of a queue, without what it remembers.
func (q *Queue) Gate() Gate {
	g := Gate{Kind: GateQueue, Name: q.Name}
	if q.Concurrency != nil {
		g.Limit = *q.Concurrency
	}
	return g
}

// Gate is the gate of a dependency, without what it remembers.
func (d *Dependency) Gate() Gate {
	g := Gate{
		Kind: GateDependency, Name: d.Name, Host: IsHost(d.Name), Rate: d.Rate, Breaker: d.Breaker,
	}
	if d.Concurrency != nil {
		g.Limit = *d.Concurrency
	}
	return g
}

// SameGates reports whether the runs of both jobs ask the same gates with the same limits, the hosts
// of webhooks aside: these go by the version of each run.
func (j *Job) SameGates(o *Job) bool {
	return j.QueueOf() == o.QueueOf() && slices.Equal(j.Dependencies, o.Dependencies) &&
		same(j.Concurrency, o.Concurrency) && same(j.Rate, o.Rate)
}

// IsHost tells the name of a webhook's host, host:port, from one that somebody gave.
func IsHost(name string) bool { return strings.Contains(name, ":") }

// NewDependency is a dependency that nobody has said anything about: a host has a concurrency of
// DefaultHostConcurrency.
func NewDependency(name string) *Dependency {
	d := &Dependency{Name: name, Breaker: DefaultBreaker()}
	if IsHost(name) {
		d.Concurrency = new(DefaultHostConcurrency)
	}
	return d
}

// Named is the dependency under the name that its document did not say: a host has other defaults.
func (d *Dependency) Named(name string) *Dependency {
	if d.said == nil {
		renamed := *d
		renamed.Name = name
		return &renamed
	}
	doc := *d.said
	doc.Name = name
	renamed := doc.dependency()
	renamed.Shared = d.Shared
	return renamed
}
