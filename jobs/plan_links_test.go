package jobs

import (
	"strings"
	"testing"
)

// followUps are those of a job whose on_success is given.
func followUps(t *testing.T, chains, payload, result string) []FollowUp {
	t.Helper()
	plan := planOf(t, `{"name":"sync","labels":{"env":"prod"},"script":{"source":"x"},"on_success":[`+chains+`]}`)
	run := &Run{ID: ID{1}, Payload: Raw(payload), CorrelationID: "c-1", Trigger: TriggerAPI}
	return plan.FollowUps(run, Raw(result), Raw(`{"page":7}`))
}

func TestFollowUpsAreThoseWhoseIfHolds(t *testing.T) {
	got := followUps(t, `{"job":"a"},{"job":"b","if":"result.rows > 0"},{"job":"c","if":"result.rows > 99"},{"job":"d","if":"result.nope"},
		{"job":"e","if":"checkpoint.page == 7 && run.trigger == \"api\" && job.labels.env == \"prod\" && payload.id == 1"}`, `{"id":1}`, `{"rows":17}`)
	names := ""
	for _, f := range got {
		if names += f.Job; f.Failure != nil || string(f.Payload) != `{"rows":17}` {
			t.Errorf("%s: got %s, %v", f.Job, f.Payload, f.Failure)
		}
	}
	if names != "abe" {
		t.Errorf("got %s", names)
	}
	if got := followUps(t, "", "{}", "1"); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestPayloadsOfFollowUpsKeepWhatPathsLeadTo(t *testing.T) {
	for payload, want := range map[string]string{
		``:                          `{"n" : 1.10,"big":899999999999999990}`,
		`,"payload":"{{ result }}"`: `{"n" : 1.10,"big":899999999999999990}`,
		`,"payload":{"n":"{{ result.n }}","b":["{{result.big}}"]}`: `{"n":1.10,"b":[899999999999999990]}`,
		`,"payload":"{{ result.n }} of {{ payload.id }}"`:          `"1.10 of 1e400"`,
		`,"payload":{"fixed" : 1.0}`:                               `{"fixed" : 1.0}`,
		`,"payload":"text"`:                                        `"text"`,
		`,"payload":{"c":"{{ run.correlation_id }}","p":"{{ checkpoint.page }}","x":"{{ result.nope }}"}`: `{"c":"c-1","p":7,"x":null}`,
	} {
		got := followUps(t, `{"job":"a"`+payload+`}`, `{"id":1e400}`, `{"n" : 1.10,"big":899999999999999990}`)
		if len(got) != 1 || got[0].Failure != nil || string(got[0].Payload) != want {
			t.Errorf("%s: got %s, want %s", payload, got[0].Payload, want)
		}
	}
	if got := followUps(t, `{"job":"a"}`, "{}", ""); len(got) != 1 || string(got[0].Payload) != "null" {
		t.Errorf("got %+v", got)
	}
}

func TestAFollowUpWhoseIfOrPayloadFailsIsMadeFailed(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for chain, want := range map[string]string{
		`{"job":"a","if":"result.n + 1 > 0"}`:                                                                   "on_success[0].if: line 1, column 10: + does not go with a text and a number",
		`{"job":"a","if":"result.n"}`:                                                                           "on_success[0].if: gave a text, not true or false",
		`{"job":"a","payload":{"a":["x {{ result.nope }}"]}}`:                                                   "on_success[0].payload.a[0]: line 1, column 6: gives nil",
		`{"job":"a","payload":{"a":"{{ payload.x }}","b":"{{ payload.x }}"}}`:                                   "on_success[0].payload: is longer than 262144 bytes",
		`{"job":"a","payload":` + strings.Repeat("[", 30) + `"{{ payload.d }}"` + strings.Repeat("]", 30) + `}`: "on_success[0].payload: ",
		`{"job":"a","payload":"{{ payload.big * 2 }}"}`:                                                         "on_success[0].payload: line 1, column 4: gives a number that JSON cannot hold",
	} {
		got := followUps(t, chain+`,{"job":"b"}`, `{"big":1e400,"x":"`+strings.Repeat("x", 200_000)+`","d":`+deep+`}`, `{"n":"a"}`)
		if len(got) != 2 || got[0].Failure == nil || got[0].Failure.Kind != FailInvalid || !strings.HasPrefix(got[0].Failure.Message, want) ||
			string(got[0].Payload) != `{"n":"a"}` || got[1].Failure != nil {
			t.Errorf("%.80s: got %+v", chain, got)
		}
	}
}

func doorOf(t *testing.T, rest string) *DoorPlan {
	t.Helper()
	plan := planOf(t, `{"name":"sync","labels":{"repo":"web"},"script":{"source":"x"},"inbound":[
		{"name":"other","verify":"stripe","secret":"{{ secrets.OTHER }}"},
		{"name":"gh","verify":"github",`+rest+`}]}`)
	if plan.Door("none") != nil {
		t.Error("there is a door none")
	}
	return plan.Door("gh")
}

func TestSecretsOfDoorsAreRendered(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"GH": "s3cret", "EMPTY": ""}[name]
		return v, ok
	}
	for secret, want := range map[string]string{
		"plain": "plain", "{{ secrets.GH }}": "s3cret", "{{ job.labels.repo }}-{{ secrets.GH }}": "web-s3cret",
		"{{ secrets.NONE }}": "inbound[1].secret: there is no secret NONE", "{{ secrets.EMPTY }}": "inbound[1].secret: is empty",
		"{{ job.labels.nope }}": "inbound[1].secret: line 1, column 4: gives nil",
	} {
		d := doorOf(t, `"secret":"`+secret+`"`)
		got, failure := d.Secret(lookup)
		if failure != nil {
			got = failure.Message
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", secret, got, want)
		}
	}
	if got := strings.Join(doorOf(t, `"secret":"{{ secrets.B + secrets.A }}"`).Secrets(), " "); got != "A B" {
		t.Errorf("got %s", got)
	}
	if got := doorOf(t, `"secret":"x"`).Door().Name; got != "gh" {
		t.Errorf("got %s", got)
	}
}

