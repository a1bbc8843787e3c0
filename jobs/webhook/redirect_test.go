package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// to is a redirect.
func to(code int, location string) string { return status(code, "moved", "Location: "+location) }

// following runs an attempt that follows redirects.
func following(t testing.TB, k *Kind, target string, change func(*jobs.Webhook, *jobs.Call)) jobs.Report {
	t.Helper()
	w := &jobs.Webhook{URL: target, FollowRedirects: true}
	c := kindtest.NewCall(jobs.Spec{Webhook: w})
	c.Payload = jobs.Raw("{ \"a\" : 1.0 }")
	if change != nil {
		change(w, c)
	}
	rep := k.Run(context.Background(), c)
	kindtest.CheckReport(t, rep)
	return rep
}

// routes answers each path with its own answer, 404 where there is none.
func routes(table map[string]string) func(*peer) {
	return func(p *peer) {
		for p.request() == nil {
			p.r.mu.Lock()
			_, path, _ := strings.Cut(p.r.lines[len(p.r.lines)-1], " ")
			p.r.mu.Unlock()
			answer, known := table[path]
			if !known {
				answer = status(404, "")
			}
			if !p.say(answer) {
				return
			}
		}
	}
}

func TestRedirectKeepsMethodAndBody(t *testing.T) {
	for _, code := range []int{307, 308} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "GET"} {
			r := receive(t, routes(map[string]string{
				"/hook": to(code, "../b?x=1#fragment"), "/b?x=1": to(code, "http://HOST/c"),
				"/c": ok(`"here"`),
			}))
			// The receiver's own name is known only now; a redirect by path needs none.
			rep := following(t, newKind(t, Config{}), r.url, func(w *jobs.Webhook, _ *jobs.Call) {
				w.Method = method
			})
			wantFailure(t, rep, jobs.FailDNS, "host", "(redirected from "+r.addr+")")
			if fmt.Sprint(r.lines) != fmt.Sprintf("[%s /hook %[1]s /b?x=1]", method) {
				t.Errorf("sent %q", r.lines)
			}
			want := "{ \"a\" : 1.0 }"
			if method == "GET" {
				want = ""
			}
			for i, body := range r.bodies {
				if body != want {
					t.Errorf("%s: request %d has the body %q", method, i+1, body)
				}
			}
		}
	}
}

func TestRedirectToTheSameHostAndPortKeepsHeaders(t *testing.T) {
	r := receive(t, routes(map[string]string{"/hook": to(307, "/b"), "/b": ok("{}")}))
	var operation string
	rep := following(t, newKind(t, Config{}), r.url, func(w *jobs.Webhook, c *jobs.Call) {
		w.Headers = map[string]string{"Authorization": "Bearer hunter2", "Host": "virtual.example"}
		w.SigningSecret = jobs.Texts{secretA}
		c.CallbackToken, c.CallbackURL = "nsa_x", "http://127.0.0.1/v1/callback/1"
		c.Checkpoint, c.Continues = jobs.Raw(`{"page":3}`), 7
		operation = c.Operation.String() + "-7"
	})
	wantResult(t, rep, "{}")
	if r.requests.Load() != 2 || r.conns.Load() != 1 {
		t.Fatalf("%d requests on %d connections", r.requests.Load(), r.conns.Load())
	}
	for i, h := range r.heads {
		wantHeaders(t, h, map[string]string{
			"Authorization": "Bearer hunter2", "Idempotency-Key": operation, "Content-Type": "application/json",
			"Nightshift-Checkpoint": `{"page":3}`, "Nightshift-Token": "nsa_x",
		})
		if r.hosts[i] != "virtual.example" || h.Get("Nightshift-Run") == "" {
			t.Errorf("request %d: host %q, headers %v", i+1, r.hosts[i], h)
		}
		verified(t, secretA, h, r.bodies[i], time.Now())
	}
}

