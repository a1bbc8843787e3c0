package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// records are the lines of a server's log.
func (p *process) records() (all []map[string]any) {
	p.t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(p.log.String()), "\n") {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			p.t.Fatalf("a line of the log is no record: %v\n%.400s", err, line)
		}
		all = append(all, record)
	}
	return all
}

// aboutRuns are lines that are always about one.
var aboutRuns = map[string]bool{
	"attempt started": true, "run succeeded": true, "attempt failed": true, "run failed": true, "run cancelled": true,
	"attempt interrupted": true, "run failed before it could start": true, "run held: a secret it needs is not set": true,
	"a group has succeeded without some of its members": true,
}

func TestEveryLineAboutARunSaysWhich(t *testing.T) {
	t.Parallel()
	ugly := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, _ = io.WriteString(w, "bad\nnews \x1b[31m\x00"+strings.Repeat("x", 20_000))
	}))
	t.Cleanup(ugly.Close)
	p := start(t, t.TempDir(), "--log-level", "debug", "--shutdown-grace", "1s")
	once := doc{"max_attempts": 2, "backoff": doc{"kind": "fixed", "base": "1ms"}}
	put := func(name string, document doc) {
		if document["group"] == nil {
			document["retry"] = once
		}
		p.put(name, document)
	}
	put("after", doc{"script": doc{"source": "true"}})
	put("good", doc{"script": doc{"source": `echo '::nightshift {"result": {"a": 1}}'`}, "on_success": []doc{{"job": "after", "payload": "{{ result.no.such }} rows"}}})
	put("bad", doc{"script": doc{"source": "printf 'ValueError: a\\nb\\033[31m\\n' >&2; exit 75"}})
	put("refused", doc{"webhook": doc{"url": "http://127.0.0.1:1/"}})
	put("ugly", doc{"webhook": doc{"url": ugly.URL}})
	put("none", doc{"script": doc{"source": "x", "interpreter": []string{"no-such-program"}}})
	put("slow", doc{"script": doc{"source": "sleep 60"}, "timeout": "1s"})
	put("long", doc{"script": doc{"source": "sleep 60"}})
	put("keyless", doc{"script": doc{"source": "true", "env": doc{"K": "{{ secrets.ABSENT }}"}}})
	put("invalid", doc{"webhook": doc{"url": ugly.URL, "headers": doc{"X-A": "{{ payload.no.such }}"}}})
	put("ticking", doc{"script": doc{"source": "true"}, "schedules": []doc{{"every": "1s"}}})
	put("group", doc{"group": doc{"members": []doc{{"name": "a", "job": "bad"}, {"name": "b", "job": "after"}}, "merge": doc{"job": "after"}}})
	var ids []string
	for _, name := range []string{"good", "bad", "refused", "ugly", "none", "slow", "invalid", "group"} {
		ids = append(ids, p.enqueue(name, doc{"payload": doc{}}))
	}
	held := p.enqueue("keyless", doc{})
	long := p.enqueue("long", doc{})
	for _, id := range ids {
		p.end(id)
	}
	p.until("a run to be held", func() bool { return strings.Contains(p.log.String(), "a secret it needs is not set") })
	p.until("the long one to run", func() bool { return strings.Contains(p.log.String(), `"job":"long","run":"`+long) })
	p.until("a tick", func() bool { return strings.Contains(p.log.String(), "tick decided") })
	p.cli("cancel", held).want(0)
	p.cli("cancel", long).want(0)
	p.enqueue("long", doc{})
	p.until("another long one to run", func() bool { return strings.Count(p.log.String(), `attempt started`) > 12 })
	p.stop(syscall.SIGTERM)

	seen, lines := map[string]bool{}, 0
	for _, record := range p.records() {
		message, _ := record["msg"].(string)
		seen[message] = true
		if record["run"] == nil && !aboutRuns[message] {
			continue
		}
		lines++
		for _, name := range []string{"job", "run", "operation", "correlation_id"} {
			if text, _ := record[name].(string); text == "" {
				t.Errorf("%q has no %s: %v", message, name, record)
			}
		}
		if _, is := record["attempt"].(float64); !is {
			t.Errorf("%q has no attempt: %v", message, record)
		}
	}
	for message := range aboutRuns {
		if !seen[message] {
			t.Errorf("nothing has said %q", message)
		}
	}
	if !seen["tick decided"] {
		t.Error("no tick was decided")
	}
	if lines < 40 {
		t.Errorf("%d lines are about runs", lines)
	}
}

