package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"nightshift/jobs"
)

// plan is a webhook made ready: all of a request that no run changes.
type plan struct {
	host string // of the URL: lower case, no final dot, no brackets
	name string // host:port as it stands in messages

	template  *http.Request
	userAgent string            // ours
	bare      bool              // no body is sent
	own       map[string]string // headers the job sets itself, by canonical name
	announce  bool              // send the Nightshift-* headers
	keys      [][]byte          // that sign; nil: it is not signed
	follow    bool              // redirects
	elsewhere bool              // a redirect left the host and port of the URL
}

// plans remembers the plans of webhooks by pointer: a webhook is not changed once it was called.
type plans struct {
	userAgent string

	mu    sync.RWMutex
	known map[*jobs.Webhook]*plan
}

const maxPlans = 1024

// of gives the plan of a webhook, or an error that says what cannot be sent. One that was rendered
// for an attempt is not remembered: it does not come again.
func (ps *plans) of(w *jobs.Webhook, rendered bool) (*plan, error) {
	if rendered {
		return newPlan(w, ps.userAgent)
	}
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
	p := &plan{
		announce:  w.NightshiftHeaders == nil || *w.NightshiftHeaders,
		follow:    w.FollowRedirects,
		userAgent: userAgent,
	}
	u, err := p.target(w.URL)
	if err != nil {
		return nil, err
	}
	method, err := methodOf(w.Method)
	if err != nil {
		return nil, err
	}
	if err := checkHeaders(w.Headers); err != nil {
		return nil, err
	}
	p.bare = method == http.MethodGet || method == http.MethodHead || method == http.MethodTrace
	p.template = &http.Request{Method: method, URL: u, Header: http.Header{"User-Agent": {userAgent}}}
	if !p.bare {
		p.template.Header["Content-Type"] = []string{"application/json"}
	}
	p.override(w.Headers)
	return p, p.sign(w.SigningSecret)
}

// override sets the job's own headers. Their names keep their spelling, which some receivers
// mind; net/http knows User-Agent in its own alone and takes Host from elsewhere.
func (p *plan) override(headers map[string]string) {
	p.own = make(map[string]string, len(headers))
	for name, value := range headers {
		canonical := http.CanonicalHeaderKey(name)
		p.own[canonical] = strings.Trim(value, " \t") // as it is sent
		delete(p.template.Header, canonical)
		switch canonical {
		case "Host":
			p.template.Host = strings.Trim(value, " \t")
			continue
		case "User-Agent":
			name = canonical
		}
		p.template.Header[name] = []string{value}
	}
}

// methodOf is the method in capitals; "" is POST.
func methodOf(method string) (string, error) {
	if method == "" {
		return http.MethodPost, nil
	}
	m := strings.ToUpper(method)
	if m == http.MethodConnect || !isToken(m) {
		return "", fmt.Errorf("the method %.40q cannot be sent: "+
			"want one such as POST, PUT or GET", method)
	}
	return m, nil
}

// noBody is a body without content that net/http does not know as such. It takes a request
// without a body for one it may send again if it is a GET or the like, or carries an
// Idempotency-Key; with http.NoBody too.
type noBody struct{}

func (noBody) Read([]byte) (int, error) { return 0, io.EOF }
func (noBody) Close() error             { return nil }

// identity keeps net/http from asking noBody whether it is empty and from sending it in chunks:
// nothing goes out after the headers.
var identity = []string{"identity"}

// request makes the request of an attempt, and what of its body is still unsent. It can be sent
// but once: a body is set and GetBody is not.
func (p *plan) request(
	ctx context.Context, call *jobs.Call, now func() time.Time,
) (*http.Request, *bytes.Reader) {
	req := p.template.WithContext(ctx)
	content := p.content(call)
	req.Header = p.header(call, content, now)
	body := bytes.NewReader(content)
	if len(content) == 0 {
		req.Body, req.TransferEncoding = noBody{}, identity
		if !p.bare {
			// RFC 9110, 8.6; in its own spelling net/http drops it.
			req.Header["content-length"] = []string{"0"}
		}
		return req, body
	}
	// In this form, and no other, net/http writes headers and body in one go.
	req.Body, req.ContentLength = io.NopCloser(body), int64(len(content))
	return req, body
}

