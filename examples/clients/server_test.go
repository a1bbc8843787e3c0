package nightshift

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// answer is what a callback answers.
type answer struct {
	status int
	body   string
	kind   string // Content-Type
	to     string // Location
	drop   bool   // the connection is closed instead
	cut    bool   // the connection is closed within the body
}

func problem(status int, name, members string) answer {
	body := fmt.Sprintf(`{"type": "urn:nightshift:problem:%s", "title": "No", "status": %d, %s}`, name, status, members)
	return answer{status: status, body: body, kind: "application/problem+json"}
}

// asked is a request that a callback got.
type asked struct{ method, path, token, kind, body string }

// server plays callbacks: it gives the answers that a test has laid out, in order, and remembers what it
// was asked.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	answers []answer
	seen    []asked
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, asked{
		r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body),
	})
	a := problem(409, "over", `"state": "failed"`) // more is asked than is wanted
	if len(s.answers) > 0 {
		a, s.answers = s.answers[0], s.answers[1:]
	}
	if a.drop {
		panic(http.ErrAbortHandler)
	}
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	}
	if a.to != "" {
		w.Header().Set("Location", a.to)
	}
	if a.cut {
		w.Header().Set("Content-Length", "100")
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
	if a.cut {
		panic(http.ErrAbortHandler)
	}
}

// lay sets the answers to come.
func (s *server) lay(answers []answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.seen = answers, nil
}

func (s *server) take() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// aCase is a call, what is answered to it, and what shall come of it.
type aCase struct {
	call, argument string
	answers        []answer
	want           string
}

// check makes the call of a case: it comes to what is wanted, every answer is used, no more is asked,
// and each try says the same in the right way.
func (s *server) check(t *testing.T, language string, say driver, c aCase) {
	t.Helper()
	s.lay(c.answers)
	said := say(t, 60, s.URL+"/v1/callback/1/", c.call, c.argument)
	if want := inWordsOf(language, c.want); said != want {
		t.Errorf("%s %s after %+v: %s, want %s", c.call, c.argument, c.answers, said, want)
	}
	seen := s.take()
	if len(seen) != len(c.answers) {
		t.Fatalf("%s after %+v: asked %d times: %+v", c.call, c.answers, len(seen), seen)
	}
	method, path := "POST", c.call
	switch c.call {
	case "load":
		method, path = "GET", "checkpoint"
	case "save":
		method, path = "PUT", "checkpoint"
	case "heart":
		path = "heartbeat"
	}
	for _, r := range seen {
		if r.method != method || r.path != "/v1/callback/1/"+path || r.token != "Bearer "+token {
			t.Errorf("%s: %+v", c.call, r)
		}
		if r.body != seen[0].body {
			t.Errorf("%s: the tries differ: %q, %q", c.call, seen[0].body, r.body)
		}
	}
	checkBody(t, c, seen[0])
}

// checkBody compares what was sent with what was to be said.
func checkBody(t *testing.T, c aCase, r asked) {
	t.Helper()
	var argument, got any
	_ = json.Unmarshal([]byte(c.argument), &argument)
	_ = json.Unmarshal([]byte(r.body), &got)
	if r.kind == "text/plain" {
		got = map[string]any{"text": strings.TrimSuffix(r.body, "\n")}
	}
	object, _ := got.(map[string]any)
	want := map[string]any{
		"save":     argument,
		"progress": map[string]any{"done": 3.0, "total": 4.0, "note": argument},
		"log":      map[string]any{"text": argument},
		"complete": map[string]any{"result": argument},
		"fail":     map[string]any{"message": argument, "type": object["type"]},
	}[c.call]
	if c.call == "fail" {
		if object["type"] != "ValueError" && object["type"] != "RangeError" {
			t.Errorf("fail: the type is %v", object["type"])
		}
		delete(object, "stack")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s %s: sent %s as %q", c.call, c.argument, r.body, r.kind)
	}
}

// inWordsOf is what a language says for an outcome: some tell fewer apart.
func inWordsOf(language, outcome string) string {
	if same, ok := drivers[language].same[outcome]; ok {
		return same
	}
	return outcome
}
