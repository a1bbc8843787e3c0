package jobs

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// urlTemplate is the URL of a webhook that holds expressions.
type urlTemplate struct {
	tmpl *template
	host int // parts that make up what is before the path; -1: the URL is one expression
}

const urlAt = "webhook.url"

// url compiles a URL; nil where it holds no expression, or a mistake, which is noted.
func (c *templating) url(text string) *urlTemplate {
	pieces := c.cut(urlAt, text)
	if pieces == nil {
		return nil
	}
	if len(pieces) == 1 {
		t := c.pieces(urlAt, text, pieces, func(int) *environment { return inHost })
		return made(t, -1)
	}
	if pieces[0].expr || !hasScheme(pieces[0].text) {
		c.add(urlAt, "want it to begin with http:// or https://, or to be one expression that "+
			"gives the whole URL")
		return nil
	}
	pieces, host := splitAuthority(pieces)
	return made(c.pieces(urlAt, text, pieces, func(i int) *environment {
		if i < host {
			return inHost
		}
		return inTemplates
	}), host)
}

func hasScheme(text string) bool {
	text = strings.ToLower(clip(text, 8))
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

func made(t *template, host int) *urlTemplate {
	if t == nil {
		return nil
	}
	return &urlTemplate{t, host}
}

// splitAuthority cuts the piece in which the authority ends, and gives the number of pieces that
// are before its end.
func splitAuthority(pieces []piece) ([]piece, int) {
	from := strings.Index(pieces[0].text, "://") + len("://")
	for i, p := range pieces {
		if p.expr {
			from = 0
			continue
		}
		if end := strings.IndexAny(p.text[from:], "/?#"); end >= 0 {
			head, tail := p, p
			head.text, tail.text = p.text[:from+end], p.text[from+end:]
			return slices.Concat(pieces[:i], []piece{head, tail}, pieces[i+1:]), i + 1
		}
		from = 0
	}
	return pieces, len(pieces)
}

// inSkeleton is the word that stands for an expression where a URL is judged before there are values.
func inSkeleton(before string) string {
	_, authority, _ := strings.Cut(before, "://")
	switch {
	case strings.ContainsAny(authority, "/?#"):
	case strings.HasSuffix(authority, "["):
		return "::1"
	case strings.Contains(authority[strings.LastIndexByte(authority, ']')+1:], ":"):
		return "1"
	}
	return "x"
}

// namesHost reports whether the host depends on the run.
func (u *urlTemplate) namesHost() bool {
	return u.host < 0 || slices.ContainsFunc(u.tmpl.parts[:u.host], func(p part) bool {
		return p.prog != nil
	})
}

// hostOf renders what comes before the path, or the whole where that is one expression, and gives
// host and port.
func (u *urlTemplate) hostOf(r *renderer) (string, error) {
	text, err := u.authority(r)
	if err != nil {
		return "", err
	}
	return hostOfURL(text)
}

// authority is the URL up to its path, or the whole where that is one expression.
func (u *urlTemplate) authority(r *renderer) (string, error) {
	if u.host < 0 {
		return r.text(&u.tmpl.parts[0], false)
	}
	var b strings.Builder
	for i := range u.tmpl.parts[:u.host] {
		p := &u.tmpl.parts[i]
		if p.prog == nil {
			b.WriteString(p.text)
			continue
		}
		value, err := r.text(p, false)
		if err != nil {
			return "", err
		}
		if strings.ContainsFunc(value, endsHost) {
			return "", p.placed(errors.New("gives what cannot be part of a host: want letters, " +
				"digits, dots and hyphens"))
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

func endsHost(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(`/?#@\%`, r)
}

// hostOfURL checks a URL and gives its host:port, the port always written.
func hostOfURL(text string) (string, error) {
	var f faults
	f.checkURL("", text)
	if len(f) > 0 {
		return "", errors.New(f[0].Message)
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("cannot be read")
	}
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	default:
		port = "80"
	}
	return hostName(u.Hostname(), port), nil
}

// render gives the URL, whose host is to be the one that was fixed.
func (u *urlTemplate) render(r *renderer, fixed string) (string, error) {
	before, err := u.authority(r)
	if err != nil {
		return "", err
	}
	text := []byte(before)
	var values []int // where they begin and end
	if u.host >= 0 {
		if text, values, err = u.appendPath(r, text); err != nil {
			return "", err
		}
	}
	host, err := hostOfURL(string(text))
	switch {
	case err != nil:
		return "", err
	case u.namesHost() && host != fixed:
		return "", errors.New("the host is not the one that was fixed when the run was made")
	case leavesPath(string(text), len(before), values):
		return "", errors.New("a segment of the path would be . or .., which leads elsewhere")
	}
	return string(text), nil
}

// appendPath renders path and query, with where the values begin and end. A value stays within its
// segment: all but unreserved characters are encoded. A whole secret in the path keeps its slashes:
// an admin has set it, and senders such as Slack give out a path with slashes as the secret.
func (u *urlTemplate) appendPath(r *renderer, text []byte) (_ []byte, values []int, err error) {
	inQuery := false
	for i := range u.tmpl.parts[u.host:] {
		p := &u.tmpl.parts[u.host+i]
		if p.prog == nil {
			text = append(text, p.text...)
			inQuery = inQuery || strings.Contains(p.text, "?")
			continue
		}
		value, err := r.text(p, false)
		if err != nil {
			return nil, nil, err
		}
		start := len(text)
		if p.prog.secret && !inQuery {
			text = appendPathEncoded(text, value)
		} else {
			text = appendURLEncoded(text, value)
		}
		values = append(values, start, len(text))
		if len(text) > maxURL {
			return nil, nil, fmt.Errorf("is longer than %d bytes", maxURL)
		}
	}
	return text, values, nil
}

// appendPathEncoded is appendURLEncoded but for "/", which stays.
func appendPathEncoded(dst []byte, s string) []byte {
	for segment := range strings.SplitAfterSeq(s, "/") {
		name, slash := strings.CutSuffix(segment, "/")
		if dst = appendURLEncoded(dst, name); slash {
			dst = append(dst, '/')
		}
	}
	return dst
}

// leavesPath reports whether a segment of the path that holds values is . or .., which would lead
// out of the path that the job's author wrote.
func leavesPath(text string, start int, values []int) bool {
	path, _, _ := strings.Cut(text[start:], "?")
	for from := 0; from <= len(path); {
		segment, _, _ := strings.Cut(path[from:], "/")
		low, high := start+from, start+from+len(segment)
		plain, err := url.PathUnescape(segment)
		if err == nil && (plain == "." || plain == "..") {
			for i := 0; i < len(values); i += 2 {
				if values[i] <= high && values[i+1] >= low {
					return true
				}
			}
		}
		from += len(segment) + 1
	}
	return false
}
