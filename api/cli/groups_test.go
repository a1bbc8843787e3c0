package cli

import (
	"testing"
	"time"

	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

func TestASentenceSaysWhatAGroupWaitsFor(t *testing.T) {
	now := time.Date(2026, 12, 1, 15, 0, 0, 0, time.Local)
	at := func(d time.Duration) jobs.Time { return jobs.TimeOf(now.Add(d)) }
	id := jobs.ID{15: 1}
	member := func(name, state string) wire.GroupMember {
		m := wire.GroupMember{Name: name, State: &state, StartedAt: at(-time.Minute)}
		switch state {
		case "queued":
			m.StartedAt = 0
		case "cancelled":
			m.Missing = true
		case "retrying", "failed":
			m.Error = &jobs.Failure{Kind: jobs.FailHTTP, Type: "http", Message: "503 Service Unavailable"}
		}
		return m
	}
	group := func(state string, counts wire.GroupCounts, states ...string) *words.Group {
		g := &words.Group{Run: wire.Run{State: state}, Members: wire.GroupMembers{Counts: counts, Need: 1}}
		for i, s := range states {
			g.Members.Items = append(g.Members.Items, member(string(rune('a'+i)), s))
		}
		return g
	}
	counts := func(members, good, failed, missing, open int) wire.GroupCounts {
		return wire.GroupCounts{Members: members, Succeeded: good, Failed: failed, Missing: missing, Unfinished: open}
	}
	deadline := group("waiting", counts(1, 0, 0, 0, 1), "running")
	deadline.Members.Deadline = at(2 * time.Minute)
	merging := group("waiting", counts(2, 1, 1, 0, 0), "succeeded", "failed")
	merging.Merges = []wire.Run{{ID: id, State: "running", StartedAt: at(-time.Second)}}
	requeued := group("waiting", counts(2, 1, 0, 0, 1), "succeeded", "running")
	requeued.Merges = merging.Merges
	again := group("succeeded", counts(1, 1, 0, 0, 0), "succeeded")
	again.Merges = []wire.Run{{State: "succeeded"}, {ID: id, State: "queued"}}
	cancelling := group("waiting", counts(3, 0, 0, 1, 2), "cancelled", "running", "running")
	cancelling.Run.CancelRequestedAt = at(-5 * time.Second)
	failed := group("failed", counts(2, 1, 1, 0, 0), "succeeded", "failed")
	failed.Run.Error = &jobs.Failure{Kind: jobs.FailGroup, Type: "group", Message: "1 of 2 members is good, it needs 2"}
	for want, g := range map[string]*words.Group{
		"It waits: 2 of its 3 members have not ended: a runs since 2026-12-01 14:59:00, c has not started. 1 succeeded, it needs 1.": group("waiting", counts(3, 1, 0, 0, 2), "running", "succeeded", "queued"),

		"It waits: 1 of its 2 members has not ended: b is tried again (http: 503 Service Unavailable). 1 succeeded, it needs 1.": group("waiting", counts(2, 1, 0, 0, 1), "succeeded", "retrying"),

		"It waits: 9 of its 9 members have not ended: a waits since 2026-12-01 14:59:00, b runs since 2026-12-01 14:59:00, " +
			"c runs since 2026-12-01 14:59:00 and 6 more. 0 succeeded, it needs 1.": group("waiting", counts(9, 0, 0, 0, 9),
			"waiting", "running", "running", "running", "running", "running", "running", "running", "running"),

		"It waits: 1 of its 1 member has not ended: a runs since 2026-12-01 14:59:00. 0 succeeded, it needs 1. Those that have not " +
			"ended by 2026-12-01 15:02:00 (in 2m) are cancelled.": deadline,

		"Its members have ended (2: 1 succeeded, 1 failed). It waits for its merge, run " + id.String() +
			". It runs since 2026-12-01 14:59:59.": merging,

		"Its members have ended, and of them 1 has been requeued since: it does not wait for that (2: 1 succeeded, 1 not ended). " +
			"It waits for its merge, run " + id.String() + ". It runs since 2026-12-01 14:59:59.": requeued,

		"Its members have ended (1: 1 succeeded): it is about to end.": group("waiting", counts(1, 1, 0, 0, 0), "succeeded"),

		"It is being cancelled since 2026-12-01 14:59:55: it ends when 2 of its 3 members have ended.": cancelling,

		"It succeeded. It has no members.": group("succeeded", counts(0, 0, 0, 0, 0)),

		"It succeeded. Of its 3 members 1 succeeded; not good: b (failed), c (missing).": group("succeeded", counts(3, 1, 1, 1, 0), "succeeded", "failed", "cancelled"),

		"It succeeded. Of its 1 member 1 succeeded. It is merged once more by run " + id.String() + ".": again,

		"It failed: group: 1 of 2 members is good, it needs 2. Of its 2 members 1 succeeded; not good: b (failed).": failed,
	} {
		if got := (words.At{Now: now}).WhyGroup(g); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestAMemberSaysWhyItIsNotGood(t *testing.T) {
	id, gone := jobs.ID{15: 1}, "cancelled"
	late := "failed"
	for want, m := range map[string]wire.GroupMember{
		"missing: no run of it could be made":      {Missing: true},
		"missing: its run is not kept any more":    {Missing: true, Run: id},
		"missing: cancelled":                       {Missing: true, Run: id, State: &gone},
		"missing, failed: exit: exit 1":            {Missing: true, Run: id, State: &late, Error: &jobs.Failure{Kind: "exit", Message: "exit 1"}},
		"failed: exit ValueError: no such account": {Run: id, State: &late, Error: &jobs.Failure{Kind: "exit", Type: "ValueError", Message: "no such account"}},
	} {
		if got := words.MemberState(&m) + ": " + whyBad(&m); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
