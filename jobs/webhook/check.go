package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// What is refused here is refused when a job is saved (jobs.Job.Check), with more advice. It is
// looked at again since the rest of this package relies on it.

// target reads the URL. Errors never quote it: it may hold secrets.
func (p *plan) target(text string) (*url.URL, error) {
	if strings.ContainsFunc(text, notURL) {
		return nil, errors.New("the url has a space, a control character or a letter beyond ASCII: " +
			"want a host in its xn-- form, all else percent-encoded")
	}
	u, err := url.Parse(text)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, fmt.Errorf("the url cannot be read: %w", err)
	}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = orElse(port, "80")
	case "https":
		port = orElse(port, "443")
	default:
		return nil, fmt.Errorf("the url has the scheme %q: want http or https", u.Scheme)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("the url has the port %q: want 1 to 65535", port)
	}
	if u.User != nil {
		return nil, errors.New("the url has a user or password: want a header Authorization instead")
	}
	p.host = plainHost(u.Hostname())
	if p.host == "" {
		return nil, errors.New("the url has no host: want one such as https://example.com/hook")
	}
	p.name = net.JoinHostPort(p.host, port)
	return u, nil
}

func notURL(r rune) bool { return r <= ' ' || r > '~' }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// framing are headers that say where a message ends or what becomes of the connection.
var framing = map[string]bool{
	"Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Upgrade": true, "Te": true, "Trailer": true, "Expect": true, "Http2-Settings": true,
}

func checkHeaders(headers map[string]string) error {
	seen := make(map[string]bool, len(headers))
	for name, value := range headers {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return fmt.Errorf("the header name %.60q has characters no header may have", name)
		case framing[canonical] || strings.HasPrefix(canonical, "Proxy-"):
			return fmt.Errorf("the header %s cannot be set: it belongs to the connection", name)
		case seen[canonical]:
			return fmt.Errorf("the header %s is set twice, in different spelling", name)
		case strings.IndexFunc(value, isControl) >= 0:
			return fmt.Errorf("the value of header %s has a line break or control character", name)
		case canonical == "Host" && !isHostHeader(value):
			return fmt.Errorf("the value of header %s is no host: want host or host:port", name)
		}
		seen[canonical] = true
	}
	return nil
}

// isHostHeader accepts what a URL may have as host and port. Anything else net/http would
// replace by an empty one.
func isHostHeader(value string) bool {
	value = strings.Trim(value, " \t")
	u, err := url.Parse("http://" + value)
	return err == nil && value != "" && u.Host == value && u.User == nil && u.Hostname() != "" &&
		!strings.ContainsFunc(value, notURL)
}

// isToken follows RFC 9110, 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
