package webhook

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nightshift/jobs"
)

// plan is a webhook made ready: all of a request that no run changes.
type plan struct {
	tls        bool
	addr       string // host:port to dial
	host       string // of the URL: lower case, no final dot, no brackets
	serverName string
	key        string // of the connections that serve it
	name       string // host:port as it stands in messages

	method *http.Request // tells http.ReadResponse the method
	bare   bool          // no body is sent

	head      []byte // request line and headers, up to what depends on the run
	overrides map[string]bool
	nightshft bool // send the Nightshift-* headers
}

// plans remembers the plans of webhooks by pointer: a webhook is not changed once it was called.
type plans struct {
	userAgent string

	mu    sync.RWMutex
	known map[*jobs.Webhook]*plan
}

const maxPlans = 1024

// of gives the plan of a webhook, or an error that says what cannot be rendered.
func (ps *plans) of(w *jobs.Webhook) (*plan, error) {
	ps.mu.RLock()
	p := ps.known[w]
	ps.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := newPlan(w, ps.userAgent)
	if err != nil {
		return nil, err
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.known == nil || len(ps.known) >= maxPlans {
		ps.known = make(map[*jobs.Webhook]*plan)
	}
	ps.known[w] = p
	return p, nil
}

func newPlan(w *jobs.Webhook, userAgent string) (*plan, error) {
	if w == nil {
		return nil, errors.New("the job has no webhook")
	}
	p := &plan{nightshft: w.NightshiftHeaders == nil || *w.NightshiftHeaders}
	u, err := p.target(w.URL)
	if err != nil {
		return nil, err
	}
	method, err := methodOf(w.Method)
	if err != nil {
		return nil, err
	}
	p.method = &http.Request{Method: method}
	p.bare = method == http.MethodGet || method == http.MethodHead || method == http.MethodTrace
	p.overrides, err = checkHeaders(w.Headers)
	if err != nil {
		return nil, err
	}

	b := bytes.NewBuffer(make([]byte, 0, 512))
	fmt.Fprintf(b, "%s %s HTTP/1.1\r\n", method, requestTarget(u))
	p.ours(b, "Host", hostHeader(u))
	p.ours(b, "User-Agent", userAgent)
	if !p.bare {
		p.ours(b, "Content-Type", "application/json")
	}
	if u.User != nil {
		secret, _ := u.User.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + secret))
		p.ours(b, "Authorization", "Basic "+basic)
	}
	for _, name := range slices.Sorted(mapKeys(w.Headers)) {
		fmt.Fprintf(b, "%s: %s\r\n", name, strings.Trim(w.Headers[name], " \t"))
	}
	p.head = b.Bytes()
	return p, nil
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// ours writes a header unless the job sets one of that name.
func (p *plan) ours(b *bytes.Buffer, name, value string) {
	if !p.overrides[strings.ToLower(name)] {
		b.WriteString(name + ": " + value + "\r\n")
	}
}

// methodOf is the method in capitals; "" is POST.
func methodOf(method string) (string, error) {
	if method == "" {
		return http.MethodPost, nil
	}
	m := strings.ToUpper(method)
	if m == http.MethodConnect || !isToken(m) {
		return "", fmt.Errorf("the method %.40q cannot be sent: want one such as POST, PUT or GET", method)
	}
	return m, nil
}

// render appends the request up to the end of its headers.
//
// Nightshift-Scheduled-For and Nightshift-Catch-Up (true or false) are sent only for a run that
// has a planned instant. Nightshift-Deadline is when the attempt's time is up. Instants are
// RFC 3339 UTC with milliseconds. With nightshift_headers: false none of these is sent, but
// Idempotency-Key and traceparent are.
func (p *plan) render(b []byte, call *jobs.Call) []byte {
	b = append(b, p.head...)
	b = p.header(b, "Idempotency-Key", call.Operation.String())
	if p.nightshft {
		b = p.header(b, "Nightshift-Job", call.Job)
		b = p.header(b, "Nightshift-Run", call.Run.String())
		b = p.header(b, "Nightshift-Attempt", strconv.Itoa(call.Attempt))
		b = p.header(b, "Nightshift-Max-Attempts", strconv.Itoa(call.MaxAttempts))
		if call.ScheduledFor != 0 {
			b = p.header(b, "Nightshift-Scheduled-For", call.ScheduledFor.String())
			b = p.header(b, "Nightshift-Catch-Up", strconv.FormatBool(call.CatchUp))
		}
		if !call.Deadline.IsZero() {
			b = p.header(b, "Nightshift-Deadline", jobs.TimeOf(call.Deadline).String())
		}
		if call.CallbackURL != "" {
			b = p.header(b, "Nightshift-Callback", call.CallbackURL)
			b = p.header(b, "Nightshift-Token", call.CallbackToken)
		}
	}
	if call.Traceparent != "" {
		b = p.header(b, "traceparent", call.Traceparent)
	}
	if !p.bare {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(call.Payload)), 10)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}

// header appends a header of ours. A value with a control character is left out: it comes
// from the server and would be a fault there, but it must not become a second header.
func (p *plan) header(b []byte, name, value string) []byte {
	if len(p.overrides) > 0 && p.overrides[strings.ToLower(name)] {
		return b
	}
	if strings.IndexFunc(value, isControl) >= 0 {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}
