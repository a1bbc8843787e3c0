package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

const (
	// deathsToFail is how many deaths of the server in a row end a run (contract 3.2, Counting).
	deathsToFail = 5
	// lateBy is how much later than the end of its attempt a call may be sent that is taken yet: the end
	// has its time before it is on disk.
	lateBy = 2 * time.Second
	// atOnce is the longest that something may take which waits for nothing.
	atOnce = 3 * time.Second
	// early is the error of two times that are compared.
	early = 20 * time.Millisecond
)

// check judges a whole history after all has ended and the server has stopped. stored are the ids in its
// file. It gives what was violated, one line each.
func (h *history) check(stored map[string]bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults := slices.Clone(h.faults)
	byJob := map[string][]*record{}
	for _, id := range slices.Sorted(maps.Keys(h.runs)) {
		r := h.runs[id]
		byJob[r.job] = append(byJob[r.job], r)
		for _, f := range h.checkRecord(r, stored) {
			faults = append(faults, fmt.Sprintf("run %s (%s): %s", id, r.job, f))
		}
	}
	faults = append(faults, tooMany(sliced, byJob[sliced], slicedLimit)...)
	faults = append(faults, tooMany(called, byJob[called], calledLimit)...)
	faults = append(faults, tooMany(beaten, byJob[beaten], calledLimit)...)
	return append(faults, h.checkBatches(byJob[batched])...)
}

func (h *history) checkRecord(r *record, stored map[string]bool) []string {
	switch {
	case r.final == nil:
		return []string{"a client or a receiver was told of it, and it is not found"}
	case !stored[r.id]:
		return []string{"it is not in the file"}
	case !r.final.Terminal():
		return []string{fmt.Sprintf("stuck: still %s, held by %v", r.final.State, r.final.HeldBy)}
	}
	faults := slices.Concat(checkEnd(r), checkCancel(r), checkDeaths(r), checkSaves("attempt", r.saves), checkLate(r))
	switch r.job {
	case sliced:
		faults = append(faults, checkSlices(r)...)
	case batched:
		faults = append(faults, checkBatched(r)...)
	case called, beaten:
		faults = append(faults, h.checkCalls(r)...)
	default:
		faults = append(faults, checkSaver(r)...)
	}
	return faults
}

// checkEnd wants a run to have ended once, after attempts that are all in its history.
func checkEnd(r *record) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	run := r.final
	if e := r.ended; e.State != run.State || e.FinishedAt != run.FinishedAt ||
		string(e.Result) != string(run.Result) || len(e.Attempts) != len(run.Attempts) {
		add("ended twice: seen as %s at %s with %s after %d attempts, later as %s at %s with %s after %d", e.State,
			e.FinishedAt, e.Result, len(e.Attempts), run.State, run.FinishedAt, run.Result, len(run.Attempts))
	}
	for i, a := range run.Attempts {
		if a.Number != i+1 {
			add("attempt %d of the history has number %d", i+1, a.Number)
		}
		if a.Outcome == "" || a.FinishedAt == "" {
			add("attempt %d has not ended", a.Number)
		}
		if i < len(run.Attempts)-1 && (a.Outcome == "succeeded" || a.Outcome == "cancelled") {
			add("attempt %d %s, and another one followed", a.Number, a.Outcome)
		}
	}
	if r.newest > len(run.Attempts) {
		add("attempt %d was delivered, and the history has %d", r.newest, len(run.Attempts))
	}
	if n := len(run.Attempts); n > 0 && run.State == "succeeded" && run.Attempts[n-1].Outcome != "succeeded" {
		add("succeeded, and its last attempt %s", run.Attempts[n-1].Outcome)
	}
	return faults
}

// checkCancel wants a run whose cancel was acknowledged to be cancelled, and no other.
func checkCancel(r *record) []string {
	taken, open := false, false
	for _, c := range r.cancels {
		taken, open = taken || c.taken(), open || c.open()
	}
	switch cancelled := r.final.State == "cancelled"; {
	case taken && !cancelled:
		return []string{"a cancel was acknowledged, and it " + r.final.State}
	case cancelled && !open:
		return []string{"cancelled, and nobody asked for it"}
	}
	return nil
}

// lost reports whether the server died under an attempt.
func lost(a *rig.Attempt) bool {
	return a.Error != nil && (a.Error.Kind == "lost" || a.Error.Kind == "crash_loop")
}

