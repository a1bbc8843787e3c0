package jobs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJobChecksTemplatedURLsAsFarAsTheyCanBe(t *testing.T) {
	const (
		scheme = "want it to begin with http:// or https://, or to be one expression that gives the whole URL"
		ascii  = "want printable ASCII without spaces and backslashes: a host with other letters in its xn-- form, all else percent-encoded"
		port   = "want a port from 1 to 65535, or none and no colon"
		host   = "want a host name or an IP address; 127.0.0.1 in full and decimal, IPv6 in brackets"
	)
	for url, want := range map[string]string{
		"http://x/{{ payload.a }}": "", "https://{{ payload.a }}/": "", "http://{{ payload.a }}": "",
		"http://{{payload.a}}.example.com:{{payload.port}}/{{run.id}}?a={{secrets.A}}": "",
		"http://[{{ payload.ip }}]:{{ job.labels.port }}/":                             "",
		"http://10.0.0.{{ payload.n }}/":                                               "",
		"{{ payload.url }}":                                                            "",
		"http://x/{{ payload.a }}%20{{ checkpoint.b }}":                                "",
		"HTTPS://x/{{ 'a b' }}":                                                        "",
		"http://x?a={{ run.id }}":                                                      "",
		"http://x/" + strings.Repeat("{{ 'aaaaaaaa' }}", 400):                          "",
		"ftp://x/{{ payload.a }}":                                                      scheme,
		"{{ payload.a }}://x/":                                                         scheme,
		"{{ payload.a }}/x":                                                            scheme,
		"x{{ payload.a }}":                                                             scheme,
		"http:/{{ payload.a }}":                                                        scheme,
		"http://x/{{ payload.a }}#b":                                                   "want it without # and what follows: that is never sent",
		"http://u:{{ payload.a }}@x/":                                                  "want no user or password in it: use a header Authorization",
		"http://{{ payload.a }}@x/":                                                    "want no user or password in it: use a header Authorization",
		"http://x/ü{{ payload.a }}":                                                    ascii,
		"http://x/a b{{ payload.a }}":                                                  ascii,
		"http://x:0/{{ payload.a }}":                                                   port,
		"http://-{{ payload.a }}/":                                                     host,
		"http://x/{{ payload.a":                                                        `line 1, column 10: {{ is not closed: want }} behind the expression; what shall stand there as it is, write {{ "{{" }}`,
		"http://x/{{ foo }}":                                                           "line 1, column 13: unknown name foo; known here: " + inTemplates.names,
		"http://{{ checkpoint.a }}/{{ checkpoint.a }}":                                 "line 1, column 11: unknown name checkpoint; known here: job, payload" + fixedHostHint,
		"http://{{ payload.a }}{{ '/' }}{{ run.id }}":                                  "line 1, column 35: unknown name run; known here: job, payload" + fixedHostHint,
		"http://{{ payload.a }}/" + strings.Repeat("a", maxURL):                        "want at most 8192 bytes",
	} {
		if want != "" {
			want = "webhook.url: " + want
		}
		if got := faultsOfDoc(t, `{"webhook":{"url":`+string(AppendJSONString(nil, url))+`}}`); got != want {
			t.Errorf("%.80s:\n got %s\nwant %s", url, got, want)
		}
	}
}

