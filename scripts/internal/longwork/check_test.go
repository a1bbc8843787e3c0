package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/scripts/internal/rig"
)

func expect(t *testing.T, faults []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(faults) > 0:
		t.Errorf("faults: %q", faults)
	case want != "" && (len(faults) != 1 || !strings.Contains(faults[0], want)):
		t.Errorf("got %q, want one fault with %q", faults, want)
	}
}

func TestAnAttemptReadsWhatWasSavedLast(t *testing.T) {
	first := saved{by: 1, sent: 9, acked: 7}
	cases := []struct {
		name  string
		saves []saved // attempts in order
		want  string
	}{
		{"the last acknowledged", []saved{first, {by: 2, read: value{7, 1}}}, ""},
		{"the last sent", []saved{first, {by: 2, read: value{9, 1}}}, ""},
		{"nothing saved", []saved{{by: 1, sent: 3}, {by: 2}}, ""},
		{"over an attempt that saved nothing", []saved{first, {by: 2, read: value{8, 1}}, {by: 3, read: value{8, 1}}}, ""},
		{
			"over one whose save was not acknowledged",
			[]saved{first, {by: 2, read: value{8, 1}, sent: 9}, {by: 3, read: value{8, 1}}},
			"",
		},
		{"less than was acknowledged", []saved{first, {by: 2, read: value{6, 1}}}, "read 6 of attempt 1, and 7 of attempt 1 had been"},
		{"more than was sent", []saved{first, {by: 2, read: value{10, 1}}}, "read 10 of attempt 1, which saved 1 to 9"},
		{"nothing, though it was acknowledged", []saved{first, {by: 2}}, "read 0 of attempt 0, and 7 of attempt 1"},
		{"of an attempt that saved nothing", []saved{first, {by: 2, read: value{3, 7}}}, "which none before it has saved"},
		{
			"of one that was superseded",
			[]saved{first, {by: 2, read: value{7, 1}, sent: 9, acked: 9}, {by: 3, read: value{9, 1}}},
			"read 9 of attempt 1, and 9 of attempt 2 had been",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := map[int]*saved{}
			for i := range c.saves {
				all[c.saves[i].by] = &c.saves[i]
			}
			expect(t, checkSaves("attempt", all), c.want)
		})
	}
}

func TestLinesCountWhenTheyHadTheirTimeOrTheScriptEnded(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	marks := []mark{{at(10), 100}, {at(12), 300}, {at(14), 500}}
	for _, c := range []struct {
		name   string
		deaths []time.Time
		left   bool
		want   int
	}{
		{"killed soon after", []time.Time{at(5), at(15), at(40)}, false, 300},
		{"killed later", []time.Time{at(30)}, false, 500},
		{"never killed", nil, false, 0},
		{"ended by itself", []time.Time{at(14)}, true, 501},
	} {
		s := saved{sent: 501, marks: marks, left: c.left}
		if s.settle(c.deaths); s.acked != c.want {
			t.Errorf("%s: %d must be kept, want %d", c.name, s.acked, c.want)
		}
	}
}

// row gives an attempt of a history that began a second after the one before, and lasted one.
func row(number int, outcome, kind string) rig.Attempt {
	at := func(s int) string { return time.Unix(int64(1000+s), 0).UTC().Format(time.RFC3339) }
	a := rig.Attempt{Number: number, Outcome: outcome, StartedAt: at(2 * number), FinishedAt: at(2*number + 1), Slices: 1}
	if kind != "" {
		a.Error = &rig.Failure{Kind: kind}
	}
	if kind == "http" {
		a.HTTPStatus = 503
	}
	return a
}

func instant(s int) time.Time { return time.Unix(int64(1000+s), 0) }

// ended gives the record of a run in a state after attempts.
func ended(job, state string, attempts ...rig.Attempt) *record {
	run := &rig.Run{ID: "r", Job: job, State: state, FinishedAt: "t", Attempts: attempts}
	if state == "failed" {
		run.Error = attempts[len(attempts)-1].Error
	}
	r := newHistory().record("r")
	r.job, r.ended, r.final = job, run, run
	return r
}

