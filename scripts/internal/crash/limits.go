package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// Jobs whose runs share something, and what they share. No job of the load fails for it: it waits.
const (
	keyed    = "keyed"    // one at a time of each key, in the queue narrow
	trio     = "trio"     // three at a time, in the queue narrow
	borrower = "borrower" // uses the dependency lent
	lone     = "lone"     // uses it too, and is one run per thing until that has ended
	locked   = "locked"   // a script, one at a time: it finds out itself whether another one lives
	narrow   = "narrow"
	lent     = "lent"

	trioLimit   = 3
	narrowLimit = 4
	lentLimit   = 2
	hostLimit   = 16 // of a host that nobody has said anything about

	lentStarts = 10
	lentWindow = time.Second
)

// sharers are the jobs that share, as often as they are drawn among each other.
var sharers = []string{
	keyed, keyed, keyed, trio, trio, trio, borrower, borrower, lone, lone, lone, lone, lone, locked,
}

// payloadOf is what a key brings: the same each time.
func payloadOf(key string) map[string]string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	return map[string]string{
		"key": key, "lock": string(rune('a' + sum.Sum32()%4)), "thing": string(rune('a' + sum.Sum32()/4%8)),
	}
}

// sharing gives the documents of queue, dependency and jobs.
func sharing(url string, retry any, starts, overlaps string) (paths []string, documents map[string]any) {
	hook := func(job string, more map[string]any) map[string]any {
		more["webhook"], more["retry"] = map[string]any{"url": url + "/" + job}, retry
		return more
	}
	documents = map[string]any{
		// Its breaker would open by chance: half of the flaky runs are answered 503 first.
		"dependencies/" + strings.TrimPrefix(url, "http://"): map[string]any{"breaker": nil},

		"queues/" + narrow: map[string]any{"concurrency": narrowLimit},
		"dependencies/" + lent: map[string]any{
			"concurrency": lentLimit, "rate": map[string]any{"limit": lentStarts, "per": lentWindow.String()},
		},
		"jobs/" + keyed: hook(keyed, map[string]any{
			"queue": narrow, "concurrency": map[string]any{"limit": 1, "key": "payload.lock"},
		}),
		"jobs/" + trio: hook(trio, map[string]any{
			"queue": narrow, "concurrency": map[string]any{"limit": trioLimit},
		}),
		"jobs/" + borrower: hook(borrower, map[string]any{"dependencies": []string{lent}}),
		"jobs/" + lone: hook(lone, map[string]any{
			"dependencies": []string{lent},
			"unique":       map[string]any{"key": "payload.thing", "while": "active", "on_conflict": "existing"},
		}),
		"jobs/" + locked: map[string]any{
			"script": map[string]any{
				"source": lockedSource,
				"env":    map[string]string{"CRASH_STARTS": starts, "CRASH_OVERLAPS": overlaps},
			},
			"retry": retry, "concurrency": map[string]any{"limit": 1},
		},
	}
	return slices.Sorted(maps.Keys(documents)), documents
}

// lockedSource holds a lock for as long as any process of it lives.
const lockedSource = `#!/bin/sh
printf '%s\n' "$NIGHTSHIFT_RUN" >>"$CRASH_STARTS"
exec 9>>"$CRASH_OVERLAPS.lock"
if command -v flock >/dev/null && ! flock -n 9; then
	printf '%s\n' "$NIGHTSHIFT_RUN" >>"$CRASH_OVERLAPS"
fi
sleep 0.05
echo done
`

// limit is how many requests may be in flight that have something in common.
type limit struct {
	of   string
	most int
}

// limitsOf are those that hold for a request.
func limitsOf(job string, body []byte) []limit {
	var brought struct{ Lock, Thing string }
	_ = json.Unmarshal(body, &brought)
	limits := []limit{{"the host", hostLimit}}
	switch job {
	case keyed:
		limits = append(limits, limit{"the key " + brought.Lock, 1}, limit{"the queue", narrowLimit})
	case trio:
		limits = append(limits, limit{"the job trio", trioLimit}, limit{"the queue", narrowLimit})
	case borrower:
		limits = append(limits, limit{"the dependency", lentLimit})
	case lone:
		limits = append(limits, limit{"the dependency", lentLimit}, limit{"the thing " + brought.Thing, 1})
	}
	return limits
}

// enters counts a request that came over a connection which was made in the given life of the
// server, and leaves it again. One whose server is dead is in flight no more.
func (h *history) enters(life int, job string, body []byte) (leaves func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if life != h.life {
		return func() {}
	}
	limits := limitsOf(job, body)
	for _, l := range limits {
		h.flying[l.of]++
		n := h.flying[l.of]
		h.peaks[l.of] = max(h.peaks[l.of], n)
		if n > l.most {
			h.surprises = append(h.surprises,
				fmt.Sprintf("%d requests of %s were in flight, the limit is %d", n, l.of, l.most))
		}
	}
	if job == borrower || job == lone {
		h.lentAt = append(h.lentAt, time.Now())
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if life != h.life {
			return
		}
		for _, l := range limits {
			h.flying[l.of]--
		}
	}
}

