package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"nightshift/scripts/internal/rig"
)

// deathsToFail is how many deaths of the server in a row end a run (contract 3.2, Counting).
const deathsToFail = 5

// check judges a whole history after the server has drained and stopped. stored are the ids in its
// file. It gives what was violated, one line each.
func (h *history) check(stored map[string]bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults := slices.Clone(h.surprises)
	for _, key := range slices.Sorted(maps.Keys(h.keys)) {
		faults = append(faults, checkKey(key, h.keys[key])...)
	}
	for _, id := range slices.Sorted(maps.Keys(h.runs)) {
		r := h.runs[id]
		switch {
		case !r.acked:
			faults = append(faults, fmt.Sprintf("run %s was started, but no client was told of it", id))
		case !stored[id]:
			faults = append(faults, fmt.Sprintf("run %s was acknowledged and is not in the file", id))
		default:
			for _, f := range checkRun(r) {
				faults = append(faults, fmt.Sprintf("run %s (%s): %s", id, r.job, f))
			}
		}
	}
	faults = append(faults, h.checkChains()...)
	faults = append(faults, h.checkSharing()...)
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		if h.runs[id] == nil {
			faults = append(faults, fmt.Sprintf("run %s is in the file, but no key asked for it", id))
		}
	}
	return faults
}

func checkKey(key string, k *sent) []string {
	var faults []string
	if len(k.runs) != 1 {
		faults = append(faults, fmt.Sprintf("key %s: %d runs: %s",
			key, len(k.runs), strings.Join(slices.Sorted(maps.Keys(k.runs)), " ")))
	}
	if k.created > 1 {
		faults = append(faults, fmt.Sprintf("key %s: %d answers said that the run is new",
			key, k.created))
	}
	return faults
}

// checkRun judges one acknowledged run: it ended, once; each start is explained by an attempt in
// its history, and each start too many by an attempt that did not succeed.
func checkRun(r *record) []string {
	run := r.final
	if r.missing || run == nil {
		return []string{"acknowledged, but not found"}
	}
	if !run.Terminal() {
		return []string{fmt.Sprintf("stuck: still %s, held by %v", run.State, run.HeldBy)}
	}
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	if e := r.ended; e.State != run.State || e.FinishedAt != run.FinishedAt ||
		len(e.Attempts) != len(run.Attempts) {
		add("ended twice: seen as %s at %s after %d attempts, later as %s at %s after %d",
			e.State, e.FinishedAt, len(e.Attempts), run.State, run.FinishedAt, len(run.Attempts))
	}
	succeeded, failed := 0, 0
	for i, a := range run.Attempts {
		if a.Number != i+1 {
			add("attempt %d of the history has number %d", i+1, a.Number)
		}
		switch {
		case a.Outcome == "" || a.FinishedAt == "":
			add("attempt %d has not ended", a.Number)
		case a.Outcome == "succeeded":
			succeeded++
		case lost(a):
		case a.Outcome == "failed" && a.HTTPStatus == http.StatusServiceUnavailable:
			failed++
		default:
			add("attempt %d: outcome %s, status %d: %v; want succeeded, lost, or failed by a 503",
				a.Number, a.Outcome, a.HTTPStatus, a.Error)
		}
	}
	good, bad := r.answers()
	if failed > bad {
		add("%d attempts failed with 503, the receiver gave %d", failed, bad)
	}
	if n := len(r.deliveries); n > len(run.Attempts) {
		add("started %d times, but the history has %d attempts", n, len(run.Attempts))
	}
	for _, d := range r.deliveries {
		if d.operation != "" && d.operation != run.OperationID {
			add("delivered with Idempotency-Key %s; its operation is %s", d.operation, run.OperationID)
		}
		if d.at.After(r.endedAt) {
			add("delivered %v after it was seen ended", d.at.Sub(r.endedAt))
		}
	}
	return append(faults, checkState(r, succeeded, good)...)
}

func checkState(r *record, succeeded, good int) []string {
	run := r.final
	attempts := run.Attempts
	switch run.State {
	case "succeeded":
		if succeeded != 1 || attempts[len(attempts)-1].Outcome != "succeeded" {
			return []string{fmt.Sprintf("succeeded with %d good attempts of %d", succeeded, len(attempts))}
		}
		if good == 0 {
			return []string{"succeeded, but it was never delivered"}
		}
	case "failed":
		if run.Error == nil || run.Error.Kind != "crash_loop" {
			return []string{fmt.Sprintf("failed: %v", run.Error)}
		}
		if n := r.deaths(); n < deathsToFail {
			return []string{fmt.Sprintf("failed with crash_loop after %d deaths in a row", n)}
		}
	default:
		return []string{"ended " + run.State}
	}
	return nil
}

// lost reports whether the server died under an attempt.
func lost(a rig.Attempt) bool {
	return a.Error != nil && (a.Error.Kind == "lost" && a.Outcome == "interrupted" ||
		a.Error.Kind == "crash_loop")
}

// answers counts the deliveries by what the receiver answered; a script's start is a good one.
func (r *record) answers() (good, bad int) {
	for _, d := range r.deliveries {
		if d.status == http.StatusServiceUnavailable {
			bad++
		} else {
			good++
		}
	}
	return good, bad
}

// deaths counts the last attempts in a row that the server's death cut off.
func (r *record) deaths() int {
	n := 0
	for _, a := range slices.Backward(r.final.Attempts) {
		if !lost(a) {
			break
		}
		n++
	}
	return n
}
