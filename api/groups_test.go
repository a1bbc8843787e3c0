package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"nightshift/api/wire"
)

// sources registers the job fetch, whose runs end as their payload says, and the job merge, which answers
// what it gets.
func (ts *testServer) sources() {
	ts.t.Helper()
	ts.hook("fetch", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Fail bool }
		text, _ := io.ReadAll(r.Body)
		if _ = json.Unmarshal(text, &in); in.Fail {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		_, _ = w.Write(text)
	})
	ts.hook("merge", repeat)
}

// repeat answers what it got.
func repeat(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

const oneFails = `{"members": [
	{"name": "a", "job": "fetch", "payload": {"n": "{{ payload.day }}"}},
	{"name": "b", "job": "fetch", "payload": {"fail": true}},
	{"name": "c", "job": "fetch"}
], "merge": {"job": "merge"}, "need": "60%", "payload": {"day":  7.50}}`

// members reads how a group stands.
func (ts *testServer) members(id, query string, headers ...string) (g wire.GroupMembers) {
	ts.t.Helper()
	ts.call("GET", "/v1/runs/"+id+"/members"+query, "", headers...).want(200).into(&g)
	return g
}

func TestAGroupWithoutAJobIsRunAndMerged(t *testing.T) { // cases 109, 115
	ts := newTestServer(t)
	ts.sources()
	made := ts.call("POST", "/v1/groups", oneFails).want(202)
	id := made.field("id")
	if made.field("job") != "_group" || made.header.Get("Location") != "/v1/runs/"+id || made.field("watch_url") == "" {
		t.Errorf("%s", made.body)
	}
	run := ts.until(id, "succeeded")
	g := ts.members(id, "")
	if want := (wire.GroupCounts{Members: 3, Succeeded: 2, Failed: 1}); g.Counts != want || g.Need != 2 || *g.Merge != "merge" {
		t.Errorf("%+v", g)
	}
	for i, name := range []string{"a", "b", "c"} {
		m := g.Items[i]
		one := ts.call("GET", "/v1/runs/"+m.Run.String(), "").want(200)
		if m.Name != name || one.field("group") != id || one.field("member") != name || one.field("trigger") != "group" ||
			one.field("state") != *m.State || one.field("correlation_id") != run.field("correlation_id") {
			t.Errorf("member %d %+v: %s", i, m, one.body)
		}
	}
	if b := g.Items[1]; *b.State != "failed" || b.Error == nil || b.Error.Stack != "" || b.Missing {
		t.Errorf("%+v", b)
	}
	if len(g.Merges) != 1 {
		t.Fatalf("merges %v", g.Merges)
	}
	merge := ts.call("GET", "/v1/runs/"+g.Merges[0].String(), "").want(200)
	want := fmt.Sprintf(`{"group":%q,"succeeded":["a","c"],"failed":["b"],"missing":[],"results":[`+
		`{"name":"a","job":"fetch","run":%q,"state":"succeeded","result":{"n": 7.50},"error":null},`+
		`{"name":"b","job":"fetch","run":%q,"state":"failed","result":null,"error":{"kind":"http","type":"http",`+
		`"message":%q}},{"name":"c","job":"fetch","run":%q,"state":"succeeded","result":{"day":  7.50},"error":null}]}`,
		id, g.Items[0].Run, g.Items[1].Run, g.Items[1].Error.Message, g.Items[2].Run)
	for _, a := range []*answer{merge, run} {
		var got struct{ Payload, Result json.RawMessage }
		a.into(&got)
		if string(got.Result) != want || a == merge && string(got.Payload) != want {
			t.Errorf("got  %s\nand  %s\nwant %s", got.Payload, got.Result, want)
		}
	}
	if merge.field("group") != id || merge.field("member") != "" || merge.field("trigger") != "group" {
		t.Errorf("merge %s", merge.body)
	}
}

func TestGroupsAreListedAndPagedInTheirOrder(t *testing.T) {
	ts := newTestServer(t)
	ts.sources()
	id := ts.call("POST", "/v1/groups", oneFails).want(202).field("id")
	ts.until(id, "succeeded")
	empty := ts.call("POST", "/v1/groups?wait=60s", `{"members": [], "merge": {"job": "merge"}}`).want(200)
	if empty.field("state") != "succeeded" || empty.field("result.group") != empty.field("id") {
		t.Errorf("a group of none: %s", empty.body) // case 111
	}
	list := ts.call("GET", "/v1/groups", "").want(200)
	if list.field("items.0.id") != empty.field("id") || list.field("items.1.id") != id || list.field("items.2.id") != "" {
		t.Errorf("%s", list.body)
	}
	if a := ts.call("GET", "/v1/groups?state=failed", ""); a.field("items.0.id") != "" {
		t.Errorf("failed ones: %s", a.body)
	}
	if a := ts.call("GET", "/v1/runs?trigger=group", "").want(200); !strings.Contains(string(a.body), id) {
		t.Errorf("members: %s", a.body)
	}
	first := ts.members(id, "?limit=2")
	if len(first.Items) != 2 || first.Next == nil || first.Limit != 2 || first.Counts.Members != 3 {
		t.Fatalf("%+v", first)
	}
	if rest := ts.members(id, "?limit=2&cursor="+*first.Next); len(rest.Items) != 1 || rest.Items[0].Name != "c" || rest.Next != nil {
		t.Errorf("%+v", rest)
	}
	ts.call("GET", "/v1/runs/"+id+"/members?cursor=x", "").problem(probInvalid)
	member := first.Items[0].Run.String()
	text := ts.call("GET", "/v1/runs/"+member+"/members", "").problem(probNotFound)
	if !strings.Contains(text, "the run is of the job fetch, which is no group: it is a member of the group of run "+id) {
		t.Error(text)
	}
	text = ts.call("POST", "/v1/runs/"+member+"/remerge", "").problem(probNotFound)
	if !strings.Contains(text, "it is a member of the group of run "+id) {
		t.Error(text)
	}
}

func TestGroupsAreRefusedWithEveryFaultAndItsPlace(t *testing.T) {
	ts := newTestServer(t)
	ts.sources()
	text := ts.call("POST", "/v1/groups", `{"members": [
		{"name": "a", "job": "fetch"}, {"name": "a", "job": "fetch"}, {"name": "B", "job": "fetch"},
		{"name": "d", "job": "nobody", "payload": {"x": "{{ payload. }}"}}
	], "merge": {"job": "neither"}, "need": 9, "on_member_failure": "stop", "deadline": "0s", "priority": 900,
		"idempotency_key": "one"}`, "Idempotency-Key", "other").problem(probInvalid)
	for _, want := range []string{
		"body.members[1].name: ", "body.members[2].name: ", "body.members[3].job: there is no job nobody",
		"body.members[3].payload", "body.merge.job: there is no job neither", "body.need: ", "body.on_member_failure: ",
		"body.deadline: ", "body.priority: ", "body.idempotency_key: differs",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	text = ts.call("POST", "/v1/groups", `{"members": [{"name": "a", "job": "nobody"}], "merge": {"job": "neither"}}`).problem(probInvalid)
	for _, want := range []string{"body.members[0].job: there is no job nobody", "body.merge.job: there is no job neither"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, field := range []string{"max_attempts", "timeout", "job", "retry"} {
		text = ts.call("POST", "/v1/groups", `{"members": [], "`+field+`": 1}`).problem(probInvalid)
		if !strings.Contains(text, "body."+field+": ") {
			t.Errorf("%s: %s", field, text)
		}
	}
	ts.call("POST", "/v1/groups", `{"members": [], "payload": "`+strings.Repeat("x", 300_000)+`"}`).problem(probTooLarge)
	ts.call("POST", "/v1/groups", `{"members": [{"name": "a", "job": "fetch", "payload": "`+strings.Repeat("x", 300_000)+`"}]}`).
		problem(probTooLarge)
	if text := ts.call("POST", "/v1/runs/batch", `{"runs": [{"job": "_group"}]}`).problem(probInvalid); !strings.Contains(text, noSuchJob) {
		t.Error(text)
	}
	if a := ts.call("GET", "/v1/runs", "").want(200); a.field("items.0.id") != "" {
		t.Errorf("something was made: %s", a.body)
	}
}

func TestAGroupIsMadeOncePerKey(t *testing.T) {
	ts := newTestServer(t)
	ts.sources()
	key := []string{"Idempotency-Key", "night"}
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			a := ts.call("POST", "/v1/groups", oneFails, key...)
			if ids[i] = a.field("id"); a.status != 202 && a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	for _, id := range ids[1:] {
		if id != ids[0] {
			t.Errorf("two groups of one key: %v", ids)
		}
	}
	ts.until(ids[0], "succeeded")
	again := ts.call("POST", "/v1/groups", oneFails, key...).want(200)
	if again.field("duplicate") != "true" || again.field("id") != ids[0] {
		t.Errorf("%s", again.body)
	}
	for _, other := range []string{
		strings.Replace(oneFails, `"need": "60%"`, `"need": 1`, 1), strings.Replace(oneFails, `7.50`, `7.5`, 1),
		strings.Replace(oneFails, `"name": "c"`, `"name": "d"`, 1),
	} {
		a := ts.call("POST", "/v1/groups", other, key...)
		if a.problem(probKey); a.field("run") != ids[0] {
			t.Errorf("%s", a.body)
		}
	}
}

func TestANarrowedTokenRunsGroupsOfItsJobsAlone(t *testing.T) {
	ts := newTestServer(t)
	ts.sources()
	ts.hook("secret-job", ok("1"))
	narrow := as(ts.token(`{"name": "narrow", "scopes": ["operate"], "jobs": ["fetch", "merge"]}`))
	maker := as(ts.token(`{"name": "maker", "scopes": ["enqueue"], "jobs": ["fetch", "merge"]}`))
	text := ts.call("POST", "/v1/groups", `{"members": [
		{"name": "a", "job": "fetch"}, {"name": "b", "job": "secret-job"}, {"name": "c", "job": "nobody"}
	], "merge": {"job": "secret-job"}}`, narrow...).problem(probInvalid)
	for _, at := range []string{"body.members[1].job", "body.members[2].job", "body.merge.job"} {
		if !strings.Contains(text, at+": there is no such job, or the token does not reach it") {
			t.Errorf("%s: %s", at, text)
		}
	}
	id := ts.call("POST", "/v1/groups", oneFails, narrow...).want(202).field("id")
	ts.until(id, "succeeded")
	if g := ts.members(id, "", narrow...); len(g.Items) != 3 || len(g.Merges) != 1 {
		t.Errorf("%+v", g)
	}
	if a := ts.call("GET", "/v1/groups", "", narrow...).want(200); a.field("items.0.id") != id {
		t.Errorf("its own: %s", a.body)
	}
	ts.call("GET", "/v1/runs/"+id, "", narrow...).want(200)

	mine := ts.call("POST", "/v1/groups?wait=60s", oneFails, maker...).want(200)
	ts.call("GET", "/v1/runs/"+mine.field("id"), "", maker...).want(200)
	ts.call("GET", "/v1/runs/"+mine.field("id"), "", narrow...).problem(probNotFound) // that of another token
	ts.call("GET", "/v1/runs/"+mine.field("id")+"/members", "", narrow...).problem(probNotFound)
	ts.call("POST", "/v1/runs/"+mine.field("id")+"/remerge", "", maker...).problem(probForbidden)
	if a := ts.call("GET", "/v1/groups", "", maker...).want(200); a.field("items.0.id") != mine.field("id") || a.field("items.1.id") != "" {
		t.Errorf("its own: %s", a.body)
	}

	other := ts.call("POST", "/v1/groups?wait=60s", `{"members": [
		{"name": "a", "job": "fetch"}, {"name": "b", "job": "secret-job"}]}`).want(200).field("id")
	ts.call("GET", "/v1/runs/"+other, "", narrow...).problem(probNotFound)
	ts.call("PUT", "/v1/jobs/fetch-both", `{"group": {"members": [
		{"name": "a", "job": "fetch"}, {"name": "b", "job": "secret-job"}], "merge": {"job": "secret-job"}}}`).want(201)
	both := as(ts.token(`{"name": "both", "scopes": ["operate"], "jobs": ["fetch", "fetch-both"]}`))
	whole := ts.call("POST", "/v1/jobs/fetch-both/runs?wait=60s", "", both...).want(200)
	g := ts.members(whole.field("id"), "", both...)
	if len(g.Items) != 1 || g.Items[0].Name != "a" || g.Counts.Members != 2 || len(g.Merges) != 0 {
		t.Errorf("members of jobs that it does not reach: %+v", g)
	}
}

func TestRemergeOverTheNewestRunOfEachMember(t *testing.T) {
	ts := newTestServer(t)
	broken := true
	var mu sync.Mutex
	ts.hook("fetch", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	hold, open := gate(t)
	ts.hook("slow", hold)
	ts.hook("merge", repeat)
	id := ts.call("POST", "/v1/groups", `{"members": [{"name": "a", "job": "fetch"}, {"name": "b", "job": "slow"}],
		"merge": {"job": "merge"}, "need": 0}`).want(202).field("id")
	ts.await("a to have failed", func() bool { g := ts.members(id, ""); return g.Counts.Failed == 1 })
	text := ts.call("POST", "/v1/runs/"+id+"/remerge", "").problem(probState)
	if !strings.Contains(text, "the group is waiting: only one that has ended can be merged again") {
		t.Error(text)
	}
	a := ts.members(id, "").Items[0].Run.String()
	text = ts.call("DELETE", "/v1/runs/"+a, "").problem(probState) // case 107
	if !strings.Contains(text, "the run is failed, but it is kept while a group that it belongs to has not ended") {
		t.Error(text)
	}
	open()
	ts.until(id, "succeeded")
	mu.Lock()
	broken = false
	mu.Unlock()
	again := ts.call("POST", "/v1/runs/"+a+"/requeue", "").want(202)
	if again.field("group") != id || again.field("member") != "a" {
		t.Errorf("%s", again.body)
	}
	ts.until(again.field("id"), "succeeded")
	merge := ts.call("POST", "/v1/runs/"+id+"/remerge", `{"note": "a is back"}`).want(202)
	if merge.field("group") != id || merge.field("job") != "merge" || merge.header.Get("Location") != "/v1/runs/"+merge.field("id") {
		t.Errorf("%s", merge.body)
	}
	done := ts.until(merge.field("id"), "succeeded")
	if done.field("result.results.0.run") != again.field("id") || done.field("result.succeeded.1") != "b" {
		t.Errorf("%s", done.body)
	}
	g := ts.members(id, "")
	if len(g.Merges) != 2 || g.Merges[1].String() != merge.field("id") || g.Items[0].Run.String() != again.field("id") {
		t.Errorf("%+v", g)
	}
	if ts.call("GET", "/v1/runs/"+id, "").field("state") != "succeeded" {
		t.Error("the remerge changed the group")
	}
	none := ts.call("POST", "/v1/groups?wait=60s", `{"members": []}`).want(200)
	if text := ts.call("POST", "/v1/runs/"+none.field("id")+"/remerge", "").problem(probState); !strings.Contains(text, "no merge") {
		t.Error(text)
	}
}

func TestCancellingAGroupCancelsWhatRuns(t *testing.T) {
	ts := newTestServer(t)
	hold, _ := gate(t)
	ts.hook("slow", hold)
	ts.hook("merge", repeat)
	id := ts.call("POST", "/v1/groups", `{"members": [{"name": "a", "job": "slow"}], "merge": {"job": "merge"}}`).want(202).field("id")
	ts.await("a to run", func() bool {
		g := ts.members(id, "")
		return len(g.Items) == 1 && *g.Items[0].State == "running"
	})
	asked := ts.call("POST", "/v1/runs/"+id+"/cancel", "").want(202)
	if asked.field("cancel_requested_at") == "" {
		t.Errorf("%s", asked.body)
	}
	ts.until(id, "cancelled")
	g := ts.members(id, "")
	if m := g.Items[0]; *m.State != "cancelled" || !m.Missing || len(g.Merges) != 0 {
		t.Errorf("%+v", g)
	}
	ts.call("POST", "/v1/runs/"+id+"/cancel", "").want(200)
}

func TestLargeResultsAreReadByTheMergeAlone(t *testing.T) {
	ts := newTestServer(t)
	large := strings.Repeat("x", 60<<10)
	ts.hook("fetch", ok(`"`+large+`"`))
	var got []wire.GroupResult
	var statuses []int
	ts.hook("merge", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Inlined *bool
			Results []json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Inlined == nil || *in.Inlined || len(in.Results) != 0 {
			t.Errorf("payload: %v, %+v", err, in)
		}
		path := strings.TrimPrefix(r.Header.Get("Nightshift-Callback"), ts.url)
		a := ts.call("GET", path+"/results", "", as(r.Header.Get("Nightshift-Token"))...)
		statuses = append(statuses, a.status, ts.call("GET", path+"/results", "").status)
		a.into(&got)
		_, _ = io.WriteString(w, `"merged"`)
	})
	members := make([]string, 20)
	for i := range members {
		members[i] = fmt.Sprintf(`{"name": "m%d", "job": "fetch"}`, i)
	}
	run := ts.call("POST", "/v1/groups?wait=60s", `{"members": [`+strings.Join(members, ",")+`], "merge": {"job": "merge"}}`).want(200)
	if run.field("state") != "succeeded" || run.field("result") != "merged" {
		t.Fatalf("%s", run.body)
	}
	if len(got) != 20 || fmt.Sprint(statuses) != "[200 401]" {
		t.Fatalf("%d results, statuses %v", len(got), statuses)
	}
	for i, r := range got {
		if r.Name != fmt.Sprintf("m%d", i) || len(r.Result) != len(large)+2 {
			t.Errorf("result %d: %s, %d bytes", i, r.Name, len(r.Result))
		}
	}
}

func TestResultsAreOfMergesAlone(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("results")
	if text := s.call("GET", "results", "").problem(probNotFound); !strings.Contains(text, "the run merges no group") {
		t.Error(text)
	}
}
