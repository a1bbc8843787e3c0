package jobs

import (
	"cmp"
	"maps"
	"slices"
)

// KeptAttempts is how many attempts of a run are kept: the first so many, and the last.
const KeptAttempts = 100

// middle stands for the draw of a jitter where what would be is asked, not what is to be.
const middle = 0.5

// Bounds of what a replay tells.
const (
	maxSamples  = 5
	maxMistakes = 100
)

// Replay asks the rules of a plan about the failed attempts of recorded runs, and gathers what they
// would decide otherwise than it was. It keeps nothing of the runs but the ids of samples.
type Replay struct {
	plan   *Plan
	since  Time
	enough func() bool
	watch  watch

	attempts, spared int
	changes          map[changeKey]*DecisionChange
	mistakes         map[string]*Mistake
}

// Backtest is what a replay found.
type Backtest struct {
	Attempts int              `json:"attempts" doc:"Recorded failed attempts that were looked at"`
	Spared   int              `json:"spared" doc:"Of these, attempts of runs that would have failed before: they would not have been made"`
	Changed  int              `json:"changed" doc:"Decisions that would be others; a run has one at most"`
	Changes  []DecisionChange `json:"changes" doc:"Alike ones together, the most frequent first"`
	Mistakes []Mistake        `json:"mistakes" doc:"Rules that failed as they were evaluated, which counts as not matching"`
}

// DecisionChange is a decision that would be another.
type DecisionChange struct {
	From    string `json:"from" enum:"retry,fail" doc:"What was decided"`
	To      string `json:"to" enum:"retry,fail" doc:"What would be"`
	By      string `json:"by" doc:"Who would decide, such as job rule 1"`
	Count   int    `json:"count" doc:"Of decisions, and of runs: each has one at most"`
	Samples []ID   `json:"samples" doc:"Up to 5 runs, the newest first"`
}

// Mistake is a rule that failed as it was evaluated.
type Mistake struct {
	Message string `json:"message" doc:"Which rule, and why"`
	Count   int    `json:"count" doc:"Of evaluations"`
	Samples []ID   `json:"samples" doc:"Up to 5 runs, the newest first"`
}

type changeKey struct{ from, to, by string }

// NewReplay begins a replay of attempts that ended at since or later. It decides nothing more once
// enough says so.
func NewReplay(p *Plan, since Time, enough func() bool) *Replay {
	return &Replay{
		plan: p, since: since, enough: enough,
		changes: map[changeKey]*DecisionChange{}, mistakes: map[string]*Mistake{},
	}
}

// Run replays a run, whose Attempts are those that failed, in their order. Its counts are rebuilt
// from the first one on, as these rules would have charged them; the attempts after one at which
// the run would have failed count as spared. Attempts that are no longer kept, those between the first
// and the last hundred, count as failures like the one before them.
func (r *Replay) Run(run *Run) {
	c := r.course(run)
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if a.Number > KeptAttempts {
			c.fillGap(a)
		}
		if r.enough() {
			return
		}
		c.attempt(a)
	}
}

// TooDear names a rule of the plan that took too long, "" where none did: a replay that goes on
// would take as long again and again.
func (r *Replay) TooDear() string { return r.watch.dear }

// Found is what the replay has found so far.
func (r *Replay) Found() Backtest {
	b := Backtest{
		Attempts: r.attempts, Spared: r.spared,
		Changes: []DecisionChange{}, Mistakes: []Mistake{},
	}
	for _, c := range r.changes {
		found := *c
		found.Samples = newestFirst(c.Samples)
		b.Changed += c.Count
		b.Changes = append(b.Changes, found)
	}
	slices.SortFunc(b.Changes, func(x, y DecisionChange) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.From, y.From),
			cmp.Compare(x.To, y.To), cmp.Compare(x.By, y.By))
	})
	for _, text := range slices.Sorted(maps.Keys(r.mistakes)) {
		found := *r.mistakes[text]
		found.Samples = newestFirst(found.Samples)
		b.Mistakes = append(b.Mistakes, found)
	}
	slices.SortStableFunc(b.Mistakes, func(x, y Mistake) int { return cmp.Compare(y.Count, x.Count) })
	return b
}

