package jobs

import (
	"strings"
	"testing"
)

// sampleScope is an attempt to render for.
func sampleScope() *Scope {
	return &Scope{
		Run: &Run{
			ID: ID{1}, OperationID: ID{2}, Trigger: TriggerAPI, CorrelationID: "corr-1",
			Labels: map[string]string{"team": "data"},
		},
		Job: &Job{Name: "sync", Queue: "etl", Labels: map[string]string{"env": "prod"}},
		Payload: Raw(`{"id":9007199254740993,"big":899999999999999990,"price":1.10,"huge":1e400,` +
			`"name":"Ada \"L\" é","shop":"acme","ok":true,"none":null,"list":[1, 2.50,"x"],` +
			`"obj":{"b":1.0 , "a":[ ]},"path":"a/b c","dots":"..","nl":"a\r\nX: y","nul":"a\u0000b"}`),
		Checkpoint: Raw(`{"page":7}`), Attempt: 3,
		Secret: func(name string) (string, bool) {
			value, ok := map[string]string{"TOKEN": "s3cr3t-value", "SIGN": "whsec_abc"}[name]
			return value, ok
		},
	}
}

// prepared parses a job, wants it good, and prepares it.
func prepared(t *testing.T, doc string) *Prepared {
	t.Helper()
	j, err := ParseJob([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	p, err := Prepare(j.Spec())
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return p
}

func TestBodiesAreRenderedByteForByteWhereTheyArePaths(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"{{ payload.id }}","n":[ "{{payload.price}}" ],"k":"{{ payload.huge }}"}`: `{"id":9007199254740993,"n":[ 1.10 ],"k":1e400}`,
		`"{{ payload.obj }}"`:                                                     `{"b":1.0 , "a":[ ]}`,
		`{"o":"{{ payload.obj }}"}`:                                               `{"o":{"b":1.0 , "a":[ ]}}`,
		`{"o":"is {{ payload.obj }}!"}`:                                           `{"o":"is {\"b\":1.0 , \"a\":[ ]}!"}`,
		`{"o":"{{ payload.nope }}"}`:                                              `{"o":null}`,
		`{"o":"{{ payload.nope ?? payload.big }}"}`:                               `{"o":899999999999999990}`,
		`{"o":"{{ payload.list[-2] }}"}`:                                          `{"o":2.50}`,
		`"{{ payload.list[1] }} of {{ run.attempt }}"`:                            `2.50 of 3`,
		`"Hello {{ payload.name }}"`:                                              `Hello Ada "L" é`,
		`{"t":"Hello {{ payload.name }}"}`:                                        `{"t":"Hello Ada \"L\" é"}`,
		`"{{ json(payload.name) }}"`:                                              `"Ada \"L\" é"`,
		`"a={{ urlencode(payload.path) }}&b={{ base64(\"hi\") }}"`:                `a=a%2Fb%20c&b=aGk=`,
		`"{{ \"{{\" }} {{ \"}}\" }}"`:                                             `{{ }}`,
		`{"c":"{{ checkpoint.page }}","j":"{{ job.name }}/{{ job.labels.env }}"}`: `{"c":7,"j":"sync/prod"}`,
		`{"ok":"{{ payload.ok && run.trigger == \"api\" }}"}`:                     `{"ok":true}`,
		`"x"`:                                `x`,
		`""`:                                 ``,
		`{"a": {"b":1}}`:                     `{"a": {"b":1}}`,
		`"{\"a\":{\"b\":{{ payload.id }}}}"`: `{"a":{"b":9007199254740993}}`,
	} {
		p := prepared(t, `{"webhook":{"url":"http://x/","body":`+body+`}}`)
		got, failure := p.Render(sampleScope())
		if failure != nil {
			t.Errorf("%s: %v", body, failure)
		} else if string(got.Body) != want || got.Body == nil {
			t.Errorf("%s:\n got %s\nwant %s", body, got.Body, want)
		} else if got.Spec.Webhook != p.spec.Webhook {
			t.Errorf("%s: the webhook is another than the pinned one", body)
		}
	}
}

func TestURLsAreRenderedWithTheirValuesEncoded(t *testing.T) {
	for url, want := range map[string]string{
		"http://x/{{ payload.id }}":                                    "http://x/9007199254740993",
		"http://x/{{ payload.path }}?n={{ payload.name }}":             "http://x/a%2Fb%20c?n=Ada%20%22L%22%20%C3%A9",
		"https://{{ payload.shop }}.example.com/a?b={{ run.attempt }}": "https://acme.example.com/a?b=3",
		`{{ "http://" + payload.shop + "/x" }}`:                        "http://acme/x",
		"http://x/{{ secrets.TOKEN }}":                                 "http://x/s3cr3t-value",
		"http://x/{{ payload.dots }}a":                                 "http://x/..a",
	} {
		p := prepared(t, `{"webhook":{"url":`+string(AppendJSONString(nil, url))+`}}`)
		sc := sampleScope()
		host, failure := p.Host(sc.Payload, sc.Job)
		if failure != nil {
			t.Errorf("%s: %v", url, failure)
			continue
		}
		sc.Host = host
		got, failure := p.Render(sc)
		if failure != nil {
			t.Errorf("%s: %v", url, failure)
		} else if got.Spec.Webhook.URL != want {
			t.Errorf("%s:\n got %s\nwant %s", url, got.Spec.Webhook.URL, want)
		}
	}
}

func TestWhatCannotBeRenderedIsInvalidAndSaysWhichField(t *testing.T) {
	for doc, want := range map[string]string{
		`{"webhook":{"url":"http://x/{{ payload.nope }}"}}`:                     "webhook.url: line 1, column 13: gives nil",
		`{"webhook":{"url":"http://x/{{ payload.dots }}/a"}}`:                   "webhook.url: a segment of the path would be . or ..",
		`{"webhook":{"url":"http://x/.{{ payload.nope ?? \"\" }}"}}`:            "webhook.url: a segment of the path would be . or ..",
		`{"webhook":{"url":"http://x/{{ payload.list }}"}}`:                     "webhook.url: line 1, column 13: gives a list or an object",
		`{"webhook":{"url":"http://x/","headers":{"A":"{{ payload.nl }}"}}}`:    "webhook.headers.A: has a line break",
		`{"webhook":{"url":"http://x/","body":{"a":["b {{ payload.nope }}"]}}}`: "webhook.body.a[0]: line 1, column 6: gives nil",
		`{"script":{"source":"x","args":["","{{ payload.nul }}"]}}`:             "script.args[1]: has the character NUL",
		`{"script":{"source":"x","env":{"A":"{{ secrets.NONE }}"}}}`:            "secrets: there is no secret NONE",
		`{"mail":{"to":["{{ payload.nl }}"],"subject":"s","body":"b"}}`:         "mail.to[0]: has a line break",
		`{"mail":{"to":["a@b"],"subject":"{{ payload.nl }}","body":"b"}}`:       "mail.subject: has a line break",
		`{"webhook":{"url":"https://{{ payload.shop }}.example.com/"}}`:         "webhook.url: the host is not the one that was fixed",
	} {
		_, failure := prepared(t, doc).Render(sampleScope())
		if failure == nil || failure.Kind != FailInvalid || !strings.HasPrefix(failure.Message, want) {
			t.Errorf("%s:\n got %v\nwant %s", doc, failure, want)
		}
	}
}