// Not even a redirect that leads back gets them: who answered between would choose the path.
func TestRedirectElsewhereTakesNoHeadersAlong(t *testing.T) {
	var first *receiver
	other := receive(t, func(p *peer) {
		for p.request() == nil && p.say(to(308, "http://"+first.addr+"/back")) {
		}
	})
	first = receive(t, routes(map[string]string{"/hook": to(307, other.url), "/back": ok("{}")}))
	rep := following(t, newKind(t, Config{}), first.url, func(w *jobs.Webhook, c *jobs.Call) {
		w.Headers = map[string]string{
			"Authorization": "Bearer hunter2", "x-key": "hunter2", "content-type": "application/xml",
			"Cookie": "hunter2", "Host": "virtual.example", "User-Agent": "hunter2",
		}
		w.SigningSecret = jobs.Texts{secretA}
		c.CallbackURL, c.CallbackToken, c.Traceparent = "http://127.0.0.1/cb", "token", "00-ab-cd-01"
		c.Checkpoint, c.Continues = jobs.Raw(`{"page":3}`), 7
	})
	wantResult(t, rep, "{}")
	if first.requests.Load() != 2 || other.requests.Load() != 1 {
		t.Fatalf("%d and %d requests", first.requests.Load(), other.requests.Load())
	}
	for _, got := range []struct {
		host string
		h    http.Header
		body string
	}{
		{other.hosts[0], other.heads[0], other.bodies[0]}, {first.hosts[1], first.heads[1], first.bodies[1]},
	} {
		if got.host == "virtual.example" || got.body != "{ \"a\" : 1.0 }" {
			t.Errorf("host %q, body %q", got.host, got.body)
		}
		want := map[string]string{
			"User-Agent": "nightshift/dev", "Content-Type": "application/xml", "Content-Length": "13",
		}
		wantHeaders(t, got.h, want)
		if len(got.h) != len(want) {
			t.Errorf("headers %v", got.h)
		}
	}
}

func TestBodyWithASecretIsNotRedirectedElsewhere(t *testing.T) {
	other := receive(t, answers(ok("{}")))
	r := receive(t, routes(map[string]string{
		"/hook": to(307, "/b"), "/b": to(307, other.url+"?token=hunter2"),
	}))
	rep := following(t, newKind(t, Config{}), r.url, func(_ *jobs.Webhook, c *jobs.Call) {
		c.Body, c.BodySecret = []byte("hunter2"), true
	})
	wantFailure(t, rep, jobs.FailHTTP, "307 Temporary Redirect: it is not followed: the body holds "+
		"a secret, which goes to "+r.addr+" alone")
	if strings.Contains(rep.Failure.Message, "hunter2") || other.requests.Load() != 0 ||
		r.bodies[1] != "hunter2" {
		t.Errorf("message %q, %d requests, bodies %q", rep.Failure.Message, other.requests.Load(), r.bodies)
	}
}

func TestThreeRedirectsAreFollowedAndLoopsEnd(t *testing.T) {
	r := receive(t, routes(map[string]string{
		"/hook": to(308, "/1"), "/1": to(307, "/2"), "/2": to(308, "/3"), "/3": ok(`3`),
		"/loop": to(307, "/loop"),
	}))
	k := newKind(t, Config{})
	wantResult(t, following(t, k, r.url, nil), `3`)
	rep := following(t, k, "http://"+r.addr+"/loop", nil)
	wantFailure(t, rep, jobs.FailHTTP, "307 Temporary Redirect: 3 redirects came before it", "(to /loop)")
	if rep.HTTPStatus != 307 || r.requests.Load() != 4+4 {
		t.Errorf("status %d, %d requests", rep.HTTPStatus, r.requests.Load())
	}
	if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "redirected from "+r.addr) {
		t.Errorf("notes %q", rep.Notes)
	}
}

func TestOtherRedirectsStayFailures(t *testing.T) {
	for _, code := range []int{300, 301, 302, 303, 304, 305} {
		other := receive(t, answers(ok("{}")))
		r := receive(t, answers(strings.Replace(to(code, other.url), "moved", "     ", 1)))
		if code == 304 {
			r = receive(t, answers("HTTP/1.1 304 Not Modified\r\nLocation: "+other.url+"\r\n\r\n"))
		}
		rep := following(t, newKind(t, Config{}), r.url, nil)
		wantFailure(t, rep, jobs.FailHTTP, "of redirects only 307 and 308 are followed")
		if r.requests.Load() != 1 || other.requests.Load() != 0 {
			t.Errorf("%d: %d and %d requests", code, r.requests.Load(), other.requests.Load())
		}
	}
}