func newestFirst(ids []ID) []ID {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

// addSample adds a run, which is newer than those before, to the samples.
func addSample(list []ID, id ID) []ID {
	if n := len(list); n > 0 && list[n-1] == id {
		return list
	}
	if len(list) == maxSamples {
		list = list[1:]
	}
	return append(list, id)
}

// course is one run in a replay.
type course struct {
	r       *Replay
	run     *Run
	counts  Counts
	missing int  // failures that are no longer kept
	over    bool // the run would have failed
	on      bool // and goes on all the same
	last    *Attempt
}

func (r *Replay) course(run *Run) *course {
	r.watch.next()
	return &course{r: r, run: run, missing: run.Counts.Failures() - len(run.Attempts)}
}

// attempt asks about an attempt.
func (c *course) attempt(a *Attempt) {
	counted := a.FinishedAt >= c.r.since
	if counted {
		c.r.attempts++
	}
	if c.over {
		if counted {
			c.r.spared++
		}
		return
	}
	d := c.decide(a)
	if !counted {
		return
	}
	c.r.note(c.run.ID)
	if from := a.decided(); from != d.Action {
		c.r.change(changeKey{from, d.Action, d.By}, c.run.ID)
	}
}

func (c *course) decide(a *Attempt) Decision {
	e := EndingOf(c.r.plan, c.run, a)
	e.Counts = c.counts
	e.Counts.Number = a.Number
	e.watch = &c.r.watch
	c.r.watch.anew()
	t := Decide(e)
	c.counts, c.last = t.Counts, a
	c.over = t.Decision.Action != ActionRetry
	return t.Decision
}

// fillGap lets the failures that are no longer kept, which came before next, use up what they did.
func (c *course) fillGap(next *Attempt) {
	like := c.last
	if like == nil {
		like = next
	}
	for ; c.missing > 0 && (c.on || !c.over) && !c.r.enough(); c.missing-- {
		c.decide(like)
	}
	c.missing = 0
}

// decided is what was decided of a failed attempt: to retry, or to fail.
func (a *Attempt) decided() string {
	if a.Decision != nil && a.Decision.Action == ActionRetry {
		return ActionRetry
	}
	return ActionFail
}

func (r *Replay) change(key changeKey, id ID) {
	c := r.changes[key]
	if c == nil {
		c = &DecisionChange{From: key.from, To: key.to, By: key.by}
		r.changes[key] = c
	}
	c.Count++
	c.Samples = addSample(c.Samples, id)
}

// note gathers the rules that failed for the attempt that was just decided.
func (r *Replay) note(id ID) {
	for _, text := range r.watch.notes {
		m := r.mistakes[text]
		if m == nil {
			if len(r.mistakes) == maxMistakes {
				continue
			}
			m = &Mistake{Message: text}
			r.mistakes[text] = m
		}
		m.Count++
		m.Samples = addSample(m.Samples, id)
	}
}

// EndingOf is the end of a recorded attempt that failed, as far as it is kept, to be decided anew:
// by these rules, with the jitter at its middle. Its counts are left to the caller; of the progress
// that the run had made then nothing is known.
func EndingOf(p *Plan, run *Run, a *Attempt) Ending {
	e := Ending{
		Plan: p, MaxAttempts: run.MaxAttempts, RunAt: run.RunAt, Payload: run.Payload,
		Timeout: run.Timeout.Std(), Now: a.FinishedAt, Random: middle,
		Report: Report{
			Failure: a.Error, HTTPStatus: a.HTTPStatus, ExitCode: a.ExitCode, OutputTail: a.OutputTail,
		},
	}
	if e.Report.Failure == nil {
		e.Report.Failure = &Failure{}
	}
	f := e.Report.Failure
	e.Report.RetryAfterFloor = f.HTTP.floorOf(a.FinishedAt)
	switch said, d := f.Reported, a.Decision; {
	case said != nil:
		e.Report.take(said)
	case d != nil && d.By == ByReported: // kept by a version that did not keep what it said
		e.Report.Retryable = new(d.Action == ActionRetry)
	}
	if a.Decision != nil && a.Decision.By == ByJobDeleted {
		e.Orphaned = true // which no rule changes
	}
	return e
}

// take makes what was kept of a report part of it again.
func (r *Report) take(said *Reported) {
	r.Retryable = said.Retryable
	if said.RetryAfter != nil {
		r.RetryAfter = new(said.RetryAfter.Std())
	}
}

// reported is what is to be kept of what the job said of another try; nil: it said nothing.
func (r *Report) reported() *Reported {
	if r.Retryable == nil && r.RetryAfter == nil {
		return nil
	}
	said := &Reported{Retryable: r.Retryable}
	if r.RetryAfter != nil {
		said.RetryAfter = new(Duration(min(max(*r.RetryAfter, 0), maxReported)))
	}
	return said
}

// watch lets one who decides over and over see what the rules did, and spares them reading the same
// body and payload again. Not safe for concurrent use.
type watch struct {
	notes []string // of the last decision: rules that failed
	dear  string   // a rule that took too long; "": none did
	read  needs
	body  any
	load  any // the payload
}

// next begins with another run, anew with another attempt of it.
func (w *watch) next() { *w = watch{dear: w.dear} }

func (w *watch) anew() { w.read.body, w.body = false, nil }

// lend gives what was read before to new evidence.
func (w *watch) lend(ev *evidence) {
	if w == nil {
		return
	}
	ev.read, ev.facts.HTTP.Body, ev.facts.Payload = w.read, w.body, w.load
}

// saw notes what came of a verdict.
func (w *watch) saw(v *verdict) {
	if w == nil {
		return
	}
	w.read, w.body, w.load = v.ev.read, v.ev.facts.HTTP.Body, v.ev.facts.Payload
	w.notes = v.notes
	if w.dear == "" {
		w.dear = v.dear
	}
}
