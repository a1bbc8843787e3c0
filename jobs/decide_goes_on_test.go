package jobs

import (
	"reflect"
	"strings"
	"testing"
)

func slice(checkpoint string) Ending {
	return Ending{
		Report: Report{Continue: true, Checkpoint: Raw(checkpoint), HTTPStatus: 200, ExitCode: -1}, Now: at,
		Counts: Counts{Number: 3, Charged: 2, Budgets: map[string]int{"k": 1}, Deaths: 2},
	}
}

func TestAGoodSliceGoesOnAtOnceAndCountsAnew(t *testing.T) {
	large := `"` + strings.Repeat("é", (MaxHeaderCheckpoint-2)/6) + `"`
	for name, e := range map[string]Ending{
		"the first":            slice(`1`),
		"another":              with(slice(`{"next": 2}`), func(e *Ending) { e.Checkpoint = Raw(`{"next": 1}`) }),
		"a number by its text": with(slice(`1.0`), func(e *Ending) { e.Checkpoint = Raw(`1`) }),
		"as large as may be":   slice(large),
		"spaces do not count":  slice(`[` + strings.Repeat(" ", MaxHeaderCheckpoint) + `1]`),
		"the last there is":    with(slice(`1`), func(e *Ending) { e.Continues = MaxContinues - 1 }),
	} {
		got := Decide(e)
		want := Transition{State: Running, DueAt: at, Counts: Counts{Number: 3}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v: want %+v", name, got, want)
		}
	}
}

func TestABadSliceFails(t *testing.T) {
	for name, c := range map[string]struct {
		e      Ending
		reason string
	}{
		"no checkpoint": {with(slice(""), func(e *Ending) { e.Report.Checkpoint = nil }), "brings no checkpoint"},
		"null":          {slice("null"), "brings no checkpoint"},
		"null after null": {
			with(slice("null"), func(e *Ending) { e.Checkpoint = Raw("null") }), "brings no checkpoint",
		},
		"unchanged": {
			with(slice(`{"b":1, "a":"\u00e9"}`), func(e *Ending) { e.Checkpoint = Raw(`{"a":"é","b":1}`) }), "it would never end",
		},
		"too large": {slice(`"` + strings.Repeat("x", MaxHeaderCheckpoint-1) + `"`), "a checkpoint of 4097 bytes as ASCII: want at most 4096"},
		"too large as ASCII": {
			slice(`"` + strings.Repeat("é", MaxHeaderCheckpoint/6+1) + `"`), "want at most 4096",
		},
		"one too many": {with(slice(`1`), func(e *Ending) { e.Continues = MaxContinues }), "once more after 10000 slices"},
	} {
		got := Decide(c.e)
		if got.State != Failed || got.Outcome != OutcomeFailed || got.Error == nil || got.Error.Kind != FailInvalid ||
			!strings.Contains(got.Error.Message, c.reason) {
			t.Errorf("%s: %+v, error %v: want %q", name, got, got.Error, c.reason)
		}
		if got.Counts.Charged != 3 || got.Decision.By != ByOtherwise {
			t.Errorf("%s: charged %d, by %s", name, got.Counts.Charged, got.Decision.By)
		}
	}
}

func TestWhatWouldGoOnEndsWhereItMay(t *testing.T) {
	taken := Ending{
		Report: Report{Accepted: true, HTTPStatus: 202, ExitCode: -1}, Now: at,
		Counts: Counts{Number: 2, Charged: 1, Deaths: 1},
	}
	if got := Decide(taken); !reflect.DeepEqual(got, Transition{State: Waiting, Counts: taken.Counts}) {
		t.Errorf("taken on: %+v", got)
	}
	asked := func(e *Ending) { e.CancelAsked = true }
	deleted := func(e *Ending) { e.Orphaned = true }
	for name, c := range map[string]struct {
		e     Ending
		state State
		by    string
	}{
		"a slice that is to be cancelled":    {with(slice("1"), asked), Cancelled, ByCancel},
		"a slice of a deleted job":           {with(slice("1"), deleted), Failed, ByJobDeleted},
		"a bad slice of a deleted job":       {with(slice("null"), deleted), Failed, ByOtherwise},
		"taken on though it was cancelled":   {with(taken, asked), Cancelled, ByCancel},
		"taken on though its job is deleted": {with(taken, deleted), Cancelled, ByJobDeleted},
		"stopped within the request": {
			with(taken, func(e *Ending) { e.Report.Stopped = ErrShutdown }), Queued, ByInterrupted,
		},
	} {
		got := Decide(c.e)
		if got.State != c.state || got.Decision.By != c.by || got.Decision.Reason == "" || got.Outcome == 0 {
			t.Errorf("%s: %+v: want %s by %s", name, got, c.state, c.by)
		}
		if (got.State == Failed) != (got.Error != nil) && got.State != Queued {
			t.Errorf("%s: error %v", name, got.Error)
		}
	}
}
