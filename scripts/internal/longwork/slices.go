package main

import (
	"fmt"
	"net/http"
	"time"

	"nightshift/scripts/internal/rig"
)

// sliced is a job that works in slices, with a limit: a run keeps its slot between them.
const (
	sliced      = "sliced"
	slicedLimit = 3
	slicedTries = 3 // max_attempts
)

// operation is what was delivered of one, over attempts and requeues.
type operation struct {
	last *delivery
	run  string
}

// slice does one unit of the payload's total: the checkpoint says how many are done.
func (r *receiver) slice(in *request) {
	r.history.slice(in)
	draw := in.random.IntN(100)
	if in.payload.Plain {
		draw = 99
	}
	wait := time.Duration(in.random.IntN(60)) * time.Millisecond
	if draw%7 == 0 {
		wait *= 5
	}
	if !pause(in.ctx, wait) {
		return
	}
	r.cancels(in, 100)
	next := in.read.N + 1
	switch {
	case draw < 7:
		r.answer(in, refuses, http.StatusServiceUnavailable, map[string]any{})
	case next < in.payload.Total:
		r.answer(in, goesOn, http.StatusOK, map[string]any{
			"checkpoint": value{next, in.number}, "progress": map[string]any{"done": next, "total": in.payload.Total},
		})
	default:
		r.answer(in, done, http.StatusOK, map[string]any{"slices": next})
	}
}

// slice wants the deliveries of an operation to go on from one good slice to the next: none twice but
// after a failure, none left out, and the checkpoint that of the last good one.
func (h *history) slice(in *request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	add := func(format string, args ...any) {
		h.faults = append(h.faults, fmt.Sprintf("run %s: attempt %d: ", in.run, in.number)+fmt.Sprintf(format, args...))
	}
	d := in.delivery
	if in.read.N != d.k {
		add("slice with the key of continue %d has checkpoint %d", d.k, in.read.N)
	}
	op := h.operations[in.operation]
	if op == nil {
		op = &operation{}
		h.operations[in.operation] = op
	}
	last, same := op.last, op.run == in.run
	op.last, op.run = d, in.run
	switch {
	case last == nil && d.k > 0:
		add("the first slice of the operation has continue %d", d.k)
	case last == nil:
	case d.k < last.k:
		add("continue %d came after %d", d.k, last.k)
	case d.k > last.k+1:
		add("continue %d came after %d: those between are left out", d.k, last.k)
	case d.k == last.k+1 && last.meant != goesOn:
		add("continue %d came, and %d was answered with %q", d.k, last.k, last.meant)
	case same && d.attempt == last.attempt && d.k == last.k:
		add("continue %d was delivered twice in one attempt", d.k)
	}
}

// slicesJob is the document of the job.
func slicesJob(url string) map[string]any {
	return map[string]any{
		"webhook": map[string]any{"url": url + "/" + sliced},
		"retry": map[string]any{
			"max_attempts": slicedTries, "backoff": map[string]any{"kind": "fixed", "base": "50ms"},
		},
		"concurrency": map[string]any{"limit": slicedLimit}, "timeout": "30s",
	}
}

// checkSlices judges a run that works in slices, after its end.
func checkSlices(r *record) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	run := r.final
	charged := 0
	for i := range run.Attempts {
		a := &run.Attempts[i]
		of := r.deliveriesOf(a.Number)
		if n := len(of); a.Slices != n && !(cutOff(a) && a.Slices == n+1) {
			add("attempt %d has %d slices, and %d were delivered", a.Number, a.Slices, n)
		}
		if len(of) > 1 {
			charged = 0 // a good slice starts the count anew
		}
		if a.Outcome == "failed" && a.Error != nil && a.Error.Kind == "http" {
			charged++
		}
		last := i == len(run.Attempts)-1
		if charged == slicedTries && !last {
			add("attempt %d was the %d. failed one in a row, and the run went on", a.Number, charged)
		}
		faults = append(faults, checkSliceEnd(a, of)...)
	}
	switch {
	case run.State == "succeeded":
		if got, total := string(run.Result), r.highest()+1; got != fmt.Sprintf(`{"slices":%d}`, total) {
			add("succeeded with result %s after %d slices", got, total)
		}
	case run.State == "failed" && run.Error != nil && run.Error.Kind == "http" && charged != slicedTries:
		add("failed after %d failed attempts in a row, not %d", charged, slicedTries)
	}
	return faults
}

// checkSliceEnd holds the outcome of an attempt against what the receiver meant to answer last.
func checkSliceEnd(a *rig.Attempt, of []*delivery) (faults []string) {
	meant := ""
	if len(of) > 0 {
		meant = of[len(of)-1].meant
	}
	switch {
	case a.Outcome == "succeeded" && meant != done,
		a.Outcome == "failed" && a.Error != nil && a.Error.Kind == "http" && meant != refuses:
		return []string{fmt.Sprintf("attempt %d %s (%v), and its last slice was answered with %q", a.Number,
			a.Outcome, a.Error, meant)}
	}
	return nil
}

// deliveriesOf are those of one attempt.
func (r *record) deliveriesOf(number int) (of []*delivery) {
	for _, d := range r.deliveries {
		if d.attempt == number {
			of = append(of, d)
		}
	}
	return of
}

// highest is the number of continues of the last slice.
func (r *record) highest() (k int) {
	for _, d := range r.deliveries {
		k = max(k, d.k)
	}
	return k
}

// cutOff reports whether something else than the job ended an attempt: one slice more may have been begun.
func cutOff(a *rig.Attempt) bool {
	return a.Outcome == "interrupted" || a.Outcome == "cancelled" || a.Error != nil && a.Error.Kind == "crash_loop"
}
