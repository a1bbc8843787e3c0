package jobs

import (
	"strings"
	"testing"
)

func TestFingerprintIsOfTheCauseAndNotOfNumbersAndIDs(t *testing.T) {
	of := func(message string) string {
		return Fingerprint("sync", &Failure{Kind: FailHTTP, Type: "Timeout", Message: message})
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"order 17 not found", "order 4711 not found", true},
		{"order 17 not found", "customer 17 not found", false},
		{"run 0198f0de-4a00-7000-8000-0000000000ab", "run 6fa459ea-ee8a-3ca4-894e-db77e160355e", true},
		{"at 0x7ffee4b2c0", "at 0x55d0a1f3b8", true},
		{"commit deadbeef00", "commit 1234abcd", true},
		{"took 1.5s", "took 12s", true},
		{"connect 10.0.0.7:5432: refused", "connect 10.0.13.200:6432: refused", true},
		{"connect db-a: refused", "connect db-b: refused", false},
		{"at 12:30:05", "at 9:15", true},
		{"request 01H8XGJWBWBAQ4Z0M1 failed", "request 01J9ZZYQWBWBAQ4Z77 failed", true},
		{"user17 is gone", "user3 is gone", true},
		{"user17 is gone", "group3 is gone", false},
		{"a, b", "a b", false},
		{"list of 3, none fits", "list of 12, none fits", true},
		{"", " ", false},
		{"naïve – 5", "naïve – 6", true},
	} {
		if got := of(c.a) == of(c.b); got != c.same {
			t.Errorf("%q and %q: alike is %v, want %v (%q, %q)",
				c.a, c.b, got, c.same, withoutNumbers(c.a), withoutNumbers(c.b))
		}
	}
}

func TestFingerprintTellsJobKindAndTypeApart(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct{ job, kind, typ, message string }{
		{"a", "http", "T", "m"},
		{"b", "http", "T", "m"},
		{"a", "exit", "T", "m"},
		{"a", "http", "U", "m"},
		{"a", "http", "T", "n"},
		{"a", "http", "Tm", ""},
		{"ahttp", "", "T", "m"},
	} {
		print := Fingerprint(c.job, &Failure{Kind: FailureKind(c.kind), Type: c.typ, Message: c.message})
		if len(print) != 16 || strings.Trim(print, "0123456789abcdef") != "" {
			t.Errorf("%v: %q is not 16 hexadecimal digits", c, print)
		}
		if other := seen[print]; other != "" {
			t.Errorf("%v has the fingerprint of %s", c, other)
		}
		seen[print] = strings.Join([]string{c.job, c.kind, c.typ, c.message}, " ")
	}
	if Fingerprint("a", nil) != Fingerprint("a", &Failure{}) {
		t.Error("no error has another fingerprint than an empty one")
	}
}
