package nightshift

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const token = "nsa_a-token-that-is-not-shown"

// driver makes a call of one of the clients, as lines of testdata/driver.* say, and gives what came of
// it: "ok", "ok JSON", "lost" (not got through), "over STATE", "too large", "refused", "unreachable".
type driver func(t *testing.T, patience float64, callback, call, argument string) string

// drivers are the clients, by language. What a test claims holds for all.
var drivers = map[string]struct {
	program string // that it needs
	start   func(t *testing.T) driver
	// what this language does not tell apart
	same map[string]string
}{
	"go": {start: func(*testing.T) driver { return goDriver }, same: map[string]string{
		"lost": "unreachable", "over cancelled": "over", "over succeeded": "over",
	}},
	"python": {program: "python3", start: processDriver("python3", "driver.py")},
	"node":   {program: "node", start: processDriver("node", "driver.mjs")},
	"bash": {program: "curl", start: processDriver("bash", "driver.sh"), same: map[string]string{
		"lost": "ok", "too large": "refused", "over cancelled": "over", "over succeeded": "over",
	}},
}

// each runs a claim for every client whose interpreter is there.
func each(t *testing.T, claim func(t *testing.T, language string, say driver)) {
	t.Helper()
	for language, d := range drivers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(d.program); d.program != "" && err != nil {
				t.Skipf("%s is not installed: its client is not tested", d.program)
			}
			claim(t, language, d.start(t))
		})
	}
}

