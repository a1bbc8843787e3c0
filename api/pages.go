package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"nightshift/api/client"
	"nightshift/api/web"
	"nightshift/store"
)

// signInPath is the page where one signs in.
const signInPath = "/sign-in"

// forPerson reports whether a call that no route answers wants a page: it was made by following a link.
func (s *Server) forPerson(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Authorization") == "" &&
		!strings.HasPrefix(r.URL.Path, "/v1/") && names(r, "text/html")
}

// pageKey is set on calls that a page answers.
const pageKey = "page"

// page answers with a page: to somebody who has not signed in, with the one where that is done.
func (s *Server) page(c echo.Context) error {
	r := c.Request()
	c.Set(pageKey, true)
	v := web.Visit{Secure: s.secure(r), From: c.RealIP()}
	if who := s.signedIn(r); who != nil {
		if p := guardCookie(r); p != nil {
			return p
		}
		v.Who = &web.Who{Name: who.Name, Scopes: who.Scopes, Jobs: who.Jobs, Session: who.session.ID}
		v.API = s.clientOf(who)
		ctx, release := s.access.hold(r.Context(), who)
		defer release()
		r = r.WithContext(ctx)
	}
	v.SignIn = func(secret string) error {
		if p := guardCookie(r); p != nil {
			return s.forPage(p)
		}
		_, err := s.signIn(c, secret)
		if errors.Is(err, store.ErrNotFound) {
			return web.ErrNotKnown
		}
		var p *problem
		if errors.As(err, &p) && p.kind == probOverload {
			c.Response().Header().Set("Retry-After", strconv.Itoa(int(p.retryAfter.Seconds())+1))
			return web.ErrTooMany
		}
		return s.forPage(err)
	}
	v.SignOut = func() error {
		who := s.signedIn(r)
		s.setCookie(c.Response(), r, "")
		if who == nil {
			return nil
		}
		return s.forPage(s.access.signOut(r.Context(), who.session.ID, store.By{Actor: who.actor(), Now: s.rt.Now()}))
	}
	s.pages.Serve(c.Response(), r, &v)
	return nil
}

// forPage is an error as pages get those of their calls: with its status, and in its words.
func (s *Server) forPage(err error) error {
	if err == nil {
		return nil
	}
	return &client.Problem{Problem: s.problemOf(err).view()}
}