func TestCallsHaveTheEffectThatTheirAnswerSaid(t *testing.T) {
	says := func(name string, status int, state string) *call {
		return &call{attempt: 1, name: name, status: status, state: state, value: "one", sent: instant(2)}
	}
	cancel := func(status int) *call { return &call{name: "cancel", status: status} }
	at := func(c *call, seconds int) *call { c.sent = instant(seconds); return c }
	long := func(kind string, seconds int) rig.Attempt {
		a := row(1, "failed", kind)
		a.FinishedAt = instant(2 + seconds).UTC().Format(time.RFC3339)
		return a
	}
	good, died, cancelled := row(1, "succeeded", ""), row(1, "interrupted", "lost"), row(1, "cancelled", "")
	reported := row(1, "failed", "reported")
	cases := []struct {
		name    string
		state   string
		attempt rig.Attempt
		meant   string
		calls   []*call
		want    string
	}{
		{"complete", "succeeded", good, accepts, []*call{says(complete, 200, "succeeded")}, ""},
		{"complete whose answer was lost", "succeeded", good, accepts, []*call{says(complete, 0, "")}, ""},
		{
			"complete, repeated", "succeeded", good, accepts,
			[]*call{says(complete, 0, ""), at(says(complete, 200, "succeeded"), 20)},
			"",
		},
		{"an answer of 200", "succeeded", good, done, nil, ""},
		{"fail", "failed", reported, accepts, []*call{says(fail, 200, "failed")}, ""},
		{"fail before complete", "failed", reported, accepts, []*call{says(fail, 200, "running"), says(complete, 200, "running")}, ""},
		{"complete that was refused", "failed", reported, accepts, []*call{says(fail, 200, "failed"), says(complete, 409, "failed")}, ""},
		{"cancelled", "cancelled", cancelled, accepts, []*call{says(complete, 409, "cancelled"), cancel(200)}, ""},
		{"cancelled after an early complete", "cancelled", cancelled, accepts, []*call{says(complete, 200, "running"), cancel(202)}, ""},
		{"the deadline", "failed", long("timeout", 4), accepts, nil, ""},
		{"silence", "failed", long("heartbeat", 2), accepts, []*call{at(says(heartbeat, 204, ""), 1)}, ""},

		{"complete without effect", "failed", reported, accepts, []*call{says(complete, 200, "running")}, "complete was acknowledged"},
		{"complete that a death undid", "failed", died, accepts, []*call{says(complete, 200, "running")}, "complete was acknowledged"},
		{"fail without effect", "succeeded", good, done, []*call{says(fail, 200, "running")}, "fail was acknowledged"},
		{"success of nobody", "succeeded", good, accepts, []*call{says(complete, 409, "waiting")}, "nobody has said that it did"},
		{"failure of nobody", "failed", reported, accepts, nil, "no fail was sent"},
		{"cancel without effect", "succeeded", good, done, []*call{cancel(202)}, "a cancel was acknowledged, and it succeeded"},
		{"cancelled by nobody", "cancelled", cancelled, accepts, []*call{cancel(409)}, "nobody asked for it"},
		{
			"cancelled after complete ended it", "cancelled", cancelled, accepts,
			[]*call{says(complete, 200, "succeeded"), cancel(200)},
			"complete was answered with the state succeeded",
		},
		{"the deadline came early", "failed", long("timeout", 3), accepts, nil, "it lasted 3s"},
		{"not silent", "failed", long("heartbeat", 2), accepts, []*call{at(says(heartbeat, 204, ""), 2), at(says(heartbeat, 204, ""), 3)}, "taken 1s before"},
		{"a word as it was ended", "failed", long("heartbeat", 4), accepts, []*call{at(says(heartbeat, 204, ""), 2), at(says(heartbeat, 204, ""), 5)}, ""},
		{"silent since the start alone", "failed", long("heartbeat", 8), accepts, nil, "was started less than 1s before"},
		{"after its end", "succeeded", good, done, []*call{at(says(heartbeat, 204, ""), 20)}, "its heartbeat, sent 17s later, was taken"},
		{"refused, then taken", "succeeded", good, done, []*call{says(complete, 409, ""), at(says(complete, 200, ""), 20)}, "its complete, sent 17s later"},
		{"not the result", "succeeded", good, accepts, []*call{{attempt: 1, name: complete, status: 200, value: "two"}}, `its result is "one"`},
		{"an end that is none", "failed", row(1, "failed", "connection"), accepts, nil, "meant to answer accepted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.attempt.Number = 1
			r := ended(beaten, c.state, c.attempt)
			r.newest, r.deliveries = 1, []*delivery{{attempt: 1, meant: c.meant}}
			for _, said := range c.calls {
				if said.name == "cancel" {
					r.cancels = append(r.cancels, said)
				} else {
					r.calls = append(r.calls, said)
				}
			}
			if r.final.Result = []byte(`"one"`); !r.said(1).mayHaveCompleted {
				r.final.Result = []byte(`"` + plainly + `"`)
			}
			h := &history{deaths: []time.Time{instant(1), instant(9)}}
			expect(t, h.checkRecord(r, map[string]bool{"r": true}), c.want)
		})
	}
}

