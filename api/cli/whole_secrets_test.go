package cli_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// canaries are secrets that stand nowhere else, with what each encoding changes.
var canaries = map[string]string{
	"HEADER":  `cAnary/header+1"2\3&end`,
	"URL":     "cAnary url/?&=+%7ü",
	"BODY":    "cAnary body \"line\nnext\tline\\ ü/+ and more than the usual length of a secret, so that base64 takes two lines",
	"SIGN":    "whsec_Y0FuYXJ5IHNpZ25pbmcgc2VjcmV0IG9mIHNvbWUgbGVuZ3Ro",
	"ENV":     "cAnary env 'x' \"y\" \\ $z\nsecond line/+",
	"ARG":     "cAnary-arg-0123456789",
	"SUBJECT": "cAnary subject 4711",
	"MAIL":    "cAnary mail body +/=",
	"DOOR":    "cAnary-door-secret-value",
}

// formsOf are the ways in which a secret could be kept.
func formsOf(secret string) map[string]string {
	inner := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text[1 : len(text)-1])
	}
	plainJSON := func(s string) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s)
		return strings.Trim(strings.TrimSpace(b.String()), `"`)
	}
	forms := map[string]string{
		"plain": secret, "JSON": inner(secret), "plain JSON": plainJSON(secret),
		"JSON twice": inner(inner(secret)), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"first line": strings.SplitN(secret, "\n", 2)[0],
	}
	for before := range 3 {
		padded := append(make([]byte, before), secret...)
		lo, hi := (before*8+5)/6, len(padded)*8/6
		for name, enc := range map[string]*base64.Encoding{"std": base64.RawStdEncoding, "url": base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)[lo:hi]
			// A line of base64 may end within it: half of it would be too much.
			forms[fmt.Sprint("base64 ", name, before)] = text[:min(len(text), 40)]
		}
	}
	return forms
}

// sought fails the test where a text holds a secret in any form.
func sought(t *testing.T, where string, text []byte) {
	t.Helper()
	for name, secret := range canaries {
		for form, want := range formsOf(secret) {
			if at := bytes.Index(text, []byte(want)); at >= 0 {
				t.Errorf("%s holds %s (%s): …%q…", where, name, form, text[max(0, at-80):min(len(text), at+len(want)+40)])
			}
		}
	}
}

// gossip answers with all it was told, in many forms, in pieces.
func gossip(_ int, w http.ResponseWriter, r *http.Request) {
	all := canaries["BODY"] + "|" + r.URL.RequestURI() + "|" + r.Header.Get("Authorization") + "|" +
		r.Header.Get("X-Basic") + "|" + canaries["SIGN"]
	inJSON, _ := json.Marshal(map[string]any{"said": all, "headers": r.Header, "query": r.URL.Query()})
	twice, _ := json.Marshal(map[string]string{"data": string(inJSON)})
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	w.Header().Set("X-Query", r.URL.RawQuery)
	say := func(text string) {
		for len(text) > 0 {
			n := min(len(text), 37)
			_, _ = w.Write([]byte(text[:n]))
			_ = http.NewResponseController(w).Flush()
			text = text[n:]
		}
	}
	switch r.URL.Path {
	case "/result":
		say(string(twice))
	case "/text":
		say(all + url.QueryEscape(all) + base64.StdEncoding.EncodeToString([]byte(all)))
	case "/large": // cut within a secret
		_, _ = w.Write([]byte(strings.Repeat("x", 64<<10-10) + all + strings.Repeat("y", 64<<10)))
	case "/broken":
		w.WriteHeader(500)
		_, _ = w.Write([]byte(strings.Repeat("x", 16<<10-10) + all + string(twice)))
	case "/problem":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(422)
		text, _ := json.Marshal(map[string]any{
			"type": "urn:" + r.Header.Get("Authorization"), "title": "no",
			"detail": strings.Repeat("z", 1000) + all, "retryable": false,
		})
		_, _ = w.Write(text)
	case "/moved":
		w.Header().Set("Location", "/result/"+url.PathEscape(canaries["URL"])+"?"+r.URL.RawQuery)
		w.WriteHeader(302)
	}
}