// The address that a redirect leads to is judged as that of the URL is: when it is dialled.
func TestRedirectIsNotFollowedToForbiddenAddresses(t *testing.T) {
	self := receive(t, answers(ok("{}")))
	own := netip.MustParseAddrPort(self.addr)
	ns := nameServer(t, func(string) []string { return []string{"169.254.169.254"} })
	for name, c := range map[string]struct {
		location string
		cfg      Config
		part     string
	}{
		"metadata":         {"http://169.254.169.254/latest/meta-data", Config{}, "link-local"},
		"metadata, mapped": {"http://[::ffff:169.254.169.254]/", Config{}, "link-local"},
		"metadata by name": {"http://metadata.google.internal/", Config{}, "cloud metadata"},
		"a name for it":    {"http://rebound.example/", Config{}, "link-local"},
		"this network":     {"http://0.0.0.0/", Config{}, "RFC 791"},
		"the server": {self.url, Config{Self: func(at netip.AddrPort) bool {
			return at == own
		}}, "this server itself"},
		"the server, mapped": {
			"http://[::ffff:127.0.0.1]:" + fmt.Sprint(own.Port()),
			Config{Self: func(at netip.AddrPort) bool { return at == own }},
			"this server itself",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(to(307, c.location)))
			k := newKind(t, c.cfg)
			k.lookup = ns.resolver()
			rep := following(t, k, r.url, nil)
			wantFailure(t, rep, jobs.FailBlocked, c.part, "(redirected from "+r.addr+")")
			if r.requests.Load() != 1 || self.requests.Load() != 0 {
				t.Errorf("%d and %d requests", r.requests.Load(), self.requests.Load())
			}
		})
	}
}

func TestRedirectIsNotFollowedToAPrivateAddressThatIsNotListed(t *testing.T) {
	other := receive(t, answers(ok("{}")))
	r := receive(t, answers(to(307, other.url)))
	private, err := ParsePrivate(r.addr)
	if err != nil {
		t.Fatal(err)
	}
	rep := following(t, newKind(t, Config{Private: private}), r.url, nil)
	wantFailure(t, rep, jobs.FailBlocked, "--webhook-private", other.addr)
	if other.conns.Load() != 0 {
		t.Errorf("%d connections", other.conns.Load())
	}
}

func TestRedirectThatLeadsToNoWebhookIsAFailure(t *testing.T) {
	for location, part := range map[string]string{
		"file:///etc/passwd":     `the url it leads to has the scheme "file"`,
		"gopher://127.0.0.1/":    `the scheme "gopher"`,
		"javascript:alert(1)":    `the scheme "javascript"`,
		"http://user:hunter2@h/": "a user or password",
		"http://":                "no host",
		"http://h:0/":            `the port "0"`,
		"http://[::1":            "cannot be read",
		"/a b":                   "is no URL",
		"/\xff":                  "is no URL",
		"":                       "one header Location",
		"/a\r\nLocation: /b":     "one header Location",
	} {
		r := receive(t, answers(to(308, location)))
		rep := following(t, newKind(t, Config{}), r.url, nil)
		wantFailure(t, rep, jobs.FailHTTP, "308 Permanent Redirect: it is not followed: ", part)
		if r.requests.Load() != 1 || strings.Contains(rep.Failure.Message, "hunter2") {
			t.Errorf("%q: %d requests, message %q", location, r.requests.Load(), rep.Failure.Message)
		}
	}
	r := receive(t, answers("HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n\r\n"))
	wantFailure(t, following(t, newKind(t, Config{}), r.url, nil), jobs.FailHTTP, "one header Location")
}

func TestRedirectWhoseAnswerBreaksOffIsNotFollowed(t *testing.T) {
	r := receive(t, oneRequest(func(p *peer) {
		p.say("HTTP/1.1 307 Temporary Redirect\r\nLocation: /b\r\nContent-Length: 9\r\n\r\n")
	}))
	rep := following(t, newKind(t, Config{}), r.url, nil)
	wantFailure(t, rep, jobs.FailHTTP, "it is not followed: it broke off")
	if r.requests.Load() != 1 {
		t.Errorf("%d requests", r.requests.Load())
	}
}