func TestAWaitingRunIsNotLost(t *testing.T) {
	r := ended(called, "succeeded", row(1, "interrupted", "lost"), row(2, "succeeded", ""))
	r.final.Result, r.newest = []byte(`"plain"`), 2
	r.deliveries = []*delivery{{attempt: 1, meant: accepts}, {attempt: 2, meant: done}}
	h, stored := &history{}, map[string]bool{"r": true}
	expect(t, h.checkRecord(r, stored), "")
	r.waited[1] = true
	expect(t, h.checkRecord(r, stored), "it had been seen waiting")
}

func TestDeathsEndARunAfterFiveWithoutANewCheckpoint(t *testing.T) {
	deaths := func(n int, last string) (rows []rig.Attempt) {
		for i := 1; i < n; i++ {
			rows = append(rows, row(i, "interrupted", "lost"))
		}
		return append(rows, row(n, "failed", last))
	}
	saves := func(sent, acked int) map[int]*saved { return map[int]*saved{3: {by: 3, sent: sent, acked: acked}} }
	looped := func(n int, saved map[int]*saved) *record {
		r := ended(saveCall, "failed", deaths(n, "crash_loop")...)
		r.saves = saved
		return r
	}
	on := ended(saveCall, "succeeded", append(deaths(6, "lost"), row(7, "succeeded", ""))...)
	onSaved := ended(saveCall, "succeeded", on.final.Attempts...)
	onSaved.saves = saves(4, 0)
	for _, c := range []struct {
		name string
		r    *record
		want string
	}{
		{"five deaths", looped(5, nil), ""},
		{"a save between that was not acknowledged", looped(5, saves(4, 0)), ""},
		{"more than five, the save not acknowledged", onSaved, ""},
		{"four deaths", looped(4, nil), "crash_loop after 4 deaths"},
		{"five with a checkpoint between", looped(5, saves(4, 4)), "crash_loop after 3 deaths"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, checkDeaths(c.r), c.want) })
	}
	if faults := checkDeaths(on); len(faults) == 0 || !strings.Contains(faults[0], "by death 5 in a row, and the run went on") {
		t.Errorf("six deaths, and it went on: got %q", faults)
	}
}

func TestSlicesGoOnOneByOne(t *testing.T) {
	type took struct {
		attempt, k, n int
		meant         string
	}
	for _, c := range []struct {
		name string
		took []took
		want string
	}{
		{"one after another", []took{{1, 0, 0, goesOn}, {1, 1, 1, goesOn}, {1, 2, 2, done}}, ""},
		{"again after a failure", []took{{1, 0, 0, goesOn}, {1, 1, 1, refuses}, {2, 1, 1, done}}, ""},
		{"again after a death", []took{{1, 0, 0, goesOn}, {2, 0, 0, goesOn}, {2, 1, 1, done}}, ""},
		{"not from the first", []took{{1, 1, 1, goesOn}}, "the first slice of the operation has continue 1"},
		{"back", []took{{1, 0, 0, goesOn}, {1, 1, 1, goesOn}, {2, 0, 0, goesOn}}, "continue 0 came after 1"},
		{"left out", []took{{1, 0, 0, goesOn}, {1, 2, 2, goesOn}}, "those between are left out"},
		{"on after a failure", []took{{1, 0, 0, refuses}, {2, 1, 1, done}}, `0 was answered with "503"`},
		{"twice", []took{{1, 0, 0, goesOn}, {1, 0, 0, goesOn}}, "delivered twice in one attempt"},
		{"another checkpoint", []took{{1, 0, 0, goesOn}, {1, 1, 0, goesOn}}, "continue 1 has checkpoint 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			for _, d := range c.took {
				in := &request{
					attempt: &attempt{run: "r", number: d.attempt}, operation: "op", read: value{N: d.n},
					delivery: &delivery{attempt: d.attempt, k: d.k},
				}
				h.slice(in)
				h.means(in.delivery, d.meant)
			}
			expect(t, h.faults, c.want)
		})
	}
}

