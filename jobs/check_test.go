package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const webhookURL = "https://example.com/hooks/sync"

func TestParseJobReadsADocument(t *testing.T) {
	text := `{
	"name": "nightly-sync", "description": "Pull\nthree APIs", "labels": {"team": "data",
		"k8s.io/x": "é ü"},
	"webhook": {"url": "https://example.com:8443/h?a=b%20c", "method": "PUT",
		"headers": {"X-Key": "a b\tc", "x_y": "é"}, "nightshift_headers": false},
	"script": null, "payload": {"b" : 1.10}, "timeout": "24h", "queue": "etl", "priority": -100,
	"retry": {"max_attempts": 3, "backoff": {"kind": "fixed", "base": "1s"}, "rules": [{"if": "attempt > 1",
		"then": "fail"}]},
	"retain": {"succeeded": "0s", "cancelled": null, "failed": "90d"}
	}`
	got, err := ParseJob([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{
		Name: "nightly-sync", Description: "Pull\nthree APIs",
		Labels: map[string]string{"team": "data", "k8s.io/x": "é ü"},
		Webhook: &Webhook{
			URL: "https://example.com:8443/h?a=b%20c", Method: "PUT",
			Headers:           map[string]string{"X-Key": "a b\tc", "x_y": "é"},
			NightshiftHeaders: new(false),
		},
		Payload: Raw(`{"b" : 1.10}`), Timeout: new(Duration(MaxTimeout)), Queue: "etl",
		Priority: -100,
		Retry: Retry{
			MaxAttempts: new(3), Backoff: &Backoff{Kind: "fixed", Base: new(Duration(1e9))},
			Rules: []Rule{{If: "attempt > 1", Then: "fail"}},
		},
		Retain: Retain{Succeeded: new(Duration(0)), Failed: new(Duration(90 * 24 * 3600e9))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseJobTakesBackWhatWasAnswered(t *testing.T) {
	answered := Job{
		Name: "a", Webhook: &Webhook{URL: webhookURL}, Version: 3, Revision: 7, Paused: true,
		PauseNote: "why",
		CreatedAt: 1796000000123, UpdatedAt: 1796000000456,
	}
	got, err := ParseJob(AppendJSON(nil, &answered))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Job{Name: "a", Webhook: &Webhook{URL: webhookURL}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNullIsTheSameAsLeftOutInAJob(t *testing.T) {
	got, err := ParseJob([]byte(`{"name":null,"webhook":null,"script":{"source":"x","path":null,"args":null,` +
		`"env":null,"grace":null},"payload":null,"timeout":null,"queue":null,"priority":null,"retry":null,` +
		`"retain":null,"labels":null,"version":null,"created_at":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Job{Script: &Script{Source: "x"}}, got); diff != "" {
		t.Error(diff)
	}
}

// checks runs documents, each a member of a good job, through ParseJob and wants what it says.
func checks(t *testing.T, rest string, tests map[string]string) {
	t.Helper()
	for member, want := range tests {
		text := "{" + member + rest + "}"
		_, err := ParseJob([]byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.200s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// Reliability A5.
func TestParseJobChecksNames(t *testing.T) {
	bad := errName.Error()
	tests := map[string]string{}
	for _, name := range []string{
		"a", "0", "a.b_c-d", "nightly-sync", strings.Repeat("a", 100),
		"a..b",
	} {
		tests[`"name":`+string(AppendJSONString(nil, name))] = ""
		tests[`"queue":`+string(AppendJSONString(nil, name))] = ""
	}
	for _, name := range []string{
		"../a", "a/b", "%2e%2e", `..%5c`, `a\b`, "a\x00", "a\nb", ".", "..", ".a", "-a", "_a", "A",
		"aB", " a", "a ",
		strings.Repeat("a", 101), strings.Repeat("a", 300), "\u202eabc", "аbc", "é", "a:b",
		"a\u200bb",
	} {
		tests[`"name":`+string(AppendJSONString(nil, name))] = "name: " + bad
		tests[`"queue":`+string(AppendJSONString(nil, name))] = "queue: " + bad
	}
	checks(t, `,"script":{"source":"x"}`, tests)
}

func TestParseJobChecksTheTopLevel(t *testing.T) {
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"l%d":""`, i))
		}
		return `"labels":{` + strings.Join(list, ",") + `}`
	}
	labelKey := `want a key of 1 to 63 letters, digits, ".", "_", "/" and "-", beginning with a ` +
		`letter or a digit`
	labelValue := "want at most 255 bytes of printable text"
	checks(t, `,"script":{"source":"x"}`, map[string]string{
		`"timeout":"1ms"`:      "",
		`"timeout":"24h"`:      "",
		`"timeout":"0s"`:       "timeout: want more than 0s and at most 24h",
		`"timeout":"24h1ms"`:   "timeout: want more than 0s and at most 24h",
		`"timeout":"-1s"`:      `timeout: "-1s" is not a duration: want ` + durationForm,
		`"long_after":"1ms"`:   "",
		`"long_after":null`:    "",
		`"long_after":"3653d"`: "",
		`"long_after":"0s"`:    "long_after: want more than 0s; null: nobody is told that a run takes long",
		`"long_after":"30"`:    `long_after: "30" is not a duration: want ` + durationForm,
		`"priority":100`:       "",
		`"priority":-101`:      "priority: want from -100 to 100",
		`"priority":101`:       "priority: want from -100 to 100",
		`"priority":0.5`:       "priority: want a whole number, got a fraction",
		`"retain":{}`:          "",
		`"description":""`:     "",
		many(32):               "",
		many(33):               "labels: want at most 32 labels, got 33",
		`"labels":{"":"x"}`:    `labels[""]: ` + labelKey,
		`"labels":{"-a":"x"}`:  "labels.-a: " + labelKey,
		`"labels":{"a b":""}`:  `labels["a b"]: ` + labelKey,
		`"labels":{"a/B.c":"` + strings.Repeat("é", 127) + `x"}`: "",
		`"labels":{"a":"` + strings.Repeat("é", 128) + `"}`:      "labels.a: " + labelValue,
		`"labels":{"a":"x\ny"}`:                                  "labels.a: " + labelValue,
		`"labels":{"a":"\u202e"}`:                                "labels.a: " + labelValue,
		`"labels":{"a":"\u0000"}`:                                "labels.a: " + labelValue,
		`"description":"a\u0000"`: "description: want text of at " +
			"most 4096 bytes",
		`"description":"` + strings.Repeat("x", 4097) +
			`"`: "description: want text of at most 4096 bytes",
		`"payload":"` + strings.Repeat("x", MaxPayload-2) + `"`: "",
		`"payload":"` + strings.Repeat("x", MaxPayload-1) +
			`"`: "payload: want at most 262144 bytes, got 262145",
		`"payload":{"a":{"b":1,"b":2}}`: "payload.a.b: this key stands " +
			"twice in the same object",
		`"webhook":{"url":"http://x/"}`: "script: want exactly one of webhook, script, mail, group: webhook " +
			"is there too",
		`"name":"A","priority":101,"queue":"B"`: "name: " + errName.Error() + "; queue: " +
			errName.Error() +
			"; priority: want from -100 to 100",
	})
	checks(t, "", map[string]string{``: "want exactly one of webhook, script, mail, group"})
	checks(t, `,"webhook":{"url":"x"},"script":{}`, map[string]string{`"colour":1`: `colour: unknown ` +
		`field; script: want exactly one of webhook, script, mail, group: webhook is there too; webhook.url: ` +
		`want it to begin with http:// or https://; script: want exactly one of source, path`})
}

func TestParseJobRefusesALargePayloadByItsSize(t *testing.T) {
	_, err := ParseJob([]byte(`{"payload":"` + strings.Repeat("x", MaxPayload) +
		`","script":{"source":"x"}}`))
	var large *TooLargeError
	if !errors.As(err, &large) || *large != (TooLargeError{"payload", MaxPayload + 2, MaxPayload}) {
		t.Errorf("got %v", err)
	}
}

func TestParseJobSaysWhereUnknownFieldsBelong(t *testing.T) {
	tests := map[string]string{
		`"retry":{"timeout":"1s"}`: "retry.timeout: unknown field: it belongs at " +
			"the top level of the job",
		`"retry":{"rules":[{"if":"true","then":"fail","priority":1}]}`: "retry.rules[0].priority: unknown field: it " +
			"belongs at the top level of the job",
		`"url":"x"`: "url: unknown field: it belongs below webhook",
		`"max_attempts":1`: "max_attempts: unknown field: it belongs below " +
			"retry",
		`"jitter":1`: "jitter: unknown field: it belongs below " +
			"retry.backoff",
		`"then":"x"`:      "then: unknown field: it belongs below retry.rules",
		`"TIMEOUT":"1s"`:  `TIMEOUT: unknown field: want "timeout"`,
		`"time-out":"1s"`: `time-out: unknown field: want "timeout"`,
		`"retry":{"maxAttempts":1}`: `retry.maxAttempts: unknown field: want ` +
			`"max_attempts"`,
		`"retires":{}`: `retires: unknown field`,
		`"prioritty":1`: `prioritty: unknown field: did you mean ` +
			`"priority"?`,
		`"schedule":[]`: `schedule: unknown field: want "schedules", such as ` +
			`[{"cron": "0 2 * * *", "timezone": "Europe/Berlin"}]`,
		`"overlap":"skip"`: "overlap: unknown field: it belongs below schedules",
		`"retry":{"backoff":{"initial":"1s"}}`: "retry.backoff.initial: unknown field: known " +
			"here are kind, base, factor, max, jitter",
	}
	checks(t, `,"script":{"source":"x"}`, tests)
}

func TestParseJobChecksURLs(t *testing.T) {
	const (
		form   = "want a URL such as https://example.com/hooks/sync"
		unread = form + ": the host, the port or a %-escape cannot be read"
		ascii  = "want printable ASCII without spaces and backslashes: a host with other " +
			"letters in its xn-- form, all else percent-encoded"
		scheme   = "want it to begin with http:// or https://"
		userinfo = "want no user or password in it: use a header Authorization"
		fragment = "want it without # and what follows: that is never sent"
		port     = "want a port from 1 to 65535, or none and no colon"
		brackets = "want an IPv6 address without a zone in the brackets"
		host     = "want a host name or an IP address; 127.0.0.1 in full and decimal, IPv6 in " +
			"brackets"
	)
	long := "http://x/" + strings.Repeat("a", 8<<10-9)
	tests := map[string]string{}
	for url, want := range map[string]string{
		"http://example.com": "", "https://example.com/": "", "HTTPS://Example.COM./a?b=c&d": "",
		"http://localhost:8080/x": "", "http://127.0.0.1/": "", "http://[::1]:80/": "",
		"http://[2001:db8::1]/": "",
		"http://my_host/":       "", "http://xn--bcher-kva.example/": "", "http://x/%C3%A9?q=%00": "",
		"http://x:65535/":   "",
		"http://1.example/": "", "http://10.0.0.1:1/{a}": "", long: "",
		long + "a": "want at most 8192 bytes", "": form, "example.com/x": scheme,
		"//example.com/": scheme,
		"ftp://x/":       scheme, "file:///etc/passwd": scheme, "javascript:alert(1)": scheme,
		"http:x":     "want a host, as in http://example.com/",
		"https:///x": "want a host, as in https://example.com/", "http://:80/": host,
		"http://user@x/": userinfo, "http://user:pw@x/": userinfo, "http://@x/": userinfo,
		"http://x/#a": fragment, "http://x/#": fragment, "http://x:/": port, "http://x:0/": port,
		"http://x:65536/": port,
		"http://x:80a/":   unread, "http://x:-1/": unread, "http://x/%zz": unread,
		"http://[::1/":         unread,
		"http://[::1%25eth0]/": brackets, "http://[127.0.0.1]/": unread, "http://[x]/": unread,
		"http://[]/":             unread,
		"http://bücher.example/": ascii, "http://x/é": ascii, "http://x/a b": ascii,
		" http://x/": ascii, "http://x/\n": ascii,
		`http://x\@y/`: ascii, "http://x/\x00": ascii,
		"http://a..b/": host, "http://-a/": host, "http://a-/": host, "http://a!b/": host,
		"http://a,b/": host, "http://.../": host,
		"http://127.1/": host, "http://2130706433/": host, "http://0x7f.1/": host,
		"http://0x7f000001/": host, "http://1.2.3.4.5/": host,
		"http://127.0.0.01/": host, "http://" + strings.Repeat("a", 64) + "/": host,
		"http://::1/": unread,
		"http://" + strings.Repeat("a.", 127) + "a/": host, "http://x/{{ payload.a }}": "",
	} {
		if want != "" {
			want = "webhook.url: " + want
		}
		tests[`"webhook":{"url":`+string(AppendJSONString(nil, url))+`}`] = want
	}
	checks(t, "", tests)
}

func TestParseJobChecksTheRestOfAWebhook(t *testing.T) {
	own := "this header is set by the server and may not be given"
	token := "want a header name of letters, digits and !#$%&'*+-.^_`|~"
	value := "want a value of at most 8192 bytes on one line, without control characters"
	host := ".Host: want a host, or host:port"
	tests := map[string]string{}
	for _, m := range methods {
		tests[`"method":"`+m+`"`] = ""
	}
	for _, m := range []string{"post", "OPTIONS", "CONNECT", "TRACE", "GET ", "X"} {
		tests[`"method":"`+m+`"`] = "webhook.method: want one of POST, PUT, PATCH, DELETE, GET, " +
			"HEAD"
	}
	for _, h := range []string{
		"HTTP2-Settings", "content-length", "Transfer-Encoding", "Connection", "TE", "Trailer", "Upgrade",
		"Keep-Alive",
		"Proxy-Authorization", "proxy-connection", "Expect",
	} {
		tests[`"headers":{"`+h+`":"x"}`] = "webhook.headers." + h + ": " + own
	}
	for h, want := range map[string]string{
		`"Host":"a.example:8443"`: "", `"host":"[::1]"`: "", `"Host":"10.0.0.1"`: "",
		`"Host":""`: host, `"Host":"a/b"`: host, `"Host":"u@a"`: host, `"Host":"a b"`: host,
		`"Host":"a?b"`: host, `"Host":"a:0"`: ".Host: want a port from 1 to 65535, or none and no colon",
		`"Host":"-"`: ".Host: want a host name or an IP address; 127.0.0.1 in full and decimal, " +
			"IPv6 in brackets",
		`"Host":"{{ payload.host }}"`: "",
		`"X":""`:                      "", `"Content-Type":"text/plain"`: "", `"User-Agent":"x"`: "",
		`"Authorization":"Bearer x"`: "",
		`"":"x"`:                     `[""]: ` + token, `"a b":"x"`: `["a b"]: ` + token, `"a:":"x"`: `["a:"]: ` +
			token,
		`"a\r\nb":"x"`: `["a\r\nb"]: ` + token, `"é":"x"`: `["é"]: ` + token,
		`"A":"x\r\ny"`: ".A: " + value, `"A":"x\u0000"`: ".A: " + value, `"A":"\u007f"`: ".A: " +
			value,
		`"A":"` + strings.Repeat("x", 8<<10+1) + `"`: ".A: " + value,
		`"A":"{{ secrets.X }}"`:                      "",
		`"A":"1","a":"2"`: ".a: this header stands twice, in other " +
			"letters",
	} {
		if want != "" {
			want = "webhook.headers" + want
		}
		tests[`"headers":{`+h+`}`] = want
	}
	for member, want := range tests {
		checks(t, "", map[string]string{`"webhook":{"url":"` + webhookURL + `",` + member +
			`}`: want})
	}
}

func TestParseJobChecksScripts(t *testing.T) {
	const (
		below = "script.path: want a path below the scripts folder, such as sync/run.py, not " +
			"an absolute one"
		dots  = "script.path: want a path below the scripts folder, without .."
		plain = "script.path: want the plain path of a file, such as sync/run.py, without . and //"
		chars = "script.path: want a path of at most 4096 bytes without backslashes and " +
			"control characters"
		dir = "script.dir: want the absolute path of a folder, or null for an empty one of " +
			"its own"
		one    = "script: want exactly one of source, path"
		prog   = "script.interpreter: want a program and its arguments, such as [python3]"
		noNUL  = "want text without NUL"
		name   = "want a name of letters, digits and _, not beginning with a digit"
		source = `"source":"x",`
	)
	for member, want := range map[string]string{
		``: one, `"source":""`: one, `"source":"x","path":"y"`: one, `"source":"x"`: "",
		`"source":"` + strings.Repeat("x", MaxSource) + `"`: "",
		`"source":"` + strings.Repeat("x", MaxSource+1) +
			`"`: "script.source: want at most 1048576 bytes",
		`"source":"a\u0000"`: "script.source: " + noNUL, `"source":"{{ x }}"`: "",
		`"path":"run.py"`: "", `"path":"a/b-c/run..py"`: "", `"path":"..a"`: "", `"path":"é/x"`: "",
		`"path":"/etc/passwd"`: below, `"path":".."`: dots, `"path":"../x"`: dots,
		`"path":"a/../../x"`: dots, `"path":"a/.."`: dots,
		`"path":"./a"`: plain, `"path":"a//b"`: plain, `"path":"a/"`: plain, `"path":"."`: plain,
		`"path":"a\\b"`: chars, `"path":"a\u0000"`: chars, `"path":"a\nb"`: chars,
		source + `"interpreter":["python3","-u"]`: "", source + `"interpreter":[]`: prog, source +
			`"interpreter":[""]`: prog,
		source + `"interpreter":["a\u0000"]`: "script.interpreter[0]: " +
			noNUL,
		source + `"args":[]`:                  "",
		source + `"args":["","a b"]`:          "",
		source + `"args":["a","\u0000"]`:      "script.args[1]: " + noNUL,
		source + `"args":["{{ payload.x }}"]`: "",
		source + `"args":["` + strings.Repeat("x", 128<<10) +
			`"]`: "script.args[0]: want less than 128 KiB",
		source + `"env":{"_A1":"x","a":""}`: "",
		source + `"env":{"1A":"x"}`:         "script.env.1A: " + name,
		source + `"env":{"":"x"}`:           `script.env[""]: ` + name,
		source + `"env":{"A=B":"x"}`:        `script.env["A=B"]: ` + name,
		source + `"env":{"NIGHTSHIFT_X":"x"}`: "script.env.NIGHTSHIFT_X: " +
			"names that begin with NIGHTSHIFT_ are set by the server",
		source + `"env":{"NIGHTSHIFTX":"x"}`:     "",
		source + `"env":{"A":"\u0000"}`:          "script.env.A: " + noNUL,
		source + `"env":{"A":"{{ secrets.A }}"}`: "",
		source + `"dir":"/srv/x"`:                "", source +
			`"dir":"srv"`: dir, source + `"dir":"/a\u0000"`: dir,
		source + `"grace":"0s"`: "", source + `"grace":"1h"`: "", source +
			`"grace":"61m"`: "script.grace: want from 0s to 1h",
	} {
		checks(t, "", map[string]string{`"script":{` + member + `}`: want})
	}
	var args []string
	for range maxArgs + 1 {
		args = append(args, `"x"`)
	}
	checks(t, "", map[string]string{
		`"script":{"source":"x","args":[` + strings.Join(args, ",") +
			`]}`: "script.args: want at most 1000 of them, got 1001",
	})
}

func TestMessagesOfChecksDoNotQuoteValues(t *testing.T) {
	for _, text := range []string{
		`{"webhook":{"url":"https://user:hunter2@x/"}}`, `{"webhook":{"url":"https://x:hunter2/"}}`,
		`{"webhook":{"url":"http://x/","headers":{"A":"hunter2\u0000"}}}`,
		`{"script":{"source":"x","env":{"A":"hunter2\u0000"}}}`,
		`{"script":{"source":"x","args":["hunter2\u0000"]}}`, `{"script":{"path":"../hunter2"}}`,
		`{"labels":{"a":"hunter2\u0000"}}`,
	} {
		if _, err := ParseJob([]byte(text)); err == nil || strings.Contains(err.Error(),
			"hunter2") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestCheckTextsOfRuns(t *testing.T) {
	tests := []struct {
		check func(string) error
		text  string
		good  bool
	}{
		{CheckCorrelationID, "", true},
		{CheckCorrelationID, "order 17/é", true},
		{CheckCorrelationID, strings.Repeat("x", 255), true},
		{CheckCorrelationID, strings.Repeat("x", 256), false},
		{CheckCorrelationID, "a\nb", false},
		{CheckCorrelationID, "a\x00", false},
		{CheckCorrelationID, "a\xff", false},
		{CheckCorrelationID, "a\u2028b", false},
		{CheckIdempotencyKey, "", false},
		{CheckIdempotencyKey, "a b~!", true},
		{CheckIdempotencyKey, strings.Repeat("x", 255), true},
		{CheckIdempotencyKey, strings.Repeat("x", 256), false},
		{CheckIdempotencyKey, "é", false},
		{CheckIdempotencyKey, "a\tb", false},
		{CheckIdempotencyKey, "\xff", false},
	}
	for _, tt := range tests {
		if err := tt.check(tt.text); (err == nil) != tt.good {
			t.Errorf("%q: got %v", tt.text, err)
		}
	}
	for text, good := range map[string]bool{
		`null`: true, `{"id": 9007199254740993}`: true, `1e400`: true, "\"\\ud800\\u0000\"": true,
		"\"\xff\"": false,
		``:         false, `{"a":1,"a":2}`: false, `"` + strings.Repeat("x", MaxPayload-2) + `"`: true,
		`"` + strings.Repeat("x", MaxPayload-1) + `"`: false,
	} {
		if err := CheckPayload(Raw(text)); (err == nil) != good {
			t.Errorf("%.40q: got %v", text, err)
		}
	}
}

// cases.md 74 and 157: what a document carries for others comes back as it was.
func TestDocumentKeepsThePayloadByteForByte(t *testing.T) {
	payload := "{\"id\": 9007199254740993,\n \"b\":899999999999999990, " +
		"\"c\":1.10,\"d\":1e400,\"e\":\"\\ud800\\u0000\\u003c<\"}"
	j, err := ParseJob([]byte(`{"name":"a","script":{"source":"x"},"payload":` + payload + `}`))
	if err != nil {
		t.Fatal(err)
	}
	stored := j.Document()
	if want := `{"name":"a","script":{"source":"x"},"payload":` + payload +
		`}`; string(stored) != want {
		t.Errorf("got %s, want %s", stored, want)
	}
	again, err := ParseDocument(stored)
	if err != nil || string(again.Payload) != payload {
		t.Errorf("got %q, %v", again.Payload, err)
	}
}

func TestDocumentHoldsNoStateAndNothingLeftOut(t *testing.T) {
	j := &Job{
		Name: "a", Webhook: &Webhook{URL: webhookURL}, Version: 3, Revision: 4, Paused: true,
		PauseNote: "x",
		CreatedAt: 1796000000123, UpdatedAt: 1796000000123,
	}
	if got, want := string(j.Document()),
		`{"name":"a","webhook":{"url":"`+webhookURL+`"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDocumentOfEqualJobsIsEqual(t *testing.T) {
	same := []string{
		`{"name":"a","script":{"source":"x","args":[],"env":{}},"labels":{},"priority":0,"retry":{},"retain":{}}`,
		`{"retain":null,"script":{"source":"x"},"name":"a","payload":null,"version":7}`,
	}
	first, err := ParseJob([]byte(same[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range same {
		j, err := ParseJob([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(j.Document(), first.Document()) {
			t.Errorf("%s: got %s, want %s", text, j.Document(), first.Document())
		}
	}
}

// Each field of a job is either in its document or state.
func TestDocumentHasEveryField(t *testing.T) {
	state := map[string]bool{
		"version": true, "paused": true, "pause_note": true, "set": true,
		"created_at": true, "updated_at": true,
	}
	var names []string
	for _, f := range fieldsOf(reflect.TypeFor[Job]()) {
		if !state[f.name] {
			names = append(names, f.name)
		}
	}
	var stored []string
	for _, f := range fieldsOf(reflect.TypeFor[document]()) {
		stored = append(stored, f.name)
	}
	if diff := cmp.Diff(names, stored); diff != "" {
		t.Error(diff)
	}
}

func TestParseDocumentReadsWhatALaterVersionWrote(t *testing.T) {
	j, err := ParseDocument([]byte(`{"name":"a","webhook":{"url":"x","body":{"a":1}},"group":{}}`))
	if err != nil || j.Webhook.URL != "x" {
		t.Errorf("got %+v, %v", j, err)
	}
	if _, err := ParseDocument([]byte(`{"name":`)); err == nil {
		t.Error("a broken document was read")
	}
}

func TestSameSpecLooksAtWhatIsExecuted(t *testing.T) {
	base := Spec{Webhook: &Webhook{URL: webhookURL}}
	script := Spec{Script: &Script{Source: "x"}}
	tests := []struct {
		a, b Spec
		want bool
	}{
		{base, base, true},
		{base, Spec{Webhook: &Webhook{
			URL: webhookURL, Method: "POST",
			NightshiftHeaders: new(true),
		}}, true},
		{base, Spec{Webhook: &Webhook{URL: webhookURL, Headers: map[string]string{}}}, true},
		{base, Spec{Webhook: &Webhook{URL: webhookURL, Method: "PUT"}}, false},
		{base, Spec{Webhook: &Webhook{URL: webhookURL, NightshiftHeaders: new(false)}}, false},
		{
			base,
			Spec{Webhook: &Webhook{URL: webhookURL, Headers: map[string]string{"A": "b"}}},
			false,
		},
		{base, Spec{Webhook: &Webhook{URL: webhookURL, Completion: CompletionResponse}}, true},
		{base, Spec{Webhook: &Webhook{URL: webhookURL, Completion: CompletionCallback}}, false},
		{base, Spec{Webhook: &Webhook{URL: webhookURL, HeartbeatTimeout: new(Duration(30e9))}}, false},
		{base, script, false},
		{script, Spec{Script: &Script{Source: "x", User: "www-data"}}, false},
		{script, Spec{Script: &Script{Source: "x", Memory: new(Size(1 << 30))}}, false},
		{script, Spec{Script: &Script{
			Source: "x", Grace: new(Duration(DefaultGrace)),
			Args: []string{},
		}}, true},
		{script, Spec{Script: &Script{Source: "x", Grace: new(Duration(0))}}, false},
		{script, Spec{Script: &Script{Source: "y"}}, false},
		{script, Spec{Script: &Script{Source: "x", Args: []string{"a"}}}, false},
	}
	for _, tt := range tests {
		if got := SameSpec(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: got %v", AppendJSON(nil, tt.a), AppendJSON(nil, tt.b), got)
		}
	}
	if base.Webhook.Method != "" || script.Script.Grace != nil {
		t.Error("comparing changed a spec")
	}
}
