package api

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

type succeeds struct{}

func (succeeds) Run(context.Context, *jobs.Call) jobs.Report { return jobs.Report{ExitCode: -1} }

// onFakeTime runs a test of a server without a network, whose clock stands while something is done.
func onFakeTime(t *testing.T, test func(call func(method, path, body string) *answer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "n.db"), sqlite.Config{})
		if err != nil {
			t.Fatal(err)
		}
		secret := NewSecret()
		admin := store.Token{Name: "admin", Hash: HashSecret(secret), Scopes: []string{"admin"}}
		if _, err := st.PutToken(ctx, admin, nil, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		rt, err := runtime.New(ctx, runtime.Config{
			Store: st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: succeeds{}},
			Key: []byte("0123456789abcdef0123456789abcdef"),
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(ctx, Config{Runtime: rt, URL: "http://localhost"})
		if err != nil {
			t.Fatal(err)
		}
		rt.Start()
		test(func(method, path, body string) *answer {
			r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return &answer{t, w.Code, w.Header(), w.Body.Bytes()}
		})
		if err := rt.Stop(nil); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestKeyLivesADayAndWhileItsRunIsUnfinished(t *testing.T) {
	onFakeTime(t, func(call func(method, path, body string) *answer) {
		call("PUT", "/v1/jobs/a", hookDoc).want(201)
		enqueue := func(body string) *answer { return call("POST", "/v1/jobs/a/runs", body) }
		ended := enqueue(`{"idempotency_key":"ended"}`).want(202).field("id")
		later := enqueue(`{"idempotency_key":"later","delay":"48h"}`).want(202).field("id")
		time.Sleep(24*time.Hour - time.Second)
		if again := enqueue(`{"idempotency_key":"ended"}`).want(200); again.field("id") != ended {
			t.Errorf("within a day: %s", again.body)
		}
		time.Sleep(2 * time.Second)
		if again := enqueue(`{"idempotency_key":"ended","payload":1}`).want(202); again.field("id") == ended {
			t.Errorf("after a day: %s", again.body)
		}
		if again := enqueue(`{"idempotency_key":"later"}`).want(200); again.field("id") != later {
			t.Errorf("while the run is unfinished: %s", again.body)
		}
		time.Sleep(24 * time.Hour)
		enqueue(`{"idempotency_key":"later","payload":1}`).want(202)
	})
}

func TestWatchLinkEndsADayAfterTheRun(t *testing.T) {
	onFakeTime(t, func(call func(method, path, body string) *answer) {
		call("PUT", "/v1/jobs/a", hookDoc).want(201)
		made := call("POST", "/v1/jobs/a/runs", `{"delay":"12h"}`).want(202)
		link := strings.TrimPrefix(made.field("watch_url"), "http://localhost")
		time.Sleep(36*time.Hour - time.Minute)
		if got := call("GET", link, "").want(200); got.field("state") != "succeeded" {
			t.Errorf("within a day: %s", got.body)
		}
		time.Sleep(2 * time.Minute)
		call("GET", link, "").problem(probNotFound)
		call("GET", "/v1/runs/"+made.field("id"), "").want(200)
	})
}