func TestAHistoryOfSlicesIsThatOfTheDeliveries(t *testing.T) {
	slicesOf := func(a rig.Attempt, n int) rig.Attempt { a.Slices = n; return a }
	ds := func(attempt int, meant ...string) (all []*delivery) {
		for k, m := range meant {
			all = append(all, &delivery{attempt: attempt, k: k, meant: m})
		}
		return all
	}
	bad := func(n int) rig.Attempt { return row(n, "failed", "http") }
	for _, c := range []struct {
		name       string
		r          *record
		deliveries []*delivery
		want       string
	}{
		{"all in one", ended(sliced, "succeeded", slicesOf(row(1, "succeeded", ""), 2)), ds(1, goesOn, done), ""},
		{"one too many", ended(sliced, "succeeded", slicesOf(row(1, "succeeded", ""), 3)), ds(1, goesOn, done), "has 3 slices, and 2"},
		{"one died before it came", ended(sliced, "cancelled", slicesOf(row(1, "interrupted", "lost"), 3)), ds(1, goesOn, goesOn), ""},
		{"success of nobody", ended(sliced, "succeeded", slicesOf(row(1, "succeeded", ""), 2)), ds(1, goesOn, goesOn), `answered with "continue"`},
		{"three in a row", ended(sliced, "failed", bad(1), bad(2), bad(3)), append(ds(1, refuses), append(ds(2, refuses), ds(3, refuses)...)...), ""},
		{"two in a row", ended(sliced, "failed", bad(1), bad(2)), append(ds(1, refuses), ds(2, refuses)...), "failed after 2 failed attempts in a row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.deliveries = c.deliveries
			if c.r.final.State == "succeeded" {
				c.r.final.Result = fmt.Appendf(nil, `{"slices":%d}`, c.r.highest()+1)
			}
			expect(t, checkSlices(c.r), c.want)
		})
	}
}

func TestMoreThanTheLimitAtOnceIsFound(t *testing.T) {
	at := func(number, from, until int) rig.Attempt {
		a := row(number, "succeeded", "")
		a.StartedAt, a.FinishedAt = instant(from).Format(time.RFC3339), instant(until).Format(time.RFC3339)
		return a
	}
	one, two := ended(called, "succeeded", at(1, 0, 5), at(2, 5, 9)), ended(called, "succeeded", at(1, 3, 9))
	if faults := tooMany(called, []*record{one, two}, 2); len(faults) > 0 {
		t.Errorf("two at once, the limit is 2: %q", faults)
	}
	expect(t, tooMany(called, []*record{one, two, ended(called, "succeeded", at(1, 8, 9))}, 2), "3 attempts of called were under way")
}

func TestWhatIsSaidOfAnAttemptThatIsOverMustBeRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []*call
		said   string
		status int
		want   string
	}{
		{"refused", nil, heartbeat, 409, ""},
		{"taken", nil, heartbeat, 204, "attempt 1 was over, and its heartbeat was taken with 204"},
		{"the end that ended it", []*call{{attempt: 1, name: complete, status: 200}}, complete, 200, ""},
		{"the end whose answer was lost", []*call{{attempt: 1, name: fail}}, fail, 200, ""},
		{"another end", []*call{{attempt: 1, name: fail, status: 200}}, complete, 200, "its complete was taken"},
		{"an end that was refused", []*call{{attempt: 1, name: complete, status: 409}}, complete, 200, "its complete was taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			h.record("r").calls = c.before
			h.delivered("r", &delivery{attempt: 2})
			said := &call{attempt: 1, name: c.said}
			h.calls("r", said)
			h.answered("r", said, c.status, "")
			expect(t, h.faults, c.want)
		})
	}
}

func TestRunsOfACheckpointKeyGoOnOneAfterAnother(t *testing.T) {
	begins := func(id string, from int) *record {
		r := ended(batched, "failed", row(1, "failed", "http"))
		r.id, r.batch = id, "a"
		r.final.Attempts[0].StartedAt = instant(from).UTC().Format(time.RFC3339)
		r.final.Attempts[0].FinishedAt = instant(from + 2).UTC().Format(time.RFC3339)
		return r
	}
	for _, c := range []struct {
		name string
		read value
		of   []*record
		want string
	}{
		{"in order", value{4, 1}, []*record{begins("1", 0), begins("2", 2)}, ""},
		{"not from the one before", value{3, 1}, []*record{begins("1", 0), begins("2", 2)}, "checkpoint key a: delivery 2 read 3"},
		{"at the same time", value{4, 1}, []*record{begins("1", 0), begins("2", 1)}, "2 attempts of batched a were under way"},
		{"out of order", value{4, 1}, []*record{begins("1", 5), begins("2", 1)}, "run 2 began at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			h.batches["a"] = map[int]*saved{1: {by: 1, sent: 5, acked: 4}, 2: {by: 2, read: c.read}}
			expect(t, h.checkBatches(c.of), c.want)
		})
	}
}

func TestASaverThatWasLostBeginsAgainAtOnce(t *testing.T) {
	r := ended(saveCall, "succeeded", row(1, "interrupted", "lost"), row(2, "succeeded", ""))
	r.saves = map[int]*saved{1: {by: 1, sent: 4, acked: 4}}
	expect(t, checkSaver(r), "")
	r.final.Attempts[1].StartedAt = instant(9).UTC().Format(time.RFC3339)
	expect(t, checkSaver(r), "attempt 1 had saved, and the next began 6s after it was lost")
}
