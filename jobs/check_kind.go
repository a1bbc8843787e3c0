package jobs

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is executed.
const (
	maxURL         = 8 << 10
	maxHeaders     = 100
	maxHeaderValue = 8 << 10
	maxPath        = 4 << 10
	maxArgs        = 1000
)

var methods = []string{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}

func (w *Webhook) check(f *faults) {
	f.checkURLTemplate(w.URL)
	if w.Method != "" && !slices.Contains(methods, w.Method) {
		f.add("webhook.method", "want one of %s", strings.Join(methods, ", "))
	}
	if method := w.Method; w.Body != nil && (method == "GET" || method == "HEAD") {
		f.add("webhook.body", "%s sends no body: leave it out, or change the method", method)
	}
	if n := len(w.SigningSecret); w.SigningSecret != nil && (n < 1 || n > 2) {
		f.add("webhook.signing_secret", "want one, or two while one is rotated, got %d", n)
	}
	for i, text := range w.SigningSecret {
		at := listed1("webhook.signing_secret", i, len(w.SigningSecret))
		switch {
		case text == "":
			f.add(at, `want a secret, such as "{{ secrets.SIGN }}"`)
		case !hasTemplate(text):
			f.check(at, checkSigningSecret(text))
		}
	}
	if w.Body != nil {
		f.check("webhook.body", checkBody(w.Body))
	}
	w.checkCompletion(f)
	w.checkHeaders(f)
}

func (w *Webhook) checkHeaders(f *faults) {
	if len(w.Headers) > maxHeaders {
		f.add("webhook.headers", "want at most %d headers, got %d", maxHeaders, len(w.Headers))
		return
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		at, value, lower := memberLocation("webhook.headers", name), w.Headers[name],
			strings.ToLower(name)
		switch {
		case !validToken(name):
			f.add(at, "want a header name of letters, digits and !#$%%&'*+-.^_`|~")
		case ownHeader(lower):
			f.add(at, "this header is set by the server and may not be given")
		case seen[lower]:
			f.add(at, "this header stands twice, in other letters")
		}
		seen[lower] = true
		literal, ok := skeleton(value, func(string) string { return "" })
		switch {
		case !ok: // Prepare says so
		case len(literal) > maxHeaderValue || strings.ContainsFunc(literal, badHeaderRune):
			f.add(at, "want a value of at most %d bytes on one line, without control characters",
				maxHeaderValue)
		case lower == "host" && literal == value:
			f.checkHostHeader(at, value)
		}
	}
}

// checkBody says what is wrong with a body: its size, its JSON.
func checkBody(body Raw) error {
	if len(body) > MaxBody {
		return fmt.Errorf("want at most %d bytes, got %d", MaxBody, len(body))
	}
	return ValidJSON(body)
}

