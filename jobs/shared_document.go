package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Bounds of what is shared.
const (
	MaxConcurrency   = 10_000
	MaxRate          = 1_000_000
	MinRatePer       = 100 * time.Millisecond
	MaxRatePer       = 31 * 24 * time.Hour
	MaxBreakerErrors = 1000
	MinOpenFor       = 100 * time.Millisecond
	MaxOpenFor       = 24 * time.Hour
	MaxDependencies  = 10
)

// SharedState are the fields that an answer has besides the document of a queue or a dependency: they
// are passed over when one is sent back, whatever they hold. None of them is the name of a field
// below rate or breaker: those are faults where they do not belong.
var SharedState = []string{
	"kind", "set", "paused", "pause_note", "created_at", "updated_at", "jobs",
	"running", "queued", "oldest_due_at", "in_use", "waiting", "waiting_since",
	"state", "reason", "errors_in_row", "opened_at", "next_probe_at", "probe", "held_until",
}

// queueDoc is a queue as documents say it.
type queueDoc struct {
	Name        string `json:"name,omitempty"`
	Concurrency *int   `json:"concurrency,omitempty"`
}

// dependencyDoc is a dependency as documents say it: what is left out is as NewDependency has it,
// null is none.
type dependencyDoc struct {
	Name        string                   `json:"name,omitempty"`
	Concurrency optional[int]            `json:"concurrency,omitzero"`
	Rate        optional[dependencyRate] `json:"rate,omitzero"`
	Breaker     optional[breakerDoc]     `json:"breaker,omitzero"`
}

// dependencyRate is a Rate without a key.
type dependencyRate struct {
	Limit int      `json:"limit"`
	Per   Duration `json:"per"`
}

// breakerDoc is a Breaker of which any field may be left out.
type breakerDoc struct {
	Failures *int      `json:"failures,omitempty"`
	OpenFor  *Duration `json:"open_for,omitempty"`
	MaxOpen  *Duration `json:"max_open,omitempty"`
}

// ParseQueue reads the document of a queue as it is sent, strictly, and checks it. It gives a
// *SyntaxError, or an *InvalidError with all that is wrong. What it says of the queue's state is
// dropped. A missing name is left to the caller, who may know it from elsewhere.
func ParseQueue(data []byte) (*Queue, error) {
	doc, err := parseShared(data, (*queueDoc).check)
	if err != nil {
		return nil, err
	}
	return doc.queue(), nil
}

// ParseDependency reads the document of a dependency as ParseQueue does that of a queue. Where it
// does not say the name, the caller gives it by Named.
func ParseDependency(data []byte) (*Dependency, error) {
	doc, err := parseShared(data, (*dependencyDoc).check)
	if err != nil {
		return nil, err
	}
	return doc.dependency(), nil
}

func parseShared[T any](data []byte, check func(*T) []Fault) (*T, error) {
	return parseSent(data, func(doc *T) ([]Fault, error) { return check(doc), nil })
}

// ParseQueueDocument reads a document that is kept; nil: there is none. Fields that this version
// does not know are passed over, and nothing is checked again.
func ParseQueueDocument(name string, data Raw) (*Queue, error) {
	var doc queueDoc
	if data != nil {
		if err := DecodeLenient(data, &doc); err != nil {
			return nil, fmt.Errorf("read the document of queue %s: %w", name, err)
		}
	}
	doc.Name = name
	return doc.queue(), nil
}

// ParseDependencyDocument reads a document that is kept, as ParseQueueDocument does.
func ParseDependencyDocument(name string, data Raw) (*Dependency, error) {
	var doc dependencyDoc
	if data != nil {
		if err := DecodeLenient(data, &doc); err != nil {
			return nil, fmt.Errorf("read the document of dependency %s: %w", name, err)
		}
	}
	doc.Name = name
	return doc.dependency(), nil
}

func (doc *queueDoc) queue() *Queue {
	return &Queue{Name: doc.Name, Concurrency: doc.Concurrency}
}

func (doc *dependencyDoc) dependency() *Dependency {
	d := NewDependency(doc.Name)
	d.said = doc
	if doc.Concurrency.here {
		d.Concurrency = doc.Concurrency.value
	}
	if r := doc.Rate.value; r != nil {
		d.Rate = &Rate{Limit: r.Limit, Per: r.Per}
	}
	if doc.Breaker.here {
		d.Breaker = doc.Breaker.value.breaker()
	}
	return d
}

// breaker fills in what is left out.
func (doc *breakerDoc) breaker() *Breaker {
	if doc == nil {
		return nil
	}
	b := DefaultBreaker()
	if doc.Failures != nil {
		b.Failures = *doc.Failures
	}
	if doc.OpenFor != nil {
		b.OpenFor = *doc.OpenFor
	}
	if b.MaxOpen = max(b.MaxOpen, b.OpenFor); doc.MaxOpen != nil {
		b.MaxOpen = *doc.MaxOpen
	}
	return b
}

// Document is the JSON text of the queue without its state: what is stored, exported and compared to
// see whether a document changed.
func (q *Queue) Document() Raw {
	return AppendJSON(nil, &queueDoc{Name: q.Name, Concurrency: q.Concurrency})
}

