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

// aged is a server without a network, on fake time.
type aged struct {
	t      *testing.T
	st     store.Store
	rt     *runtime.Runtime
	s      *Server
	secret string
}

func onFakeTime(t *testing.T, test func(a *aged)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &aged{t: t, secret: NewSecret()}
		var err error
		if a.st, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "n.db"), sqlite.Config{}); err != nil {
			t.Fatal(err)
		}
		admin := store.Token{Name: "admin", Hash: HashSecret(a.secret), Scopes: []string{"admin"}}
		if _, err := a.st.PutToken(t.Context(), admin, nil, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		a.start()
		test(a)
		a.stop()
		if err := a.st.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (a *aged) start() {
	a.t.Helper()
	ctx := context.Background()
	var err error
	a.rt, err = runtime.New(ctx, runtime.Config{
		Store: a.st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: succeeds{}},
		Keys: [][]byte{[]byte("0123456789abcdef0123456789abcdef")},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	if a.s, err = New(ctx, Config{Runtime: a.rt, URL: "http://localhost"}); err != nil {
		a.t.Fatal(err)
	}
	a.rt.Start()
}

func (a *aged) stop() {
	a.t.Helper()
	if err := a.rt.Stop(nil); err != nil {
		a.t.Error(err)
	}
}

// pass lets time pass with the server down: up, its clocks would tick all day.
func (a *aged) pass(d time.Duration) {
	a.t.Helper()
	a.stop()
	time.Sleep(d)
	a.start()
}

func (a *aged) call(method, path, body string) *answer {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.secret)
	w := httptest.NewRecorder()
	a.s.ServeHTTP(w, r)
	return &answer{a.t, w.Code, w.Header(), w.Body.Bytes()}
}

// ends waits for the end of a run.
func (a *aged) ends(id string) {
	a.t.Helper()
	if got := a.call("GET", "/v1/runs/"+id+"?wait=60s", "").want(200); got.field("state") != "succeeded" {
		a.t.Fatalf("%s", got.body)
	}
}

func TestKeyLivesADayAndWhileItsRunIsUnfinished(t *testing.T) {
	onFakeTime(t, func(a *aged) {
		a.call("PUT", "/v1/jobs/a", hookDoc).want(201)
		enqueue := func(body string) *answer { return a.call("POST", "/v1/jobs/a/runs", body) }
		ended := enqueue(`{"idempotency_key":"ended"}`).want(202).field("id")
		a.ends(ended)
		later := enqueue(`{"idempotency_key":"later","delay":"48h"}`).want(202).field("id")
		a.pass(24*time.Hour - time.Minute)
		if again := enqueue(`{"idempotency_key":"ended"}`).want(200); again.field("id") != ended {
			t.Errorf("within a day: %s", again.body)
		}
		a.pass(2 * time.Minute)
		if again := enqueue(`{"idempotency_key":"ended","payload":1}`).want(202); again.field("id") == ended {
			t.Errorf("after a day: %s", again.body)
		}
		if again := enqueue(`{"idempotency_key":"later"}`).want(200); again.field("id") != later {
			t.Errorf("while the run is unfinished: %s", again.body)
		}
		a.pass(24 * time.Hour)
		a.ends(later)
		enqueue(`{"idempotency_key":"later","payload":1}`).want(202)
	})
}

func TestWatchLinkEndsADayAfterTheRun(t *testing.T) {
	onFakeTime(t, func(a *aged) {
		a.call("PUT", "/v1/jobs/a", hookDoc).want(201)
		made := a.call("POST", "/v1/jobs/a/runs", `{"delay":"12h"}`).want(202)
		link := strings.TrimPrefix(made.field("watch_url"), "http://localhost")
		a.pass(12 * time.Hour)
		a.ends(made.field("id"))
		a.pass(24*time.Hour - time.Minute)
		if got := a.call("GET", link, "").want(200); got.field("state") != "succeeded" {
			t.Errorf("within a day: %s", got.body)
		}
		a.pass(2 * time.Minute)
		a.call("GET", link, "").problem(probNotFound)
		a.call("GET", "/v1/runs/"+made.field("id"), "").want(200)
	})
}