func badHeaderRune(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// validToken is a token of RFC 9110, 5.6.2.
func validToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~",
			rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

// ownHeader are the headers that belong to the connection, not to the request.
func ownHeader(lower string) bool {
	switch lower {
	case "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
		"upgrade", "expect", "http2-settings":
		return true
	}
	return strings.HasPrefix(lower, "proxy-")
}

// checkURLTemplate checks a URL, with words in the place of its expressions. What Prepare says of it
// is not said again.
func (f *faults) checkURLTemplate(text string) {
	t, ok := skeleton(text, inSkeleton)
	if ok && (!hasTemplate(text) || hasScheme(t)) {
		f.checkURL(urlAt, t)
	}
}

// checkURL refuses all that clients and servers read differently. The URL is not quoted: it may
// hold a key.
func (f *faults) checkURL(at, text string) {
	switch {
	case text == "":
		f.add(at, "want a URL such as https://example.com/hooks/sync")
		return
	case len(text) > maxURL:
		f.add(at, "want at most %d bytes", maxURL)
		return
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		f.add(at, "want printable ASCII without spaces and backslashes: a host with other "+
			"letters in "+
			"its xn-- form, all else percent-encoded")
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		f.add(at, "want a URL such as https://example.com/hooks/sync: "+
			"the host, the port or a %%-escape cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		f.add(at, "want it to begin with http:// or https://")
	case u.Host == "":
		f.add(at, "want a host, as in %s://example.com/", u.Scheme)
	case u.User != nil:
		f.add(at, "want no user or password in it: use a header Authorization")
	case strings.Contains(text, "#"):
		f.add(at, "want it without # and what follows: that is never sent")
	default:
		f.checkHost(at, u)
	}
}

// checkHostHeader wants what may stand in a URL: the host that is called stays the URL's.
func (f *faults) checkHostHeader(at, value string) {
	u, err := url.Parse("http://" + value)
	if err != nil || value == "" || u.Host != value {
		f.add(at, "want a host, or host:port")
		return
	}
	f.checkHost(at, u)
}

func (f *faults) checkHost(at string, u *url.URL) {
	host, port := u.Hostname(), u.Port()
	if n, err := strconv.Atoi(port); strings.HasSuffix(u.Host, ":") ||
		port != "" && (err != nil || n < 1 || n > 65535) {
		f.add(at, "want a port from 1 to 65535, or none and no colon")
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case strings.HasPrefix(u.Host, "["):
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			f.add(at, "want an IPv6 address without a zone in the brackets")
		}
	case err == nil: // IPv4
	case !validHost(host):
		f.add(at, "want a host name or an IP address; 127.0.0.1 in full and decimal, IPv6 in "+
			"brackets")
	}
}

// validHost is a name in letters, digits, - and _, that nobody can take for an IPv4 address.
func validHost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	labels := strings.Split(host, ".")
	for _, label := range labels {
		for i := range len(label) {
			if c := label[i]; !isLetter(c) && !isDigit(c) && c != '-' && c != '_' {
				return false
			}
		}
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	numeric := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") &&
		strings.Trim(last[2:], "0123456789abcdef") == ""
	return len(host) <= 253 && !numeric
}

func (s *Script) check(f *faults) {
	switch {
	case (s.Source == "") == (s.Path == ""):
		f.add("script", "want exactly one of source, path")
	case s.Path != "":
		f.checkScriptPath("script.path", s.Path)
	case len(s.Source) > MaxSource:
		f.add("script.source", "want at most %d bytes", MaxSource)
	case strings.Contains(s.Source, "\x00"):
		f.add("script.source", "want text without NUL")
	}
	if s.Interpreter != nil && (len(s.Interpreter) == 0 || s.Interpreter[0] == "") {
		f.add("script.interpreter", "want a program and its arguments, such as [python3]")
	}
	f.checkArgs("script.interpreter", s.Interpreter)
	f.checkArgs("script.args", s.Args)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		at, value := memberLocation("script.env", name), s.Env[name]
		if !validEnvName(name) {
			f.add(at, "want a name of letters, digits and _, not beginning with a digit")
		} else if strings.HasPrefix(name, "NIGHTSHIFT_") {
			f.add(at, "names that begin with NIGHTSHIFT_ are set by the server")
		}
		f.checkValue(at, value)
	}
	if s.Dir != "" && (!path.IsAbs(s.Dir) || len(s.Dir) > maxPath || strings.Contains(s.Dir,
		"\x00")) {
		f.add("script.dir", "want the absolute path of a folder, or null for an empty one of "+
			"its own")
	}
	s.checkConfines(f)
	if g := s.Grace; g != nil && (*g < 0 || g.Std() > MaxGrace) {
		f.add("script.grace", "want from 0s to 1h")
	}
}

func (f *faults) checkArgs(at string, args []string) {
	if len(args) > maxArgs {
		f.add(at, "want at most %d of them, got %d", maxArgs, len(args))
		return
	}
	for i, arg := range args {
		f.checkValue(at+"["+strconv.Itoa(i)+"]", arg)
	}
}

func (f *faults) checkValue(at, value string) {
	switch {
	case strings.Contains(value, "\x00"):
		f.add(at, "want text without NUL")
	case len(value) > maxArgument:
		f.add(at, "want less than 128 KiB")
	}
}

func validEnvName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return s != "" && len(s) <= 255
}

// checkScriptPath accepts plain relative paths only, so that nothing outside the scripts folder is
// named (symbolic links are the kind's business).
func (f *faults) checkScriptPath(at, p string) {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
	switch {
	case path.IsAbs(p):
		f.add(at, "want a path below the scripts folder, such as sync/run.py, not an absolute one")
	case len(p) > maxPath || strings.ContainsFunc(p, bad):
		f.add(at, "want a path of at most %d bytes without backslashes and control characters",
			maxPath)
	case p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, "/../") ||
		strings.HasSuffix(p, "/.."):
		f.add(at, "want a path below the scripts folder, without ..")
	case path.Clean(p) != p || p == ".":
		f.add(at, "want the plain path of a file, such as sync/run.py, without . and //")
	}
}
