package api

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const soon = `"retry":{"max_attempts":5,"backoff":{"kind":"fixed","base":"20ms"}}`

// failing answers 500 so many times to each run, and then 200.
func failing(times int) http.HandlerFunc {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if seen[r.Header.Get("Nightshift-Run")]++; seen[r.Header.Get("Nightshift-Run")] <= times {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `"good"`)
	}
}

// groupOfJobs is the text of a group with a member of each job.
func groupOfJobs(more string, jobs ...string) string {
	members := make([]string, len(jobs))
	for i, job := range jobs {
		members[i] = fmt.Sprintf(`{"name": "m%d", "job": %q, "payload": {"n": %d}}`, i, job, i)
	}
	return `{"members": [` + strings.Join(members, ",") + `], "merge": {"job": "merge"}` + more + `}`
}

func TestTheMergeWaitsForMembersThatAreTriedAgain(t *testing.T) { // cases 104, 105
	ts := newTestServer(t)
	ts.sources()
	ts.hook("flaky", failing(2), soon)
	ts.hook("last", failing(4), soon) // good in its last attempt
	for _, job := range []string{"flaky", "last"} {
		ts.unguarded(job)
	}
	run := ts.call("POST", "/v1/groups?wait=60s", groupOfJobs("", "fetch", "fetch", "flaky", "last", "fetch")).want(200)
	if run.field("state") != "succeeded" || run.field("result.results.4.name") != "m4" || run.field("result.results.5") != "" {
		t.Fatalf("%s", run.body)
	}
	for i, want := range []string{"", "", "good", "good", ""} {
		place := fmt.Sprintf("result.results.%d.", i)
		if run.field(place+"state") != "succeeded" || want != "" && run.field(place+"result") != want {
			t.Errorf("%s: %s", place, run.body)
		}
	}
	if g := ts.members(run.field("id"), ""); len(g.Merges) != 1 {
		t.Errorf("merges %v", g.Merges)
	}
}

func TestAMergeThatFailsIsTriedAgainWithTheSameResults(t *testing.T) { // case 112
	ts := newTestServer(t)
	ts.sources()
	var mu sync.Mutex
	var got []string
	ts.hook("merge", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, string(text)); len(got) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}, soon)
	ts.unguarded("merge")
	run := ts.call("POST", "/v1/groups?wait=60s", groupOfJobs("", "fetch")).want(200)
	if run.field("state") != "succeeded" || len(got) != 2 || got[0] != got[1] || !strings.Contains(got[0], `"succeeded":["m0"]`) {
		t.Errorf("%s\n%q", run.body, got)
	}
	ts.hook("merge", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	run = ts.call("POST", "/v1/groups?wait=60s", groupOfJobs("", "fetch")).want(200)
	merge := ts.members(run.field("id"), "").Merges[0].String()
	if run.field("state") != "failed" || run.field("error.kind") != "merge" || !strings.Contains(run.field("error.message"), merge) {
		t.Errorf("%s", run.body)
	}
	if a := ts.call("GET", "/v1/groups?error_kind=merge", "").want(200); a.field("items.0.id") != run.field("id") {
		t.Errorf("%s", a.body)
	}
}

func TestResultsComeInTheOrderOfTheMembers(t *testing.T) { // case 115
	ts := newTestServer(t)
	var mu sync.Mutex
	var order []string
	turn := sync.NewCond(&mu)
	const members = 12 // the host takes 16 calls at a time
	ts.hook("fetch", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		for string(text) != fmt.Sprintf(`{"n": %d}`, members-1-len(order)) { // the last is the first to end
			turn.Wait()
		}
		order = append(order, string(text))
		turn.Broadcast()
		_, _ = w.Write(text)
	})
	ts.hook("merge", repeat)
	run := ts.call("POST", "/v1/groups?wait=60s", groupOfJobs("", slices.Repeat([]string{"fetch"}, members)...)).want(200)
	for i := range members {
		place := fmt.Sprintf("result.results.%d.", i)
		if run.field(place+"name") != fmt.Sprintf("m%d", i) || run.field(place+"result.n") != fmt.Sprint(i) {
			t.Errorf("%s: %s", place, run.body)
		}
	}
	if order[0] != fmt.Sprintf(`{"n": %d}`, members-1) {
		t.Errorf("they ended in the order %v", order)
	}
}

func TestMembersThatAreTakenAwayLeaveNoGroupOpen(t *testing.T) { // case 107
	ts := newTestServer(t)
	ts.sources()
	hold, _ := gate(t)
	ts.hook("slow", hold)
	ts.hook("paused", ok("1"))
	ts.call("POST", "/v1/jobs/paused/pause", "").want(200)
	id := ts.call("POST", "/v1/groups", groupOfJobs(`, "need": 1`, "fetch", "paused", "slow")).want(202).field("id")
	ts.await("two to be under way", func() bool {
		g := ts.members(id, "")
		return len(g.Items) == 3 && *g.Items[0].State == "succeeded" && *g.Items[2].State == "running"
	})
	g := ts.members(id, "")
	for i, m := range g.Items {
		ts.call("DELETE", "/v1/runs/"+m.Run.String(), "").problem(probState)
		if i > 0 {
			ts.call("POST", "/v1/runs/"+m.Run.String()+"/cancel", "")
		}
	}
	if text := ts.call("DELETE", "/v1/jobs/merge", "").problem(probNamed); !strings.Contains(text, id) {
		t.Error(text)
	}
	begun := time.Now()
	run := ts.until(id, "succeeded")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it ended after %v", took)
	}
	if run.field("result.missing.0") != "m1" || run.field("result.missing.1") != "m2" || run.field("result.succeeded.0") != "m0" {
		t.Errorf("%s", run.body)
	}
	ts.call("DELETE", "/v1/runs/"+g.Items[0].Run.String(), "").want(204)
	if left := ts.members(id, ""); left.Items[0].State != nil || !left.Items[0].Missing || left.Counts.Missing != 3 {
		t.Errorf("%+v", left)
	}
}

func TestTheFirstBadMemberEndsAGroupThatSaysSo(t *testing.T) { // case 109
	ts := newTestServer(t)
	ts.sources()
	hold, _ := gate(t)
	ts.hook("slow", hold)
	ts.hook("bad", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	run := ts.call("POST", "/v1/groups?wait=60s", groupOfJobs(`, "need": 0, "on_member_failure": "cancel_rest"`,
		"slow", "bad", "slow")).want(200)
	g := ts.members(run.field("id"), "")
	if run.field("state") != "failed" || run.field("error.kind") != "group" || len(g.Merges) != 0 ||
		*g.Items[0].State != "cancelled" || *g.Items[1].State != "failed" || *g.Items[2].State != "cancelled" {
		t.Errorf("%s %+v", run.body, g)
	}
	late := ts.call("POST", "/v1/groups?wait=60s", groupOfJobs(`, "need": 1, "deadline": "300ms"`, "fetch", "slow")).want(200)
	if late.field("state") != "succeeded" || late.field("result.missing.0") != "m1" {
		t.Errorf("%s", late.body)
	}
	if g := ts.members(late.field("id"), ""); g.Deadline == 0 || !g.Items[1].Missing || g.Counts.Missing != 1 {
		t.Errorf("%+v", g)
	}
}
