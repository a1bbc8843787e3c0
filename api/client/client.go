// Package client calls the HTTP API with its types.
//
// It owns how calls are written and answers read; it must not know how the server works, and it
// repeats nothing by itself: whoever calls knows whether a call may be sent again.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// maxAnswer bounds what is read of an answer that is no stream.
const maxAnswer = 256 << 20

// Client calls one server with one token. It is safe for concurrent use.
type Client struct {
	base  string
	token string

	// Agent is sent as User-Agent. One that begins with nightshift-cli/ gives runs the trigger cli.
	Agent string
	// HTTP makes the calls. It should have no timeout: waits and streams take long.
	HTTP *http.Client
}

// New makes a client for the server at base, such as http://127.0.0.1:8700.
func New(base, token string) *Client {
	return &Client{
		base: strings.TrimRight(base, "/"), token: token, Agent: "nightshift-client",
		HTTP: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the token is for this server alone
		}},
	}
}

// Problem is an answer that is an error (RFC 9457).
type Problem struct {
	wire.Problem
	RetryAfter string // the header, "" where there was none
}

func (p *Problem) Error() string {
	text := p.Title
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	for i, f := range p.Errors {
		if i == 0 && len(p.Errors) == 1 {
			break // the detail says it
		}
		text += "\n  " + f.Location + ": " + f.Message
	}
	return text
}

// StatusOf is the status of the answer that an error came from; 0: from none.
func StatusOf(err error) int {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// call is what is sent.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any // plain, or what is written as JSON; nil: none
}

// plain is a body that is sent as it is, with the Content-Type of the call's header.
type plain []byte

// send makes the call and gives the answer, or a *Problem where it is an error. The caller closes
// its body.
func (c *Client) send(ctx context.Context, in call) (*http.Response, error) {
	target := c.base + in.path
	if len(in.query) > 0 {
		target += "?" + in.query.Encode()
	}
	var body io.Reader
	text, asItIs := in.body.(plain)
	if in.body != nil {
		if !asItIs {
			text = jobs.AppendJSON(nil, in.body)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, in.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.base, err)
	}
	for name, values := range in.header {
		req.Header[name] = values
	}
	if in.body != nil && !asItIs {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("User-Agent", c.Agent)
	res, err := c.HTTP.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // the call is named below
	}
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.base, err)
	}
	if res.StatusCode >= 300 && res.StatusCode != http.StatusNotModified {
		defer res.Body.Close()
		return nil, problemOf(res)
	}
	return res, nil
}

// problemOf reads an answer that is an error, one from something in between included.
func problemOf(res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("read the answer %s: %w", res.Status, err)
	}
	p := &Problem{RetryAfter: res.Header.Get("Retry-After")}
	if jobs.DecodeLenient(text, &p.Problem) != nil || p.Status == 0 {
		p.Problem = wire.Problem{Title: "unexpected answer " + res.Status, Status: res.StatusCode}
	}
	return p
}

// answer makes the call and reads its JSON into v; nil: there is none.
func (c *Client) answer(ctx context.Context, in call, v any) (*http.Response, error) {
	res, err := c.send(ctx, in)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	if v == nil || len(text) == 0 {
		return res, nil
	}
	if err := jobs.DecodeLenient(text, v); err != nil {
		return nil, fmt.Errorf("read the answer of %s: is it a Nightshift server? %w", c.base, err)
	}
	return res, nil
}

// Page asks for part of a list. The zero value asks for the first page.
type Page struct {
	Limit  int // 1 to 1000; 0: the server's default
	Cursor string
}

func (p Page) add(q url.Values) url.Values {
	if q == nil {
		q = url.Values{}
	}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	return q
}

// with is the page of a list that is filtered.
func (p Page) with(filter url.Values) url.Values { return p.add(maps.Clone(filter)) }

// Server tells the state of the server.
func (c *Client) Server(ctx context.Context) (s wire.Server, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/server"}, &s)
	return s, err
}

// Drain lets the server start no attempt until Resume.
func (c *Client) Drain(ctx context.Context) (s wire.Server, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/server/drain"}, &s)
	return s, err
}

// Resume ends a drain, and lets a restored database go.
func (c *Client) Resume(ctx context.Context, in wire.Resume) (s wire.Server, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/server/resume", body: in}, &s)
	return s, err
}

// Backup writes a copy of the database and tells as of when it is. A copy that is cut off is an error.
func (c *Client) Backup(ctx context.Context, w io.Writer) (asOf jobs.Time, err error) {
	res, err := c.send(ctx, call{method: "GET", path: "/v1/backup"})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(w, res.Body)
	if err == nil && n != res.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, fmt.Errorf("read the backup: %w", err)
	}
	return jobs.ParseTime(res.Header.Get("Nightshift-As-Of"))
}

// Ready says whether the server takes work: nil, a *Problem that says why not, or no answer.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.answer(ctx, call{method: "GET", path: "/readyz"}, nil)
	return err
}

// Audit lists who changed what, newest first. The filter is as the route takes it.
func (c *Client) Audit(ctx context.Context, filter url.Values, p Page) (list wire.Audit, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/audit", query: p.with(filter)}, &list)
	return list, err
}

// Tokens lists tokens, newest first, without their secrets.
func (c *Client) Tokens(ctx context.Context, p Page) (list wire.Tokens, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/tokens", query: p.add(nil)}, &list)
	return list, err
}

// CreateToken makes a token. Only this answer has its secret.
func (c *Client) CreateToken(ctx context.Context, t wire.PutToken) (made wire.Token, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/tokens", body: &t}, &made)
	return made, err
}

// PutToken makes a token, or changes what it opens.
func (c *Client) PutToken(ctx context.Context, t wire.PutToken) (saved wire.Token, err error) {
	_, err = c.answer(ctx, call{method: "PUT", path: "/v1/tokens/" + url.PathEscape(t.Name), body: &t}, &saved)
	return saved, err
}

// RevokeToken deletes a token.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: "/v1/tokens/" + url.PathEscape(name)}, nil)
	return err
}