func TestNoSecretOfTheServerIsLogged(t *testing.T) {
	t.Parallel()
	dir, canary := t.TempDir(), "cAnArY-of-the-server-0123456789"
	beats := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(beats.Close)
	env := []string{
		"NIGHTSHIFT_TOKEN=ns_" + canary + "-token", "NIGHTSHIFT_KEY=" + strings.Repeat("ca", 31) + "fe", "NIGHTSHIFT_SMTP_PASSWORD=" + canary + "-mail",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=authorization=" + canary + "-otel",
	}
	p := startWith(t, dir, env, "--log-level", "debug", "--smtp", "smtp://user@127.0.0.1:1?tls=none",
		"--heartbeat-url", "http://u:"+canary+"-beat@"+strings.TrimPrefix(beats.URL, "http://")+"/"+canary+"-path")
	call := func(method, path, body string, header ...string) (int, string, http.Header) {
		t.Helper()
		req, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text), res.Header
	}
	bearer := "Bearer ns_" + canary + "-token"
	_, link, _ := call("POST", "/v1/tokens/environment/link", "", "Authorization", bearer)
	_, code, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(link), `"}`), "link=")
	code, _, _ = strings.Cut(code, `"`)
	if !strings.HasPrefix(code, "ns_") {
		t.Fatalf("no link: %s", link)
	}
	call("GET", "/sign-in?link="+code, "", "Accept", "text/html")
	status, _, header := call("POST", "/sign-in", "link="+code, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	_, session, found := strings.Cut(cookie, "=")
	if status != 303 || !found {
		t.Fatalf("sign in: %d %v", status, header)
	}
	call("GET", "/runs", "", "Cookie", cookie)
	call("POST", "/v1/sessions", `{"token":"ns_`+canary+`-wrong"}`)
	call("GET", "/v1/jobs", "", "Authorization", "Bearer ns_"+canary+"-wrong")
	call("PUT", "/v1/secrets/S", `{"value":"`+canary+`-secret"}`, "Authorization", bearer)
	call("PUT", "/v1/jobs/echo", `{"script":{"source":"echo $NIGHTSHIFT_CALLBACK_TOKEN >token; cat token; curl -s -H \"Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN\" $NIGHTSHIFT_CALLBACK/checkpoint; exit 3"}}`,
		"Authorization", bearer)
	call("PUT", "/v1/jobs/hook", `{"webhook":{"url":"http://127.0.0.1:1/{{ secrets.S }}","headers":{"Authorization":"Bearer {{ secrets.S }}"}},"retry":{"max_attempts":1}}`,
		"Authorization", bearer)
	call("POST", "/v1/jobs/hook/runs?wait=20s", "", "Authorization", bearer)
	call("PUT", "/v1/jobs/mail", `{"mail":{"to":["a@example.com"],"subject":"s","body":"b"},"retry":{"max_attempts":1}}`, "Authorization", bearer)
	_, out, _ := call("POST", "/v1/jobs/echo/runs?wait=20s", "", "Authorization", bearer)
	call("POST", "/v1/jobs/mail/runs?wait=20s", "", "Authorization", bearer)
	if !strings.Contains(out, "failed") {
		t.Fatalf("the run is %s", out)
	}
	p.stop(syscall.SIGTERM)
	said := p.log.String() + p.out.String()
	for what, secret := range map[string]string{
		"a canary": canary, "the code of a link": code, "a session": session, "the key": strings.Repeat("ca", 31),
	} {
		if i := strings.Index(said, secret); i >= 0 {
			t.Errorf("%s is in the log: %.300s", what, said[max(0, i-200):])
		}
	}
	if strings.Contains(said, "Bearer ") || strings.Contains(said, "nsa_") {
		t.Errorf("a token is in the log:\n%s", said)
	}
	// The first start, without a token in its environment, says its link once, and not in the log.
	first := start(t, t.TempDir())
	first.until("the link", func() bool { return strings.Contains(first.out.String(), "/sign-in?link=ns_") })
	if strings.Contains(first.log.String(), "link=") {
		t.Error("the link is in the log")
	}
	if _, err := os.Stat(filepath.Join(first.dir, "nightshift.db.token")); err != nil {
		t.Error(err)
	}
}
