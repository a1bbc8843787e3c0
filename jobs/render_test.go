package jobs

import (
	"strings"
	"testing"
)

// renderOf renders a job for a payload; the host is fixed as when a run is made.
func renderOf(t *testing.T, doc, payload string) (*Rendered, *Failure) {
	t.Helper()
	p := prepared(t, doc)
	sc := sampleScope()
	sc.Payload = Raw(payload)
	host, failure := p.Host(sc.Payload, sc.Job)
	if failure != nil {
		return nil, failure
	}
	sc.Host = host
	return p.Render(sc)
}

func TestTheHostIsFixedByPayloadAndJob(t *testing.T) {
	job := &Job{Name: "sync", Labels: map[string]string{"region": "eu"}}
	for url, want := range map[string]string{
		"http://example.com/{{ payload.a }}":                      "",
		"https://{{ payload.shop }}.Example.COM./x":               "acme.example.com:443",
		"http://{{ payload.shop }}":                               "acme:80",
		"http://{{ payload.shop }}:08080?x={{ run.id }}":          "acme:8080",
		"http://api-{{ job.labels.region }}.x:{{ payload.port }}": "api-eu.x:8443",
		"https://[{{ payload.ip }}]/":                             "[2001:db8::1]:443",
		"{{ payload.url }}":                                       "hooks.example.com:9000",
		`{{ payload.nope ?? "HTTPS://A.b/c?d" }}`:                 "a.b:443",
	} {
		p := prepared(t, `{"webhook":{"url":`+string(AppendJSONString(nil, url))+`}}`)
		got, failure := p.Host(Raw(`{"shop":"acme","port":8443,"ip":"2001:DB8:0::1","url":"http://hooks.example.com:9000/x?y"}`), job)
		if failure != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", url, got, failure, want)
		}
	}
	if got, failure := prepared(t, `{"script":{"source":"x"}}`).Host(nil, job); got != "" || failure != nil {
		t.Errorf("got %q, %v", got, failure)
	}
}

func TestWhatIsNoHostIsInvalid(t *testing.T) {
	const part = "webhook.url: line 1, column 11: gives what cannot be part of a host"
	for value, want := range map[string]string{
		`"evil.example/"`: part, `"evil.example?"`: part, `"evil.example#"`: part, `"u@evil.example"`: part,
		`"a\\b"`: part, `"a b"`: part, `"a%2fb"`: part, `"a\nb"`: part, `"ü"`: part, `"\u0000"`: part,
		`null`: "webhook.url: line 1, column 11: gives nil", `["a"]`: "webhook.url: line 1, column 11: gives a list",
		`""`: "webhook.url: want a host", `"-a"`: "webhook.url: want a host name", `"a..b"`: "webhook.url: want a host name",
		`"a:b"`: "webhook.url: want a URL such as", `"a:99999"`: "webhook.url: want a port", `"127.1"`: "webhook.url: want a host name",
		`"` + strings.Repeat("a", 300) + `"`: "webhook.url: want a host name",
	} {
		_, failure := renderOf(t, `{"webhook":{"url":"http://{{ payload.h }}"}}`, `{"h":`+value+`}`)
		if failure == nil || !strings.HasPrefix(failure.Message, want) {
			t.Errorf("%.40s: got %v, want %s", value, failure, want)
		}
	}
	for value, want := range map[string]string{
		`"ftp://x/"`: "want it to begin with http:// or https://", `"http://u:p@x/"`: "want no user or password",
		`"http://x/#a"`: "want it without #", `"http://x/ a"`: "want printable ASCII", `"http://x/\r\nHost: y"`: "want printable ASCII",
		`""`: "want a URL", `7`: "want it to begin with", `"http://127.0.0.01/"`: "want a host name",
		`"http://x/` + strings.Repeat("a", maxURL) + `"`: "want at most 8192 bytes",
	} {
		_, failure := renderOf(t, `{"webhook":{"url":"{{ payload.u }}"}}`, `{"u":`+value+`}`)
		if failure == nil || !strings.HasPrefix(failure.Message, "webhook.url: "+want) {
			t.Errorf("%.40s: got %v, want %s", value, failure, want)
		}
	}
}