// content is the body that is sent.
func (p *plan) content(call *jobs.Call) []byte {
	switch {
	case p.bare:
		return nil
	case call.Body != nil:
		return call.Body
	case len(call.Payload) == 0:
		return []byte("{}") // what a run without a payload has
	}
	return call.Payload
}

// runHeaders is how many headers a run adds at most, that of its checkpoint aside.
const runHeaders = 10

// header is the headers of an attempt, or of one of its slices.
//
// Idempotency-Key is the operation, from the first slice after another on with their number.
// Nightshift-Scheduled-For and Nightshift-Catch-Up (true or false) are sent only for a run that
// has a planned instant. Nightshift-Deadline is when the attempt's time is up, or the slice's. Instants
// are RFC 3339 UTC with milliseconds. Nightshift-Checkpoint is what the operation has saved, in compact
// ASCII; one that is larger than 4 KiB in this form is announced by Nightshift-Checkpoint-Size, in bytes
// as it was saved, and read at the callback. With nightshift_headers: false no Nightshift-* header is
// sent, but Idempotency-Key, traceparent and those of a signature are.
func (p *plan) header(call *jobs.Call, content []byte, now func() time.Time) http.Header {
	if p.elsewhere {
		return p.template.Header
	}
	room := runHeaders
	if p.keys != nil {
		room += signHeaders
	}
	if call.Checkpoint != nil {
		room++
	}
	h := headers{
		plan:   p,
		all:    make(http.Header, len(p.template.Header)+room),
		values: make([]string, 0, room),
	}
	for name, values := range p.template.Header {
		h.all[name] = values
	}
	key := call.IdempotencyKey()
	h.add("Idempotency-Key", key)
	if p.announce {
		h.add("Nightshift-Job", call.Job)
		h.add("Nightshift-Run", call.Run.String())
		h.add("Nightshift-Attempt", strconv.Itoa(call.Attempt))
		h.add("Nightshift-Max-Attempts", strconv.Itoa(call.MaxAttempts))
		if call.ScheduledFor != 0 {
			h.add("Nightshift-Scheduled-For", call.ScheduledFor.String())
			h.add("Nightshift-Catch-Up", strconv.FormatBool(call.CatchUp))
		}
		if !call.Deadline.IsZero() {
			h.add("Nightshift-Deadline", jobs.TimeOf(call.Deadline).String())
		}
		if call.CallbackURL != "" {
			h.add("Nightshift-Callback", call.CallbackURL)
			h.add("Nightshift-Token", call.CallbackToken)
		}
		h.addCheckpoint(call.Checkpoint)
	}
	if call.Traceparent != "" {
		h.add("Traceparent", call.Traceparent)
	}
	if p.keys != nil {
		h.sign(key, content, now())
	}
	return h.all
}

// headers collects what a run adds. All values lie in one array.
type headers struct {
	plan   *plan
	all    http.Header
	values []string
}

// add leaves out a header that the job sets itself, and a value with a control character: it
// comes from the server and would be a fault there, but it must not fail the attempt.
func (h *headers) add(name, value string) {
	if _, own := h.plan.own[name]; own || strings.IndexFunc(value, isControl) >= 0 {
		return
	}
	h.values = append(h.values, value)
	n := len(h.values)
	h.all[name] = h.values[n-1 : n : n]
}

func (h *headers) addCheckpoint(saved jobs.Raw) {
	if saved == nil {
		return
	}
	switch value := string(jobs.CompactASCII(saved)); {
	case value == "" || value == "null":
	case len(value) <= jobs.MaxHeaderCheckpoint:
		h.add("Nightshift-Checkpoint", value)
	default:
		h.add("Nightshift-Checkpoint-Size", strconv.Itoa(len(saved)))
	}
}