// smtpServer refuses mails and repeats what was in them.
func smtpServer(t *testing.T) (address string, mails func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var seen strings.Builder
	talk := func(c net.Conn) {
		defer c.Close()
		say := func(line string) { fmt.Fprintf(c, "%s\r\n", line) }
		say("220 test")
		subject := ""
		for in := bufio.NewScanner(c); in.Scan(); {
			mu.Lock()
			seen.WriteString(in.Text() + "\n")
			mu.Unlock()
			switch line := strings.ToUpper(in.Text()); {
			case strings.HasPrefix(line, "DATA"):
				say("354 go on")
			case strings.HasPrefix(line, "SUBJECT:"):
				subject = in.Text()
			case line == ".":
				say("554 5.7.1 no such thing: " + subject + " " + canaries["MAIL"])
			case strings.HasPrefix(line, "QUIT"):
				say("221 bye")
				return
			case strings.HasPrefix(line, "EHLO"), strings.HasPrefix(line, "MAIL"), strings.HasPrefix(line, "RCPT"),
				strings.HasPrefix(line, "RSET"), strings.HasPrefix(line, "HELO"):
				say("250 ok")
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go talk(c)
		}
	}()
	return l.Addr().String(), func() string {
		mu.Lock()
		defer mu.Unlock()
		return seen.String()
	}
}

const tellingScript = `
printf '%s\n' "$A" "$1"
printf '%s' "$A" | base64
printf '%s' "user:$A" | base64 -w 0; echo
printf '%s' "$1" | cut -c 1-9 | tr -d '\n'; sleep 0.1; printf '%s' "$1" | cut -c 10-
head -c 1048570 /dev/zero | tr '\0' '.'; printf '%s' "$1"
printf '{"a":"%s"}\n' "$1" >&2
echo "Traceback (most recent call last):
  File \"x.py\", line 1, in <module>
    raise ValueError(\"$1\")
ValueError: $A $1"
exit "${2:-0}"
`

func plantCanaries(p *process, receiver string) []string {
	p.t.Helper()
	for name, value := range canaries {
		if status, text, err := p.try("PUT", "/v1/secrets/"+name, doc{"value": value}); err != nil || status != 201 {
			p.t.Fatalf("PUT secret %s: %d %s %v", name, status, text, err)
		}
	}
	once := doc{"max_attempts": 2, "backoff": doc{"kind": "fixed", "base": "1ms"}}
	var names []string
	put := func(name string, document doc) {
		document["retry"] = once
		p.put(name, document)
		names = append(names, name)
	}
	for _, path := range []string{"result", "text", "large", "broken", "problem", "moved"} {
		put("hook-"+path, doc{"webhook": doc{
			"url": receiver + "/" + path + "?key={{ secrets.URL }}",
			"headers": doc{
				"Authorization": "Bearer {{ secrets.HEADER }}",
				"X-Basic":       "Basic {{ base64('user:' + secrets.HEADER) }}",
			},
			"body":           doc{"key": "{{ secrets.BODY }}", "payload": "{{ payload }}"},
			"signing_secret": "{{ secrets.SIGN }}",
		}})
	}
	put("hook-invalid", doc{"webhook": doc{
		"url": receiver + "/result", "headers": doc{"X-A": "{{ payload.no.such + secrets.HEADER }}", "X-B": "{{ secrets.BODY }}"},
	}})
	put("hook-refused", doc{"webhook": doc{"url": "http://127.0.0.1:1/{{ secrets.URL }}"}})
	script := func(code string) doc {
		return doc{"script": doc{
			"source": tellingScript, "interpreter": []string{"sh"},
			"args": []string{"{{ secrets.ARG }}", code}, "env": doc{"A": "{{ secrets.ENV }}"},
		}}
	}
	put("script-ok", script("0"))
	put("script-fails", script("3"))
	put("script-no-program", doc{"script": doc{
		"source": "x", "interpreter": []string{"no-such-program"}, "args": []string{"{{ secrets.ARG }}"},
	}})
	put("mail", doc{"mail": doc{
		"to": []string{"ops@example.com"}, "subject": "about {{ secrets.SUBJECT }}", "body": "it is {{ secrets.MAIL }}",
	}})
	return names
}

func TestNoSecretIsKeptOrShownAnywhere(t *testing.T) { // cases 89, 178
	t.Parallel()
	receiver := newSink(t, gossip)
	address, mails := smtpServer(t)
	args := []string{"--smtp", "smtp://" + address + "?tls=none", "--mail-from", "nightshift@example.com", "--log-level", "debug"}
	p := start(t, t.TempDir(), args...)
	names := plantCanaries(p, receiver.URL)
	p.put("door", doc{
		"script":  doc{"source": "true"},
		"inbound": []doc{{"name": "in", "verify": "secret", "secret": "{{ secrets.DOOR }}"}},
	})
	var ids []string
	for _, name := range names {
		ids = append(ids, p.enqueue(name, doc{"payload": doc{"n": 1}}))
	}
	for i, id := range ids {
		run := p.end(id)
		if want := map[bool]string{true: "succeeded", false: "failed"}[strings.Contains("hook-result hook-text hook-large script-ok", names[i])]; run.State != want {
			t.Errorf("%s: %s %+v", names[i], run.State, run.Error)
		}
	}
	for _, secret := range []string{canaries["DOOR"], canaries["DOOR"] + "x"} {
		res, err := http.Post(p.url+"/in/door/in/"+secret, "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if ok := res.StatusCode == 202; ok != (secret == canaries["DOOR"]) {
			t.Errorf("the door answered %d", res.StatusCode)
		}
	}
	// They were used.
	if d := receiver.deliveries()[0]; !strings.Contains(d.header.Get("Authorization"), canaries["HEADER"]) ||
		!strings.Contains(d.body, `cAnary body \"line\nnext`) || d.header.Get("Webhook-Signature") == "" {
		t.Errorf("the receiver got %v %s", d.header, d.body)
	}
	if text := mails(); !strings.Contains(text, canaries["SUBJECT"]) {
		t.Errorf("the mail server got %s", text)
	}
	lookEverywhere(p, ids)
	p.stop(syscall.SIGTERM)
	lookAtFiles(p)
}

// lookEverywhere seeks the canaries in what the server says.
func lookEverywhere(p *process, ids []string) {
	p.t.Helper()
	t := p.t.(*testing.T)
	paths := []string{
		"/v1/runs?limit=1000", "/v1/jobs?limit=1000", "/v1/audit?limit=1000", "/v1/secrets", "/v1/export", "/v1/server",
		"/v1/jobs/door", "/v1/jobs/script-ok", "/v1/jobs/hook-result", "/v1/secrets/HEADER", "/v1/jobs/script-ok/versions/1",
	}
	hidden := 0
	for _, id := range ids {
		paths = append(paths, "/v1/runs/"+id, "/v1/runs/"+id+"/log")
	}
	for _, path := range paths {
		status, text, err := p.try("GET", path, nil)
		if err != nil || status != 200 {
			t.Errorf("GET %s: %d %s %v", path, status, text, err)
		}
		sought(t, "GET "+path, text)
		if bytes.Contains(text, []byte("***")) {
			hidden++
		}
	}
	if hidden < 12 {
		t.Errorf("only %d answers hid something", hidden)
	}
	for _, id := range ids {
		for _, args := range [][]string{{"runs", "show", id}, {"runs", "show", id, "--json"}, {"logs", id}} {
			out := p.cli(args...)
			sought(t, strings.Join(args, " "), []byte(out.stdout+out.stderr))
		}
	}
	for _, args := range [][]string{{"secrets"}, {"secrets", "list", "--json"}, {"export"}, {"jobs"}, {"jobs", "show", "door"}} {
		out := p.cli(args...)
		sought(t, strings.Join(args, " "), []byte(out.stdout+out.stderr))
	}
	lookAtFiles(p)
}

// lookAtFiles seeks them in the log and in each file beside the database, while it is written too.
func lookAtFiles(p *process) {
	p.t.Helper()
	t := p.t.(*testing.T)
	sought(t, "the server's log", []byte(p.log.String()+p.out.String()))
	seen := map[string]bool{}
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what comes and goes while it is looked at
		}
		text, err := os.ReadFile(path)
		if err == nil {
			seen[filepath.Base(path)] = true
			sought(t, path, text)
		}
		return nil
	})
	if err != nil || !seen["nightshift.db"] {
		t.Errorf("looked at %v: %v", seen, err)
	}
}