func TestTheHostOfAnAttemptIsTheOneThatWasFixed(t *testing.T) {
	p := prepared(t, `{"webhook":{"url":"https://{{ job.labels.region ?? payload.h }}.example/"}}`)
	sc := sampleScope()
	sc.Payload = Raw(`{"h":"eu"}`)
	for host, good := range map[string]bool{"eu.example:443": true, "eu.example:80": false, "us.example:443": false, "": false} {
		sc.Host = host
		_, failure := p.Render(sc)
		if (failure == nil) != good || failure != nil && failure.Message != "webhook.url: the host is not the one that was fixed when the run was made" {
			t.Errorf("%q: got %v", host, failure)
		}
	}
}

func TestValuesDoNotLeaveTheirSegmentOfThePath(t *testing.T) {
	const leaves = "webhook.url: a segment of the path would be . or .., which leads elsewhere"
	for url, tests := range map[string]map[string]string{
		"http://x/a/{{ payload.v }}/b": {
			`"c/../d"`: "http://x/a/c%2F..%2Fd/b", `"..."`: "http://x/a/.../b", `"%2e%2e"`: "http://x/a/%252e%252e/b",
			`".."`: leaves, `"."`: leaves, `""`: "http://x/a//b", `"é?#&="`: "http://x/a/%C3%A9%3F%23%26%3D/b",
			`true`: "http://x/a/true/b", `1.50`: "http://x/a/1.50/b", `"\u0000"`: "http://x/a/%00/b",
		},
		"http://x/.{{ payload.v }}":                               {`"."`: leaves, `""`: leaves, `"a"`: "http://x/.a"},
		"http://x/%2e{{ payload.v }}/":                            {`"."`: leaves, `"a"`: "http://x/%2ea/"},
		"http://x/{{ payload.v }}{{ payload.v }}?{{ payload.v }}": {`"."`: leaves, `".."`: "http://x/....?.."},
		"http://x/a?b=../{{ payload.v }}&c=..":                    {`".."`: "http://x/a?b=../..&c=.."},
		"http://x/../{{ payload.v }}":                             {`"a"`: "http://x/../a"}, // the author's own
		"http://x/%{{ payload.v }}":                               {`"41"`: "http://x/%41", `"zz"`: "webhook.url: want a URL such as"},
		"http://x/{{ payload.v }}":                                {`"` + strings.Repeat("é", 2000) + `"`: "webhook.url: is longer than 8192 bytes"},
	} {
		if url == "http://x/%{{ payload.v }}" {
			continue // cannot be saved: what stands there is no escape
		}
		for value, want := range tests {
			got, failure := renderOf(t, `{"webhook":{"url":"`+url+`"}}`, `{"v":`+value+`}`)
			switch {
			case failure != nil && !strings.HasPrefix(failure.Message, want):
				t.Errorf("%s with %.20s: got %v, want %s", url, value, failure, want)
			case failure == nil && got.Spec.Webhook.URL != want:
				t.Errorf("%s with %.20s: got %s, want %s", url, value, got.Spec.Webhook.URL, want)
			}
		}
	}
}

// A secret that an admin has set may be a path: https://hooks.slack.com/services/T0/B0/XXXX.
func TestAWholeSecretInThePathKeepsItsSlashes(t *testing.T) {
	const leaves = "webhook.url: a segment of the path would be . or .., which leads elsewhere"
	for url, tests := range map[string]map[string]string{
		"http://x/services/{{ secrets.TOKEN }}": {
			"T0/B0/XXXX": "http://x/services/T0/B0/XXXX", "/a//b/": "http://x/services//a//b/",
			"T0/B 0?a#b%2F\\é": "http://x/services/T0/B%200%3Fa%23b%252F%5C%C3%A9",
			"T0/../../admin":   leaves, "..": leaves, "./a": leaves, "a/.": leaves, "a/..": leaves,
			"a/%2e%2e/b":               "http://x/services/a/%252e%252e/b",
			strings.Repeat("a/", 5000): "webhook.url: is longer than 8192 bytes",
		},
		"http://x/{{ secrets['TOKEN'] }}?q={{ secrets.TOKEN }}": {"a/b": "http://x/a/b?q=a%2Fb"},
		"http://x/.{{ secrets.TOKEN }}":                         {"/a": leaves, "./a": leaves, "a/b": "http://x/.a/b"},
		"http://x/a?b={{ secrets.TOKEN }}/c":                    {"a/b": "http://x/a?b=a%2Fb/c"},
		// Only what is plainly a secret: here data could have a say.
		"http://x/{{ secrets.TOKEN + payload.v }}":                  {"a/b": "http://x/a%2Fb%2Fc"},
		"http://x/{{ payload.none ?? secrets.TOKEN }}":              {"a/b": "http://x/a%2Fb"},
		"http://x/{{ payload.v == '' ? 'a' : secrets.TOKEN }}":      {"a/b": "http://x/a%2Fb"},
		"http://x/{{ secrets.TOKEN }}{{ payload.v }}":               {"a/b": "http://x/a/b%2Fc"},
		"http://x/{{ secrets.TOKEN }}/{{ payload.dots }}/admin":     {"a/b": leaves},
		"http://{{ payload.h }}/{{ secrets.TOKEN }}?{{ job.name }}": {"a/b": "http://y/a/b?sync"},
	} {
		for secret, want := range tests {
			p := prepared(t, `{"webhook":{"url":"`+url+`"}}`)
			sc := sampleScope()
			sc.Payload = Raw(`{"v":"/c","dots":"..","h":"y"}`)
			sc.Secret = func(string) (string, bool) { return secret, true }
			sc.Host, _ = p.Host(sc.Payload, sc.Job)
			got, failure := p.Render(sc)
			switch {
			case failure != nil && failure.Message != want:
				t.Errorf("%s with %.20q: got %v, want %s", url, secret, failure, want)
			case failure == nil && got.Spec.Webhook.URL != want:
				t.Errorf("%s with %.20q: got %s, want %s", url, secret, got.Spec.Webhook.URL, want)
			}
		}
	}
}

