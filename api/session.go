package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"nightshift/jobs"
	"nightshift/store"
)

// How long sessions live, and links by which one may sign in.
const (
	sessionIdle = 12 * time.Hour
	sessionLife = 7 * 24 * time.Hour
	linkLife    = 30 * time.Minute
)

// The cookie of a session. By HTTPS its name keeps pages of other hosts and of plain HTTP from setting it
// (RFC 6265bis, 4.1.3).
const (
	cookieName       = "nightshift"
	cookieNameSecure = "__Host-nightshift"
)

// secure reports whether the caller came by HTTPS, as far as the base of links or a trusted proxy tells.
func (s *Server) secure(r *http.Request) bool {
	if s.hosts.trusted(r) {
		if proto := r.Header.Get("X-Forwarded-Proto"); proto != "" {
			return proto == "https"
		}
	}
	return r.TLS != nil || strings.HasPrefix(s.base, "https://") && strings.EqualFold(r.Host, s.hosts.url)
}

func (s *Server) cookieOf(r *http.Request) string {
	if s.secure(r) {
		return cookieNameSecure
	}
	return cookieName
}

// setCookie gives the browser the secret of a session; "": takes it away.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, secret string) {
	c := &http.Cookie{
		Name: s.cookieOf(r), Value: secret, Path: "/", HttpOnly: true, Secure: s.secure(r),
		SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLife.Seconds()),
	}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// signedIn is the identity of the session whose cookie the call bears; nil: there is none that counts.
func (s *Server) signedIn(r *http.Request) *identity {
	c, err := r.Cookie(s.cookieOf(r))
	if err != nil || c.Value == "" {
		return nil
	}
	return s.access.session(c.Value)
}

// guardCookie refuses a call that changes something and was not made by a page of this server. A cookie goes
// with whatever a page of the same site has the browser send, so the browser must say where it comes
// from: by Fetch metadata (Sec-Fetch-Site), or an Origin, which guardHost has checked already.
func guardCookie(r *http.Request) *problem {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		if site == "same-origin" {
			return nil
		}
		return refuse(probOrigin, "the browser says that a page of another site has sent it")
	}
	if r.Header.Get("Origin") != "" {
		return nil
	}
	return refuse(probOrigin, "with the cookie of a session the browser must send Sec-Fetch-Site or Origin")
}

// session finds the identity of a session by its secret; nil: there is none that counts.
func (a *access) session(secret string) *identity {
	id := (*a.signed.Load())[HashSecret(secret)]
	if id == nil {
		return nil
	}
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	v := id.session
	used := max(v.CreatedAt, v.LastUsed, a.seen[v.ID], a.seenSaved[v.ID])
	if now >= v.Until || now.Sub(used) >= sessionIdle || id.ExpiresAt != 0 && now >= id.ExpiresAt {
		return nil
	}
	if now.Sub(a.seenSaved[v.ID]) >= touchEvery {
		a.seen[v.ID] = now
	}
	a.touched(id.Name, now)
	return id
}

// lastSeen is when a session was used, as far as it is known here.
func (a *access) lastSeen(v store.Session) jobs.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(v.LastUsed, a.seen[v.ID], a.seenSaved[v.ID])
}

// newSession makes a session, or a link, and its secret.
func newSession(now jobs.Time, life time.Duration) (store.Session, string) {
	secret := NewSecret()
	return store.Session{
		ID: publicID(), Hash: HashSecret(secret), CreatedAt: now, Until: now.Add(life),
	}, secret
}

func publicID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// link makes a link by which somebody may sign in once as the token of that name does.
func (a *access) link(ctx context.Context, token string, by store.By) (secret string, until jobs.Time, err error) {
	v, secret := newSession(by.Now, linkLife)
	v.Token, v.Link = token, true
	if err := a.store.PutSession(ctx, v, by); err != nil {
		return "", 0, fmt.Errorf("make a link to sign in: %w", err)
	}
	return secret, v.Until, nil
}

// signIn begins a session of whoever bears a token, or a link.
func (a *access) signIn(ctx context.Context, secret, from, agent string) (v store.Session, cookie string, err error) {
	now := a.now()
	v, cookie = newSession(now, sessionLife)
	v.From, v.Agent, v.LastUsed = from, agent, now
	if id := (*a.known.Load())[HashSecret(secret)]; id != nil && (id.ExpiresAt == 0 || now < id.ExpiresAt) {
		v.Token = id.Name
		err = a.store.PutSession(ctx, v, store.By{Actor: "sign-in " + id.Name, Now: now})
	} else {
		v, err = a.store.UseLink(ctx, HashSecret(secret), v, store.By{Now: now})
	}
	if err != nil {
		return v, "", err
	}
	return v, cookie, a.refresh(context.WithoutCancel(ctx))
}

// signOut ends a session.
func (a *access) signOut(ctx context.Context, id string, by store.By) error {
	if err := a.store.DeleteSession(ctx, id, by); err != nil {
		return err
	}
	return a.refresh(context.WithoutCancel(ctx))
}

// signIn begins a session of whoever bears a token, or a link, in place of the one that the browser has, and gives it its
// cookie. store.ErrNotFound: neither is known.
func (s *Server) signIn(c echo.Context, secret string) (v store.Session, err error) {
	r, from := c.Request(), c.RealIP()
	if wait := s.throttle.refuses(from, time.Now()); wait > 0 {
		return v, &problem{
			kind: probOverload, retryAfter: wait, detail: "too many sign-ins have failed from this address: wait a minute",
		}
	}
	v, cookie, err := s.access.signIn(r.Context(), secret, from, clip200(r.UserAgent()))
	if errors.Is(err, store.ErrNotFound) {
		s.throttle.fail(from, time.Now())
		s.log.Warn("sign-in refused: the token or the link is not known", "from", from)
	}
	if err != nil {
		return v, err
	}
	s.log.Info("signed in", "token", v.Token, "session", v.ID, "from", from)
	if old := s.signedIn(r); old != nil {
		if err := s.access.signOut(r.Context(), old.session.ID, store.By{Actor: old.actor(), Now: s.rt.Now()}); err != nil {
			s.log.Warn("the session before could not be ended", "session", old.session.ID, "error", err)
		}
	}
	s.setCookie(c.Response(), r, cookie)
	return v, nil
}

// clip200 bounds what a browser calls itself.
func clip200(s string) string {
	s = strings.ToValidUTF8(s, "?")
	return s[:min(len(s), 200)]
}

// linkOf is the address of a link.
func (s *Server) linkOf(secret string) string { return s.base + signInPath + "?link=" + secret }

// Link makes a link by which somebody may sign in once, within half an hour, as the token of that name does.
func (s *Server) Link(ctx context.Context, token string, by store.By) (string, error) {
	secret, _, err := s.access.link(ctx, token, by)
	if err != nil {
		return "", err
	}
	return s.linkOf(secret), nil
}
