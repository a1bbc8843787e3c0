package web_test

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/api"
	"nightshift/api/client"
	"nightshift/jobs"
	"nightshift/jobs/script"
	"nightshift/jobs/webhook"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

func TestMain(m *testing.M) {
	if script.IsShim() {
		os.Exit(script.ShimMain())
	}
	os.Exit(m.Run())
}

// site is a whole server, and a browser without JavaScript that has signed in as admin.
type site struct {
	t     testing.TB
	url   string
	token string
	api   *client.Client // with that token
	rt    *runtime.Runtime
	http  *http.Client
}

func newSite(t testing.TB) *site {
	t.Helper()
	ctx := context.Background()
	st, err := sqlite.Open(ctx, filepath.Join(inMemory(t), "n.db"), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, token: api.NewSecret()}
	by := store.By{Actor: "test", Now: jobs.TimeOf(time.Now())}
	first := store.Token{Name: "admin", Hash: api.HashSecret(s.token), Scopes: []string{"admin"}}
	if _, err := st.PutToken(ctx, first, nil, by); err != nil {
		t.Fatal(err)
	}
	hooks := webhook.New(webhook.Config{})
	scripts, err := script.New(script.Config{Temp: t.TempDir(), TraceOf: jobs.TraceOf})
	if err != nil {
		t.Fatal(err)
	}
	s.rt, err = runtime.New(ctx, runtime.Config{
		Store: st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: hooks, jobs.KindScript: scripts},
		Keys: [][]byte{[]byte("0123456789abcdef0123456789abcdef")}, Grace: time.Second,
		SaveKeys: func([][]byte) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	srv, err := api.New(ctx, api.Config{
		Runtime: s.rt, Log: slog.New(slog.DiscardHandler), Listen: "127.0.0.1:8700", URL: s.url, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.rt.ServeAt(s.url, s.url)
	s.rt.Start()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := s.rt.Stop(nil); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		hooks.Close()
		scripts.Close()
	})
	s.api = client.New(s.url, s.token)
	s.http = s.browser(s.token)
	return s
}

// browser is one that has signed in by a token; "": that has not.
func (s *site) browser(token string) *http.Client {
	s.t.Helper()
	jar, _ := cookiejar.New(nil)
	b := &http.Client{Jar: jar}
	if token != "" {
		status, text := s.send(b, "/sign-in", url.Values{"token": {token}})
		if status != http.StatusOK {
			s.t.Fatalf("sign in: %d\n%s", status, text)
		}
	}
	return b
}

// get reads a page.
func (s *site) get(path string) (status int, text string) {
	s.t.Helper()
	return s.getAs(s.http, path)
}

func (s *site) getAs(b *http.Client, path string) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequest("GET", s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	return s.do(b, req)
}

// post sends a form as a page of the site would, and gives the page that it leads to.
func (s *site) post(path string, form url.Values) (status int, text string) {
	s.t.Helper()
	return s.send(s.http, path, form)
}

func (s *site) send(b *http.Client, path string, form url.Values) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequest("POST", s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.do(b, req)
}

func (s *site) do(b *http.Client, req *http.Request) (status int, text string) {
	s.t.Helper()
	res, err := b.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return res.StatusCode, string(body)
}

// page reads a page that must be there, and fails the test where it does not say each of want, as people read it.
func (s *site) page(path string, want ...string) string {
	s.t.Helper()
	status, text := s.get(path)
	if status != http.StatusOK {
		s.t.Fatalf("GET %s: %d\n%s", path, status, text)
	}
	s.says(path, text, want...)
	return text
}

func (s *site) says(what, page string, want ...string) {
	s.t.Helper()
	plain := html.UnescapeString(page)
	for _, w := range want {
		if !strings.Contains(plain, w) {
			s.t.Errorf("%s does not say %q:\n%s", what, w, page)
		}
	}
}

// job registers a job by its document, which is JSON.
func (s *site) job(name, document string) {
	s.t.Helper()
	s.call("PUT", "/v1/jobs/"+name, document)
}

// call makes a call of the API as admin that must succeed.
func (s *site) call(method, path, body string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	status, text := s.do(http.DefaultClient, req)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d\n%s", method, path, status, text)
	}
	return text
}

// run runs a job and waits for its end.
func (s *site) run(job, payload string) jobs.ID {
	s.t.Helper()
	run, err := s.api.Enqueue(context.Background(), job, client.Request{Payload: jobs.Raw(payload)}, 30*time.Second)
	if err != nil {
		s.t.Fatal(err)
	}
	return run.ID
}

// inMemory is a folder in memory where the machine has that: what a test does here does not hang on the disk.
func inMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nightshift-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
