package jobs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// rendered is what an expression over a payload gives, as a webhook or a mail would send it.
func rendered(t testing.TB, expr string, payload Raw) string {
	t.Helper()
	p, err := Prepare(Spec{Webhook: &Webhook{URL: "http://x/", Body: AppendJSONString(nil, "{{ "+expr+" }}")}})
	if err != nil {
		t.Fatal(err)
	}
	out, failure := p.Render(&Scope{Run: &Run{}, Job: &Job{Name: "tell"}, Payload: payload})
	if failure != nil {
		t.Fatalf("%s of %.200s: %v", expr, payload, failure)
	}
	return string(out.Body)
}

var slackLinks = regexp.MustCompile(`<https?://[^\s<>|]+\|[^<>|]*>`)

// slackWhole is what Slack takes as the text of a whole message.
const slackWhole = 40_000

// wantSlack fails the test unless Slack would take the message, and it calls nobody.
func wantSlack(t testing.TB, body string) {
	t.Helper()
	var m struct {
		Text   string
		Blocks []struct {
			Type     string
			Text     *struct{ Type, Text string }
			Elements []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("no JSON: %v: %.300s", err, body)
	}
	if len(m.Blocks) == 0 || len(m.Blocks) > 50 {
		t.Errorf("%d blocks", len(m.Blocks))
	}
	check := func(text string, most int) {
		t.Helper()
		if n := utf8.RuneCountInString(text); n == 0 || n > min(most, 3000) {
			t.Errorf("a text has %d characters: %.100q", n, text)
		}
		plain := slackLinks.ReplaceAllString(text, "")
		if strings.ContainsAny(plain, "<>") || regexp.MustCompile(`&(?:[^alg]|$)`).MatchString(plain) {
			t.Errorf("it is not escaped: %.300q", text)
		}
		if regexp.MustCompile(`(?i)@(here|channel|everyone|group)`).MatchString(text) {
			t.Errorf("it calls people: %.300q", text)
		}
		if strings.Count(text, "```")%2 != 0 || most != slackWhole && strings.Count(text, "```") > 2 {
			t.Errorf("the code ends before its end: %.300q", text)
		}
	}
	check(m.Text, slackWhole)
	for _, b := range m.Blocks {
		switch b.Type {
		case "header":
			check(b.Text.Text, 150)
		case "section":
			check(b.Text.Text, 3000)
		case "context":
			for _, e := range b.Elements {
				check(e.Text, 3000)
			}
		default:
			t.Errorf("a block of the type %q", b.Type)
		}
	}
}

// event is the payload of an alert's run.
func event(typ, subject, data string) Raw {
	return Raw(`{"specversion":"1.0","id":"17","source":"https://jobs.example.com","type":"` + typ + `","subject":"` + subject +
		`","time":"2026-11-30T02:00:03.000Z","data":` + data + `}`)
}

const failedData = `{"job":"nightly-sync","run":"01936c2e-0000-7000-8000-000000000001","labels":{"team":"data","env":"prod"},
	"error":{"kind":"exit","type":"ValueError","message":"bad row <7> & more"},"attempts":3,"count":1,
	"first_at":"2026-11-30T02:00:03.000Z","last_at":"2026-11-30T02:00:03.000Z","missing":null,
	"url":"https://jobs.example.com/runs/01936c2e?a=1&b=2","test":false,"in_a_row":4,"schedule":"nightly-sync:default",
	"fingerprint":"ab12","group":null}`

func TestAFailureReadsWellInSlackAndInAMail(t *testing.T) {
	payload := event(EventRunFailed, "run/01936c2e", failedData)
	body := rendered(t, "slack(payload)", payload)
	wantSlack(t, body)
	for _, want := range []string{
		`"🔴 nightly-sync failed","type":"plain_text"`, `*error:* exit, ValueError`, `*labels:* env=prod, team=data`, `bad row &lt;7&gt; &amp; more`,
		`<https://jobs.example.com/runs/01936c2e?a=1&amp;b=2|Open the run>`, `*in a row:* 4`, `*attempts:* 3`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
	const want = `nightly-sync failed

job: nightly-sync
schedule: nightly-sync:default
error: exit, ValueError
in a row: 4
attempts: 3
labels: env=prod, team=data
run: 01936c2e-0000-7000-8000-000000000001

Message:
  bad row <7> & more

https://jobs.example.com/runs/01936c2e?a=1&b=2

https://jobs.example.com · run.failed · run/01936c2e · 2026-11-30 02:00:03 UTC · event 17
`
	if got := rendered(t, "text(payload)", payload); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	if got := rendered(t, "text(payload, 1)", payload); got != "nightly-sync failed" {
		t.Errorf("the first line is %q", got)
	}
}

func TestEachSortOfEventSaysWhatHasHappened(t *testing.T) {
	span := `"first_at":"2026-11-30T02:00:03.000Z","last_at":"2026-11-30T02:09:59.000Z"`
	for _, tt := range []struct {
		typ, subject, data string
		want               []string
	}{
		{EventRunFailed, "run/1", `{"job":"a","count":1000,` + span + `}`, []string{
			"a failed 1000 times\n", "count: 1000 since the message before, from 2026-11-30 02:00:03 UTC to 2026-11-30 02:09:59 UTC\n",
		}},
		{EventRunFailed, "run/1", `{"job":null,"test":true}`, []string{"TEST: 1 failed\n", "nothing has failed\n"}},
		{EventRunRecovered, "run/1", `{"job":"a","count":4,` + span + `}`, []string{"a is well again\n", "before: failed 4 times in a row, from "}},
		{
			EventGroupPartial, "run/1",
			`{"job":"nightly","missing":["crm",{"name":"shop","error":{"message":"refused"}}]}`,
			[]string{"nightly is only partly done\n", "Missing:\n  - crm\n  - shop: refused\n"},
		},
		{EventScheduleMissed, "schedule/a:b", `{"schedule":"a:b","job":"a","count":5,"caught_up":1}`, []string{
			"a:b missed 5 of its ticks\n", "caught up: 1\n",
		}},
		{EventScheduleLate, "schedule/a:b", `{"schedule":"a:b","reason":"it has not started","deadline":"2026-11-30T02:00:03.000Z"}`, []string{
			"a:b is late\n", "why: it has not started\n", "deadline: 2026-11-30 02:00:03 UTC\n",
		}},
		{EventDependencyOpened, "dependency/stripe", `{"name":"stripe","reason":"HTTP 503"}`, []string{"dependency stripe is held\n", "why: HTTP 503\n"}},
		{EventDependencyClosed, "dependency/stripe", `{}`, []string{"dependency stripe works again\n"}},
		{EventQueueStuck, "queue/mail", `{"workers":4}`, []string{"queue mail is stuck\n", "workers: 4\n"}},
		{EventFailuresMany, "failures", `{"count":10000}`, []string{"10000 failures are open\n"}},
		{EventAlertUndelivered, "alert/failures", `{"alert":"failures","error":{"kind":"http","message":"HTTP 404"}}`, []string{
			"alert failures could not be delivered\n", "HTTP 404\n",
		}},
		{EventDiskLow, "disk", `{"free":1024,"note":"the if failed"}`, []string{"the disk is nearly full\n", "free: 1024\n", "note: the if failed\n"}},
		{"alert.digest", "alert/failures", `{"count":40,"events":[{"type":"run.failed","subject":"run/1","job":"a","count":12,
			"error":{"kind":"exit","type":"exit","message":"boom"}},{"type":"queue.stuck","subject":"queue/q","job":null,"count":1}]}`, []string{
			"40 more events in one message\n", "- a failed 12 times: boom\n", "- queue q is stuck\n", "and 27 more\n",
		}},
		{"made.up", "x/y", `{"one_two":[1,{"a":2}],"no":null,"empty":{}}`, []string{"made.up x/y\n", "one two: [1,{\"a\":2}]\n"}},
	} {
		payload := event(tt.typ, tt.subject, tt.data)
		text := rendered(t, "text(payload)", payload)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", tt.typ, want, text)
			}
		}
		wantSlack(t, rendered(t, "slack(payload)", payload))
	}
}

