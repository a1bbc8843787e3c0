package runtime_test

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

func TestATokenOpensTheCallbackOfItsAttemptAlone(t *testing.T) {
	s := newServer(t, succeed)
	defer s.stop()
	f := store.Fence{Run: jobs.ID{1, 2, 3}, Number: 70_000}
	token := s.rt.CallbackToken(f)
	if got, ok := s.rt.OpenCallback(f.Run, token); !ok || got != f {
		t.Fatalf("%s: %+v, %t", token, got, ok)
	}
	if s.rt.CallbackToken(f) != token || strings.Trim(token, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		t.Errorf("%q is no token to be put into a header", token)
	}
	if _, ok := s.rt.OpenCallback(jobs.ID{1, 2, 4}, token); ok {
		t.Error("it opens another run")
	}
	body := strings.TrimPrefix(token, "nsa_")
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	forged := map[string]string{
		"nothing": "", "no text": "nsa_", "without its prefix": body, "in upper case": "NSA_" + body,
		"cut": token[:len(token)-1], "with more": token + "A", "twice": token + token,
		"with spaces": token + " ", "with a line end": token[:20] + "\n" + token[20:], "padded": token + "==",
		"of no base64": "nsa_" + strings.Repeat("é", 15), "spare bits set": token[:len(token)-1] + "_",
		"of number 0":  s.rt.CallbackToken(store.Fence{Run: f.Run}),
		"of number -1": s.rt.CallbackToken(store.Fence{Run: f.Run, Number: -1}),
	}
	for i := range raw {
		changed := append([]byte(nil), raw...)
		changed[i] ^= 1
		forged["with byte "+string(rune('a'+i))+" changed"] = "nsa_" + base64.RawURLEncoding.EncodeToString(changed)
	}
	for what, text := range forged {
		if got, ok := s.rt.OpenCallback(f.Run, text); ok {
			t.Errorf("a token %s opens %+v", what, got)
		}
	}
	other := newServer(t, succeed)
	defer other.stop()
	if _, ok := other.rt.OpenCallback(f.Run, token); ok {
		t.Error("a server with another key takes it")
	}
}

func TestAnAttemptIsToldWhereToCallBack(t *testing.T) {
	calls := make(chan *jobs.Call, 2)
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		calls <- c
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	s.rt.ServeAt("https://jobs.example.com/", "http://127.0.0.1:8700")
	s.put(webhookJob)
	s.put(scriptJob)
	s.rt.Start()
	for job, base := range map[string]string{"a": "https://jobs.example.com", "s": "http://127.0.0.1:8700"} {
		id := s.submit(jobs.Request{Job: job})
		s.awaitEnd(id)
		c := <-calls
		if want := base + "/v1/callback/" + id.String(); c.CallbackURL != want {
			t.Errorf("%s: %s, want %s", job, c.CallbackURL, want)
		}
		if f, ok := s.rt.OpenCallback(id, c.CallbackToken); !ok || f != (store.Fence{Run: id, Number: 1}) {
			t.Errorf("%s: the token opens %+v, %t", job, f, ok)
		}
	}
}

// Who may read the output of a run may not speak for it: `set -x` prints commands with the token in them.
func TestTheTokenOfAnAttemptIsNotInItsOutput(t *testing.T) {
	shown, tokens := make(chan string, 1), make(chan string, 1)
	var s *server
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		token := c.CallbackToken
		for _, piece := range []string{
			"+ curl -H 'Bearer " + token + "'\n", token, "\n", token[:9], token[9:20], token[20:], "!\n", token + token, "\n",
			token[:len(token)-1], "-\n", "it ends in ns", "\n", "nsa_",
		} {
			if n, err := io.WriteString(c.Log, piece); n != len(piece) || err != nil {
				t.Errorf("%q: %d, %v", piece, n, err)
			}
		}
		var live strings.Builder
		if err := s.rt.Log(context.Background(), c.Run, &live, false, func() {}); err != nil {
			t.Error(err)
		}
		shown <- live.String()
		tokens <- token
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	s.put(scriptJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "s"})
	live, token := <-shown, <-tokens
	want := "+ curl -H 'Bearer ***'\n***\n***!\n******\n" + token[:len(token)-1] + "-\nit ends in ns\n"
	if live != want {
		t.Errorf("meanwhile it is %q", live)
	}
	s.awaitEnd(id)
	if got := s.log(id); got != want+"nsa_" {
		t.Errorf("it is %q", got)
	}
}