func TestSizesOfWhatIsRenderedAreBounded(t *testing.T) {
	long := `{"a":"` + strings.Repeat("a", 100_000) + `","b":"` + strings.Repeat("a", 8<<10) + `"}`
	all := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(`"`+text+`",`, n), ",") }
	for doc, want := range map[string]string{
		`{"webhook":{"url":"http://x/","body":"` + strings.Repeat("{{ payload.a }}", 10) + `"}}`:                  "",
		`{"webhook":{"url":"http://x/","body":"` + strings.Repeat("{{ payload.a }}", 11) + `"}}`:                  "webhook.body: is longer than 1048576 bytes",
		`{"webhook":{"url":"http://x/","body":[` + all(10, "{{ payload.a }}") + `]}}`:                             "",
		`{"webhook":{"url":"http://x/","body":[` + all(11, "{{ payload.a }}") + `]}}`:                             "webhook.body: is longer than 1048576 bytes",
		`{"webhook":{"url":"http://x/","body":{"a":"x` + strings.Repeat("{{ payload.a }}", 11) + `"}}}`:           "webhook.body.a: is longer than 1048576 bytes",
		`{"webhook":{"url":"http://x/","headers":{"A":"{{ payload.b }}"}}}`:                                       "",
		`{"webhook":{"url":"http://x/","headers":{"A":"{{ payload.b }}x"}}}`:                                      "webhook.headers.A: is longer than 8192 bytes",
		`{"script":{"source":"x","args":["{{ payload.a }}"]}}`:                                                    "",
		`{"script":{"source":"x","env":{"A":"{{ payload.a + payload.b + payload.b + payload.b + payload.b }}"}}}`: "script.env.A: is longer than 130816 bytes",
		`{"script":{"source":"x","args":[` + all(50, "{{ payload.a }}") + `]}}`:                                   "script.args[41]: is too much: all rendered fields together may have 4194304 bytes",
		`{"mail":{"to":["a@b"],"subject":"{{ payload.a }}","body":"b"}}`:                                          "mail.subject: is longer than 8192 bytes",
		`{"mail":{"to":["{{ payload.a }}@b"],"subject":"s","body":"b"}}`:                                          "mail.to[0]: is longer than 1024 bytes",
		`{"mail":{"to":["a@b"],"subject":"s","body":"{{ payload.a }}"}}`:                                          "",
	} {
		_, failure := renderOf(t, doc, long)
		got := ""
		if failure != nil {
			got = failure.Message
		}
		if got != want {
			t.Errorf("%.100s: got %s, want %s", doc, got, want)
		}
	}
}

