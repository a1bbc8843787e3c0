package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

func viewToken(t store.Token, lastUsed jobs.Time) wire.Token {
	view := wire.Token{
		Name: t.Name, Scopes: t.Scopes, ExpiresAt: t.ExpiresAt, CreatedAt: t.CreatedAt,
		LastUsed: lastUsed,
	}
	if t.Jobs != nil {
		view.Jobs = &t.Jobs
	}
	return view
}

func listTokens(c *call) error {
	all, err := c.s.rt.Store().Tokens(c.ctx())
	if err != nil {
		return err
	}
	items, next, err := cut(c, all, func(t store.Token) rank {
		return rank{t.CreatedAt, t.Name}
	}, jobs.CheckName)
	if err != nil {
		return err
	}
	list := wire.Tokens{Items: make([]wire.Token, len(items)), Next: next, Limit: c.page().Limit}
	for i := range items {
		list.Items[i] = viewToken(items[i], c.s.access.lastUsed(items[i]))
	}
	return c.answer(200, &list)
}

func noToken() error { return refuse(probNotFound, "there is no such token") }

func named(all []store.Token, name string) (store.Token, bool) {
	i := slices.IndexFunc(all, func(t store.Token) bool { return t.Name == name })
	if i < 0 {
		return store.Token{}, false
	}
	return all[i], true
}

func getToken(c *call) error {
	all, err := c.s.rt.Store().Tokens(c.ctx())
	if err != nil {
		return err
	}
	t, ok := named(all, c.Param("name"))
	if !ok {
		return noToken()
	}
	return c.answerToken(200, t, "")
}

func (c *call) answerToken(status int, t store.Token, secret string) error {
	c.Response().Header().Set("ETag", etag(t.Revision))
	view := viewToken(t, c.s.access.lastUsed(t))
	view.Secret = secret
	return c.answer(status, &view)
}

func postToken(c *call) error {
	var body wire.PutToken
	err := c.decode(&body, func() []jobs.Fault {
		faults := checkToken(body, c.s.rt.Now())
		if err := jobs.CheckName(body.Name); err != nil {
			faults = append(faults, jobs.Fault{Location: "name", Message: err.Error()})
		}
		return faults
	})
	if err != nil {
		return err
	}
	return c.saveToken(body, mayMake)
}

func putToken(c *call) error {
	name := c.Param("name")
	if err := jobs.CheckName(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	var body wire.PutToken
	err := c.decode(&body, func() []jobs.Fault {
		return append(checkToken(body, c.s.rt.Now()), otherName("token", body.Name, name)...)
	})
	if err != nil {
		return err
	}
	body.Name = name
	return c.saveToken(body, c.mayChange)
}

// saveToken makes a token that has been checked, or changes what it opens; its secret then stays.
func (c *call) saveToken(
	body wire.PutToken, may func(stands bool, revision int64) error,
) error {
	var saved store.Token
	secret := ""
	err := c.s.access.change(c.ctx(), func(all []store.Token) error {
		standing, stands := named(all, body.Name)
		if err := may(stands, standing.Revision); err != nil {
			return err
		}
		next := store.Token{
			Name: body.Name, Hash: standing.Hash, Scopes: sortedScopes(body.Scopes),
			ExpiresAt: body.ExpiresAt, CreatedAt: standing.CreatedAt, LastUsed: standing.LastUsed,
		}
		if body.Jobs != nil {
			next.Jobs = *body.Jobs
		}
		if stands && opensAll(standing) && !opensAll(next) && !othersOpenAll(all, body.Name) {
			return lastKey()
		}
		by := c.by("")
		if !stands {
			secret = NewSecret()
			next.Hash, next.CreatedAt = HashSecret(secret), by.Now
		}
		if _, err := c.s.rt.Store().PutToken(c.ctx(), next, nil, by); c.s.rt.Wrote(err) != nil {
			return err
		}
		after, err := c.s.rt.Store().Tokens(c.ctx())
		saved, _ = named(after, body.Name)
		return err
	})
	if err != nil {
		return err
	}
	return c.answerToken(c.saved(secret != "", "tokens", saved.Name), saved, secret)
}

func lastKey() error {
	return refuse(probState, "it is the last token that opens everything for ever: make another "+
		"one first")
}

func deleteToken(c *call) error {
	match, name := c.condition("If-Match"), c.Param("name")
	err := c.s.access.change(c.ctx(), func(all []store.Token) error {
		standing, stands := named(all, name)
		switch {
		case !stands:
			return noToken()
		case match.fails(true, standing.Revision):
			return store.ErrStale
		case opensAll(standing) && !othersOpenAll(all, name):
			return lastKey()
		}
		return c.s.rt.Wrote(c.s.rt.Store().DeleteToken(c.ctx(), name, c.by("")))
	})
	if err != nil {
		return err
	}
	return c.NoContent(204)
}

// patternOfJobs is a job's name in which * stands for any characters.
var patternOfJobs = regexp.MustCompile(`^[a-z0-9*][a-z0-9._*-]{0,99}$`)

const maxPatterns = 100

// checkToken says what is wrong with a token, its name aside.
func checkToken(t wire.PutToken, now jobs.Time) (faults []jobs.Fault) {
	add := func(location, format string, args ...any) {
		faults = append(faults, jobs.Fault{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if len(t.Scopes) == 0 {
		add("scopes", "want at least one of %s", strings.Join(scopeNames, ", "))
	}
	for i, name := range t.Scopes {
		if _, ok := scopesOf([]string{name}); !ok {
			add(fmt.Sprintf("scopes[%d]", i), "want one of %s", strings.Join(scopeNames, ", "))
		}
	}
	if t.Jobs != nil {
		if n := len(*t.Jobs); n == 0 || n > maxPatterns {
			add("jobs", "want 1 to %d patterns; left out, the token reaches all jobs", maxPatterns)
		}
		for i, p := range *t.Jobs {
			if !patternOfJobs.MatchString(p) {
				add(fmt.Sprintf("jobs[%d]", i), "want a name of a job in which * may stand for any "+
					"characters, such as mail-*")
			}
		}
	}
	if t.ExpiresAt != 0 && t.ExpiresAt <= now {
		add("expires_at", "is past")
	}
	return faults
}

// sortedScopes are the names without repetition, in their usual order.
func sortedScopes(names []string) []string {
	var all []string
	for _, name := range scopeNames {
		if slices.Contains(names, name) {
			all = append(all, name)
		}
	}
	return all
}
