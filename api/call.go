package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"nightshift/jobs"
	"nightshift/store"
)

// Limits of bodies (contract 2).
const (
	maxBody      = 1 << 20
	maxBatchBody = 16 << 20
)

// Deadlines of a call's input and output. A body has bodyGrace and then must come at bodyRate
// bytes a second; each write to the caller has writeGrace.
const (
	bodyGrace  = 20 * time.Second
	bodyRate   = 128 << 10
	writeGrace = 30 * time.Second
)

// call is one call of a route by a token.
type call struct {
	echo.Context
	s     *Server
	who   *identity // nil on routes that are open, and of attempts
	route *route
	query url.Values
	bad   []jobs.Fault // what is wrong with the query and the headers

	attempt store.Fence // on routes of attempts: which one calls
}

func (c *call) ctx() context.Context { return c.Request().Context() }

// by is who acts, for the audit.
func (c *call) by(note string) store.By {
	return store.By{Actor: c.who.actor(), Now: c.s.rt.Now(), Note: note}
}

// body reads the whole body, up to limit bytes.
func (c *call) body(limit int64) ([]byte, error) {
	r := c.Request()
	if r.ContentLength > limit {
		return nil, refuse(probTooLarge, "at most %d bytes are taken here", limit)
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	in := http.NewResponseController(c.Response())
	if limit > maxBody { // else it has the deadline of every body
		grace := bodyGrace + time.Duration(limit/bodyRate)*time.Second
		_ = in.SetReadDeadline(time.Now().Add(grace))
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(c.Response().Writer, r.Body, limit))
	if err != nil {
		return nil, badRead(err)
	}
	// The deadline would else end the call while it waits for its run.
	_ = in.SetReadDeadline(time.Time{})
	return buf.Bytes(), nil
}

// badRead tells an upload that broke off from one that was too slow or too large.
func badRead(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(probRequest, "the body broke off")
	}
	return err
}

// read reads the body and lets parse take it. The error tells what is wrong with the query and the
// headers too.
func (c *call) read(parse func(data []byte) error) error {
	data, err := c.body(c.route.body)
	if err != nil {
		return err
	}
	err = within("body", parse(data))
	var p *problem
	switch {
	case len(c.bad) == 0:
		return err
	case err == nil:
		return invalid(c.bad)
	case errors.As(err, &p) && p.kind == probInvalid:
		return invalid(append(slices.Clip(c.bad), slices.DeleteFunc(p.faults, c.repeats)...))
	}
	return err
}

// decode reads the body, which must be there, into v. check finds what is wrong with v then.
func (c *call) decode(v any, check ...func() []jobs.Fault) error {
	return c.read(func(data []byte) error { return decodeChecked(data, v, check) })
}

// decodeOptional is decode where an empty body is as good as {}.
func (c *call) decodeOptional(v any, check ...func() []jobs.Fault) error {
	return c.read(func(data []byte) error {
		if len(data) == 0 {
			data = []byte("{}")
		}
		return decodeChecked(data, v, check)
	})
}

func decodeChecked(data []byte, v any, check []func() []jobs.Fault) error {
	unread, err := unreadOf(jobs.DecodeJSON(data, v))
	if err != nil {
		return err
	}
	var found []jobs.Fault
	for _, f := range check {
		found = append(found, f()...)
	}
	return jobs.Invalid(jobs.Besides(unread, found))
}

// unreadOf gives the faults of an input that is invalid, so that more can be told with them, and
// any other error as it is.
func unreadOf(err error) ([]jobs.Fault, error) {
	var bad *jobs.InvalidError
	if errors.As(err, &bad) {
		return bad.Faults, nil
	}
	return nil, err
}

// pathJob is the job named in the path. One that the token does not reach does not exist.
func (c *call) pathJob() (string, error) {
	name := c.Param("name")
	if !jobs.ValidName(name) || !c.who.reaches(name) {
		return "", noJob()
	}
	return name, nil
}

func noJob() error {
	return refuse(probNotFound, "%s", noSuchJob)
}

func noRun() error {
	return refuse(probNotFound, "there is no such run, or the token does not reach it")
}

// pathRun is the run named in the path, as the token may see it.
func (c *call) pathRun() (*jobs.Run, error) {
	id, err := jobs.ParseID(c.Param("id"))
	if err != nil {
		return nil, noRun()
	}
	return c.readRun(id)
}

func (c *call) readRun(id jobs.ID) (*jobs.Run, error) {
	r, err := c.s.rt.Run(c.ctx(), id)
	if errors.Is(err, store.ErrNotFound) || (err == nil && !c.who.may(r)) {
		return nil, noRun()
	}
	return r, err
}

