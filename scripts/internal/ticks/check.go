package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	ran      = "ran"
	caughtUp = "caught_up"
	skipped  = "skipped"

	// onTime is how late the newest tick may be and still count as on time (contract 7).
	onTime = 10_000 // milliseconds
	// slack is what is left out around an outage: the server's clock may go a little apart from that of
	// this process.
	slack = 50 // milliseconds
)

// decided is what became of one tick.
type decided struct {
	expected
	outcome, reason, run string
}

// is reports whether the tick was skipped for a reason.
func (d *decided) is(reason string) bool { return d.outcome == skipped && d.reason == reason }

// madeUp reports whether the tick was treated as one that was missed.
func (d *decided) madeUp() bool { return d.outcome == caughtUp || d.is("missed") || d.is("limit") }

func (d *decided) String() string {
	text := stamp(d.at) + " " + d.outcome
	if d.reason != "" {
		text += " (" + d.reason + ")"
	}
	return text
}

func stamp(at int64) string { return time.UnixMilli(at).UTC().Format("15:04:05.000") }

// until is the instant up to which everything must be decided: that of its last change, which settled it.
func (s *seen) until() int64 {
	if len(s.changes) == 0 {
		return 0
	}
	return s.changes[len(s.changes)-1].at
}

// take takes in what the file holds of the schedule, which must be what the API has shown.
func (s *seen) take(f *file) (faults []string) {
	faults = append(s.extra, s.date(f.of(s.schedule))...)
	s.rows = f.ticks[s.name]
	if s.stands() {
		shown := slices.DeleteFunc(slices.Clone(s.shown), func(r row) bool { return r.from > s.until() })
		stored := slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.from > s.until() })
		if !slices.Equal(shown, stored) {
			faults = append(faults, fmt.Sprintf("the API shows %d lines of its ledger, the file holds %d, and they differ",
				len(shown), len(stored)))
		}
	}
	stored := map[string]bool{}
	for _, r := range f.runs[s.name] {
		stored[r.id] = true
		shown := s.runs[r.id]
		if shown == nil || shown.Trigger != r.cause || shown.ScheduledFor.UnixMilli() != r.at {
			faults = append(faults, fmt.Sprintf("run %s of the tick %s is not among its runs in the API as it is in the file",
				r.id, stamp(r.at)))
		}
	}
	for id := range s.runs {
		if !stored[id] {
			faults = append(faults, "run "+id+" is in the API, and not in the file")
		}
	}
	return faults
}

// date finds out as of when each change was made. The audit must have each that was acknowledged, once.
func (s *seen) date(audit []done) (faults []string) {
	if len(audit) != len(s.changes) {
		faults = append(faults, fmt.Sprintf("%d changes were acknowledged, the audit has %d", len(s.changes), len(audit)))
	}
	for i := range s.changes {
		c := &s.changes[i]
		if i >= len(audit) {
			c.at = c.sent.UnixMilli()
			continue
		}
		c.at = audit[i].at
		if audit[i].what != c.what || c.at < c.sent.UnixMilli()-slack || c.at > c.answered.UnixMilli()+slack {
			faults = append(faults, fmt.Sprintf("change %d, %s, was sent at %s and answered at %s; the audit has %s at %s", i+1,
				c.what, stamp(c.sent.UnixMilli()), stamp(c.answered.UnixMilli()), audit[i].what, stamp(c.at)))
		}
	}
	return faults
}

// check judges what became of the schedule's ticks.
func (s *seen) check(t *tally) (faults []string) {
	want := s.expect(s.outages, s.until())
	if s.text.atStart() {
		want = s.expectStarts()
	}
	ticks, faults := s.checkLedger(want)
	faults = append(faults, s.checkRuns(ticks)...)
	faults = append(faults, s.checkSpread()...)
	faults = append(faults, s.checkOutcomes(ticks)...)
	faults = append(faults, s.checkGroups(ticks)...)
	if !s.text.atStart() {
		faults = append(faults, s.checkOutages(ticks)...)
	}
	faults = append(faults, s.checkDeliveries()...)
	s.count(ticks, t)
	return faults
}

// checkLedger wants each tick in the ledger once, and nothing else.
func (s *seen) checkLedger(want []expected) (ticks []decided, faults []string) {
	next := 0
	for i, r := range s.rows {
		if r.from > s.until() && r.reason == "paused" {
			continue
		}
		if i > 0 && r.from <= s.rows[i-1].to {
			faults = append(faults, fmt.Sprintf("the tick %s is in the ledger twice", stamp(r.from)))
		}
		for ; next < len(want) && want[next].at < r.from; next++ {
			if !want[next].eitherText {
				faults = append(faults, fmt.Sprintf("the tick %s is not in the ledger", stamp(want[next].at)))
			}
		}
		first := next
		for next < len(want) && want[next].at <= r.to {
			next++
		}
		among := want[first:next]
		if surplus := len(among) - r.count; surplus > 0 {
			among = slices.DeleteFunc(slices.Clone(among), func(e expected) bool {
				leave := e.eitherText && surplus > 0
				if leave {
					surplus--
				}
				return leave
			})
		}
		if len(among) != r.count || len(among) == 0 || among[0].at != r.from || among[len(among)-1].at != r.to {
			faults = append(faults, fmt.Sprintf("the ledger has %d ticks from %s to %s, %s %s; the schedule has %d",
				r.count, stamp(r.from), stamp(r.to), r.outcome, r.reason, len(among)))
		}
		for _, e := range among {
			ticks = append(ticks, decided{e, r.outcome, r.reason, r.run})
		}
	}
	for ; next < len(want); next++ {
		if !want[next].eitherText {
			faults = append(faults, fmt.Sprintf("the tick %s is not in the ledger", stamp(want[next].at)))
		}
	}
	return ticks, faults
}

