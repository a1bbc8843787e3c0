package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// day is the midnight that the tests count seconds from.
const day = 1_800_000_000 / 86400 * 86400

func at(second float64) time.Time { return time.UnixMilli(day*1000 + int64(second*1000)) }

func ms(second float64) int64 { return at(second).UnixMilli() }

// ticking is a schedule of every second from second 0 to 20, down from 5.2 to 11.2, as a sound server leaves it:
// latest, so that 6 to 9 are missed, 10 is caught up and 11 on time.
func ticking() *seen {
	s := &seen{
		schedule: &schedule{name: "s", job: "quick", text: secondly(), overlap: "queue", mode: "latest"},
		outages:  []outage{{at(5.2), at(11.2)}},
		receiver: &receiver{deliveries: map[string][]*delivery{}},
		runs:     map[string]*tickRun{},
	}
	s.changes = []change{
		{what: doPut, text: s.text, sent: at(0.1), answered: at(0.3), at: ms(0.2)},
		{what: doPause, sent: at(20.1), answered: at(20.3), at: ms(20.2)},
	}
	for second := 1; second <= 20; second++ {
		switch {
		case second == 6:
			s.rows = append(s.rows, row{ms(6), ms(9), 4, skipped, "missed", ""})
		case second == 10:
			s.make(10, caughtUp, 11.3)
		case second == 11:
			s.make(11, ran, 11.3)
		case second < 6 || second > 9:
			s.make(float64(second), ran, float64(second)+0.01)
		}
	}
	return s
}

// make adds a tick that made a run at a time, and was delivered then.
func (s *seen) make(tick float64, outcome string, made float64) {
	id := fmt.Sprintf("run-%v", tick)
	s.rows = append(s.rows, row{ms(tick), ms(tick), 1, outcome, "", id})
	s.runs[id] = &tickRun{
		ID: id, OperationID: id, State: "succeeded", ScheduledFor: at(tick), CreatedAt: at(made), RunAt: at(made),
		Trigger: map[string]string{ran: "schedule", caughtUp: "catch_up"}[outcome],
	}
	// Of the two that an outage leaves the regular one goes first.
	begun := made + 0.02
	if outcome == caughtUp {
		begun += 0.2
	}
	s.receiver.deliveries[id] = []*delivery{{operation: id, begun: at(begun), answered: at(begun + 0.1)}}
}

// drop takes the line of a tick out of the ledger, its run too.
func (s *seen) drop(tick float64) {
	s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return r.from == ms(tick) })
	delete(s.runs, fmt.Sprintf("run-%v", tick))
}

func (s *seen) row(tick float64) *row {
	return &s.rows[slices.IndexFunc(s.rows, func(r row) bool { return r.from == ms(tick) })]
}

func (s *seen) sort() {
	slices.SortStableFunc(s.rows, func(a, b row) int { return int(a.from - b.from) })
}

