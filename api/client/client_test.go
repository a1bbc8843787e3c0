package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	stream := ":comment\n\nevent: log\nid: 3\ndata: {\"a\":\ndata:1}\n\n" +
		"id: 4\n\n" + // without data: it does not count
		"data:\n\nevent:end\ndata: x: y\n\ndata: cut off"
	var got []string
	err := eachEvent(strings.NewReader(stream), func(e event) error {
		got = append(got, e.name+"|"+e.id+"|"+string(e.data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"log|3|{\"a\":\n1}", "||", "end||x: y"}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("events %q, want %q", got, want)
	}
}

func TestFollowSaysWhereToGoOn(t *testing.T) {
	var last string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Header.Get("Last-Event-ID")
		if last == "" {
			_, _ = w.Write([]byte("event: log\nid: 5\ndata: {\"text\":\"hello\"}\n\n"))
			return // cut off
		}
		_, _ = w.Write([]byte("event: log\nid: 6\ndata: {\"text\":\"!\"}\n\nevent: end\ndata: {\"state\":\"failed\"}\n\n"))
	}))
	defer server.Close()
	c := New(server.URL, "")
	var out strings.Builder
	_, at, err := c.Follow(context.Background(), jobs.NilID, 0, &out)
	if !errors.Is(err, ErrCut) || at != 5 {
		t.Fatalf("cut off: at %d, %v", at, err)
	}
	state, at, err := c.Follow(context.Background(), jobs.NilID, at, &out)
	if err != nil || state != "failed" || at != 6 || last != "5" || out.String() != "hello!" {
		t.Errorf("went on: state %s, at %d, Last-Event-ID %s, printed %q, %v", state, at, last, out.String(), err)
	}
}

func TestProblemsAreDecoded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/server" {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>bad gateway</html>"))
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"type":"t","title":"Busy","status":503,"detail":"d","new":1,"errors":[` +
			`{"location":"body.a","message":"m"},{"location":"body.b","message":"n"}]}`))
	}))
	defer server.Close()
	c := New(server.URL+"/", "token")
	_, err := c.Jobs(context.Background(), Page{})
	var p *Problem
	if !errors.As(err, &p) || p.Status != 503 || p.RetryAfter != "7" || len(p.Errors) != 2 {
		t.Fatalf("problem: %v", err)
	}
	if text := err.Error(); text != "Busy: d\n  body.a: m\n  body.b: n" {
		t.Errorf("it says %q", text)
	}
	if _, err = c.Server(context.Background()); StatusOf(err) != 502 {
		t.Errorf("an answer of something between: %v", err)
	}
}