// died notes that the server is gone, and with it all its connections.
func (h *history) died() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life++
	clear(h.flying)
}

// alive is the number of the server's life.
func (h *history) alive() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life
}

// checkSharing judges what runs share, over all lives of the server.
func (h *history) checkSharing() []string {
	return append(h.checkRate(), h.checkUnique()...)
}

// checkRate wants no more starts in any window than the rate allows: none by the history, which
// knows when each start was counted. Requests arrive a little later, one more so than another:
// of those the half of a window is asked.
func (h *history) checkRate() []string {
	var faults []string
	var counted []time.Time
	for _, r := range h.runs {
		if r.final == nil || r.job != borrower && r.job != lone {
			continue
		}
		for _, a := range r.final.Attempts {
			at, err := time.Parse(time.RFC3339, a.StartedAt)
			if err != nil {
				faults = append(faults, fmt.Sprintf("run %s: attempt %d: %v", r.id, a.Number, err))
				continue
			}
			counted = append(counted, at)
		}
	}
	faults = append(faults, tooMany("attempts", counted, lentStarts, lentWindow)...)
	return append(faults, tooMany("requests", h.lentAt, lentStarts, lentWindow/2)...)
}

// tooMany finds windows that hold more than the limit.
func tooMany(what string, at []time.Time, most int, window time.Duration) []string {
	var faults []string
	at = slices.SortedFunc(slices.Values(at), time.Time.Compare)
	for i := 0; i+most < len(at); i++ {
		if took := at[i+most].Sub(at[i]); took < window {
			faults = append(faults, fmt.Sprintf("%d %s of the dependency started within %v from %s; it allows %d within %v",
				most+1, what, took, at[i].Format(time.RFC3339Nano), most, window))
			i += most
		}
	}
	return faults
}

// checkUnique wants no run of a thing to be made while an earlier one stands: one that was
// acknowledged before the other was asked for, and seen active after that was acknowledged.
func (h *history) checkUnique() []string {
	var faults []string
	byThing := map[string][]*made{}
	for _, key := range slices.Sorted(maps.Keys(h.keys)) {
		k := h.keys[key]
		if k.job != lone || k.created == 0 {
			continue
		}
		thing := payloadOf(key)["thing"]
		for id := range k.runs {
			byThing[thing] = append(byThing[thing], &made{h.runs[id], k.sentAt, k.madeAt})
		}
	}
	for _, thing := range slices.Sorted(maps.Keys(byThing)) {
		for _, first := range byThing[thing] {
			for _, second := range byThing[thing] {
				if first.madeAt.Before(second.sentAt) && first.run.activeAt.After(second.madeAt) {
					faults = append(faults, fmt.Sprintf("run %s of thing %s was made while run %s was active",
						second.run.id, thing, first.run.id))
				}
			}
		}
	}
	return faults
}

// made is a run that a key has made.
type made struct {
	run            *record
	sentAt, madeAt time.Time
}

// checkFree wants all that runs share to be free when all have ended.
func checkFree(ctx context.Context, api rig.API) ([]string, error) {
	var faults []string
	for _, kind := range []string{"queues", "dependencies"} {
		var page struct {
			Items []struct {
				Name    string
				Running int
				InUse   int `json:"in_use"`
			}
		}
		if _, err := api.Do(ctx, "GET", "/v1/"+kind+"?limit=1000", "", nil, &page); err != nil {
			return nil, err
		}
		names := make([]string, 0, len(page.Items))
		for _, item := range page.Items {
			names = append(names, item.Name)
			if n := item.Running + item.InUse; n > 0 {
				faults = append(faults, fmt.Sprintf("all runs have ended, and %d use %s of the %s", n, item.Name, kind))
			}
		}
		if want := map[string]string{"queues": narrow, "dependencies": lent}[kind]; !slices.Contains(names, want) {
			faults = append(faults, fmt.Sprintf("%s is not among the %s: %s", want, kind, strings.Join(names, " ")))
		}
	}
	return faults, nil
}

// reached says how close to its limit each came.
func (h *history) reached() string {
	var parts []string
	for _, job := range []string{keyed, trio, borrower, lone} {
		for _, l := range limitsOf(job, []byte(`{"lock": "a", "thing": "a"}`)) {
			part := fmt.Sprintf("%s %d of %d", strings.TrimPrefix(l.of, "the "), h.peaks[l.of], l.most)
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, ", ")
}
