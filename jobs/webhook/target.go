package webhook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// target reads the URL. Errors never quote it: it may hold secrets.
func (p *plan) target(text string) (*url.URL, error) {
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
		p.tls, port = true, orElse(port, "443")
	default:
		return nil, fmt.Errorf("the url has the scheme %q: want http or https", u.Scheme)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("the url has the port %q: want 1 to 65535", port)
	}
	host, err := asciiHost(u)
	if err != nil {
		return nil, err
	}
	p.host = strings.ToLower(strings.TrimSuffix(host, "."))
	if p.host == "" {
		return nil, errors.New("the url has no host: want one such as https://example.com/hook")
	}
	p.serverName = p.host
	p.addr = net.JoinHostPort(host, port)
	p.name = net.JoinHostPort(p.host, port)
	p.key = u.Scheme + "://" + p.name
	return u, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// asciiHost is the host without brackets, an international name in its xn-- form. net/http
// knows how to write that form but shows it nowhere except in the Host line of a request.
func asciiHost(u *url.URL) (string, error) {
	host := u.Hostname()
	if strings.IndexFunc(host, func(r rune) bool { return r >= 0x80 }) < 0 {
		return host, nil
	}
	var wire bytes.Buffer
	probe := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: u.Scheme, Host: host, Path: "/"}}
	if err := probe.Write(&wire); err == nil {
		if req, err := http.ReadRequest(bufio.NewReader(&wire)); err == nil && isASCII(req.Host) {
			u.Host = strings.Replace(u.Host, host, req.Host, 1)
			return req.Host, nil
		}
	}
	return "", errors.New("the url's host is not a valid international name: write its xn-- form")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// hostHeader is the host as the URL has it, less an IPv6 zone, which means nothing elsewhere.
func hostHeader(u *url.URL) string {
	host := u.Host
	if i := strings.LastIndexByte(host, '%'); i >= 0 && strings.HasPrefix(host, "[") {
		if j := strings.IndexByte(host[i:], ']'); j >= 0 {
			host = host[:i] + host[i+j:]
		}
	}
	return host
}

// requestTarget is path and query; what may not stand in a request line is percent-encoded.
func requestTarget(u *url.URL) string {
	target := u.RequestURI()
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(target[i])
	}
	return b.String()
}