func TestRenderedMailsCannotBeGivenOtherHeadersOrRecipients(t *testing.T) {
	doc := `{"mail":{"to":["{{ payload.name }} <{{ payload.user }}@example.com>"],"cc":["{{ payload.cc }}"],"from":"{{ payload.from }}",
		"subject":"Re: {{ payload.subject }}","body":"{{ payload.body }}"}}`
	good := map[string]string{"name": "Ada", "user": "ada", "cc": "c@d.example", "from": "F <f@b>", "subject": "ü", "body": "a\r\n.\r\nb"}
	payload := func(field, value string) string {
		m := map[string]string{}
		for k, v := range good {
			m[k] = v
		}
		if field != "" {
			m[field] = value
		}
		return string(AppendJSON(nil, m))
	}
	got, failure := renderOf(t, doc, payload("", ""))
	if failure != nil {
		t.Fatal(failure)
	}
	if m := got.Spec.Mail; m.To[0] != "Ada <ada@example.com>" || m.CC[0] != "c@d.example" || m.From != "F <f@b>" ||
		m.Subject != "Re: ü" || m.Body != good["body"] || !got.Fresh {
		t.Errorf("got %+v", m)
	}
	for _, tt := range [][2]string{
		{"subject", "x\r\nBcc: evil@x"},
		{"subject", "x\nBcc: evil@x"},
		{"subject", "x\rBcc"},
		{"subject", "\x00"},
		{"subject", "a\u0085b"},
		{"subject", "a\u2028b"},
		{"subject", "\x1b[31m"},
		{"subject", "\x7f"},
		{"name", "x <evil@x>,"},
		{"name", "evil@x,"},
		{"name", `"x" <evil@x> (`},
		{"name", "a\r\nBcc: evil@x"},
		{"name", "g:"},
		{"name", "a;b"},
		{"user", "evil@x>,<a"},
		{"user", "a@x>("},
		{"user", "a b"},
		{"user", ""},
		{"user", "a\nb"},
		{"user", "a@b"},
		{"cc", "a@b, evil@x"},
		{"cc", "a@b\r\nBcc: evil@x"},
		{"cc", ""},
		{"cc", "x"},
		{"cc", "g: a@b;"},
		{"cc", "a@b (c)"},
		{"cc", " a@b"},
		{"cc", "a@b\x00"},
		{"from", "a@b\nX: y"},
		{"from", "a@b,c@d"},
		{"from", " "},
	} {
		got, failure := renderOf(t, doc, payload(tt[0], tt[1]))
		if failure == nil {
			t.Errorf("%s %q is accepted: %+v", tt[0], tt[1], got.Spec.Mail)
		} else if !strings.HasPrefix(failure.Message, "mail.") || strings.Contains(failure.Message, "evil") {
			t.Errorf("%s %q: got %v", tt[0], tt[1], failure)
		}
	}
}

func TestFailuresOfRenderingQuoteNeitherDataNorSecrets(t *testing.T) {
	for _, doc := range []string{
		`{"webhook":{"url":"http://x/","headers":{"A":"{{ secrets.TOKEN + payload.nl }}"}}}`,
		`{"webhook":{"url":"{{ payload.v }}"}}`,
		`{"webhook":{"url":"http://{{ payload.nl }}/"}}`,
		`{"webhook":{"url":"http://x/","headers":{"Host":"{{ payload.v }} {{ secrets.TOKEN }}"}}}`,
		`{"webhook":{"url":"http://x/","body":"{{ int(payload.v) }}"}}`,
		`{"webhook":{"url":"http://x/","body":{"hunter2":"{{ -payload.v }}"}}}`,
		`{"webhook":{"url":"http://x/","signing_secret":"whsec_%{{ secrets.TOKEN }}"}}`,
		`{"mail":{"to":["{{ payload.v }}"],"subject":"s","body":"b"}}`,
		`{"script":{"source":"x","args":["{{ payload.v + 1 }}"]}}`,
	} {
		_, failure := renderOf(t, doc, `{"v":"hunter2-value","nl":"hunter2-value\n"}`)
		if failure == nil {
			t.Errorf("%s is rendered", doc)
		} else if strings.Contains(failure.Message, "hunter2-value") || strings.Contains(failure.Message, "s3cr3t") {
			t.Errorf("%s: the failure quotes: %v", doc, failure)
		}
	}
}