func TestParseJobChecksWhatWebhooksAreGivenBesides(t *testing.T) {
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + "]" }
	for member, want := range map[string]string{
		`"body":null,"method":"GET"`:                      "",
		`"body":{"a":1},"method":"POST"`:                  "",
		`"body":"","method":"DELETE"`:                     "",
		`"body":{"a":1},"method":"GET"`:                   "body: GET sends no body: leave it out, or change the method",
		`"body":"","method":"HEAD"`:                       "body: HEAD sends no body: leave it out, or change the method",
		`"body":{"a":1,"a":2}`:                            "body.a: this key stands twice in the same object",
		`"body":"` + strings.Repeat("x", MaxBody-1) + `"`: "body: want at most 1048576 bytes, got 1048577",
		`"success":null`:                                  "",
		`"success":"http.status in 200..299"`:             "",
		`"success":"http.status == 202 && http.body.ok && http.headers[\"x-a\"] != payload.a"`: "",
		`"success":"http.body.ok"`:             "",
		`"success":"http.status"`:              "success: line 1, column 1: gives a number: want true or false",
		`"success":" 'yes'"`:                   "success: line 1, column 2: gives a text: want true or false",
		`"success":"http"`:                     "success: line 1, column 1: http holds several values: http.body, http.headers, http.status",
		`"success":"http.stat == 1"`:           "success: line 1, column 6: http has no member stat; known there: body, headers, status",
		`"success":"error.kind == 'x'"`:        "success: line 1, column 1: unknown name error; known here: " + inSuccess.names,
		`"success":"json(http.body) == ''"`:    "success: line 1, column 1: unknown function json; known: " + inSuccess.functionNames,
		`"success":" "`:                        "success: line 1, column 1: an expression is wanted, such as http.status == 429",
		`"success":"{{ http.status == 200 }}"`: "success: line 1, column 1: want the expression alone, without {{ and }}",
		`"signing_secret":"{{ secrets.A }}"`:   "",
		`"signing_secret":["{{ secrets.A }}","whsec_c2VjcmV0LXNlY3JldA=="]`: "",
		`"signing_secret":null`:                "",
		`"signing_secret":[]`:                  "signing_secret: want one, or two while one is rotated, got 0",
		`"signing_secret":` + many(3):          "signing_secret: want one, or two while one is rotated, got 3",
		`"signing_secret":""`:                  `signing_secret: want a secret, such as "{{ secrets.SIGN }}"`,
		`"signing_secret":["a",""]`:            `signing_secret[1]: want a secret, such as "{{ secrets.SIGN }}"`,
		`"signing_secret":"whsec_%"`:           "signing_secret: the secret begins with whsec_, but what follows is not base64",
		`"signing_secret":"{{ secrets. }}"`:    "signing_secret: line 1, column 11: unexpected end of expression",
		`"headers":{"A":"{{ payload.a }}\n"}`:  "headers.A: want a value of at most 8192 bytes on one line, without control characters",
		`"headers":{"A":"{{\n payload.a\n}}"}`: "",
		`"headers":{"{{ a }}":"x"}`:            `headers["{{ a }}"]: want a header name of letters, digits and !#$%&'*+-.^_` + "`|~",
		`"headers":{"A":"}}"}`:                 `headers.A: line 1, column 1: }} closes nothing: want {{ before it, or write {{ "}}" }}`,
		`"follow_redirects":true`:              "",
	} {
		if want != "" {
			want = "webhook." + want
		}
		got := faultsOfDoc(t, `{"webhook":{"url":"http://x/",`+member+`}}`)
		if got != want {
			t.Errorf("%.100s:\n got %s\nwant %s", member, got, want)
		}
	}
}

// cases.md 59.
func TestExpressionsThatCanNeverHoldAreRefusedWhenSaved(t *testing.T) {
	for _, src := range []string{"foo() > 0", "attempt.foo.bar == 1", "http.status / 0 > 1", `"a" > 1`, "attempt()", "payload.a()"} {
		doc := `{"webhook":{"url":"http://x/"},"retry":{"rules":[{"if":` + string(AppendJSONString(nil, src)) + `,"then":"retry"}]}}`
		if got := faultsOfDoc(t, doc); !strings.HasPrefix(got, "retry.rules[0].if: line 1, column ") {
			t.Errorf("%s: got %q", src, got)
		}
	}
}

