package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func TestCallsOfSharedThingsAreWrittenAsTheServerReadsThem(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("If-Match")+" "+string(body))
		w.Header().Set("ETag", `"3"`)
		if r.Method == "PUT" {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write([]byte(`{"name":"x"}`))
	}))
	defer server.Close()
	c, ctx := New(server.URL, "token"), context.Background()
	five := jobs.Duration(5e9)
	d := jobs.NewDependency("[::1]:8080")
	d.Breaker = nil
	for _, call := range []func() error{
		func() error {
			_, created, err := c.PutQueue(ctx, &jobs.Queue{Name: "mail", Concurrency: new(2)}, `"2"`)
			if !created {
				t.Error("the queue was made")
			}
			return err
		},
		func() error {
			_, tag, err := c.Queue(ctx, "mail")
			if tag != `"3"` {
				t.Errorf("tag %s", tag)
			}
			return err
		},
		func() error { _, _, err := c.PutDependency(ctx, d, ""); return err },
		func() error { _, _, err := c.Dependency(ctx, "[::1]:8080"); return err },
		func() error { _, err := c.TripDependency(ctx, "a:1", wire.Trip{For: &five, Note: "n"}); return err },
		func() error { _, err := c.ResetDependency(ctx, "a/b", ""); return err },
		func() error { return c.DeleteQueue(ctx, "mail") },
		func() error { return c.DeleteDependency(ctx, "a:1") },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`PUT /v1/queues/mail "2" {"name":"mail","concurrency":2}`,
		`GET /v1/queues/mail  `,
		`PUT /v1/dependencies/[::1]:8080  {"name":"[::1]:8080","breaker":null}`,
		`GET /v1/dependencies/[::1]:8080  `,
		`POST /v1/dependencies/a:1/trip  {"for":"5s","note":"n"}`,
		`POST /v1/dependencies/a/b/reset  {}`,
		`DELETE /v1/queues/mail  `,
		`DELETE /v1/dependencies/a:1  `,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
