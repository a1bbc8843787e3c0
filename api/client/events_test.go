package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nightshift/jobs"
)

// scripted answers with one text after the other and keeps what was asked.
func scripted(t *testing.T, texts ...string) (c *Client, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RequestURI()+" "+r.Header.Get("Last-Event-ID"))
		_, _ = w.Write([]byte(texts[len(*asked)-1]))
	}))
	t.Cleanup(server.Close)
	return New(server.URL, ""), asked
}

func TestEventsAreFollowedFromWhereTheStreamStood(t *testing.T) {
	c, asked := scripted(t,
		":\n\nid: 7\n\n", // it stands there, without an event
		":\n\n: 2 events are not kept any more\n\nevent: a\nid: 10\ndata: {\"id\":\"10\",\"data\":{}}\n\nid: 12\n\n"+
			"event: a\nid: 13\ndata: {\"id\":\"13\"}\n") // cut off within it
	var told, remarks []string
	each := func(e jobs.CloudEvent) error {
		told = append(told, e.ID)
		return nil
	}
	remark := func(text string) { remarks = append(remarks, text) }
	f := EventFilter{Types: []string{"a", "b"}}
	for _, want := range []string{"7", "12"} {
		at, err := c.FollowEvents(t.Context(), f, each, remark, nil)
		if !errors.Is(err, ErrCut) || at != want {
			t.Fatalf("cut off: at %q, want %q: %v", at, want, err)
		}
		f.After = at
	}
	if got := strings.Join(told, " ") + "|" + strings.Join(remarks, "|"); got != "10|2 events are not kept any more" {
		t.Errorf("told %q", got)
	}
	if got := strings.Join(*asked, "|"); got != "/v1/events?type=a%2Cb |/v1/events?type=a%2Cb 7" {
		t.Errorf("asked %q", got)
	}
}

func TestAnEventThatWasNotTakenIsGivenAgain(t *testing.T) {
	c, _ := scripted(t, "event: a\nid: 3\ndata: {\"id\":\"3\"}\n\nevent: a\nid: 4\ndata: {\"id\":\"4\"}\n\n")
	full, begun := errors.New("no room"), 0
	at, err := c.FollowEvents(t.Context(), EventFilter{}, func(e jobs.CloudEvent) error {
		if e.ID == "4" {
			return full
		}
		return nil
	}, nil, func() { begun++ })
	if !errors.Is(err, full) || at != "3" || begun != 1 {
		t.Errorf("at %q, begun %d times: %v", at, begun, err)
	}
}

func TestEventsAreListedAsJSON(t *testing.T) {
	var accept, uri string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accept, uri = r.Header.Get("Accept"), r.URL.RequestURI()
		_, _ = w.Write([]byte(`{"items":[{"id":"5","type":"a","data":{"name": "x"}}],"next":"5","limit":1}`))
	}))
	defer server.Close()
	list, err := New(server.URL, "").Events(t.Context(), EventFilter{After: "4"}, Page{Limit: 1})
	if err != nil || len(list.Items) != 1 || string(list.Items[0].Data) != `{"name": "x"}` || *list.Next != "5" {
		t.Errorf("list %+v, %v", list, err)
	}
	if accept != "application/json" || uri != "/v1/events?after=4&limit=1" {
		t.Errorf("asked %s as %s", uri, accept)
	}
}