// Case 143.
func TestLongAndHostileTextsStayWithinSlacksLimits(t *testing.T) {
	for _, long := range []string{
		strings.Repeat("x", 20_000), strings.Repeat("&<>", 7000), strings.Repeat("😀`", 7000), strings.Repeat("```", 7000),
		strings.Repeat("<!channel> @here <@U123> @Everyone @channel\n", 500), strings.Repeat("\x1b[31m\u202e\x00", 3000),
		strings.Repeat("`\n", 9000), "``````", "@@here", "&", "<", strings.Repeat("é", 2995) + "&&&",
	} {
		quoted := string(AppendJSONString(nil, long))
		list := `[` + strings.Repeat(quoted[:min(len(quoted)-1, 900)]+`"`+",", 60) + `1]`
		if ValidJSON([]byte(list)) != nil {
			list = "[1]"
		}
		labels := strings.Repeat(`"k@N@":"v",`, 1)
		for i := range 40 {
			labels += fmt.Sprintf(`"label-%d":%s,`, i, quoted)
		}
		data := `{"job":` + quoted + `,"labels":{` + labels + `"z":1},"error":{"kind":` + quoted + `,"type":` + quoted + `,"message":` +
			quoted + `,"stack":` + quoted + `},"url":` + quoted + `,"reason":` + quoted + `,"missing":` + list + `,"events":` + list +
			`,"note":` + quoted + `,"x":` + quoted + `,"count":1e300}`
		payload := Raw(`{"specversion":"1.0","type":"run.failed","source":` + quoted + `,"subject":` + quoted + `,"id":` + quoted +
			`,"data":` + data + `}`)
		wantSlack(t, rendered(t, "slack(payload)", payload))
		text := rendered(t, "text(payload)", payload)
		if len(text) > 200<<10 || !utf8.ValidString(text) {
			t.Errorf("%.20q: the text has %d bytes", long, len(text))
		}
		wantSubject(t, rendered(t, "text(payload, 1)", payload))
	}
}

