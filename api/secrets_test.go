package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNoAnswerShowsTheValueOfASecret(t *testing.T) {
	ts := newTestServer(t)
	const value, other = "hunter2-hunter2", "correct-horse-battery"
	ts.call("PUT", "/v1/jobs/sync", `{"webhook":{"url":"https://example.com/",`+
		`"headers":{"Authorization":"Bearer {{ secrets.SYNC }}"}}}`).want(201)
	var answers []*answer
	call := func(method, path, body string, headers ...string) *answer {
		t.Helper()
		a := ts.call(method, path, body, headers...)
		answers = append(answers, a)
		return a
	}
	made := call("PUT", "/v1/secrets/SYNC", `{"value":"`+value+`"}`).want(201)
	if made.field("name") != "SYNC" || made.field("readable") != "true" || made.field("used_by.0") != "sync" ||
		made.header.Get("Location") != "/v1/secrets/SYNC" || made.header.Get("ETag") != `"1"` {
		t.Errorf("made: %s %v", made.body, made.header)
	}
	same := call("PUT", "/v1/secrets/SYNC", `{"value":"`+value+`"}`).want(200)
	if same.header.Get("ETag") != `"1"` || same.field("updated_at") != made.field("updated_at") {
		t.Errorf("the same again: %s %v", same.body, same.header)
	}
	if changed := call("PUT", "/v1/secrets/SYNC", `{"value":"`+other+`"}`, "If-Match", `"1"`).want(200); changed.
		header.Get("ETag") != `"2"` {
		t.Errorf("changed: %v", changed.header)
	}
	call("PUT", "/v1/secrets/SYNC", `{"value":"`+value+`"}`, "If-Match", `"1"`).problem(probStale)
	call("PUT", "/v1/secrets/SYNC", `{"value":"`+value+`"}`, "If-None-Match", `*`).problem(probStale)
	call("POST", "/v1/secrets", `{"name":"SYNC","value":"`+value+`"}`).problem(probExists)
	call("POST", "/v1/secrets", `{"name":"second","value":"`+value+`"}`).want(201)
	call("GET", "/v1/secrets/SYNC", "").want(200)
	call("GET", "/v1/secrets/sync", "").problem(probNotFound)
	call("GET", "/v1/secrets", "").want(200)
	call("POST", "/v1/secrets/rotate-key", "").want(200)
	call("DELETE", "/v1/secrets/SYNC", "", "If-Match", `"1"`).problem(probStale)
	if gone := call("DELETE", "/v1/secrets/SYNC", "").want(200); gone.field("used_by.0") != "sync" {
		t.Errorf("deleted: %s", gone.body)
	}
	call("DELETE", "/v1/secrets/SYNC", "").problem(probNotFound)
	audit := call("GET", "/v1/audit", "").want(200)
	for _, action := range []string{`"put"`, `"delete"`, `"rotate-key"`} {
		if !strings.Contains(string(audit.body), action) {
			t.Errorf("%s is not in the audit: %s", action, audit.body)
		}
	}
	for _, a := range answers {
		for _, text := range []string{value, other} {
			if strings.Contains(string(a.body), text) || strings.Contains(fmt.Sprint(a.header), text) {
				t.Errorf("an answer shows it: %s %v", a.body, a.header)
			}
		}
	}
	if log := ts.log.String(); strings.Contains(log, value) || strings.Contains(log, other) {
		t.Errorf("the log shows it: %s", log)
	}
}

func TestBadSecretsAreRefusedWithoutBeingQuoted(t *testing.T) {
	ts := newTestServer(t)
	const canary = "canary-of-a-secret"
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", "A", `{"value":"short77"}`, "body.value: want at least 8 bytes"},
		{"PUT", "A", `{}`, "body.value: want at least 8 bytes"},
		{"PUT", "A", `{"value":"` + strings.Repeat("x", 64<<10) + `y"}`, "body.value: want at most 65536 bytes"},
		{"PUT", "A", `{"value":"` + canary + `\u0000"}`, "body.value: want no NUL"},
		{"PUT", "A", `{"value":["` + canary + `"]}`, "body.value: want a string"},
		{"PUT", "A", `{"value":"` + canary + `","valeu":"` + canary + `"}`, "body.valeu: "},
		{"PUT", "A", `{"value":"` + canary + `","name":"B"}`, "body.name: the path names another secret"},
		{"PUT", "1A", `{"value":"` + canary + `"}`, "path.name: want 1 to 100 of a-z, A-Z"},
		{"PUT", "A-B", `{"value":"` + canary + `"}`, "path.name: want 1 to 100 of"},
		{"PUT", "%C3%A4", `{"value":"` + canary + `"}`, "path.name: want 1 to 100 of"},
		{"PUT", "..%2FA", `{"value":"` + canary + `"}`, "path.name: want 1 to 100 of"},
		{"PUT", strings.Repeat("A", 101), `{"value":"` + canary + `"}`, "path.name: want 1 to 100 of"},
		{"POST", "", `{"value":"` + canary + `"}`, "body.name: want 1 to 100 of"},
	} {
		got := ts.call(c.method, strings.TrimSuffix("/v1/secrets/"+c.path, "/"), c.body)
		if text := got.problem(probInvalid); !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %q, want %q", c.method, c.path, text, c.want)
		}
		if strings.Contains(string(got.body), canary) || strings.Contains(string(got.body), "short77") {
			t.Errorf("%s quotes the value", got.body)
		}
	}
	bad := ts.call("PUT", "/v1/secrets/A", `{"value":"`+canary+`" oops`)
	bad.problem(probSyntax)
	bad = ts.call("PUT", "/v1/secrets/A", "{\"value\":\""+canary+"\xff\"}")
	bad.problem(probSyntax)
	if log := ts.log.String(); strings.Contains(log, canary) {
		t.Errorf("the log quotes the value: %s", log)
	}
	if got := ts.call("GET", "/v1/secrets", "").want(200); got.field("items.0.name") != "" {
		t.Errorf("something was kept: %s", got.body)
	}
}

