package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestCallbackSaysWhatItIsGiven(t *testing.T) {
	var got []string
	answer := `{"a":  1}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body),
		}, " "))
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	c, ctx := NewCallback(server.URL+"/v1/callback/R/", "nsa_x"), context.Background()
	value, err := c.Checkpoint(ctx)
	if err != nil || string(value) != answer {
		t.Errorf("checkpoint %s, %v", value, err)
	}
	for _, call := range []func() error{
		func() error { return c.SaveCheckpoint(ctx, jobs.Raw(`{"b": 1.0}`)) },
		func() error { return c.Progress(ctx, jobs.Progress{Done: 1, Total: 2, Note: "n"}) },
		func() error { return c.Log(ctx, []byte("a\xff")) },
		func() error { return c.Heartbeat(ctx) },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	answer = `{"run": "R", "state": "waiting"}`
	if state, err := c.Complete(ctx, nil); err != nil || state != "waiting" {
		t.Errorf("complete: %s, %v", state, err)
	}
	if state, err := c.Fail(ctx, jobs.SaidError{Message: "m", Fail: true}); err != nil || state != "waiting" {
		t.Errorf("fail: %s, %v", state, err)
	}
	want := []string{
		"GET checkpoint  ", `PUT checkpoint application/json {"b": 1.0}`, `POST progress application/json {"done":1,"total":2,"note":"n"}`,
		"POST log text/plain a\xff", "POST heartbeat  ", "POST complete application/json {}", `POST fail application/json {"message":"m"}`,
	}
	for i, text := range want {
		method, rest, _ := strings.Cut(text, " ")
		path, body, _ := strings.Cut(rest, " ")
		if text = method + " /v1/callback/R/" + path + " Bearer nsa_x " + body; len(got) != len(want) || got[i] != text {
			t.Fatalf("calls %q, want %q", got, text)
		}
	}
	answer = "null"
	if value, err := c.Checkpoint(ctx); err != nil || value != nil {
		t.Errorf("no checkpoint: %s, %v", value, err)
	}
	answer = "<html>"
	if _, err := c.Checkpoint(ctx); err == nil || !strings.Contains(err.Error(), "of a Nightshift server?") {
		t.Errorf("no server: %v", err)
	}
}