// checkRuns wants one run for each tick that made one, and no other.
func (s *seen) checkRuns(ticks []decided) (faults []string) {
	of := map[string]int64{}
	for _, d := range ticks {
		made := d.outcome == ran || d.outcome == caughtUp
		if made != (d.run != "") {
			faults = append(faults, fmt.Sprintf("the tick %s has the run %q", &d, d.run))
		}
		if d.run == "" {
			continue
		}
		if _, twice := of[d.run]; twice {
			faults = append(faults, fmt.Sprintf("the tick %s has the run of another one, %s", &d, d.run))
		}
		of[d.run] = d.at
		r := s.runs[d.run]
		trigger := map[string]string{ran: "schedule", caughtUp: "catch_up"}[d.outcome]
		if r == nil || r.ScheduledFor.UnixMilli() != d.at || r.Trigger != trigger {
			faults = append(faults, fmt.Sprintf("the tick %s has the run %s, which is not of it", &d, d.run))
		}
	}
	for id, r := range s.runs {
		if _, known := of[id]; !known {
			faults = append(faults, fmt.Sprintf("run %s of the tick %s is not in the ledger", id, stamp(r.ScheduledFor.UnixMilli())))
		}
		faults = append(faults, s.checkRun(r)...)
	}
	return faults
}

func (s *seen) checkRun(r *tickRun) (faults []string) {
	bad := func(text string, args ...any) {
		faults = append(faults, "run "+r.ID+" of the tick "+stamp(r.ScheduledFor.UnixMilli())+" "+fmt.Sprintf(text, args...))
	}
	deliveries := s.receiver.of(r.ID)
	switch r.State {
	case "succeeded":
		if len(deliveries) == 0 {
			bad("succeeded, and was never delivered")
		}
	case "failed":
		if r.Error == nil || r.Error.Kind != "crash_loop" {
			bad("failed: %v", r.Error)
		}
	case "cancelled":
		if s.overlap != "queue" && s.overlap != "replace" {
			bad("was cancelled, with overlap: %s", s.overlap)
		}
	default:
		bad("is still %s", r.State)
	}
	for _, d := range deliveries {
		if d.operation != r.OperationID || d.begun.UnixMilli() < r.RunAt.UnixMilli()-slack {
			bad("was delivered at %s as operation %s; want %s, from %s on", stamp(d.begun.UnixMilli()), d.operation,
				r.OperationID, stamp(r.RunAt.UnixMilli()))
		}
	}
	return faults
}

// checkSpread wants each run that was made before it was to start to start as much later than its tick.
func (s *seen) checkSpread() (faults []string) {
	most := min(s.spread, time.Duration(s.text.gap())*time.Second)
	offsets := map[time.Duration]string{}
	for id, r := range s.runs {
		offset := r.RunAt.Sub(r.ScheduledFor)
		if !r.RunAt.After(r.CreatedAt) {
			continue
		}
		if offset < 0 || offset >= most {
			faults = append(faults, fmt.Sprintf("run %s was to start %v after its tick, the spread is %v", id, offset, s.spread))
		}
		offsets[offset] = id
	}
	if len(offsets) > 1 {
		faults = append(faults, fmt.Sprintf("its runs start later than their ticks by different times: %v", offsets))
	}
	return faults
}

func (s *seen) count(ticks []decided, t *tally) {
	t.schedules++
	t.changes += len(s.changes)
	t.ticks += len(ticks)
	t.runs += len(s.runs)
	for i := range ticks {
		d := &ticks[i]
		if d.eitherText || d.eitherPause {
			t.either++
		}
		if d.madeUp() && !slices.ContainsFunc(s.outages, func(o outage) bool { return o.near(d.at) }) {
			t.delayed++
		}
		for count, is := range map[*int]bool{
			&t.ran: d.outcome == ran, &t.caughtUp: d.outcome == caughtUp, &t.missed: d.is("missed"),
			&t.limit: d.is("limit"), &t.overlap: d.is("overlap"), &t.paused: d.is("paused"), &t.unique: d.is("unique"),
		} {
			if is {
				*count++
			}
		}
	}
	for _, r := range s.runs {
		n := len(s.receiver.of(r.ID))
		t.deliveries += n
		t.again += max(0, n-1)
		switch r.State {
		case "failed":
			t.failed++
		case "cancelled":
			t.cancelled++
		}
	}
	for _, o := range s.outages {
		if slices.ContainsFunc(ticks, func(d decided) bool { return o.covers(d.at) }) {
			t.outages++
		}
	}
}
