package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// hostileNames are texts that are no name anywhere: parts of paths, control characters, letters that
// look like others.
var hostileNames = []string{
	"..", "../../etc/passwd", "/etc/passwd", `..\..\boot.ini`, "a/b", "%2e%2e%2fetc", "..%2f..%2fetc",
	"a\x00passwd", "passwd\x00", "a\nX-Evil: 1", "a\r\nX-Evil: 1", "\x1b[31mevil", "a\tb", "evil\x7f",
	"nіghtly-sync", "ｎightly-sync", "nightly\u2010sync", "nightly\u200bsync", "\u202egnp.exe",
	"niĝhtly", "\xff\xfeevil", "a b", "'; DROP TABLE runs; --", "<img src=x onerror=alert(1)>",
	"{{ secrets.EVIL }}", "${jndi:ldap://evil}", strings.Repeat("a", 300), strings.Repeat("é", 300),
}

// clear fails the test unless an answer is a problem of the caller's that says something and repeats
// nothing of what was sent.
func (a *answer) clear(at, sent string) {
	a.t.Helper()
	if a.status < 400 || a.status > 499 {
		a.t.Errorf("%s: status %d, want 4xx: %.300s", at, a.status, a.body)
		return
	}
	var p struct{ Title, Detail string }
	if err := json.Unmarshal(a.body, &p); err != nil || p.Title == "" || p.Detail == "" {
		a.t.Errorf("%s: it says nothing: %.300s", at, a.body)
	}
	if len(a.body) > 1<<20 { // every fault is listed, up to a bound
		a.t.Errorf("%s: it says too much, %d bytes", at, len(a.body))
	}
	quoted, _ := json.Marshal(sent)
	if len(sent) > 4 && (strings.Contains(p.Detail, sent) || strings.Contains(string(a.body), string(quoted[1:len(quoted)-1]))) {
		a.t.Errorf("%s: it repeats what was sent: %.300s", at, a.body)
	}
}

// sampleBody is the first example of what the route is sent.
func sampleBody(r *route) string {
	if of := samplesOf(r, 0, "", r.in); r.in != nil && len(of) > 0 {
		return sampleText(of[0])
	}
	return ""
}

func TestHostilePathsAreRefusedEverywhere(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/server/drain", "").want(200)
	for _, r := range ts.api.routes {
		if r.method == "OPTIONS" {
			continue // it tells only who may ask
		}
		params := ts.stage(r)
		for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
			for _, name := range hostileNames {
				bad := map[string]string{}
				for k, v := range params {
					bad[k] = v
				}
				bad[m[1]] = url.PathEscape(name)
				at := fmt.Sprintf("%s %s with :%s = %q", r.method, r.path, m[1], name)
				ts.call(r.method, fill(r, bad), sampleBody(r)).clear(at, name)
			}
		}
	}
}

// nameFields are members of bodies that hold a name, wherever they stand.
var nameFields = []string{"name", "job", "queue", "policy"}

// withNames gives the body once for each name in it, with that one replaced.
func withNames(t *testing.T, body string, name string) (all []string) {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	var visit func(v any, set func(any))
	emit := func() {
		text, _ := json.Marshal(doc)
		all = append(all, string(text))
	}
	visit = func(v any, set func(any)) {
		switch v := v.(type) {
		case []any:
			for i := range v {
				visit(v[i], func(to any) { v[i] = to })
			}
		case map[string]any:
			for key, old := range v {
				if _, isText := old.(string); isText && slices.Contains(nameFields, key) {
					v[key] = name
					emit()
					v[key] = old
				}
				if key != "payload" && key != "env" && key != "headers" {
					visit(old, func(to any) { v[key] = to })
				}
			}
		}
	}
	visit(doc, func(any) {})
	return all
}

func TestHostileNamesInBodiesAreRefusedEverywhere(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/server/drain", "").want(200)
	sent := 0
	try := func(r *route, path, body, name string) {
		sent++
		ts.call(r.method, path, body).clear(fmt.Sprintf("%s %s %s", r.method, r.path, body), name)
	}
	more := map[string][]string{
		"create-job": {
			`{"name":"a","queue":"q","webhook":{"url":"https://example.com/"}}`,
			`{"name":"a","webhook":{"url":"https://example.com/"},"retry":{"policy":"p"}}`,
			`{"name":"a","webhook":{"url":"https://example.com/"},"on_success":[{"job":"b"}]}`,
			`{"name":"a","webhook":{"url":"https://example.com/"},"inbound":[{"name":"d","verify":"github","secret":"{{ secrets.S }}"}]}`,
		},
	}
	for _, r := range ts.api.routes {
		if r.in == nil {
			continue
		}
		path := fill(r, ts.stage(r))
		bodies := more[r.id]
		for _, s := range samplesOf(r, 0, "", r.in) {
			bodies = append(bodies, sampleText(s))
		}
		for _, body := range bodies {
			for _, name := range hostileNames {
				if name == "\xff\xfeevil" {
					continue // encoding/json would repair it; bodies of bytes are elsewhere
				}
				for _, bad := range withNames(t, body, name) {
					try(r, path, bad, name)
				}
			}
		}
	}
	if sent < 100 {
		t.Errorf("only %d were sent", sent)
	}
}

func TestHostileLabelsAndKeysAreRefused(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	for _, text := range []string{"a\x00b", "a\nb", "\u202eevil", "a\x7fb", strings.Repeat("x", 300), "key with spaces\t"} {
		quoted, _ := json.Marshal(text)
		for _, body := range []string{
			`{"idempotency_key":` + string(quoted) + `}`, `{"labels":{` + string(quoted) + `:"x"}}`,
			`{"correlation_id":` + string(quoted) + `}`,
		} {
			if strings.Contains(body, `correlation_id`) && strings.Contains(text, "\u202e") {
				continue // any text without control characters
			}
			ts.call("POST", "/v1/jobs/a/runs", body).clear(body, text)
		}
	}
}