func TestSigningSecretsAndHostHeadersAreRenderedAndChecked(t *testing.T) {
	_, failure := renderOf(t, `{"webhook":{"url":"http://x/","signing_secret":["{{ secrets.TOKEN }}","{{ secrets.SIGN }}%"],
		"headers":{"Host":"{{ payload.h }}:8443","X":"{{ payload.n }} {{ payload.ok }}","Y":"fixed"}}}`, `{"h":"a.example","n":1.50,"ok":false}`)
	if failure == nil || failure.Message != "webhook.signing_secret[1]: the secret begins with whsec_, but what follows is not base64" {
		t.Errorf("got %v", failure)
	}
	got, failure := renderOf(t, `{"webhook":{"url":"http://x/","signing_secret":["{{ secrets.TOKEN }}","a{{ secrets.SIGN }}"],
		"headers":{"Host":"{{ payload.h }}:8443","X":"{{ payload.n }} {{ payload.ok }}","Y":"fixed"}}}`, `{"h":"a.example","n":1.50,"ok":false}`)
	if failure != nil {
		t.Fatal(failure)
	}
	w := got.Spec.Webhook
	if w.SigningSecret[0] != "s3cr3t-value" || w.SigningSecret[1] != "awhsec_abc" || w.Headers["Host"] != "a.example:8443" ||
		w.Headers["X"] != "1.50 false" || w.Headers["Y"] != "fixed" || !got.Fresh {
		t.Errorf("got %+v", w)
	}
	if _, failure = renderOf(t, `{"webhook":{"url":"http://x/","headers":{"Host":"{{ payload.h }}"}}}`, `{"h":"a/b"}`); failure == nil {
		t.Error("a path is a host")
	}
}

func TestRenderingChangesNothingThatIsShared(t *testing.T) {
	doc := `{"webhook":{"url":"http://x/{{ payload.id }}","headers":{"A":"{{ payload.id }}"},"body":{"a":"{{ payload.id }}"}}}`
	p := prepared(t, doc)
	before := string(AppendJSON(nil, p.spec))
	done := make(chan bool)
	for range 4 {
		go func() {
			defer func() { done <- true }()
			for range 100 {
				got, failure := p.Render(sampleScope())
				if failure != nil || got.Spec.Webhook.Headers["A"] != "9007199254740993" {
					t.Errorf("got %v, %v", got, failure)
					return
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
	if after := string(AppendJSON(nil, p.spec)); after != before {
		t.Errorf("got %s", after)
	}
}

func TestSuccessJudgesAnswers(t *testing.T) {
	const ok = `http.status in [200, 404] && http.body.ok && http.headers["x-a"] == payload.shop && run.attempt == 3 && checkpoint.page == 7`
	judge := func(success string) Judgement {
		got, failure := prepared(t, `{"webhook":{"url":"http://x/","success":`+string(AppendJSONString(nil, success))+`}}`).Render(sampleScope())
		if failure != nil {
			t.Fatal(failure)
		}
		return got.Judge
	}
	if judge("") != nil || judge(DefaultSuccess) != nil {
		t.Error("the default is an expression")
	}
	answer := Answer{Status: 404, Headers: map[string]string{"x-a": "acme"}, Body: []byte(`{"ok":true}`)}
	for _, tt := range []struct {
		success string
		body    string
		good    bool
		err     string
	}{
		{ok, `{"ok":true}`, true, ""},
		{ok, `{"ok":false}`, false, ""},
		{ok, `{}`, false, ""},
		{ok, `not JSON`, false, ""},
		{ok, `[[[`, false, ""},
		{"http.body.ok", `{"ok":null}`, false, ""},
		{"http.body.ok", `{"ok":"yes"}`, false, "webhook.success: gave a text, not true or false"},
		{"http.body", ``, false, "webhook.success: gave a text, not true or false"},
		{`http.body contains "done"`, "all done", true, ""},
		{`http.body contains "done"`, "all\xff done", true, ""},
		{`http.body.n + 1 > 2`, `{"n":"1"}`, false, "webhook.success: line 1, column 13: + does not go with a text and a number"},
		{"false", "", false, ""}, // cases.md 57: no message but the answer's own
		{"true", "", true, ""},
		{`http.status == 404 ? payload.ok : nil`, "", true, ""},
		{`http.body.a == 9007199254740993`, `{"a":9007199254740993,"a":1}`, false, ""},
		{`http.body matches "(a|b)*c" || http.body matches "(x|y)*z"`, strings.Repeat("ab", 1<<19), false, "webhook.success: line 1, column 42: takes too long"},
	} {
		answer.Body = []byte(tt.body)
		good, err := judge(tt.success)(answer)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if good != tt.good || text != tt.err {
			t.Errorf("%s of %.40s: got %v, %s", tt.success, tt.body, good, text)
		}
	}
}