// parseInput reads the query and finds what is wrong with it and with the headers: parameters that
// the route does not know, and values.
func (c *call) parseInput() error {
	if raw := c.Request().URL.RawQuery; raw != "" {
		q, err := url.ParseQuery(raw)
		if err != nil {
			return refuse(probRequest, "the query cannot be read")
		}
		c.query = q
	}
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		i := slices.IndexFunc(c.route.query, func(p param) bool { return p.name == name })
		if i < 0 {
			c.addBad("query."+clip(name), c.unknownParam())
			continue
		}
		c.addBad("query."+name, c.route.query[i].fault(c.query[name]))
	}
	for i := range c.route.headers {
		p := &c.route.headers[i]
		if lines := c.Request().Header.Values(p.name); len(lines) > 0 {
			c.addBad("header."+p.name, p.fault(lines))
		}
	}
	return nil
}

// addBad notes what is wrong at a place; "": nothing is.
func (c *call) addBad(location, message string) {
	if message != "" {
		c.bad = append(c.bad, jobs.Fault{Location: location, Message: message})
	}
}

// repeats reports whether it is the name in the body that is wrong as the one in the path is.
func (c *call) repeats(f jobs.Fault) bool {
	return f.Location == "body.name" && slices.Contains(c.bad, jobs.Fault{Location: "path.name", Message: f.Message})
}

func (c *call) unknownParam() string {
	if len(c.route.query) == 0 {
		return "unknown: this route takes no parameters"
	}
	names := make([]string, len(c.route.query))
	for i, p := range c.route.query {
		names[i] = p.name
	}
	return "unknown: this route knows " + strings.Join(names, ", ")
}

// clip bounds a name that is quoted, and drops what is not printable ASCII.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), 40)]
}

// Limits of lists.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// page reads limit and cursor, which have been checked.
func (c *call) page() store.Page {
	limit, ok := pageLimit(c.query.Get("limit"))
	if !ok {
		limit = defaultLimit
	}
	return store.Page{Limit: limit, Cursor: c.query.Get("cursor")}
}

// pageLimit reads a limit; one past the largest counts as that.
func pageLimit(text string) (limit int, ok bool) {
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-") {
		n, err = maxLimit, nil
	}
	return min(n, maxLimit), err == nil && n >= 1
}

func wrongLimit(values []string) string {
	if _, ok := pageLimit(values[0]); !ok {
		return fmt.Sprintf("want a number from 1 to %d", maxLimit)
	}
	return ""
}

// maxWait is how long a call may wait for its run.
const maxWait = 60 * time.Second

// wait reads ?wait=, which has been checked; zero: not at all.
func (c *call) wait() time.Duration {
	d, _ := jobs.ParseDuration(c.query.Get("wait"))
	return d.Std()
}

func wrongWait(values []string) string {
	d, err := jobs.ParseDuration(values[0])
	switch {
	case err != nil:
		return `want a duration such as "30s"`
	case d.Std() > maxWait:
		return "at most 60s"
	}
	return ""
}

// held is a context for a call that takes long: it ends with the call, the server or the token.
func (c *call) held() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx())
	stop := context.AfterFunc(c.s.stopping, cancel)
	if c.who == nil {
		return ctx, func() { stop(); cancel() }
	}
	held, release := c.s.access.hold(ctx, c.who)
	return held, func() { release(); stop(); cancel() }
}

// awaitEnd waits until the run has ended, but not longer than d, and reports whether it has: one
// that was deleted meanwhile has.
func (c *call) awaitEnd(id jobs.ID, d time.Duration) (bool, error) {
	ctx, release := c.held()
	defer release()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	ended, err := c.s.rt.AwaitEnd(ctx, id)
	if err != nil && ctx.Err() != nil {
		return ended, c.ctx().Err() // the time is up, unless the caller has left
	}
	return ended || errors.Is(err, store.ErrNotFound), ignoreGone(err)
}

func ignoreGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// answer writes v as JSON.
func (c *call) answer(status int, v any) error {
	writeJSON(c.Context, status, "application/json", v)
	return nil
}

// writeJSON writes an answer. An error of the connection is nobody's concern any more.
func writeJSON(c echo.Context, status int, media string, v any) {
	buf := buffers.Get().(*[]byte)
	text := append(jobs.AppendJSON((*buf)[:0], v), '\n')
	writeText(c, status, media, text)
	if cap(text) <= 1<<20 {
		*buf = text
		buffers.Put(buf)
	}
}

// writeText writes a whole answer.
func writeText(c echo.Context, status int, media string, text []byte) {
	h := c.Response().Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	c.Response().WriteHeader(status)
	if c.Request().Method != http.MethodHead {
		_, _ = c.Response().Write(text)
	}
}
