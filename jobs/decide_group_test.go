package jobs

import (
	"strings"
	"testing"
)

func TestGroupsEndAsTheirMembersAndTheirMergeSay(t *testing.T) {
	group := func(need string, merge bool, rest string) *Group {
		g := &Group{OnMemberFailure: rest}
		var err error
		if err = DecodeJSON([]byte(need), &g.Need); err != nil {
			t.Fatal(err)
		}
		if merge {
			g.Merge = &Merge{Job: "merge-results"}
		}
		return g
	}
	id := NewIDs(0, func() uint64 { return 1 }).Next(Time(1_770_000_000_000).Std())
	merged := func(state State, f *Failure) *Run {
		return &Run{ID: id, Job: "merge-results", State: state, Error: f}
	}
	down := &Failure{Kind: FailHTTP, Type: "http", Message: "HTTP 503"}
	b := BadMemberOf("b", &Run{State: Failed, Error: down}, true, 0)
	c := BadMemberOf("c", &Run{State: Cancelled, FinishedAt: 5}, true, 0)
	for _, test := range []struct {
		name  string
		e     GroupEnding
		state State
		kind  FailureKind
		want  string // the message of the error, else the reason
	}{
		{"all good", GroupEnding{Group: group(`"all"`, false, ""), Succeeded: 3}, Succeeded, "", "3 of 3 members succeeded"},
		{"none at all", GroupEnding{Group: group(`7`, false, "")}, Succeeded, "", "0 of 0 members succeeded"},
		{
			"enough",
			GroupEnding{Group: group(`1`, false, ""), Succeeded: 1, Failed: 1, Missing: 1, Bad: []BadMember{b, c}},
			Succeeded, "", "1 of 3 members succeeded",
		},
		{
			"too few",
			GroupEnding{Group: group(`2`, true, ""), Succeeded: 1, Failed: 1, Missing: 1, Bad: []BadMember{b, c}},
			Failed, FailGroup, "2 of 3 members were not good, need 2: b failed (http: HTTP 503), c was cancelled",
		},
		{
			"more than are named",
			GroupEnding{Group: group(`"60%"`, true, ""), Succeeded: 3, Failed: 7, Bad: []BadMember{b, b, b, b, b, b, b}},
			Failed, FailGroup, "7 of 10 members were not good, need 6: " + strings.Repeat("b failed (http: HTTP 503), ", 5) + "and 2 more",
		},
		{
			"the rest cancelled",
			GroupEnding{
				Group: group(`0`, true, "cancel_rest"), Succeeded: 1, Failed: 1, Missing: 1, Bad: []BadMember{b, c},
			},
			Failed, FailGroup, "2 of 3 members were not good, and the first such cancels the rest: b failed (http: HTTP 503), c was cancelled",
		},
		{
			"cancelled",
			GroupEnding{Group: group(`"all"`, true, ""), CancelAsked: true, Missing: 2, Merge: merged(Succeeded, nil)},
			Cancelled, "", "cancelled on request, its members and its merge with it",
		},
		{
			"merged",
			GroupEnding{Group: group(`1`, true, ""), Succeeded: 1, Failed: 1, Merge: merged(Succeeded, nil)},
			Succeeded, "", "1 of 2 members succeeded, and they were merged",
		},
		{
			"the merge failed",
			GroupEnding{Group: group(`1`, true, ""), Succeeded: 1, Merge: merged(Failed, down)},
			Failed, FailMerge, "its merge, run " + id.String() + " of merge-results, failed (http: HTTP 503)",
		},
		{
			"the merge was cancelled",
			GroupEnding{Group: group(`1`, true, ""), Succeeded: 1, Merge: merged(Cancelled, nil)},
			Cancelled, "", "its merge, run " + id.String() + ", was cancelled",
		},
	} {
		test.e.Counts = Counts{Number: 1}
		got := DecideGroup(&test.e)
		said, kind := got.Decision.Reason, FailureKind("")
		if got.Error != nil {
			said, kind = got.Error.Message, got.Error.Kind
		}
		if got.State != test.state || kind != test.kind || said != test.want {
			t.Errorf("%s: %s %s %q\nwant %s %s %q", test.name, got.State, kind, said, test.state, test.kind, test.want)
		}
		if got.State == Failed && (got.Decision.By != ByGroup || got.Outcome != OutcomeFailed || got.DueAt != 0) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestABadMemberSaysWhatBecameOfIt(t *testing.T) {
	long := &Failure{Kind: FailExit, Message: strings.Repeat("x", 1000)}
	for want, got := range map[string]BadMember{
		"was cancelled":                             BadMemberOf("a", &Run{State: Cancelled, FinishedAt: 9}, true, 10),
		"was not done by the deadline":              BadMemberOf("a", &Run{State: Cancelled, FinishedAt: 10}, true, 10),
		"was removed":                               BadMemberOf("a", nil, true, 0),
		"could not be made: its job does not stand": BadMemberOf("a", nil, false, 0),
		"failed (exit: " + strings.Repeat("x", maxBadWhy-3) + "…)": BadMemberOf("a", &Run{State: Failed, Error: long}, true, 0),
	} {
		if got.Why != want {
			t.Errorf("got %q, want %q", got.Why, want)
		}
	}
}

func TestMergesGetAllMembersInTheirOrder(t *testing.T) {
	ids := NewIDs(0, func() uint64 { return 1 })
	group, run := ids.Next(Time(1_770_000_000_000).Std()), ids.Next(Time(1_770_000_000_001).Std())
	p := NewMergePayload(group)
	for _, m := range []MemberResult{
		{Name: "c", Job: "x", Run: run, Of: &Run{State: Succeeded, Result: Raw(`{ "n": 1.10 }`), Error: &Failure{Kind: FailHTTP}}},
		{Name: "a", Job: "x", Run: run, Of: &Run{State: Failed, Error: &Failure{Kind: FailHTTP, Type: "http", Message: "HTTP 503", Stack: "s"}}},
		{Name: "b", Job: "y", Run: run, Missing: true, Of: &Run{State: Cancelled, Result: Raw("1")}},
		{Name: "e", Job: "y", Run: run, Missing: true},
		{Name: "d", Job: "y", Missing: true},
		{Name: "f", Job: "y", Run: run, Of: &Run{State: Succeeded, ResultTruncated: true}},
	} {
		p.Add(&m)
	}
	id := `"` + run.String() + `"`
	want := `{"group":"` + group.String() + `","succeeded":["c","f"],"failed":["a"],"missing":["b","e","d"],"results":[` +
		`{"name":"c","job":"x","run":` + id + `,"state":"succeeded","result":{ "n": 1.10 },"error":null},` +
		`{"name":"a","job":"x","run":` + id + `,"state":"failed","result":null,"error":{"kind":"http","type":"http","message":"HTTP 503"}},` +
		`{"name":"b","job":"y","run":` + id + `,"state":"cancelled","result":null,"error":null},` +
		`{"name":"e","job":"y","run":` + id + `,"state":null,"result":null,"error":null},` +
		`{"name":"d","job":"y","run":null,"state":null,"result":null,"error":null},` +
		`{"name":"f","job":"y","run":` + id + `,"state":"succeeded","result":null,"result_truncated":true,"error":null}]}`
	if got := string(p.Payload()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if ValidJSON(p.Payload()) != nil {
		t.Error("it is no JSON")
	}
}

func TestLargeResultsAreNotInlined(t *testing.T) {
	group := NewIDs(0, func() uint64 { return 1 }).Next(Time(1_770_000_000_000).Std())
	result := Raw(`"` + strings.Repeat("x", MaxResult-2) + `"`)
	fill := func(n int) string {
		p := NewMergePayload(group)
		for range n {
			p.Add(&MemberResult{Name: "a", Job: "x", Run: group, Of: &Run{State: Succeeded, Result: result}})
			if len(p.results) > MaxInlined {
				t.Fatal("more is kept than may be")
			}
		}
		return string(p.Payload())
	}
	if got := fill(15); strings.Contains(got, "inlined") || len(got) < 15*MaxResult {
		t.Errorf("less than 1 MiB is not inlined: %d bytes", len(got))
	}
	want := `{"group":"` + group.String() + `","succeeded":["a"` + strings.Repeat(`,"a"`, 15) + `],"failed":[],"missing":[],"inlined":false,"results":[]}`
	if got := fill(16); got != want {
		t.Errorf("got %.200s, want %s", got, want)
	}
}

func TestTheEventOfAPartialGroupNamesItsMembers(t *testing.T) {
	run := NewIDs(0, func() uint64 { return 1 }).Next(Time(1_770_000_000_000).Std())
	e := GroupPartial{Job: "sync", Run: run, Members: 3, Succeeded: 2, Need: 1}
	e.Fail("b")
	want := `{"job":"sync","run":"` + run.String() + `","labels":null,"correlation_id":"","schedule":null,"members":3,"succeeded":2,"need":1,"failed":["b"],"missing":[],` +
		`"failed_members":1,"missing_members":0}`
	if got := string(e.Data()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for range 150 {
		e.Miss("m")
	}
	if len(e.Missing) != maxNamed || e.MissingMembers != 150 {
		t.Errorf("%d are named of %d", len(e.Missing), e.MissingMembers)
	}
}
