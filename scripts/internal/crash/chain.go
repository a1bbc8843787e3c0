package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"nightshift/scripts/internal/rig"
)

// A run of chained is followed by one of follower, made in the transaction that ends it. Chained
// has a door too.
const (
	chained    = "chained"
	follower   = "follower"
	door       = "door"
	doorSecret = "fault-lab-door"
)

func chainedJob(webhook, retry any) map[string]any {
	return map[string]any{
		"webhook": webhook, "retry": retry,
		"on_success": []any{map[string]any{"job": follower, "payload": map[string]string{"after": "{{ run.id }}"}}},
		"inbound":    []any{map[string]any{"name": door, "verify": "secret", "secret": doorSecret}},
	}
}

// bring delivers to the door, sometimes once more or twice at once, until it is answered with 202.
func (c *clients) bring(ctx context.Context, random *rand.Rand, id string) {
	c.history.intend(id, chained)
	switch draw := random.IntN(100); {
	case draw < 10:
		var twins sync.WaitGroup
		twins.Go(func() { c.deliver(ctx, id) })
		twins.Go(func() { c.deliver(ctx, id) })
		twins.Wait()
	case draw < 30:
		c.deliver(ctx, id)
		c.deliver(ctx, id)
	default:
		c.deliver(ctx, id)
	}
}

func (c *clients) deliver(ctx context.Context, id string) {
	c.until2xx(ctx, func() error {
		run, status, err := c.api.Deliver(ctx, chained, door, doorSecret, id, map[string]string{"key": id})
		if err == nil && status != http.StatusAccepted {
			return fmt.Errorf("delivery %s: status %d; want 202", id, status)
		}
		if err == nil {
			c.history.answered(id, run, status)
		}
		return err
	})
}

// learn reads which runs follow others: the newest ones, or all.
func learn(ctx context.Context, api rig.API, h *history, all bool) error {
	for next := ""; ; {
		runs, more, err := api.Runs(ctx, follower, next)
		if err != nil {
			return fmt.Errorf("list the runs of %s: %w", follower, err)
		}
		for _, run := range runs {
			h.follows(run)
		}
		if next = more; next == "" || !all {
			return nil
		}
	}
}

// follows notes a run that the server made by itself, after the one whose correlation id it bears.
func (h *history) follows(run rig.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run.ID)
	if r.acked {
		return
	}
	r.job, r.acked, r.after, r.trigger = run.Job, true, run.CorrelationID, run.Trigger
	h.acked = append(h.acked, r)
}

// checkChains wants one follow-up of each run that succeeded, and none of any other.
func (h *history) checkChains() []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	after := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(h.runs)) {
		r := h.runs[id]
		if r.job != follower {
			continue
		}
		after[r.after] = append(after[r.after], id)
		if first := h.runs[r.after]; first == nil || first.job != chained {
			add("run %s follows %q, which is no run of %s", id, r.after, chained)
		}
		if r.trigger != "chain" {
			add("run %s of %s has the trigger %q", id, follower, r.trigger)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.runs)) {
		r, want := h.runs[id], 0
		if r.job != chained || r.final == nil {
			continue
		}
		if r.final.State == "succeeded" {
			want = 1
		}
		if got := after[id]; len(got) != want {
			add("run %s of %s %s, and %d runs follow it, not %d: %s", id, chained, r.final.State,
				len(got), want, strings.Join(got, " "))
		}
	}
	return faults
}

// chains counts the runs that follow others.
func (h *history) chains() int {
	n := 0
	for _, r := range h.acked {
		if r.job == follower {
			n++
		}
	}
	return n
}