func TestEverySecretIsReachedByPages(t *testing.T) {
	ts := newTestServer(t)
	var want, got []string
	for i := range 7 {
		name := fmt.Sprintf("S%d", i)
		ts.call("PUT", "/v1/secrets/"+name, `{"value":"the value `+name+`"}`).want(201)
		want = append(want, name)
	}
	for next, first := "", true; first || next != ""; first = false {
		page := ts.call("GET", "/v1/secrets?limit=3"+next, "").want(200)
		for i := range 3 {
			if name := page.field(fmt.Sprintf("items.%d.name", i)); name != "" {
				got = append(got, name)
			}
		}
		if next = page.field("next"); next != "" {
			next = "&cursor=" + next
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if text := ts.call("GET", "/v1/secrets?cursor=x", "").problem(probInvalid); !strings.Contains(text, "query.cursor") {
		t.Error(text)
	}
}

func TestAnApplyWarnsOfSecretsThatAreNotSet(t *testing.T) {
	ts := newTestServer(t)
	doc := `{"jobs":{
		"plain":{"script":{"source":"true"}},
		"needs":{"script":{"source":"true","env":{"A":"{{ secrets.A_KEY }}","B":"{{ secrets.B_KEY }}"}},
			"inbound":[{"name":"gh","verify":"github","secret":"{{ secrets.DOOR }}"}]}
	}}`
	ts.call("PUT", "/v1/secrets/A_KEY", `{"value":"hunter2hunter2"}`).want(201)
	for _, path := range []string{"/v1/apply?dry_run=true", "/v1/apply", "/v1/apply"} {
		got := ts.call("POST", path, doc).want(200)
		if got.field("warnings.0.name") != "needs" || got.field("warnings.1.name") != "" ||
			!strings.Contains(got.field("warnings.0.message"), "the secrets B_KEY and DOOR are not set") {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	ts.call("PUT", "/v1/secrets/B_KEY", `{"value":"hunter2hunter2"}`).want(201)
	ts.call("PUT", "/v1/secrets/DOOR", `{"value":"hunter2hunter2"}`).want(201)
	if got := ts.call("POST", "/v1/apply", doc).want(200); got.field("warnings.0.name") != "" {
		t.Errorf("all are set: %s", got.body)
	}
}

func TestReadShowsSecretsAndWhichOfItsJobsNameThem(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/secrets/SYNC", `{"value":"hunter2hunter2"}`).want(201)
	for _, job := range []string{"mail-a", "sync"} {
		ts.call("PUT", "/v1/jobs/"+job, `{"webhook":{"url":"https://h/","headers":{"A":"{{ secrets.SYNC }}"}}}`).want(201)
	}
	whole := as(ts.token(`{"name":"whole","scopes":["read"]}`))
	narrow := as(ts.token(`{"name":"narrow","scopes":["read"],"jobs":["mail-*"]}`))
	for _, who := range [][]string{whole, narrow} {
		if got := ts.call("GET", "/v1/secrets", "", who...).want(200); got.field("items.0.name") != "SYNC" {
			t.Errorf("list: %s", got.body)
		}
	}
	for _, c := range []struct{ who, users []string }{{whole, []string{"mail-a", "sync"}}, {narrow, []string{"mail-a"}}} {
		got := ts.call("GET", "/v1/secrets/SYNC", "", c.who...).want(200)
		if users := got.field("used_by"); users != fmt.Sprint(c.users) {
			t.Errorf("used by: %s, want %v", got.body, c.users)
		}
		if bytes.Contains(got.body, []byte("hunter2")) || got.header.Get("ETag") == "" {
			t.Errorf("%s, ETag %s", got.body, got.header.Get("ETag"))
		}
	}
	ts.call("DELETE", "/v1/secrets/SYNC", "", whole...).problem(probForbidden)
}