// checkDeaths wants deaths alone to end a run when there were five without a new checkpoint between, and
// not before.
func checkDeaths(r *record) (faults []string) {
	most, least := 0, 0 // deaths in a row, where what is unknown counts against the server or for it
	for i := range r.final.Attempts {
		a := &r.final.Attempts[i]
		s, good := cmp.Or(r.saves[a.Number], r.shared[a.Number]), len(r.deliveriesOf(a.Number)) > 1
		if good || s != nil && s.acked > 0 {
			most = 0
		}
		if a.Slices > 1 || s != nil && s.sent > 0 {
			least = 0
		}
		switch {
		case lost(a):
			most, least = most+1, least+1
		case a.Outcome == "interrupted":
			least = 0
		default:
			most, least = 0, 0
		}
		looped := a.Error != nil && a.Error.Kind == "crash_loop"
		if looped && most < deathsToFail {
			faults = append(faults, fmt.Sprintf("crash_loop after %d deaths without a new checkpoint", most))
		}
		if !looped && least >= deathsToFail && i < len(r.final.Attempts)-1 {
			faults = append(faults, fmt.Sprintf("attempt %d was lost by death %d in a row, and the run went on", a.Number,
				least))
		}
	}
	return faults
}

// checkLate wants nothing to be taken of an attempt after its end, but the call that ended it, once more.
func checkLate(r *record) (faults []string) {
	for _, c := range r.calls {
		at, ok := r.finished(c.attempt)
		if !ok || !c.taken() || !c.sent.After(at.Add(lateBy)) {
			continue
		}
		repeats := slices.ContainsFunc(r.calls, func(b *call) bool {
			return b != c && b.attempt == c.attempt && b.name == c.name && b.open() && b.sent.Before(c.sent)
		})
		if !c.ends() || !repeats {
			faults = append(faults, fmt.Sprintf("attempt %d ended at %s, and its %s, sent %v later, was taken", c.attempt,
				at.Format(time.RFC3339Nano), c.name, c.sent.Sub(at)))
		}
	}
	return faults
}

// finished is when an attempt ended.
func (r *record) finished(number int) (time.Time, bool) {
	for _, a := range r.final.Attempts {
		if a.Number == number {
			at, err := time.Parse(time.RFC3339, a.FinishedAt)
			return at, err == nil
		}
	}
	return time.Time{}, false
}

// checkSaver wants a run that saves until it is told to stop to end then, and by nothing else.
func checkSaver(r *record) (faults []string) {
	run := r.final
	if run.State != "succeeded" && (run.Error == nil || run.Error.Kind != "crash_loop") {
		faults = append(faults, fmt.Sprintf("ended %s: %v", run.State, run.Error))
	}
	if p := run.Progress; p != nil && p.Done == tooLateDone {
		faults = append(faults, "its progress is what an attempt said that was over")
	}
	if run.State == "succeeded" && strings.Contains(string(run.Result), tooLateText) {
		faults = append(faults, "its result is what an attempt said that was over")
	}
	for i, a := range run.Attempts {
		if s := r.saves[a.Number]; s != nil && s.acked > 0 && lost(&a) && i+1 < len(run.Attempts) {
			// The first death after a new checkpoint costs no wait (contract 3.2, Counting).
			if waited := gap(&a, &run.Attempts[i+1]); waited > atOnce {
				faults = append(faults, fmt.Sprintf("attempt %d had saved, and the next began %v after it was lost", a.Number,
					waited))
			}
		}
		if a.Outcome != "succeeded" && a.Outcome != "interrupted" && !lost(&a) {
			faults = append(faults, fmt.Sprintf("attempt %d %s: %v", a.Number, a.Outcome, a.Error))
		}
	}
	return faults
}

// gap is the time from the end of an attempt to the start of another one.
func gap(a, b *rig.Attempt) time.Duration {
	from, err1 := time.Parse(time.RFC3339, a.FinishedAt)
	until, err2 := time.Parse(time.RFC3339, b.StartedAt)
	if err1 != nil || err2 != nil {
		return 0
	}
	return until.Sub(from)
}

// tooMany finds a moment when more attempts of a job were under way than its limit allows.
func tooMany(job string, of []*record, limit int) (faults []string) {
	type edge struct {
		at   time.Time
		step int
		run  string
	}
	var edges []edge
	for _, r := range of {
		if r.final == nil {
			continue
		}
		for _, a := range r.final.Attempts {
			from, err1 := time.Parse(time.RFC3339, a.StartedAt)
			until, err2 := time.Parse(time.RFC3339, a.FinishedAt)
			if err1 == nil && err2 == nil {
				edges = append(edges, edge{from, 1, r.id}, edge{until, -1, r.id})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if order := a.at.Compare(b.at); order != 0 {
			return order
		}
		return a.step - b.step // what ends in the same millisecond may have made room
	})
	now := 0
	for _, e := range edges {
		if now += e.step; now > limit && e.step > 0 {
			faults = append(faults, fmt.Sprintf("%d attempts of %s were under way at %s (run %s), the limit is %d", now, job,
				e.at.Format(time.RFC3339Nano), e.run, limit))
		}
	}
	return faults[:min(len(faults), 3)]
}