// Document is the JSON text of the dependency as its document said it, or, where there is none, of
// what is not as NewDependency has it.
func (d *Dependency) Document() Raw {
	doc := dependencyDoc{}
	if d.said != nil {
		doc = *d.said
	} else {
		doc.differences(d, NewDependency(d.Name))
	}
	doc.Name = d.Name
	return AppendJSON(nil, &doc)
}

// SameLimits reports whether both allow the same, whatever their documents leave out.
func (d *Dependency) SameLimits(o *Dependency) bool {
	return same(d.Concurrency, o.Concurrency) && same(d.Rate, o.Rate) && same(d.Breaker, o.Breaker)
}

func (doc *dependencyDoc) differences(d, plain *Dependency) {
	if !same(d.Concurrency, plain.Concurrency) {
		doc.Concurrency = optional[int]{true, d.Concurrency}
	}
	if r := d.Rate; r != nil {
		doc.Rate = optional[dependencyRate]{true, &dependencyRate{r.Limit, r.Per}}
	}
	if same(d.Breaker, plain.Breaker) {
		return
	}
	doc.Breaker.here = true
	if b := d.Breaker; b != nil {
		doc.Breaker.value = &breakerDoc{&b.Failures, &b.OpenFor, &b.MaxOpen}
	}
}

// same reports whether both are nil, or equal.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// isState implements stateful.
func (*queueDoc) isState(name string) bool { return slices.Contains(SharedState, name) }

// isState implements stateful.
func (*dependencyDoc) isState(name string) bool { return slices.Contains(SharedState, name) }

// FieldHint says where a field belongs that a queue does not have.
func (*queueDoc) FieldHint(parent, name string) string {
	switch {
	case parent != "":
		return ""
	case name == "limit" || name == "max_concurrency":
		return `want "concurrency"`
	case name == "workers":
		return `want "concurrency"; how many workers there are in all is for the flags of serve`
	case name == "rate" || name == "breaker":
		return "a queue has none: it belongs to a dependency that the jobs name"
	}
	return ""
}

// FieldHint says where a field belongs that was found elsewhere in a dependency.
func (*dependencyDoc) FieldHint(parent, name string) string {
	switch {
	case parent == "" && name == "limit":
		return `want "concurrency", or it belongs below rate`
	case parent == "" && name == "max_concurrency":
		return `want "concurrency"`
	case parent == "rate" && name == "key":
		return "the rate of a dependency is one for all that name it: a key goes with the rate of a job"
	}
	return belongs(reflect.TypeFor[dependencyForm](), "dependency", name)
}

// dependencyForm is a dependencyDoc as belongs reads it.
type dependencyForm struct {
	Concurrency *int            `json:"concurrency"`
	Rate        *dependencyRate `json:"rate"`
	Breaker     *breakerDoc     `json:"breaker"`
}

func (doc *queueDoc) check() []Fault {
	var f faults
	if doc.Name != "" {
		f.check("name", CheckName(doc.Name))
	}
	f.checkConcurrency(doc.Concurrency)
	return f
}

func (doc *dependencyDoc) check() []Fault {
	var f faults
	if doc.Name != "" {
		f.check("name", CheckDependencyName(doc.Name))
	}
	f.checkConcurrency(doc.Concurrency.value)
	if r := doc.Rate.value; r != nil {
		f.checkRate("rate", r.Limit, r.Per)
	}
	if b := doc.Breaker.value; b != nil {
		b.check(&f)
	}
	return f
}

func (f *faults) checkConcurrency(n *int) {
	if n != nil && (*n < 1 || *n > MaxConcurrency) {
		f.add("concurrency", "is %d: want a whole number from 1 to %d, or null for no limit; so that nothing "+
			"starts, pause it", *n, MaxConcurrency)
	}
}

func (f *faults) checkRate(at string, limit int, per Duration) {
	if limit < 1 || limit > MaxRate {
		f.add(at+".limit", "%s: want a whole number from 1 to %d", orMissing(limit, 0), MaxRate)
	}
	if per.Std() < MinRatePer || per.Std() > MaxRatePer {
		f.add(at+".per", "%s: want a duration from 100ms to 31d", orMissing(per, 0))
	}
}

// orMissing says what a field is, which may have been left out.
func orMissing[T comparable](got, none T) string {
	if got == none {
		return fmt.Sprintf("is %v or missing", got)
	}
	return fmt.Sprintf("is %v", got)
}

func (doc *breakerDoc) check(f *faults) {
	b := doc.breaker()
	if b.Failures < 1 || b.Failures > MaxBreakerErrors {
		f.add("breaker.failures", "is %d: want a whole number from 1 to %d", b.Failures, MaxBreakerErrors)
	}
	if b.OpenFor.Std() < MinOpenFor || b.OpenFor.Std() > MaxOpenFor {
		f.add("breaker.open_for", "is %s: want a duration from 100ms to 24h", b.OpenFor)
		return
	}
	switch {
	case b.MaxOpen.Std() > MaxOpenFor:
		f.add("breaker.max_open", "is %s: want a duration up to 24h", b.MaxOpen)
	case b.MaxOpen < b.OpenFor:
		f.add("breaker.max_open", "is %s: want no less than open_for, which is %s", b.MaxOpen, b.OpenFor)
	}
}