func TestARunWaitsForItsSecretAndUsesTheNewest(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("needs", doc{
		"script": doc{"source": "echo \"it is <$A>\"; test \"$A\" = 'the second value'", "env": doc{"A": "{{ secrets.LATE }}"}},
		"retry":  doc{"otherwise": "retry", "max_attempts": 3, "backoff": doc{"kind": "fixed", "base": "2s"}},
	})
	id := p.enqueue("needs", nil)
	held := p.awaitRun(id, "the run is held for want of its secret", func(r *aRun) bool {
		return r.HeldBy != nil && r.HeldBy.Kind == "secret"
	})
	if held.State != "queued" || held.HeldBy.Name != "LATE" || len(held.Attempts) != 0 {
		t.Errorf("held: %s %+v, %d attempts", held.State, held.HeldBy, len(held.Attempts))
	}
	p.cli("runs", "show", id).want(0).has("LATE")
	p.set("LATE", "the first value\n").want(0)
	p.awaitRun(id, "an attempt with the first value fails", func(r *aRun) bool { return len(r.Attempts) == 1 && r.State == "retrying" })
	p.set("LATE", "the second value\n").want(0)
	if run := p.end(id); run.State != "succeeded" || len(run.Attempts) != 2 {
		t.Errorf("%s after %d attempts: %+v", run.State, len(run.Attempts), run.Error)
	}
	if log := p.logOf(id); strings.Contains(log, "value") || strings.Count(log, "<***>") != 2 {
		t.Errorf("log: %q", log)
	}
	p = p.kill9()
	p.cli("secrets", "delete", "LATE").want(0)
	id = p.enqueue("needs", nil)
	p.awaitRun(id, "the next run is held", func(r *aRun) bool { return r.HeldBy != nil && r.HeldBy.Kind == "secret" })
	p = p.kill9()
	p.awaitRun(id, "it is held again after a start", func(r *aRun) bool { return r.HeldBy != nil && r.HeldBy.Kind == "secret" })
	p.set("LATE", "the second value\n").want(0)
	if run := p.end(id); run.State != "succeeded" {
		t.Errorf("%s: %+v", run.State, run.Error)
	}
}

func TestARetryThatWaitsForItsSecretSaysSo(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.set("GONE", "the only value\n").want(0)
	p.put("fails", doc{
		"script": doc{"source": "exit 1", "env": doc{"A": "{{ secrets.GONE }}"}},
		"retry":  doc{"otherwise": "retry", "backoff": doc{"kind": "fixed", "base": "1h"}},
	})
	id := p.enqueue("fails", nil)
	p.awaitRun(id, "it is to be tried again", func(r *aRun) bool { return r.State == "retrying" })
	p.cli("secrets", "delete", "GONE").want(0).has("fails")
	p.cli("runs", "run-now", id).want(0)
	p.awaitRun(id, "it is held", func(r *aRun) bool { return r.HeldBy != nil && r.HeldBy.Kind == "secret" })
	p.cli("runs", "show", id).want(0).has("Its next attempt has not started: it waits for secret GONE")
}
