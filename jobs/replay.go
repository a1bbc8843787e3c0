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

// begin takes in that a good slice has the count start anew.
func (c *course) begin(a *Attempt) {
	if a.Slices > 1 {
		c.counts = Counts{}
	}
}

func (c *course) decide(a *Attempt) Decision {
	c.begin(a)
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
// That they were decided to be retried is known all the same.
func (c *course) fillGap(next *Attempt) {
	like := c.last
	if like == nil {
		like = next
	}
	for ; c.missing > 0 && (c.on || !c.over) && !c.r.enough(); c.missing-- {
		d := c.decide(like)
		if c.over && !c.on && like.FinishedAt >= c.r.since {
			c.r.change(changeKey{ActionRetry, d.Action, d.By}, c.run.ID)
		}
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
