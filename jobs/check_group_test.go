package jobs

import (
	"fmt"
	"strings"
	"testing"
)

const goodGroup = `{"group":{"members":[{"name":"a","job":"fetch-a","payload":{"day":"{{ payload.day }}"}},` +
	`{"name":"b","job":"fetch-b"}],"merge":{"job":"merge-results"},"need":1,"deadline":"30m",` +
	`"on_member_failure":"cancel_rest"}}`

func TestGroupDocumentsAreReadAndWrittenBack(t *testing.T) {
	for _, text := range []string{
		goodGroup,
		`{"group":{"members":[]}}`,
		`{"group":{"members":[{"name":"a","job":"x"}],"need":"60%"}}`,
		`{"group":{"members":[{"name":"a","job":"x"}],"need":0}}`,
		`{"group":{"members":[],"need":7}}`,
	} {
		job, err := ParseJob([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := string(job.Document()); got != text {
			t.Errorf("written back: %s, want %s", got, text)
		}
	}
}

func TestEqualGroupsAreOneVersion(t *testing.T) {
	read := func(text string) Spec {
		job, err := ParseJob([]byte(`{"group":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return job.Spec()
	}
	plain := read(`{"members":[{"name":"a","job":"x"}]}`)
	said := read(`{"members":[{"name":"a","job":"x","payload":null}],"merge":null,"need":1,"deadline":null,"on_member_failure":"wait"}`)
	if !SameSpec(plain, said) {
		t.Error("what holds by default makes another version where it is written out")
	}
	for _, other := range []string{
		`{"members":[{"name":"a","job":"y"}]}`, `{"members":[{"name":"a","job":"x"}],"need":0}`,
		`{"members":[{"name":"a","job":"x"}],"need":"all"}`,
		`{"members":[{"name":"a","job":"x"}],"on_member_failure":"cancel_rest"}`,
	} {
		if SameSpec(plain, read(other)) {
			t.Errorf("%s is no other version", other)
		}
	}
}

func TestAGroupNeedsOneGoodMemberUnlessItSaysOtherwise(t *testing.T) {
	var n Need
	if n.Of(3) != 1 || n.Of(1) != 1 || n.Of(0) != 0 || n.String() != "1" {
		t.Errorf("left out, it needs %d of 3, %d of 1, %d of 0, and reads %s", n.Of(3), n.Of(1), n.Of(0), n)
	}
	for _, text := range []string{`"all"`, `1`, `"60%"`, `0`} {
		if err := DecodeJSON([]byte(text), &n); err != nil || string(AppendJSON(nil, n)) != text {
			t.Errorf("%s is written as %s: %v", text, AppendJSON(nil, n), err)
		}
	}
}

func TestNeedIsAllANumberOrAPart(t *testing.T) {
	for text, want := range map[string][2]int{ // of 3 members, and of 10
		`"all"`: {3, 10}, `2`: {2, 2}, `0`: {0, 0}, `2.0`: {2, 2}, `"1%"`: {1, 1}, `"60%"`: {2, 6}, `"61%"`: {2, 7}, `"100%"`: {3, 10},
	} {
		var n Need
		if err := DecodeJSON([]byte(text), &n); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if n.Of(3) != want[0] || n.Of(10) != want[1] || n.Of(0) != 0 {
			t.Errorf("%s needs %d of 3 and %d of 10, want %v", text, n.Of(3), n.Of(10), want)
		}
	}
	for text, want := range map[string]string{
		`-1`:      `want "all", a whole number of members, or a part of them such as "60%"`,
		`1.5`:     `want a whole number, got a fraction`,
		`"2"`:     `is "2": leave the quotes out for a number of members, or write a part of them such as "60%"`,
		`"most"`:  `is "most": want "all", a whole number of members, or a part of them such as "60%"`,
		`"101%"`:  `is "101%": want at most 100%`,
		`"0%"`:    `is "0%": want 0 where no member has to be good`,
		`"33.3%"`: `is "33.3%": want "all", a whole number of members, or a part of them such as "60%"`,
		`true`:    `want "all", a whole number of members, or a part of them such as "60%", got true or false`,
	} {
		var n Need
		if err := DecodeJSON([]byte(text), &n); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestGroupsSayWhatIsWrongAndWhere(t *testing.T) {
	member := `{"name":"a","job":"x"}`
	for text, want := range map[string]string{
		`{"group":{}}`:  "group.members: want the members, each with a name and a job; [] for a group of none",
		`{"group":"x"}`: `group: want an object such as {"members": [{"name": "a", "job": "fetch-a"}], "merge": {"job": "merge-results"}}, got a string`,
		`{"group":{"members":[` + member + `,{"name":"A","job":""},` + member + `]}}`: `group.members[1].name: ` + errName.Error() +
			`; group.members[1].job: want the name of a job; group.members[2].name: member 1 has this name too: want one of its own for each`,
		`{"group":{"members":[{"job":"_group"}]}}`: `group.members[0].name: want a name: by it the merge tells the results apart; ` +
			`group.members[0].job: ` + errName.Error(),
		`{"group":{"members":[` + member + `],"merge":{}}}`: "group.merge.job: want the name of a job",
		`{"group":{"members":[` + member + `],"need":2}}`:   "group.need: is 2 of 1 member: no merge could ever be made",
		`{"group":{"members":[` + member + `],"deadline":"0s"}}`: "group.deadline: want more than 0s and at most 3653d: " +
			"it counts from the start of the group",
		`{"group":{"members":[],"on_member_failure":"stop"}}`: `group.on_member_failure: is "stop": want wait, or cancel_rest: ` +
			"the first member that is not good cancels the others",
		`{"group":{"members":[` + member + `]},"timeout":"5m","retry":{"max_attempts":2},"checkpoint":{"ttl":"1h"}}`: "timeout: a group has none: " +
			"want group.deadline, or a timeout of its members' jobs; retry: a group's run has one attempt: its members and its " +
			"merge are tried again by the retry of their own jobs; checkpoint: a group saves none: its members do, by the " +
			"checkpoint of their own jobs",
		`{"group":{"members":[]},"webhook":{"url":"http://x/"}}`: "group: want exactly one of webhook, script, mail, group: webhook is there too",
		`{"group":{"members":[{"name":"a","job":"x","payload":{"k":["{{ secrets.K }}","{{ payload. }}"]}}]}}`: "group.members[0].payload.k[0]: " +
			"line 1, column 4: unknown name secrets; known here: job, payload, run; secrets are known only in webhook url, headers, body " +
			"and signing_secret, script args and env, mail, and an inbound's secret; " +
			"group.members[0].payload.k[1]: line 1, column 11: unexpected end of expression",
		// What others call it.
		`{"members":[]}`: "members: unknown field: it belongs below group",
		`{"group":{"members":[],"fail_fast":true}}`:                  `group.fail_fast: unknown field: want "on_member_failure", which may be "cancel_rest"`,
		`{"group":{"members":[],"tasks":[]}}`:                        `group.tasks: unknown field: want "members", such as [{"name": "a", "job": "fetch-a"}]`,
		`{"group":{"members":[],"merge":{"payload":1,"job":"x"}}}`:   "group.merge.payload: unknown field: it is made of the results of the members",
		`{"group":{"members":[{"name":"a","job":"x","args":1}]}}`:    `group.members[0].args: unknown field: want "payload"`,
		`{"group":{"members":[{"name":"a","job":"x","timeout":1}]}}`: "group.members[0].timeout: unknown field: it is what the job says that it names",
	} {
		_, err := ParseJob([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestAGroupHasTenThousandMembersAndNoMore(t *testing.T) {
	document := func(n int) []byte {
		var b strings.Builder
		b.WriteString(`{"group":{"members":[`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"name":"m%d","job":"x","payload":{"n":%d,"day":"{{ payload.day }}"}}`, i, i)
		}
		b.WriteString(`]}}`)
		return []byte(b.String())
	}
	job, err := ParseJob(document(MaxMembers))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(job.Spec())
	if err != nil {
		t.Fatal(err)
	}
	members := p.Members(&Scope{Payload: Raw(`{"day":"2026-11-30"}`), Job: job})
	got, failure := members.Payload(MaxMembers - 1)
	if want := `{"n":9999,"day":"2026-11-30"}`; failure != nil || string(got) != want {
		t.Errorf("the last payload is %s (%v), want %s", got, failure, want)
	}
	_, err = ParseJob(document(MaxMembers + 1))
	if err == nil || !strings.HasPrefix(err.Error(), "group.members[10000]: want at most 10000 of them") {
		t.Errorf("one more: %v", err)
	}
}

func TestMembersGetWhatTheirPayloadsSay(t *testing.T) {
	job, err := ParseJob([]byte(`{"name":"g","group":{"members":[` +
		`{"name":"all","job":"x"},{"name":"plain","job":"x","payload":[1.0, {"b":2,"a":1}]},` +
		`{"name":"made","job":"x","payload":{"n":"{{ payload.n }}","of":"{{ job.name }} {{ run.trigger }}"}},` +
		`{"name":"bad","job":"x","payload":{"n":"{{ payload.n + payload.o }}"}},{"name":"null","job":"x","payload":"{{ payload.none }}"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(job.Spec())
	if err != nil {
		t.Fatal(err)
	}
	members := p.Members(&Scope{
		Payload: Raw(`{"n": 1.50, "o":{}}`), Job: job, Run: &Run{Trigger: TriggerSchedule},
	})
	for i, want := range []string{`{"n": 1.50, "o":{}}`, `[1.0, {"b":2,"a":1}]`, `{"n":1.50,"of":"g schedule"}`, "", "null"} {
		got, failure := members.Payload(i)
		if string(got) != want || (failure != nil) != (want == "") {
			t.Errorf("member %d gets %s (%v), want %s", i, got, failure, want)
		}
		if failure != nil && (failure.Kind != FailInvalid || !strings.HasPrefix(failure.Message, "group.members[3].payload.n: line 1, column ")) {
			t.Errorf("the failure is %v", failure)
		}
	}
}

func TestAGroupNamesTheJobsOfItsMembersAndItsMerge(t *testing.T) {
	job, err := ParseJob([]byte(goodGroup))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(job.Refs())
	want := "[{job fetch-a group.members[0].job} {job fetch-b group.members[1].job} {job merge-results group.merge.job}]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGroupsInFilesTakeNoDefaultsThatAreNotForThem(t *testing.T) {
	f, err := ParseFile("f", []byte(`
defaults: {timeout: 5m, retry: {max_attempts: 3}, checkpoint: {ttl: 2h}, queue: etl}
jobs:
  fetch: {script: "true"}
  sync:
    group:
      need: 60%
      members: [{name: a, job: fetch, payload: {day: "{{ payload.day }}"}}, {name: b, job: fetch}]
      merge: {job: fetch}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"sync","group":{"members":[{"name":"a","job":"fetch","payload":{"day":"{{ payload.day }}"}},` +
		`{"name":"b","job":"fetch"}],"merge":{"job":"fetch"},"need":"60%"},"queue":"etl"}`
	if got := string(f.Jobs[1].Document()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = ParseFile("f", []byte("jobs: {sync: {timeout: 5m, group: {members: []}}}"))
	if err == nil || !strings.Contains(err.Error(), "f:1:24: jobs.sync.timeout: a group has none") {
		t.Errorf("got %v", err)
	}
}