// wantSubject fails the test unless a text may be the subject of a mail.
func wantSubject(t testing.TB, text string) {
	t.Helper()
	if err := checkSubject(text); err != nil || len(text) > 300 {
		t.Errorf("as a subject %q: %v", text, err)
	}
}

func TestAnyPayloadCanBeTold(t *testing.T) {
	for payload, want := range map[string]string{
		`null`:                                "A message of Nightshift\n",
		`"The report is ready\nsee attached"`: "The report is ready\n\nsee attached\n",
		`"ready"`:                             "ready\n",
		`17`:                                  "A message of Nightshift\n\n17\n",
		`[]`:                                  "A message of Nightshift\n\n[]\n",
		`{"rows":[1,2.50],"type":"csv","a":{}}`: "A message of Nightshift\n\n{\n  \"a\": {},\n  \"rows\": [\n    1,\n    2.5\n  ],\n  " +
			"\"type\": \"csv\"\n}\n",
	} {
		if got := rendered(t, "text(payload)", Raw(payload)); got != want {
			t.Errorf("%s is told as\n%s\nwant\n%s", payload, got, want)
		}
		wantSlack(t, rendered(t, "slack(payload)", Raw(payload)))
	}
	payload := event(EventRunFailed, "run/1", failedData)
	wantSlack(t, rendered(t, "slack(payload.data)", payload))
	wantSlack(t, rendered(t, "slack(payload.data.error)", payload))
	wantSlack(t, rendered(t, "slack(job.name)", payload))
}

func TestMessagesAreKnownOnlyInWhatAnAttemptSends(t *testing.T) {
	j := Job{
		Name: "a", Webhook: &Webhook{URL: "http://x/"},
		OnSuccess: []Chain{{Job: "b", Payload: Raw(`"{{ slack(result) }}"`)}},
	}
	if found := j.faults(); len(found) != 1 || !strings.Contains(found[0].Message, "unknown function slack") {
		t.Errorf("faults are %v", found)
	}
	if _, err := Prepare(Spec{Mail: &Mail{
		To: []string{"a@example.com"}, Subject: "{{ text(payload, 1) }}", Body: "{{ text(payload) }}",
	}}); err != nil {
		t.Error(err)
	}
	p, err := Prepare(Spec{Script: &Script{Args: []string{"{{ text(payload, 0) }}"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, failure := p.Render(&Scope{Run: &Run{}, Job: &Job{}, Payload: Raw(`1`)}); failure == nil ||
		!strings.Contains(failure.Message, "want a whole number of lines") {
		t.Errorf("failure is %v", failure)
	}
}

// FuzzMessage: whatever is told is within the bounds of Slack and of a mail.
func FuzzMessage(f *testing.F) {
	f.Add(string(event(EventRunFailed, "run/1", failedData)))
	f.Add(`"<!here>"`)
	f.Add(`{"type":"alert.digest","data":{"count":9,"events":["x",{"type":1},{"data":{"error":{"message":"@here"}}}]}}`)
	f.Add(`{"type":"run.recovered","data":{"count":-1,"first_at":"x","last_at":7,"missing":{"a":1},"labels":[1],"error":"x"}}`)
	f.Fuzz(func(t *testing.T, payload string) {
		if CheckPayload(Raw(payload)) != nil || len(payload) > MaxPayload {
			return
		}
		wantSlack(t, rendered(t, "slack(payload)", Raw(payload)))
		if text := rendered(t, "text(payload)", Raw(payload)); len(text) > MaxBody || !utf8.ValidString(text) || text == "" {
			t.Fatalf("the text has %d bytes", len(text))
		}
		wantSubject(t, rendered(t, "text(payload, 1)", Raw(payload)))
	})
}