func TestDoorsAdmitWhatTheirIfHoldsFor(t *testing.T) {
	in := map[string]string{"x-github-event": "push"}
	for cond, want := range map[string]struct {
		ok   bool
		note string
	}{
		"": {true, ""},
		`headers[\"X-GitHub-Event\"] == \"push\" && payload.n == 9007199254740993`: {true, ""},
		`headers[\"x-github-event\"] == \"ping\"`:                                  {false, ""},
		`payload.nope`:                       {false, ""},
		`job.labels.repo in [\"web\"]`:       {true, ""},
		`payload.s > 1 || payload.s + 1 > 2`: {true, "inbound[1].if failed and counts as true (line 1, column 28: + does not go with a text and a number)"},
		`payload.s`:                          {true, "inbound[1].if failed and counts as true (gave a text, not true or false)"},
	} {
		ok, note := doorOf(t, `"secret":"x","if":"`+cond+`"`).Admit(in, Raw(`{"n":9007199254740993,"s":"a"}`))
		if ok != want.ok || note != want.note {
			t.Errorf("%s: got %v, %q", cond, ok, note)
		}
	}
}

func TestKeysOfDoorsAreTexts(t *testing.T) {
	in := map[string]string{"x-id": "d-1"}
	payload := Raw(`{"id":899999999999999999990,"s":"é a","e":"","l":[],"nl":"a\nb","long":"` + strings.Repeat("x", 256) + `"}`)
	for key, want := range map[string]string{
		"": "", "payload.id": "899999999999999999990", `headers[\"X-Id\"]`: "d-1", `headers[\"x-id\"] + \"/\" + payload.s`: "d-1/é a",
		"payload.nope ?? payload.id": "899999999999999999990",
		"payload.nope":               "inbound[1].key: line 1, column 1: gives nil",
		"payload.l":                  "inbound[1].key: line 1, column 1: gives a list or an object",
		"payload.e":                  "inbound[1].key: gives an empty text",
		"payload.nl":                 "inbound[1].key: gives no printable text of at most 255 bytes",
		"payload.long":               "inbound[1].key: gives no printable text of at most 255 bytes",
		"int(payload.s)":             "inbound[1].key: line 1, column 1: int: the text is no whole number",
	} {
		rest := `"secret":"x"`
		if key != "" {
			rest += `,"key":"` + key + `"`
		}
		got, failure := doorOf(t, rest).Key(in, payload)
		if failure != nil {
			got = failure.Message
		}
		if got != want && (failure == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}
