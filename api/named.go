package api

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// readDocument reads the document of a job or a policy. check says what is wrong with its name, ""
// where it has none.
func readDocument[T any](
	c *call, parse func(data []byte) (*T, error), check func(name string) []jobs.Fault,
) (doc *T, err error) {
	err = c.read(func(data []byte) (err error) {
		doc, err = parse(data)
		unread, err := unreadOf(err)
		if err != nil {
			return err
		}
		var named struct {
			Name string `json:"name"`
		}
		_ = jobs.DecodeLenient(data, &named) // what is wrong has been found
		return jobs.Invalid(jobs.Besides(unread, check(named.Name)))
	})
	return doc, err
}

// otherName finds a body that names another one of what is saved than the path does.
func otherName(what, written, name string) []jobs.Fault {
	if written == "" || written == name {
		return nil
	}
	return []jobs.Fault{{
		Location: "name",
		Message:  "the path names another " + what + ": leave the name out or write the same",
	}}
}

// saved is the status of an answer about what was saved; it says where what is new stands.
func (c *call) saved(created bool, list, name string) int {
	if !created {
		return 200
	}
	c.Response().Header().Set("Location", "/v1/"+list+"/"+name)
	return 201
}

// unchanged reports whether the caller has what bears the tag already, which it is then told.
func (c *call) unchanged(tag string) bool {
	none := c.condition("If-None-Match")
	if !none.given || !none.weakly(tag) {
		return false
	}
	c.Response().Header().Set("ETag", tag)
	return true
}

// mayChange refuses a change of what stands, or does not, where the caller's conditions do not hold.
func (c *call) mayChange(stands bool, revision int64) error {
	none := c.condition("If-None-Match")
	if c.condition("If-Match").fails(stands, revision) || none.given && none.holds(stands, revision) {
		return store.ErrStale
	}
	return nil
}

// mayMake refuses to make what stands.
func mayMake(stands bool, _ int64) error {
	if stands {
		return store.ErrExists
	}
	return nil
}

// rank is a place in a list of which the newest come first.
type rank struct {
	created jobs.Time
	name    string
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.created, r.created), strings.Compare(r.name, o.name))
}

// cut gives the page of all that the call asks for, and the cursor of the next one.
func cut[T any](
	c *call, all []T, rankOf func(T) rank, check func(name string) error,
) (items []T, next *string, err error) {
	page := c.page()
	if page.Cursor != "" {
		at, name, found := strings.Cut(page.Cursor, ".")
		created, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !found || check(name) != nil {
			return nil, nil, fault("query.cursor", "not a cursor of this list: give next of the page before")
		}
		after := rank{jobs.Time(created), name}
		all = slices.DeleteFunc(all, func(v T) bool { return rankOf(v).compare(after) <= 0 })
	}
	slices.SortFunc(all, func(a, b T) int { return rankOf(a).compare(rankOf(b)) })
	if len(all) <= page.Limit {
		return all, nil, nil
	}
	last := rankOf(all[page.Limit-1])
	return all[:page.Limit], orNull(fmt.Sprintf("%d.%s", last.created, last.name)), nil
}
