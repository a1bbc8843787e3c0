package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"nightshift/store"
)

// routeOf is the route that a call was matched to; nil: none. The router lets the last parameter
// of a path take slashes, which no name has.
func (s *Server) routeOf(c echo.Context) *route {
	for _, value := range c.ParamValues() {
		if strings.Contains(value, "/") {
			return nil
		}
	}
	return s.byPath[c.Request().Method+" "+c.Path()]
}

const (
	identityKey = "identity"
	attemptKey  = "attempt"
)

// identified refuses calls without a token, before anything is said about routes. Open routes pass.
func (s *Server) identified(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, authorization := s.routeOf(c), c.Request().Header.Get("Authorization")
		switch {
		case r != nil && r.attempt:
			f, p := s.ofAttempt(c.Param("id"), authorization)
			if p != nil {
				return p
			}
			c.Set(attemptKey, f)
			return next(c)
		case r != nil && r.opens == 0:
			return next(c)
		case r == nil && s.pages.Has(c.Request()):
			return s.page(c)
		case r != nil || !s.stray(c.Request()):
			who, p := s.whoCalls(c.Request())
			if p != nil {
				if s.forPerson(c.Request()) {
					return s.page(c)
				}
				return p
			}
			c.Set(identityKey, who)
			if r == nil && s.forPerson(c.Request()) {
				return s.page(c)
			}
		}
		err := next(c)
		if allow, ok := c.Get(echo.ContextKeyHeaderAllow).(string); ok && err != nil {
			return &problem{kind: probMethod, detail: "allowed here: " + allow, allow: allow}
		}
		return err
	}
}

// whoCalls finds whose token, or session, a call bears.
func (s *Server) whoCalls(r *http.Request) (*identity, *problem) {
	if who, ok := r.Context().Value(insideKey{}).(*identity); ok {
		return who, nil
	}
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		if who := s.signedIn(r); who != nil {
			if p := guardCookie(r); p != nil {
				return nil, p
			}
			return who, nil
		}
	}
	return s.access.identify(authorization)
}

// serve makes the handler of a route: its scope, its query, then what it does.
func (s *Server) serve(r *route) echo.HandlerFunc {
	return func(ec echo.Context) error {
		if s.routeOf(ec) != r {
			return echo.ErrNotFound
		}
		if s.stopping.Err() != nil && !s.takesStill(r) {
			return askTheNext(5 * time.Second)
		}
		c := &call{Context: ec, s: s, route: r}
		c.attempt, _ = ec.Get(attemptKey).(store.Fence)
		if r.opens != 0 {
			c.who, _ = ec.Get(identityKey).(*identity)
			if c.who == nil || !c.who.has(r.opens) {
				return refuse(probForbidden, "it needs the scope %s", r.opens)
			}
			if r.whole && c.who.Jobs != nil {
				return refuse(probForbidden, "a token that is narrowed to some jobs does not reach this")
			}
		}
		enc := ec.Request().Header.Get("Content-Encoding")
		if enc != "" && !strings.EqualFold(enc, "identity") {
			return refuse(probEncoding, "send it without Content-Encoding")
		}
		if err := c.parseInput(); err != nil {
			return err
		}
		if c.bad != nil && r.in == nil {
			return invalid(c.bad)
		}
		return r.handle(c) // which tells c.bad with what is wrong with the body
	}
}

// accepts reports whether the caller asks for a stream of events.
func accepts(r *http.Request, media string) bool {
	return r.Method != http.MethodHead && names(r, media)
}

// names reports whether the Accept of a call holds the media type itself.
func names(r *http.Request, media string) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), media) {
				return true
			}
		}
	}
	return false
}