func TestParseJobChecksMails(t *testing.T) {
	const one = "want one address, such as ops@example.com or Ops <ops@example.com>"
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`"a@b.example",`, n), ",") + "]" }
	for mail, want := range map[string]string{
		`{"to":["ops@example.com"],"subject":"s","body":"b"}`: "",
		`{"to":["Ops <ops@example.com>","{{ payload.to }}","{{ payload.user }}@example.com","{{ payload.name }} <{{ payload.mail }}>"],
			"cc":["a@b"],"from":"N <n@b>","subject":"{{ payload.s }}","body":"{{ payload.b }}"}`: "",
		`{"to":` + list(100) + `,"subject":"s","body":"b"}`:              "",
		`{"to":` + list(101) + `,"subject":"s","body":"b"}`:              "mail.to: want at most 100 addresses, got 101",
		`{"to":["a@b"],"cc":` + list(101) + `,"subject":"s","body":"b"}`: "mail.cc: want at most 100 addresses, got 101",
		`{}`:                                                                              "mail.to: want at least one address, such as ops@example.com\nmail.subject: want a subject\nmail.body: want a text",
		`{"to":[],"subject":"s","body":"b"}`:                                              "mail.to: want at least one address, such as ops@example.com",
		`{"to":"a@b","subject":"s","body":"b"}`:                                           "mail.to: want a list, got a string: put it in [ ]",
		`{"to":[""],"subject":"s","body":"b"}`:                                            "mail.to[0]: " + one,
		`{"to":["a@b","x"],"subject":"s","body":"b"}`:                                     "mail.to[1]: " + one,
		`{"to":["a@b, c@d"],"subject":"s","body":"b"}`:                                    "mail.to[0]: " + one,
		`{"to":["a@b\r\nBcc: c@d"],"subject":"s","body":"b"}`:                             "mail.to[0]: has a line break or another control character",
		`{"to":["{{ payload.a }}, {{ payload.b }}"],"subject":"s","body":"b"}`:            "mail.to[0]: " + one,
		`{"to":["a@b"],"from":"x","subject":"s","body":"b"}`:                              "mail.from: " + one,
		`{"to":["a@b"],"subject":"s\r\nBcc: c@d","body":"b"}`:                             "mail.subject: has a line break or another control character",
		`{"to":["a@b"],"subject":"` + strings.Repeat("s", maxSubject+1) + `","body":"b"}`: "mail.subject: want at most 8192 bytes, got 8193",
		`{"to":["a@b"],"subject":"s","body":"a\u0000"}`:                                   "mail.body: want text without NUL",
		`{"to":["{{ payload.a"],"subject":"{{}}","body":"}}"}`: "mail.to[0]: line 1, column 1: {{ is not closed: want }} behind the expression; what shall stand there as it is, write {{ \"{{\" }}\n" +
			"mail.subject: line 1, column 1: an expression is wanted between {{ and }}\n" +
			"mail.body: line 1, column 1: }} closes nothing: want {{ before it, or write {{ \"}}\" }}",
	} {
		if got := faultsOfDoc(t, `{"mail":`+mail+`}`); got != want {
			t.Errorf("%.120s:\n got %s\nwant %s", mail, got, want)
		}
	}
}