// A tool that finds nothing proves something only if it finds what is there.
func TestWhatIsWrongInALedgerIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*seen)
		want  string // "": nothing
	}{
		"sound":                      {func(*seen) {}, ""},
		"a tick is missing":          {func(s *seen) { s.drop(3) }, "12:00:03.000 is not in the ledger"},
		"the last one is missing":    {func(s *seen) { s.drop(20) }, "12:00:20.000 is not in the ledger"},
		"too few were skipped":       {func(s *seen) { s.row(6).count-- }, "the ledger has 3 ticks"},
		"a skipped one runs as well": {func(s *seen) { s.make(7, ran, 7.01); s.sort() }, "07.000 is in the ledger twice"},
		"one that is none":           {func(s *seen) { s.make(3.5, ran, 3.51); s.sort() }, "the schedule has 0"},
		"two runs of one tick": {func(s *seen) {
			twin := *s.runs["run-3"]
			twin.ID = "twin"
			s.runs["twin"] = &twin
		}, "run twin of the tick"},
		"a run that is gone":    {func(s *seen) { delete(s.runs, "run-3") }, "which is not of it"},
		"the run of another":    {func(s *seen) { s.row(3).run = "run-4" }, "has the run of another one"},
		"a run of another tick": {func(s *seen) { s.runs["run-3"].ScheduledFor = at(99) }, "which is not of it"},
		"ran, by catching up":   {func(s *seen) { s.runs["run-3"].Trigger = "catch_up" }, "which is not of it"},
		"never delivered":       {func(s *seen) { delete(s.receiver.deliveries, "run-3") }, "was never delivered"},
		"not ended":             {func(s *seen) { s.runs["run-3"].State = "queued" }, "is still queued"},
		"failed":                {func(s *seen) { s.runs["run-3"].State = "failed" }, "failed: no error"},
		"delivered too early":   {func(s *seen) { s.runs["run-3"].RunAt = at(4) }, "was delivered at"},
		"two caught up": {func(s *seen) {
			s.row(6).to, s.row(6).count = ms(8), 3
			s.make(9, caughtUp, 11.3)
			s.sort()
		}, "2 of 6 ticks were caught up, the most is 1"},
		"none caught up": {func(s *seen) {
			s.drop(10)
			s.row(6).to, s.row(6).count = ms(10), 5
		}, "0 after them caught up; want 1"},
		"not the newest caught up": {func(s *seen) {
			s.drop(10)
			s.row(6).to, s.row(6).count = ms(8), 3
			s.make(9, caughtUp, 11.3)
			s.rows = append(s.rows, row{ms(10), ms(10), 1, skipped, "missed", ""})
			s.sort()
		}, "was not the newest one"},
		"ran after an outage": {func(s *seen) {
			s.row(6).to, s.row(6).count = ms(8), 3
			s.make(9, ran, 11.3)
			s.sort()
		}, "ran is one of 6 that it covers"},
		"ran late":       {func(s *seen) { s.runs["run-3"].CreatedAt = at(13.5) }, "its run was made 10500 ms after it"},
		"ran early":      {func(s *seen) { s.runs["run-3"].CreatedAt = at(2.9) }, "its run was made -100 ms after it"},
		"made up for":    {func(s *seen) { s.mode = "none" }, "not with overlap: queue, catch_up: none"},
		"for the limit":  {func(s *seen) { s.row(6).reason = "limit" }, "(limit): not with"},
		"overlap":        {func(s *seen) { *s.row(3) = row{ms(3), ms(3), 1, skipped, "overlap", ""} }, "(overlap): not with"},
		"paused":         {func(s *seen) { *s.row(3) = row{ms(3), ms(3), 1, skipped, "paused", ""} }, "it was paused: false"},
		"two at once":    {func(s *seen) { s.receiver.deliveries["run-3"][0].answered = at(4.1) }, "was under way until"},
		"allowed":        {func(s *seen) { s.overlap = "allow"; s.receiver.deliveries["run-3"][0].answered = at(4.1) }, ""},
		"without spread": {func(s *seen) { s.runs["run-3"].RunAt = at(3.02) }, "was to start 20ms after its tick"},
		"spread": {func(s *seen) {
			s.spread = 500 * time.Millisecond
			s.runs["run-3"].RunAt, s.runs["run-4"].RunAt = at(3.02), at(4.03)
		}, "by different times"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ticking()
			c.spoil(s)
			var all tally
			got := strings.ReplaceAll(strings.Join(s.check(&all), "\n"), at(0).UTC().Format("15:04:"), "12:00:")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// catchingUpAll is the schedule of ticking with catch_up: all, at most 3: 6 and 7 are skipped, 8 to 10 caught up.
func catchingUpAll() *seen {
	s := ticking()
	s.mode, s.limit = "all", 3
	*s.row(6) = row{ms(6), ms(7), 2, skipped, "limit", ""}
	for _, tick := range []float64{8, 9} {
		s.make(tick, caughtUp, 11.3)
	}
	for i, tick := range []float64{8, 9, 10} {
		begun := at(11.5 + float64(i)/8)
		s.receiver.deliveries[fmt.Sprintf("run-%v", tick)][0] = &delivery{
			operation: fmt.Sprintf("run-%v", tick), begun: begun, answered: begun.Add(100 * time.Millisecond),
		}
	}
	s.sort()
	return s
}

func TestWhatIsWrongWithCatchingUpAllIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*seen)
		want  string
	}{
		"sound": {func(*seen) {}, ""},
		"one too many": {func(s *seen) {
			s.row(6).to, s.row(6).count = ms(6), 1
			s.make(7, caughtUp, 11.3)
			s.receiver.deliveries["run-7"][0].begun, s.receiver.deliveries["run-7"][0].answered = at(11.45), at(11.46)
			s.sort()
		}, "4 of 6 ticks were caught up, the most is 3"},
		"one too few": {func(s *seen) {
			s.drop(8)
			s.row(6).to, s.row(6).count = ms(8), 3
		}, "2 after them caught up; want 3"},
		"missed": {func(s *seen) { s.row(6).reason = "missed" }, "(missed): not with"},
		"in disorder": {func(s *seen) {
			d := s.receiver.deliveries
			d["run-8"], d["run-9"] = d["run-9"], d["run-8"]
			d["run-8"][0].operation, d["run-9"][0].operation = "run-8", "run-9"
		}, "was caught up before"},
		"at once": {func(s *seen) {
			s.overlap = "allow"
			s.receiver.deliveries["run-8"][0].answered = at(11.65)
		}, "was under way until"},
		"within the window": {func(s *seen) {
			s.limit, s.window = 0, 3500*time.Millisecond
			s.row(6).reason = "missed"
		}, ""},
		"out of the window": {func(s *seen) {
			s.limit, s.window = 0, 3*time.Second
			s.row(6).reason = "missed"
		}, "the window of catch_up began at"},
	} {
		t.Run(name, func(t *testing.T) {
			s := catchingUpAll()
			c.spoil(s)
			var all tally
			got := strings.Join(s.check(&all), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheFileAndTheAuditAreComparedWithWhatWasSeen(t *testing.T) {
	sound := func() (*seen, *file) {
		s := ticking()
		s.shown = slices.Clone(s.rows)
		f := &file{ticks: map[string][]row{"s": s.rows}, runs: map[string][]storedRun{}}
		for id, r := range s.runs {
			f.runs["s"] = append(f.runs["s"], storedRun{id, r.Trigger, r.ScheduledFor.UnixMilli()})
		}
		f.audit = []done{{"job", "quick", doPut, ms(0)}, {"schedule", "s", doPut, ms(0.2)}, {"schedule", "s", doPause, ms(20.2)}}
		return s, f
	}
	for name, c := range map[string]struct {
		spoil func(*seen, *file)
		want  string
	}{
		"sound":              {func(*seen, *file) {}, ""},
		"another line":       {func(s *seen, _ *file) { s.shown[3].outcome = caughtUp }, "and they differ"},
		"a run that hides":   {func(s *seen, _ *file) { delete(s.runs, "run-3") }, "is not among its runs in the API"},
		"a run of no file":   {func(_ *seen, f *file) { f.runs["s"] = f.runs["s"][1:] }, "and not in the file"},
		"no audit":           {func(_ *seen, f *file) { f.audit = f.audit[:2] }, "2 changes were acknowledged, the audit has 1"},
		"as of another time": {func(_ *seen, f *file) { f.audit[1].at = ms(0.5) }, "the audit has put at"},
		"another change":     {func(_ *seen, f *file) { f.audit[2].what = doDelete }, "the audit has delete at"},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := sound()
			c.spoil(s, f)
			got := strings.Join(s.take(f), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