func TestDeadlineCoversAllRedirects(t *testing.T) {
	slow := receive(t, oneRequest((*peer).gone))
	r := receive(t, answers(to(307, slow.url)))
	spec := jobs.Spec{Webhook: &jobs.Webhook{URL: r.url, FollowRedirects: true}}
	rep := callFor(t, newKind(t, Config{}), spec, 150*time.Millisecond)
	if rep.Stopped != jobs.ErrTimeout || rep.Failure == nil ||
		!strings.Contains(rep.Failure.Message, slow.addr+" answered (redirected from "+r.addr) {
		t.Fatalf("stopped %v, failure %v", rep.Stopped, rep.Failure)
	}
	until(t, "the connection to close", func() bool { return slow.open.Load() == 0 })
}

func TestRedirectFromHTTPSToHTTPIsNotFollowed(t *testing.T) {
	plain := receive(t, answers(ok("{}")))
	s, trust := secure(t, "127.0.0.1", time.Now().Add(time.Hour), nil)
	rep := following(t, newKind(t, Config{RootCAs: trust}), s.URL+"?to="+url.QueryEscape(plain.url), nil)
	wantFailure(t, rep, jobs.FailHTTP, "it leads from https to http")
	if plain.conns.Load() != 0 {
		t.Errorf("%d connections", plain.conns.Load())
	}
}

func TestRedirectOverHTTPSIsFollowedWithItsHeadersToItsOwnPortOnly(t *testing.T) {
	s, trust := secure(t, "127.0.0.1", time.Now().Add(time.Hour), nil)
	plain := receive(t, answers(to(307, s.URL)))
	k := newKind(t, Config{RootCAs: trust})
	for from, want := range map[string]string{s.URL + "?to=/b": "Bearer x", plain.url: ""} {
		rep := following(t, k, from, func(w *jobs.Webhook, c *jobs.Call) {
			w.Headers = map[string]string{"Authorization": "Bearer x"}
			c.Judge = func(a jobs.Answer) (bool, error) { return a.Headers["x-got"] == want, nil }
		})
		wantResult(t, rep, "{ \"a\" : 1.0 }")
	}
}

// A name with a final dot, in other letters or with its port written out is the same host.
func TestHostsAreComparedInOneForm(t *testing.T) {
	p, err := newPlan(&jobs.Webhook{URL: "https://Example.com/a"}, "test")
	if err != nil {
		t.Fatal(err)
	}
	for location, elsewhere := range map[string]bool{
		"https://example.COM.:443/b": false, "//example.com/b": false, "b": false, "?x": false,
		"https://example.com:444/": true, "https://www.example.com/": true, "https://example.com.evil.example/": true,
	} {
		next, err := p.moved([]string{location})
		if err != nil || next.elsewhere != elsewhere {
			t.Errorf("%s: elsewhere %t, error %v", location, next.elsewhere, err)
		}
	}
}

func TestSuccessJudgesTheLastAnswerOnly(t *testing.T) {
	r := receive(t, routes(map[string]string{"/hook": to(307, "/b"), "/b": status(418, "tea")}))
	asked := 0
	rep := following(t, newKind(t, Config{}), r.url, func(_ *jobs.Webhook, c *jobs.Call) {
		c.Judge = func(a jobs.Answer) (bool, error) {
			asked++
			return a.Status == 418 && string(a.Body) == "tea", nil
		}
	})
	wantResult(t, rep, `"tea"`)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// Each hop is one request on the wire, also where the connection breaks under it.
func TestBrokenHopIsNotSentAgain(t *testing.T) {
	other := receive(t, oneRequest((*peer).reset))
	r := receive(t, answers(to(307, other.url)))
	rep := following(t, newKind(t, Config{}), r.url, nil)
	wantFailure(t, rep, jobs.FailConnection, "whether the request arrived is unknown",
		"(redirected from "+r.addr+")")
	if r.requests.Load() != 1 || other.requests.Load() != 1 {
		t.Errorf("%d and %d requests", r.requests.Load(), other.requests.Load())
	}
}
