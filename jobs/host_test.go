package jobs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAWebhooksHostIsTheOneThatItsURLWritesOut(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com":                    "example.com:443",
		"http://example.com/":                    "example.com:80",
		"HTTPS://Example.COM./a?b=c":             "example.com:443",
		"https://example.com:443/":               "example.com:443",
		"https://example.com:0080/":              "example.com:80",
		"http://127.0.0.1:9/x":                   "127.0.0.1:9",
		"http://[::1]/":                          "[::1]:80",
		"http://[2001:0DB8:0:0::1]:8080/":        "[2001:db8::1]:8080",
		"https://example.com/{{ payload.id }}":   "example.com:443",
		"https://example.com?a={{ payload.a }}":  "example.com:443",
		"https://a.b:8/x{{ secrets.A }}/{{ 1 }}": "a.b:8",
		"https://{{ payload.host }}/x":           "",
		"https://{{ \"example.com\" }}/":         "",
		"https://example.com{{ payload.a }}":     "",
		"https://a.{{ payload.a }}.com/":         "",
		"https://example.com:{{ payload.p }}/":   "",
		"{{ payload.url }}":                      "",
		"{{ payload.scheme }}://example.com/":    "",
		"ftp://example.com/":                     "",
		"https://exa mple.com/":                  "",
		"":                                       "",
	} {
		if got := (Spec{Webhook: &Webhook{URL: url}}).Host(); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
	if got := (Spec{Script: &Script{Source: "x"}}).Host() + (Spec{Mail: &Mail{}}).Host(); got != "" {
		t.Errorf("got %q of what calls no host", got)
	}
}

// A host is fixed when the run is made exactly where it is not written out.
func TestAHostIsWrittenOutOrFixedWhenTheRunIsMade(t *testing.T) {
	parts := []string{"a.example.com", "{{ payload.h }}", ":8080", "/x", "/{{ payload.h }}", "?q={{ payload.h }}", "[::1]", "."}
	rapid.Check(t, func(rt *rapid.T) {
		url := rapid.SampledFrom([]string{"https://", "http://"}).Draw(rt, "scheme") +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(rt, "parts"), "")
		j, err := ParseJob([]byte(`{"name":"a","webhook":{"url":` + string(AppendJSONString(nil, url)) + `}}`))
		if err != nil {
			return
		}
		prepared, err := Prepare(j.Spec())
		if err != nil {
			rt.Fatal(err)
		}
		written := j.Spec().Host()
		fixed, failure := prepared.Host(Raw(`{"h":"b"}`), j)
		if (written == "") == (fixed == "" && failure == nil) {
			rt.Fatalf("%s: written out is %q, fixed %q, %v", url, written, fixed, failure)
		}
		if host := written + fixed; host != "" && CheckDependencyName(host) != nil {
			rt.Fatalf("%s: %q is no name: %v", url, host, CheckDependencyName(host))
		}
	})
}

func TestNamesOfDependenciesHaveOneForm(t *testing.T) {
	for _, name := range []string{
		"a", "stripe", "api.example.com", "0", "a_b-c.d", strings.Repeat("a", 100), "example.com:443", "localhost:1",
		"a_b.c-d:65535", "1.2.3.4:80", "[::1]:443", "[2001:db8::1]:8080", "xn--mnchen-3ya.de:443", "a:80",
	} {
		if err := CheckDependencyName(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"Stripe":                   "stripe",
		"API.example.com":          "api.example.com",
		"Example.com:443":          "example.com:443",
		"example.com.:443":         "example.com:443",
		"example.com:0443":         "example.com:443",
		"https://Example.com":      "example.com:443",
		"https://example.com:444/": "example.com:444",
		"http://example.com/a?b":   "example.com:80",
		"example.com:80/hooks":     "example.com:80",
		"::1":                      "[::1]:443",
		"[::1]":                    "[::1]:443",
		"[0:0::1]:80":              "[::1]:80",
		"[2001:DB8::1]:80":         "[2001:db8::1]:80",
		"2001:db8::1":              "[2001:db8::1]:443",
	} {
		if got, want := errText(CheckDependencyName(name)), `want it as "`+want+`"`; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if err := CheckDependencyName(want); err != nil {
			t.Errorf("%s is the wrong advice for %s: %v", want, name, err)
		}
	}
	for _, name := range []string{
		"", " ", "a b", "a/b", ".", "..", "-a", "a:", ":80", "a:b", "a:0", "a:65536", "a:-1", "a:80:80", "ftp://a:80",
		"u:p@a:80", "-a:80", "a..b:80", "1.2.3:80", "0x7f.1:80", "[::1%eth0]:80", "fe80::1%eth0", "[::1", "a\x00:80",
		"münchen.de:443", "\u202ea:80", "https://", "{{ payload.a }}:80", strings.Repeat("a", 101), strings.Repeat("a.", 200) + "a:80",
	} {
		if got := errText(CheckDependencyName(name)); got != errDependencyName.Error() {
			t.Errorf("%q: got %q", name, got)
		}
	}
}

func FuzzCheckDependencyName(f *testing.F) {
	for _, seed := range []string{"stripe", "Example.com:443", "https://a", "[::1]:80", "a:0443", "1.2.3.4:5", "::1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := CheckDependencyName(name)
		if err == nil && IsHost(name) {
			host, fail := hostOfURL("http://" + name + "/")
			if fail != nil || host != name {
				t.Errorf("%q is taken, its URL names %q, %v", name, host, fail)
			}
		}
		if want, ok := dependencyNameOf(name); ok && CheckDependencyName(want) != nil {
			t.Errorf("%q is the advice for %q, and refused", want, name)
		}
	})
}
