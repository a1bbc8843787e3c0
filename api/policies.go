package api

import (
	"errors"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func listPolicies(c *call) error {
	page := c.page()
	items, next, err := c.s.rt.Policies(c.ctx(), page)
	if err != nil {
		return within("query", err)
	}
	return c.answer(200, &wire.Policies{Items: items, Next: orNull(next), Limit: page.Limit})
}

func (c *call) answerPolicy(status int, p *jobs.Policy) error {
	c.Response().Header().Set("ETag", etag(p.Revision))
	return c.answer(status, p)
}

func noPolicy() error { return refuse(probNotFound, "there is no such policy") }

// standingPolicy is the policy named in the path.
func (c *call) standingPolicy() (*jobs.Policy, error) {
	name := c.Param("name")
	if !jobs.ValidName(name) {
		return nil, noPolicy()
	}
	p, err := c.s.rt.Policy(c.ctx(), name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noPolicy()
	}
	return p, err
}

func getPolicy(c *call) error {
	p, err := c.standingPolicy()
	if err != nil {
		return err
	}
	if c.unchanged(etag(p.Revision)) {
		return c.NoContent(304)
	}
	return c.answerPolicy(200, p)
}

func postPolicy(c *call) error {
	p, err := readDocument(c, jobs.ParsePolicy, func(name string) []jobs.Fault {
		if name == "" {
			return []jobs.Fault{{Location: "name", Message: "is missing: want the policy's name"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Name == jobs.PolicyDefault {
		return store.ErrExists
	}
	return c.savePolicy(runtime.PutPolicy{Policy: p, Create: true})
}

func putPolicy(c *call) error {
	name := c.Param("name")
	if err := jobs.CheckName(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	p, err := readDocument(c, jobs.ParsePolicy, func(written string) []jobs.Fault {
		return otherName("policy", written, name)
	})
	if err != nil {
		return err
	}
	p.Name = name
	put, err := c.policyCondition(p)
	if err != nil {
		return err
	}
	err = c.savePolicy(put)
	if errors.Is(err, store.ErrExists) {
		return store.ErrStale // If-None-Match: *, or the built-in one was changed meanwhile
	}
	return err
}

// policyCondition is the change of a policy under the call's If-Match and If-None-Match.
func (c *call) policyCondition(p *jobs.Policy) (put runtime.PutPolicy, err error) {
	put.Policy = p
	none, match := c.condition("If-None-Match"), c.condition("If-Match")
	if none.any && p.Name == jobs.PolicyDefault {
		return put, store.ErrStale // it always stands
	}
	put.Create = none.any
	if !match.given {
		return put, nil
	}
	stands, err := c.s.rt.Policy(c.ctx(), p.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return put, err
	}
	switch {
	case err != nil || !match.holds(true, stands.Revision):
		return put, store.ErrStale
	case stands.BuiltIn:
		put.Create = true
	default:
		put.IfMatch = &stands.Revision
	}
	return put, nil
}

func (c *call) savePolicy(put runtime.PutPolicy) error {
	saved, err := c.s.rt.Save(c.ctx(), runtime.Changes{Policies: []runtime.PutPolicy{put}}, c.by(""))
	if err != nil {
		return saveError(err, inBody)
	}
	p := saved.Policies[0].Policy
	created := saved.Policies[0].Created && p.Name != jobs.PolicyDefault // which stood, built in
	return c.answerPolicy(c.saved(created, "policies", p.Name), p)
}

func deletePolicy(c *call) error {
	p, err := c.standingPolicy()
	if err != nil {
		return err
	}
	match := c.condition("If-Match")
	if match.fails(true, p.Revision) {
		return store.ErrStale
	}
	if p.BuiltIn {
		return c.NoContent(204) // it is as it would be
	}
	var revision *int64
	if match.given {
		revision = &p.Revision
	}
	err = c.s.rt.DeletePolicy(c.ctx(), p.Name, revision, c.by(""))
	if errors.Is(err, store.ErrNotFound) {
		return noPolicy()
	}
	if err != nil {
		return err
	}
	return c.NoContent(204)
}