func TestParseJobChecksChainsAndDoors(t *testing.T) {
	verify := "want one of github, stripe, standard-webhooks, secret"
	chains := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"job":"b"},`, n), ",") }
	for member, want := range map[string]string{
		`"on_success":[{"job":"b"},{"job":"b","if":"result.rows > 0","payload":"{{ result }}"},{"job":"c","payload":null}]`: "",
		`"on_success":[` + chains(100) + `]`:       "",
		`"on_success":[` + chains(101) + `]`:       "on_success: want at most 100 of them, got 101",
		`"on_success":[{}]`:                        "on_success[0].job: want the name of a job",
		`"on_success":[{"job":"../b"}]`:            "on_success[0].job: " + errName.Error(),
		`"on_success":[{"job":"b","if":"result"}]`: "",
		`"on_success":[{"job":"b","if":"1"}]`:      "on_success[0].if: line 1, column 1: gives a number: want true or false",
		`"on_success":[{"job":"b"},{"job":"b","payload":{"a":{"b":["","{{ x }}"]},"c":"{{ y }}"}}]`: "on_success[1].payload.a.b[1]: line 1, column 4: unknown name x; known here: " + inChains.names +
			"\non_success[1].payload.c: line 1, column 4: unknown name y; known here: " + inChains.names,
		`"on_success":[{"job":"b","payload":{"a":1,"a":2}}]`:                             "on_success[0].payload.a: this key stands twice in the same object",
		`"on_success":[{"job":"b","payload":"` + strings.Repeat("x", MaxPayload) + `"}]`: fmt.Sprintf("on_success[0].payload: want at most 262144 bytes, got %d", MaxPayload+2),
		`"inbound":[{"name":"gh","verify":"github","secret":"{{ secrets.GH }}","if":"headers[\"x-github-event\"] == \"push\"","key":"payload.id ?? headers.id"},
			{"name":"a","verify":"stripe","secret":"x"},{"name":"b","verify":"standard-webhooks","secret":"x"},{"name":"c","verify":"secret","secret":"x"}]`: "",
		`"inbound":[{}]`: "inbound[0].name: want a name: it stands in the address, /in/JOB/NAME\ninbound[0].verify: " + verify +
			"\ninbound[0].secret: want the secret that the sender signs with, such as \"{{ secrets.NAME }}\"",
		`"inbound":[{"name":"A","verify":"none","secret":"x"}]`:                                               "inbound[0].name: " + errName.Error() + "\ninbound[0].verify: " + verify,
		`"inbound":[{"name":"a","verify":"github","secret":"x"},{"name":"a","verify":"stripe","secret":"x"}]`: "inbound[1].name: another door of the job has this name",
		`"inbound":[{"name":"a","verify":"github","secret":"x","if":"len(payload)","key":"1 +"}]`: "inbound[0].if: line 1, column 1: gives a number: want true or false" +
			"\ninbound[0].key: line 1, column 3: unexpected end of the expression",
		`"inbound":[{"name":"a","verify":"github","secret":"{{ secrets.A"}]`: `inbound[0].secret: line 1, column 1: {{ is not closed: want }} behind the expression; what shall stand there as it is, write {{ "{{" }}`,
		`"retry":{"policy":"a/b"}`:  "retry.policy: " + errName.Error(),
		`"retry":{"policy":"slow"}`: "",
	} {
		if got := faultsOfDoc(t, `{"script":{"source":"x"},`+member+`}`); got != want {
			t.Errorf("%.120s:\n got %s\nwant %s", member, got, want)
		}
	}
}

func TestParseJobFindsFaultsOfAllSortsAtOnce(t *testing.T) {
	got := faultsOfDoc(t, `{"name":"A","webhook":{"url":"http://x/{{ a }}","headers":{"A":"{{ b }}"},"body":{"c":"{{ c }}"},
		"success":"d","signing_secret":["{{ e }}","{{ f }}"]},"on_success":[{"job":"b","if":"g"}],
		"inbound":[{"name":"x","verify":"github","secret":"{{ h }}"}],"retry":{"rules":[{"if":"i","then":"retry"}]}}`)
	for _, at := range []string{
		"name", "webhook.url", "webhook.headers.A", "webhook.body.c", "webhook.success", "webhook.signing_secret[0]",
		"webhook.signing_secret[1]", "on_success[0].if", "inbound[0].secret", "retry.rules[0].if",
	} {
		if !strings.Contains("\n"+got, "\n"+at+": ") {
			t.Errorf("nothing is said of %s in:\n%s", at, got)
		}
	}
}

func TestParseFileTellsTheLineOfATemplateThatIsWrong(t *testing.T) {
	_, err := ParseFile("f", []byte("jobs:\n  a:\n    webhook:\n      url: http://x/\n      body:\n        text:\n          - ok\n          - \"{{ nope }}\"\n"))
	want := "f:8:13: jobs.a.webhook.body.text[1]: line 1, column 4: unknown name nope; known here: " + inTemplates.names
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRefsAreThePolicyAndTheJobsThatAreNamed(t *testing.T) {
	j := &Job{Retry: Retry{Policy: "slow"}, OnSuccess: []Chain{{Job: "b"}, {Job: "c"}, {Job: "b"}}}
	want := []Ref{
		{RefPolicy, "slow", "retry.policy"},
		{RefJob, "b", "on_success[0].job"},
		{RefJob, "c", "on_success[1].job"},
		{RefJob, "b", "on_success[2].job"},
	}
	if diff := cmp.Diff(want, j.Refs()); diff != "" {
		t.Error(diff)
	}
	if refs := (&Job{Retry: Retry{Policy: PolicyDefault}}).Refs(); len(refs) > 0 {
		t.Errorf("got %v", refs)
	}
}

func TestSameSpecTakesDefaultsThatAreWrittenOutForTheSame(t *testing.T) {
	base := Spec{Webhook: &Webhook{URL: webhookURL}}
	for success, want := range map[string]bool{
		"": true, DefaultSuccess: true, " " + DefaultSuccess + "\n": true, "http.status in 200..298": false,
	} {
		if got := SameSpec(base, Spec{Webhook: &Webhook{URL: webhookURL, Success: success}}); got != want {
			t.Errorf("%q: got %v", success, got)
		}
	}
	for _, w := range []*Webhook{
		{URL: webhookURL, FollowRedirects: true},
		{URL: webhookURL, Body: Raw(`""`)},
		{URL: webhookURL, SigningSecret: Texts{"a"}},
	} {
		if SameSpec(base, Spec{Webhook: w}) {
			t.Errorf("%+v is taken for the plain one", w)
		}
	}
	mail := &Mail{To: []string{"a@b"}, Subject: "s", Body: "b"}
	if !SameSpec(Spec{Mail: mail}, Spec{Mail: &Mail{To: []string{"a@b"}, CC: []string{}, Subject: "s", Body: "b"}}) ||
		SameSpec(Spec{Mail: mail}, Spec{Mail: &Mail{To: []string{"a@c"}, Subject: "s", Body: "b"}}) {
		t.Error("mails are compared otherwise")
	}
}

func TestNullIsLeftOutInBodiesAndPayloadsOfChains(t *testing.T) {
	j, err := ParseJob([]byte(`{"name":"a","webhook":{"url":"http://x/","body":null,"success":null,"signing_secret":null},
		"on_success":[{"job":"b","payload":null,"if":null}],"inbound":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(j.Document()), `{"name":"a","webhook":{"url":"http://x/"},"on_success":[{"job":"b"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
