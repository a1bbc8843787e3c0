package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// callback is a server that keeps what an attempt tells it, and answers as told.
type callback struct {
	*httptest.Server
	t   *testing.T
	dir string

	mu     sync.Mutex
	calls  []string
	answer func(n int, w http.ResponseWriter) // nil: 200 and a value
}

func newCallback(t *testing.T) *callback {
	c := &callback{t: t, dir: t.TempDir()}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		if r.Header.Get("Authorization") != "Bearer nsa_x" {
			t.Errorf("%s with the token %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		if c.answer != nil {
			c.answer(len(c.calls), w)
			return
		}
		_, _ = io.WriteString(w, `{"state":  "running"}`)
	}))
	t.Cleanup(c.Close)
	return c
}

// answers lets it answer so from now on.
func (c *callback) answers(answer func(n int, w http.ResponseWriter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// took are the calls since it was last asked.
func (c *callback) took() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// tell runs a command as an attempt does. No server and no token may be looked for elsewhere.
func (c *callback) tell(stdin string, args ...string) *output {
	c.t.Helper()
	return run(c.t, c.dir, stdin, []string{
		"NIGHTSHIFT_CALLBACK=" + c.URL + "/v1/callback/R", "NIGHTSHIFT_CALLBACK_TOKEN=nsa_x",
		"NIGHTSHIFT_SERVER=http://127.0.0.1:1", "NIGHTSHIFT_TOKEN=wrong", "NIGHTSHIFT_DB=/proc/self/mem",
	}, args...)
}

func TestWhatAnAttemptSaysIsCalledBack(t *testing.T) {
	t.Parallel()
	c := newCallback(t)
	for _, said := range []struct{ args, stdin, want string }{
		{"checkpoint get", "", "GET checkpoint"},
		{`checkpoint set {"id":1.0,"a":"\u00e9"}`, "", `PUT checkpoint {"id":1.0,"a":"\u00e9"}`},
		{"checkpoint set -", " [1,  2]\n", "PUT checkpoint [1,  2]"},
		{"checkpoint set null", "", "PUT checkpoint null"},
		{"checkpoint set -5", "", "PUT checkpoint -5"},
		{"progress 40/100", "", `POST progress {"done":40,"total":100}`},
		{"progress 40", "", `POST progress {"done":40,"total":0}`},
		{"progress 1.5/3 of them", "", `POST progress {"done":1.5,"total":3,"note":"of them"}`},
		{"result -7", "", `POST complete {"result":-7}`},
		{"result -", "{\"rows\": 9007199254740993}\n", `POST complete {"result":{"rows": 9007199254740993}}`},
		{"fail", "", "POST fail {}"},
		{"fail no such user", "", `POST fail {"message":"no such user"}`},
		{"fail --type E --final --stack - gone", "a\nb", `POST fail {"type":"E","message":"gone","stack":"a\nb","retryable":false}`},
		{"fail --retryable --retry-after 90s", "", `POST fail {"retryable":true,"retry_after":"1m30s"}`},
	} {
		o := c.tell(said.stdin, strings.Fields(said.args)...).want(0)
		method, rest, _ := strings.Cut(said.want, " ")
		if got, want := c.took(), method+" /v1/callback/R/"+rest; len(got) != 1 || got[0] != want {
			t.Errorf("%s: called %q, want %s", said.args, got, want)
		}
		if quiet := said.args != "checkpoint get"; quiet != (o.stdout == "") || o.stderr != "" {
			t.Errorf("%s printed %q, %q", said.args, o.stdout, o.stderr)
		}
	}
	if o := c.tell("", "checkpoint", "get"); o.stdout != "{\"state\":  \"running\"}\n" {
		t.Errorf("got %q", o.stdout)
	}
	c.answers(func(_ int, w http.ResponseWriter) { _, _ = io.WriteString(w, "null") })
	if o := c.tell("", "checkpoint", "get").want(0); o.stdout != "" {
		t.Errorf("nothing saved printed %q", o.stdout)
	}
	if o := c.tell("", "checkpoint", "get", "--json").want(0); o.stdout != "null\n" {
		t.Errorf("nothing saved printed %q", o.stdout)
	}
}

func TestWhatAnAttemptSaysWronglyIsNotCalledBack(t *testing.T) {
	t.Parallel()
	c := newCallback(t)
	for args, want := range map[string]struct {
		code  int
		stdin string
		says  string
	}{
		"checkpoint set nonsense": {2, "", "the checkpoint: not JSON: line 1, column 1"},
		"checkpoint set {} {}":    {2, "", "unexpected argument {}"},
		"checkpoint set":          {2, "", `expected "<json|->"`},
		"checkpoint":              {2, "", "expected one of"},
		"result done":             {2, "", `a text has quotes of its own: '"done"'`},
		`result {"a":1,"a":2}`:    {2, "", "the result: "},
		"result":                  {2, "", "expected"},
		"progress":                {2, "", "expected"},
		"progress 4/x":            {2, "", `progress "4/x": want numbers of 0 or more, such as 40/100`},
		"progress 40%":            {2, "", "want numbers"},
		"progress NaN":            {2, "", "want numbers"},
		"progress 1/-2":           {2, "", "want numbers"},
		"progress 1/Inf":          {2, "", "want numbers"},
		"fail --final --retryable": {
			2, "", "--retryable and --final can't be used together",
		},
		"fail --retry-after soon": {2, "", "--retry-after"},
		"checkpoint set -":        {1, `"` + strings.Repeat("x", 256<<10) + `"`, "the checkpoint is larger than 256 KiB"},
		"result -":                {1, strings.Repeat(" ", 2<<20) + "1", "the result is larger than 64 KiB"},
	} {
		c.tell(want.stdin, strings.Fields(args)...).want(want.code).has(want.says)
	}
	for _, args := range []string{"checkpoint get", "checkpoint set 1", "progress 1", "result 1", "fail"} {
		o := run(t, c.dir, "", []string{"NIGHTSHIFT_CALLBACK=" + c.URL}, strings.Fields(args)...)
		o.want(2).has("works inside an attempt alone: NIGHTSHIFT_CALLBACK and NIGHTSHIFT_CALLBACK_TOKEN")
	}
	if calls := c.took(); calls != nil {
		t.Errorf("called %q", calls)
	}
}

func TestWhatAnAttemptSaysIsSaidAgainWhereTheServerIsBusy(t *testing.T) {
	t.Parallel()
	c := newCallback(t)
	problem := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
	c.answers(func(n int, w http.ResponseWriter) {
		switch n {
		case 1:
			problem(w, 503, `{"title": "Busy", "status": 503}`)
		case 2:
			panic(http.ErrAbortHandler) // the answer is lost
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	c.tell("", "checkpoint", "set", "1").want(0)
	if calls := c.took(); len(calls) != 3 {
		t.Errorf("called %q", calls)
	}
	c.answers(func(_ int, w http.ResponseWriter) {
		problem(w, 409, `{"title": "The attempt is over", "status": 409, "detail": "the run is cancelled", "state": "cancelled"}`)
	})
	o := c.tell("", "checkpoint", "set", "1").want(1)
	if o.stderr != "nightshift: The attempt is over: the run is cancelled\n" || len(c.took()) != 1 {
		t.Errorf("said %q", o.stderr)
	}
	c.answers(func(_ int, w http.ResponseWriter) {
		problem(w, 401, `{"title": "A valid token is needed", "status": 401}`)
	})
	if o := c.tell("", "result", "1").want(1); o.stderr != "nightshift: A valid token is needed\n" {
		t.Errorf("said %q", o.stderr)
	}
}