// processDriver starts a driver, and checks at the end that it never showed the token.
func processDriver(program, script string) func(t *testing.T) driver {
	return func(t *testing.T) driver {
		t.Helper()
		dir := t.TempDir()
		tracedCurl(t, dir)
		cmd := exec.Command(program, filepath.Join("testdata", script))
		cmd.Env = append(os.Environ(), "TOKEN="+token, "PATH="+dir+":"+os.Getenv("PATH"))
		stderr, err := os.Create(filepath.Join(dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewScanner(out)
		read := func() string {
			if !said.Scan() {
				text, _ := os.ReadFile(stderr.Name())
				t.Fatalf("%s ended: %v\n%s", script, said.Err(), text)
			}
			if strings.Contains(said.Text(), token) {
				t.Errorf("it printed the token: %s", said.Text())
			}
			return said.Text()
		}
		read()
		t.Cleanup(func() {
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", script, err)
			}
			_ = stderr.Close()
			for _, name := range []string{"stderr", "arguments"} {
				text, _ := os.ReadFile(filepath.Join(dir, name))
				if strings.Contains(string(text), token) {
					t.Errorf("%s shows the token:\n%s", name, text)
				}
			}
		})
		return func(t *testing.T, patience float64, callback, call, argument string) string {
			t.Helper()
			if _, err := fmt.Fprintln(in, patience, callback, call, argument); err != nil {
				t.Fatal(err)
			}
			return read()
		}
	}
}

// tracedCurl puts a curl into a folder that writes down its arguments, which all of the machine can see.
func tracedCurl(t *testing.T, dir string) {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		return
	}
	text := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s/arguments\nexec %s \"$@\"\n", dir, curl)
	if err := os.WriteFile(filepath.Join(dir, "curl"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func goDriver(t *testing.T, patience float64, callback, call, argument string) string {
	t.Helper()
	header := http.Header{"Nightshift-Callback": {callback}, "Nightshift-Token": {token}}
	a, err := FromHeader(header, "")
	if err != nil {
		t.Fatal(err)
	}
	a.Patience = time.Duration(patience * float64(time.Second))
	if text := fmt.Sprintf("%v %+v %#v", a, a, a); strings.Contains(text, token) {
		t.Errorf("it shows the token: %s", text)
	}
	said, err := goCall(t, a, call, argument)
	if err == nil {
		return strings.TrimSpace("ok " + said)
	}
	if strings.Contains(err.Error(), token) {
		t.Errorf("the error shows the token: %v", err)
	}
	for sort, name := range map[error]string{ErrOver: "over", ErrTooLarge: "too large", ErrUnreachable: "unreachable"} {
		if errors.Is(err, sort) {
			return name
		}
	}
	return "refused"
}

func goCall(t *testing.T, a *Attempt, call, argument string) (said string, err error) {
	t.Helper()
	var value any
	if argument != "" {
		if err := json.Unmarshal([]byte(argument), &value); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := value.(string)
	ctx := t.Context()
	switch call {
	case "expecting":
		_, err := FromHeader(http.Header{"Nightshift-Callback": {a.callback}, "Nightshift-Token": {token}}, text)
		return "", err
	case "load":
		var read json.RawMessage
		if found, err := a.Load(ctx, &read); err != nil || !found {
			return "null", err
		}
		return string(read), nil
	case "save":
		return "", a.Save(ctx, value)
	case "progress":
		return "", a.Progress(ctx, 3, 4, text)
	case "log":
		return "", a.Log(ctx, text)
	case "heartbeat":
		return "", a.Heartbeat(ctx)
	case "heart":
		alive, stop := a.Heart(ctx, 20*time.Millisecond)
		defer stop()
		<-alive.Done()
		if !errors.Is(context.Cause(alive), ErrOver) {
			t.Errorf("the heart ended by %v", context.Cause(alive))
		}
		return "", nil
	case "complete":
		return "", a.Complete(ctx, value)
	}
	return "", a.Fail(ctx, Failure{Type: "ValueError", Message: text})
}

// Answers that a callback may give.
var (
	fine    = answer{status: 204}
	null    = answer{status: 200, body: "null"}
	ended   = answer{status: 200, body: `{"run": "1", "state": "succeeded"}`}
	dropped = answer{drop: true}
	over    = problem(409, "over", `"state": "cancelled"`)
	gone    = problem(404, "not-found", `"detail": "there is no such run"`)
	large   = problem(413, "too-large", `"detail": "256 KiB at most"`)
	forged  = problem(401, "unauthorized", `"detail": "not a token of this attempt"`)
	invalid = problem(422, "invalid", `"detail": "body.progress.done: want a number"`)
	busy    = problem(503, "busy", `"detail": "locked"`)
	full    = problem(507, "disk-full", `"detail": "disk"`)
	odd     = answer{status: 500, body: "oops"}
	many    = answer{status: 429}
	proxy   = answer{status: 404, body: "<html>"}
)

func TestClientsHandleWhatTheCallbackAnswers(t *testing.T) {
	t.Parallel()
	cases := []aCase{
		{"load", "", []answer{null}, "ok null"},
		{"load", "", []answer{{status: 200, body: `{"after":4900,"seen":[1,2]}`}}, `ok {"after":4900,"seen":[1,2]}`},
		{"load", "", []answer{busy, dropped, {status: 200, body: "7"}}, "ok 7"},
		{"load", "", []answer{over}, "over cancelled"},
		{"load", "", []answer{forged}, "refused"},
		{"load", "", []answer{proxy}, "refused"},
		{"save", `{"after":4900}`, []answer{fine}, "ok"},
		{"save", "null", []answer{fine}, "ok"},
		{"save", "7", []answer{busy, fine}, "ok"},
		{"save", "7", []answer{dropped, full, fine}, "ok"},
		{"save", "7", []answer{many, odd, large}, "too large"},
		{"save", "7", []answer{over}, "over cancelled"},
		{"save", "7", []answer{dropped, over}, "over cancelled"},
		{"save", "7", []answer{gone}, "over"},
		{"save", "7", []answer{proxy}, "refused"},
		{"save", "7", []answer{large}, "too large"},
		{"save", "7", []answer{invalid}, "refused"},
		{"progress", `"half \"done\"\nand\\more"`, []answer{fine}, "ok"},
		{"progress", `"x"`, []answer{busy}, "lost"},
		{"progress", `"x"`, []answer{dropped}, "lost"},
		{"progress", `"x"`, []answer{over}, "over cancelled"},
		{"progress", `"x"`, []answer{invalid}, "refused"},
		{"log", `"a line, it's \"quoted\" 100%"`, []answer{fine}, "ok"},
		{"log", `"x"`, []answer{dropped}, "lost"}, // it may have been written: no second time
		{"log", `"x"`, []answer{over}, "over cancelled"},
		{"heartbeat", "", []answer{fine}, "ok"},
		{"heartbeat", "", []answer{odd}, "lost"},
		{"heartbeat", "", []answer{over}, "over cancelled"},
		{"heart", "", []answer{fine, dropped, busy, fine, over}, "ok"},
		{"complete", `{"rows":3}`, []answer{ended}, "ok"},
		{"complete", "null", []answer{dropped, ended}, "ok"},
		{"complete", "1", []answer{large}, "too large"},
		{"complete", "1", []answer{busy, problem(409, "over", `"state": "succeeded"`)}, "over succeeded"},
		{"fail", `"no \"such\" user"`, []answer{ended}, "ok"},
		{"fail", `"x"`, []answer{dropped, ended}, "ok"},
		{"fail", `"x"`, []answer{over}, "over cancelled"},
	}
	each(t, func(t *testing.T, language string, say driver) {
		s := newServer(t)
		for _, c := range cases {
			s.check(t, language, say, c)
		}
	})
}

// Whatever passing errors come first: what is said in the end is what counts, and each try says the same.
func TestClientsRepeatWhatMayBeRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	each(t, func(t *testing.T, language string, say driver) {
		s, random := newServer(t), rand.New(rand.NewPCG(seed, 0))
		passing := []answer{busy, full, odd, many, dropped, {status: 502}, {status: 200, body: "1", cut: true}}
		last := map[string][]answer{
			"ok": {fine, null}, "over cancelled": {over}, "over": {gone}, "too large": {large}, "refused": {forged, invalid, proxy},
		}
		wants := slices.Sorted(maps.Keys(last))
		for range 8 {
			var answers []answer
			for range random.IntN(3) {
				answers = append(answers, passing[random.IntN(len(passing))])
			}
			want := wants[random.IntN(len(wants))]
			answers = append(answers, last[want][random.IntN(len(last[want]))])
			call := []string{"save", "complete", "fail"}[random.IntN(3)]
			s.check(t, language, say, aCase{call, `"x"`, answers, want})
		}
	})
}

func TestClientsGiveUpWhereNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Close()
	each(t, func(t *testing.T, language string, say driver) {
		for _, call := range []string{"load", "save", "complete", "fail"} {
			if said := say(t, 0, s.URL+"/v1/callback/1", call, `"x"`); said != "unreachable" {
				t.Errorf("%s: %s", call, said)
			}
		}
		for _, call := range []string{"progress", "log", "heartbeat"} {
			if said := say(t, 300, s.URL+"/v1/callback/1", call, `"x"`); said != inWordsOf(language, "lost") {
				t.Errorf("%s: %s", call, said)
			}
		}
	})
}

func TestClientsTakeTheTokenNowhereElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, language string, say driver) {
		elsewhere := newServer(t)
		s := newServer(t)
		for _, status := range []int{301, 302, 303, 307, 308} {
			c := aCase{"load", "", []answer{{status: status, to: elsewhere.URL}}, "refused"}
			s.check(t, language, say, c)
		}
		if seen := elsewhere.take(); len(seen) > 0 {
			t.Errorf("it went to another host: %+v", seen)
		}
	})
}

func TestClientsCallNoOtherServerThanTheOneExpected(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, language string, say driver) {
		if language == "bash" {
			t.Skip("bash takes its callback from the environment alone")
		}
		for server, want := range map[string]string{
			"http://127.0.0.1:8700": "ok", "http://127.0.0.1:8700/": "ok", "http://127.0.0.1:870": "refused",
			"https://127.0.0.1:8700": "refused", "http://jobs.example.com": "refused",
		} {
			said := say(t, 0, "http://127.0.0.1:8700/v1/callback/1", "expecting", fmt.Sprintf("%q", server))
			if said != want {
				t.Errorf("%s: %s, want %s", server, said, want)
			}
		}
	})
}
