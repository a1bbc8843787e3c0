package webhook

import (
	"net"
	"strings"
	"sync"
	"testing"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

func TestWebhookKeepsTheContractOfKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Subject{
		Kind: newKind(t, Config{Version: "1.2"}),
		Succeeds: func(t testing.TB) jobs.Spec {
			return hook(receive(t, answers(ok(`{}`))).url)
		},
		Fails: func(t testing.TB) (jobs.Spec, jobs.FailureKind) {
			return hook(receive(t, answers(status(500, "no"))).url), jobs.FailHTTP
		},
		Hangs: hangs,
		Results: func(t testing.TB, result jobs.Raw) jobs.Spec {
			return hook(receive(t, answers(ok(string(result)))).url)
		},
		Echoes: func(t testing.TB) jobs.Spec {
			return hook(receive(t, func(p *peer) {
				for p.request() == nil {
					p.r.mu.Lock()
					last := p.r.bodies[len(p.r.bodies)-1]
					p.r.mu.Unlock()
					p.say(ok(last))
				}
			}).url)
		},
		Texts: func(t testing.TB, text []byte) jobs.Spec {
			return hook(receive(t, answers(ok(string(text)))).url)
		},
		Floods: func(t testing.TB, size int64) jobs.Spec {
			return hook(receive(t, oneRequest(func(p *peer) {
				chunk := strings.Repeat("flood \xff", 1<<12)
				p.say("HTTP/1.1 200 OK\r\n\r\n")
				for sent := int64(0); sent < size && p.say(chunk); sent += int64(len(chunk)) {
				}
			})).url)
		},
		Garbles: func(t testing.TB) jobs.Spec {
			garbage := "\xff\xfe \x01\x02\x1b[31m \xc3("
			return hook(receive(t, answers(status(500, garbage, "X-Odd: "+garbage))).url)
		},
		Unstartable: unstartable(t),
		MaxLog:      128 << 10,
	})
}

// The request that hands work over is an attempt as any, and so is a slice.
func TestWorkThatIsTakenOnKeepsTheContractOfKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Subject{
		Kind: newKind(t, Config{}),
		Succeeds: func(t testing.TB) jobs.Spec {
			return handing(receive(t, answers(status(202, "on it"))).url)
		},
		Fails: func(t testing.TB) (jobs.Spec, jobs.FailureKind) {
			return handing(receive(t, answers(more("no JSON"))).url), jobs.FailInvalid
		},
		Hangs: func(t testing.TB) kindtest.Hanging {
			h := hangs(t)
			h.Spec = handing(h.Spec.Webhook.URL)
			return h
		},
		Garbles: func(t testing.TB) jobs.Spec {
			garbage := "{\"\xff\xfe \x01\x02\x1b[31m \xc3(\":"
			return hook(receive(t, answers(more(garbage))).url)
		},
	})
}

func hangs(t testing.TB) kindtest.Hanging {
	started := make(chan struct{})
	var once sync.Once
	r := receive(t, oneRequest(func(p *peer) {
		once.Do(func() { close(started) })
		p.gone()
	}))
	return kindtest.Hanging{
		Spec:    hook(r.url),
		Started: started,
		Gone:    func() bool { return r.open.Load() == 0 },
	}
}

// unstartable are webhooks of which no request leaves.
func unstartable(t testing.TB) map[string]kindtest.Broken {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	broken := map[string]kindtest.Broken{
		"nobody listens": {Spec: hook("http://" + nobody), Kind: jobs.FailConnection},
		"link-local":     {Spec: hook("http://169.254.169.254/latest"), Kind: jobs.FailBlocked},
		"header": {Kind: jobs.FailInvalid, Spec: jobs.Spec{Webhook: &jobs.Webhook{
			URL: "http://127.0.0.1:1", Headers: map[string]string{"X-A": "1\r\nX-B: 2"},
		}}},
		"method": {Kind: jobs.FailInvalid, Spec: jobs.Spec{Webhook: &jobs.Webhook{
			URL: "http://127.0.0.1:1", Method: "PO ST",
		}}},
	}
	for _, url := range []string{
		"", "http://", "ftp://127.0.0.1/", "file:///etc/passwd", "http://127.0.0.1:99999/",
		"http://127.0.0.1:0/", "http://[::1/", "/relative", "http://a b/", "http://%zz/",
	} {
		broken["url "+url] = kindtest.Broken{Spec: hook(url), Kind: jobs.FailInvalid}
	}
	return broken
}
