package runtime

import (
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

// The wall clock may be set between what a group starts with and the commit of that.
func TestAGroupStartsAtTheTimeThatTheClockShowsThen(t *testing.T) {
	run := &jobs.Run{CreatedAt: 100, RunAt: 100, DueAt: 100}
	failed := &jobs.Run{CreatedAt: 100, RunAt: 100, DueAt: 100, FinishedAt: 100}
	g := &grouping{at: 100, start: &store.GroupStart{
		Deadline: 150, Members: []store.MemberStart{
			{Sub: store.Submission{Run: run}}, {Name: "kept"}, {Sub: store.Submission{Run: failed}},
		},
	}}
	for _, now := range []jobs.Time{100, 40, 40} { // decided again, it is moved no further
		g.startAt(now)
		if g.start.Deadline != now+50 || run.DueAt != now || run.CreatedAt != now || run.RunAt != now || run.FinishedAt != 0 || failed.FinishedAt != now {
			t.Errorf("at %d: until %d, %+v", now, g.start.Deadline, run)
		}
	}
}
