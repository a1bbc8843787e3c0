package api

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestHostMustBeOneOfOurs(t *testing.T) {
	ts := newTestServer(t)
	own := strings.TrimPrefix(ts.url, "http://")
	for host, allowed := range map[string]bool{
		own: true, "127.0.0.1": true, "10.1.2.3:8700": true, "[::1]:8700": true, "[2001:db8::1]": true,
		"localhost": true, "LOCALHOST:99": true, "localhost.": true, "app.localhost:1": true,
		"jobs.internal": true, "jobs.internal:443": true, "JOBS.internal.": true,
		"evil.example": false, "localhost.evil.example": false, "jobs.internal.evil.example": false,
		"evil.example:8700": false, "127.0.0.1.evil.example": false, "evillocalhost": false,
	} {
		got := ts.call("GET", "/healthz", "", "Host", host)
		switch {
		case allowed:
			got.want(200)
		default:
			got.problem(probHost)
		}
	}
}

func TestForeignOriginIsRefused(t *testing.T) {
	ts := newTestServer(t)
	own := strings.TrimPrefix(ts.url, "http://")
	for origin, allowed := range map[string]bool{
		ts.url: true, "https://" + own: true,
		"https://evil.example": false, "null": false, "file://": false, "http://localhost": false,
		ts.url + ".evil.example": false, "chrome-extension://abc": false, "": true,
	} {
		for _, method := range []string{"GET", "POST"} {
			got := ts.call(method, "/v1/jobs", "{}", "Origin", origin)
			if refused := got.status == 403; refused == allowed {
				t.Errorf("%s with Origin %q: %d", method, origin, got.status)
			}
			if h := got.header.Get("Access-Control-Allow-Origin"); h != "" {
				t.Errorf("pages of %q may read the answer (%s)", origin, h)
			}
		}
	}
}

func TestForwardedHeadersCountOnlyFromTrustedProxies(t *testing.T) {
	h := newHosts("0.0.0.0:8700", "https://jobs.example.com", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	call := func(from string) *http.Request {
		r, _ := http.NewRequest("GET", "/", nil)
		r.Host, r.RemoteAddr = "10.9.9.9", from
		r.Header.Set("X-Forwarded-Host", "jobs.example.com, inner")
		return r
	}
	for from, want := range map[string]string{
		"10.1.2.3:1000":           "jobs.example.com",
		"[::ffff:10.1.2.3]:10":    "jobs.example.com",
		"192.168.1.1:1000":        "10.9.9.9",
		"[2001:db8::1]:1000":      "10.9.9.9",
		"not an address at all:1": "10.9.9.9",
	} {
		if got := h.hostOf(call(from)); got != want {
			t.Errorf("from %s the host is %s, want %s", from, got, want)
		}
	}
}
