package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"nightshift/scripts/internal/rig"
)

// batched is a job whose runs go on from each other: their checkpoint belongs to a key. None of them
// succeeds, for success would drop it.
const batched = "batched"

// batches are the keys.
var batches = []string{"a", "b"}

func batchJob(url string) map[string]any {
	return map[string]any{
		"webhook":    map[string]any{"url": url + "/" + batched},
		"checkpoint": map[string]any{"key": "payload.batch"},
		"retry": map[string]any{
			"max_attempts": 2, "backoff": map[string]any{"kind": "fixed", "base": "50ms"},
		},
	}
}

// batch saves some values and fails.
func (r *receiver) batch(in *request) {
	if in.payload.Plain {
		r.answer(in, done, http.StatusOK, map[string]any{})
		return
	}
	s := r.history.joins(in)
	for range in.random.IntN(12) {
		if in.save(r.ctx, s) == http.StatusConflict || !pause(in.ctx, time.Duration(in.random.IntN(40))*time.Millisecond) {
			return
		}
	}
	r.answer(in, refuses, http.StatusServiceUnavailable, map[string]any{})
}

// joins notes what a delivery of a key has read.
func (h *history) joins(in *request) *saved {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[in.run]
	r.batch = in.payload.Batch
	line := h.batches[in.payload.Batch]
	if line == nil {
		line = map[int]*saved{}
		h.batches[in.payload.Batch] = line
	}
	s := &saved{by: len(line) + 1, read: in.read}
	line[s.by], r.shared[in.number] = s, s
	return s
}

// checkBatches wants each run of a key to go on from the one before, when that one is over, in the order in
// which they were made.
func (h *history) checkBatches(of []*record) (faults []string) {
	for _, key := range slices.Sorted(maps.Keys(h.batches)) {
		for _, f := range checkSaves("delivery", h.batches[key]) {
			faults = append(faults, fmt.Sprintf("checkpoint key %s: %s", key, f))
		}
		line := slices.DeleteFunc(slices.Clone(of), func(r *record) bool { return r.batch != key })
		faults = append(faults, tooMany(batched+" "+key, line, 1)...)
		last, at := "", ""
		for _, r := range line { // by id, and so by when they were made
			if r.final == nil || len(r.final.Attempts) == 0 {
				continue
			}
			if began := r.final.Attempts[0].StartedAt; began < at {
				faults = append(faults, fmt.Sprintf("checkpoint key %s: run %s began at %s, before run %s, which was made earlier",
					key, r.id, began, last))
			} else {
				last, at = r.id, began
			}
		}
	}
	return faults
}

// checkBatched wants a run to have failed by the answers of the receiver alone.
func checkBatched(r *record) (faults []string) {
	if r.final.State == "succeeded" && r.batch != "" {
		faults = append(faults, "succeeded, and every answer was 503")
	}
	for i := range r.final.Attempts {
		a := &r.final.Attempts[i]
		if a.Outcome == "failed" && !lost(a) && (a.Error == nil || a.Error.Kind != "http" || !r.refused(a)) {
			faults = append(faults, fmt.Sprintf("attempt %d failed (%v), and the receiver did not answer 503", a.Number, a.Error))
		}
	}
	return faults
}

// refused reports whether the receiver meant to refuse an attempt.
func (r *record) refused(a *rig.Attempt) bool {
	of := r.deliveriesOf(a.Number)
	return len(of) > 0 && of[len(of)-1].meant == refuses
}
