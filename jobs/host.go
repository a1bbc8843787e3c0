package jobs

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Host is the host:port of a webhook whose URL writes it out, as its dependency is called; "" where
// that depends on the run, or nothing is called.
func (s Spec) Host() string {
	if s.Webhook == nil {
		return ""
	}
	text, ok := authorityOf(s.Webhook.URL)
	if !ok {
		return ""
	}
	host, err := hostOfURL(text)
	if err != nil {
		return ""
	}
	return host
}

// authorityOf is a URL, or, where it holds expressions, what is before its path; ok is false where
// there is an expression in that.
func authorityOf(text string) (authority string, ok bool) {
	if !hasTemplate(text) {
		return text, true
	}
	begin, _, _ := strings.Cut(text, "{{")
	from := strings.Index(begin, "://")
	if from < 0 {
		return "", false
	}
	from += len("://")
	end := strings.IndexAny(begin[from:], "/?#")
	if end < 0 {
		return "", false
	}
	return begin[:from+end], true
}

// hostName is the name of a host: lower case, no final dot, IPv6 in brackets and in its shortest
// form, the port behind it.
func hostName(host, port string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		host = "[" + ip.String() + "]"
	}
	return host + ":" + strings.TrimLeft(port, "0")
}

var errDependencyName = errors.New(
	`want a name of 1 to 100 of a-z, 0-9, ".", "_" and "-", beginning with a letter or a digit, or the ` +
		`host of a webhook with its port, such as api.example.com:443`)

// CheckDependencyName says what is wrong with the name of a dependency: that of a named one, or the
// host:port of a webhook in its one form.
func CheckDependencyName(s string) error {
	if ValidName(s) {
		return nil
	}
	switch want, ok := dependencyNameOf(s); {
	case !ok:
		return errDependencyName
	case want != s:
		return fmt.Errorf("want it as %q", want)
	}
	return nil
}

// dependencyNameOf is the name that somebody may mean who writes another text.
func dependencyNameOf(s string) (name string, ok bool) {
	if !strings.Contains(s, ":") {
		name = strings.ToLower(s)
		return name, ValidName(name)
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return hostName(s, "443"), true
	}
	if !hasScheme(s) {
		s = "https://" + s
	}
	name, err := hostOfURL(s)
	return name, err == nil
}
