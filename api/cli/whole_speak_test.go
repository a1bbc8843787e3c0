package cli_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// voice speaks for an attempt by its token, as what runs in it does.
type voice struct {
	t               testing.TB
	url, run, token string // url is that of the callback
}

// voiceOf is that of an attempt of a webhook, by what its request brought.
func (p *process) voiceOf(d delivery) *voice {
	p.t.Helper()
	v := &voice{p.t, d.header.Get("Nightshift-Callback"), d.header.Get("Nightshift-Run"), d.header.Get("Nightshift-Token")}
	if v.url != p.url+"/v1/callback/"+v.run || !strings.HasPrefix(v.token, "nsa_") {
		p.t.Fatalf("called back at %q with %q", v.url, v.token)
	}
	return v
}

// keepsVoice is what a script does to leave its callback and token in a folder, by its run.
const keepsVoice = `echo "$NIGHTSHIFT_CALLBACK $NIGHTSHIFT_CALLBACK_TOKEN" >"$VOICES/new"
mv "$VOICES/new" "$VOICES/$NIGHTSHIFT_RUN-$NIGHTSHIFT_ATTEMPT"
`

// at is the same voice where another server serves the file.
func (v *voice) at(p *process) *voice {
	moved := *v
	moved.t, moved.url = p.t, p.url+"/v1/callback/"+v.run
	return &moved
}

// say makes a call: body is JSON, "": none.
func (v *voice) say(method, name, body string) (status int, answer string) {
	v.t.Helper()
	status, answer, err := v.try(method, name, body)
	if err != nil {
		v.t.Errorf("%s %s: %v", method, name, err)
	}
	return status, answer
}

// try is say where the server may not answer.
func (v *voice) try(method, name, body string) (status int, answer string, err error) {
	req, err := http.NewRequest(method, v.url+"/"+name, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// said makes a call that must be taken.
func (v *voice) said(method, name, body string) (answer string) {
	v.t.Helper()
	status, answer := v.say(method, name, body)
	if status/100 != 2 {
		v.t.Errorf("%s %s %s: %d %s", method, name, body, status, answer)
	}
	return answer
}

// everything an attempt may say, each as a call that would change something.
var everything = []struct{ method, name, body string }{
	{"GET", "checkpoint", ""},
	{"PUT", "checkpoint", `"stray"`},
	{"POST", "progress", `{"done": 99, "total": 99, "note": "stray"}`},
	{"POST", "log", `{"text": "stray"}`},
	{"POST", "heartbeat", ""},
	{"POST", "complete", `{"result": "stray"}`},
	{"POST", "fail", `{"message": "stray"}`},
}

// refusedAll makes each call, but for those that are named, and wants it refused so.
func (v *voice) refusedAll(why string, status int, sort string, but ...string) {
	v.t.Helper()
	for _, c := range everything {
		if slices.Contains(but, c.name) {
			continue
		}
		got, answer := v.say(c.method, c.name, c.body)
		if got != status || problem(v.t, []byte(answer)) != sort {
			v.t.Errorf("%s: %s %s: %d %s, want %d %s", why, c.method, c.name, got, answer, status, sort)
		}
	}
}

// checkpoint is what a run has saved, as those see it who have a token of the server; "": nothing.
func (p *process) checkpoint(id string) string {
	p.t.Helper()
	status, text, err := p.try("GET", "/v1/runs/"+id+"/checkpoint", nil)
	switch {
	case err == nil && status == 200:
		return string(text)
	case err == nil && status == 404 && problem(p.t, text) == "not-found":
		return ""
	}
	p.t.Fatalf("checkpoint of %s: %d %s %v", id, status, text, err)
	return ""
}

// script is a job whose attempts run a text with bash and are tried again at once.
func script(source string, more doc) doc {
	job := doc{
		"script": doc{"source": source, "interpreter": []string{"bash"}, "grace": "2s"},
		"retry":  doc{"backoff": quick},
	}
	for name, value := range more {
		job[name] = value
	}
	return job
}

// waitFor waits for a file that a script makes, and gives what it holds.
func (p *process) waitFor(names ...string) string {
	p.t.Helper()
	path := filepath.Join(append([]string{p.dir}, names...)...)
	p.until("the file "+path, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// mark is a file that lets a script that waits for it go on.
func (p *process) mark(name string) { p.t.Helper(); write(p.t, p.dir, name, "") }

// pauses in a script waits for a mark, and leaves one that it has come there.
func pauses(p *process, here, on string) string {
	return `touch "` + filepath.Join(p.dir, here) + `"; while [ ! -e "` + filepath.Join(p.dir, on) + "\" ]; do sleep 0.02; done\n"
}
