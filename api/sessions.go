package api

import (
	"errors"
	"net/http"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

func (c *call) viewSession(v store.Session) wire.Session {
	return wire.Session{
		ID: v.ID, Token: v.Token, Link: v.Link, Current: c.who != nil && c.who.session != nil && c.who.session.ID == v.ID,
		From: v.From, Agent: v.Agent, CreatedAt: v.CreatedAt, LastUsed: c.s.access.lastSeen(v), Until: v.Until,
	}
}

// postSession signs in. A program says nothing of where a call comes from; a browser always does.
func postSession(c *call) error {
	r := c.Request()
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return refuse(probOrigin, "the browser says that a page of another site has sent it")
	}
	var body wire.SignIn
	err := c.decode(&body, func() []jobs.Fault {
		if (body.Token == "") == (body.Link == "") {
			return []jobs.Fault{{Message: "want one of token and link"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	secret := body.Token
	if body.Link != "" {
		secret = body.Link
	}
	v, err := c.s.signIn(c.Context, secret)
	if errors.Is(err, store.ErrNotFound) {
		return refuse(probUnauthorized, "the token or the link is not known, was used, or is over")
	}
	if err != nil {
		return err
	}
	view := c.viewSession(v)
	return c.answer(http.StatusCreated, &view)
}

func listSessions(c *call) error {
	all, err := c.s.rt.Store().Sessions(c.ctx(), c.s.rt.Now())
	if err != nil {
		return err
	}
	items, next, err := cut(c, all, func(v store.Session) rank { return rank{v.CreatedAt, v.ID} }, checkSessionID)
	if err != nil {
		return err
	}
	list := wire.Sessions{Items: make([]wire.Session, len(items)), Next: next, Limit: c.page().Limit}
	for i := range items {
		list.Items[i] = c.viewSession(items[i])
	}
	return c.answer(200, &list)
}

func checkSessionID(id string) error {
	for _, r := range id {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return errors.New("want the id of a session")
		}
	}
	return nil
}

func noSession() error { return refuse(probNotFound, "there is no such session") }

func signOut(c *call) error {
	if c.who.session == nil {
		return refuse(probState, "the call was made with a token, and in no session")
	}
	c.s.setCookie(c.Response(), c.Request(), "")
	return c.endSession(c.who.session.ID)
}

func deleteSession(c *call) error {
	id := c.Param("id")
	own := c.who.session != nil && c.who.session.ID == id
	if !own && (!c.who.has(scopeAdmin) || c.who.Jobs != nil) {
		return noSession()
	}
	return c.endSession(id)
}

func (c *call) endSession(id string) error {
	err := c.s.access.signOut(c.ctx(), id, c.by(""))
	if errors.Is(err, store.ErrNotFound) {
		return noSession()
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func postLink(c *call) error {
	if err := c.decodeOptional(&wire.Empty{}); err != nil {
		return err
	}
	secret, until, err := c.s.access.link(c.ctx(), c.Param("name"), c.by(""))
	if errors.Is(err, store.ErrNotFound) {
		return noToken()
	}
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, &wire.Link{Link: c.s.linkOf(secret), Until: until})
}
