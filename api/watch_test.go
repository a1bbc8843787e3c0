package api

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// events reads a stream to its end: one line for each event, name and data.
func eventsOf(t *testing.T, r io.Reader) (all []string) {
	t.Helper()
	name := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if n, found := strings.CutPrefix(lines.Text(), "event: "); found {
			name = n
		}
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			all = append(all, name+" "+data)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWatchLinkShowsStateAndProgressAlone(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("a", handle)
	a := ts.call("POST", "/v1/jobs/a/runs", `{"payload":"private"}`).want(202)
	link := strings.TrimPrefix(a.field("watch_url"), ts.url)
	id := a.field("id")
	ts.until(id, "running")
	foreign := []string{"Authorization", "", "Origin", "https://shop.example"}
	got := ts.call("GET", link, "", foreign...).want(200)
	if string(got.body) != `{"state":"running","progress":null}`+"\n" {
		t.Errorf("the link gives %s", got.body)
	}
	if got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("headers %v", got.header)
	}
	pre := ts.call("OPTIONS", link, "", foreign...).want(204)
	if pre.header.Get("Access-Control-Allow-Methods") != "GET" {
		t.Errorf("preflight %v", pre.header)
	}
	for _, bad := range []string{
		"/v1/watch/" + id, "/v1/watch/" + id + "?key=", link + "x", link[:len(link)-1],
		"/v1/watch/not-an-id?key=x", strings.Replace(link, id[:8], "00000000", 1),
	} {
		ts.call("GET", bad, "", foreign...).problem(probNotFound)
		ts.call("GET", bad, "", append(foreign, "Accept", "text/event-stream")...).problem(probNotFound)
	}
	res := ts.stream(link, "Origin", "https://shop.example")
	open()
	all := eventsOf(t, res.Body)
	if n := len(all); n < 2 || all[n-2] != `run {"state":"succeeded","progress":null}` || all[n-1] != `end {"state":"succeeded"}` {
		t.Errorf("events %q", all)
	}
	// It still answers afterwards, at once.
	all = eventsOf(t, ts.stream(link).Body)
	if len(all) != 2 {
		t.Errorf("events after the end %q", all)
	}
	ts.call("DELETE", "/v1/runs/"+id, "").want(204)
	ts.call("GET", link, "", foreign...).problem(probNotFound)
}

func TestCutRuneKeepsCharactersTogether(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 0, "é": 0, "\xc3": 1, "a\xe2\x82": 2, "\xf0\x9f\x98": 3, "\xf0\x9f\x98\x80": 0,
		"\x80\x80\x80\x80": 0, "\xff": 0, "ok\xff": 0,
	} {
		if got := cutRune([]byte(text)); got != want {
			t.Errorf("cutRune(%q) = %d, want %d", text, got, want)
		}
	}
}
