package api

import (
	"context"
	"maps"
	"slices"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

func exportAll(c *call) error {
	policies, err := allNamed(c, c.s.rt.Policies, func(p *jobs.Policy) (name, set string) { return p.Name, p.Set })
	if err != nil {
		return err
	}
	queues, err := allNamed(c, c.s.rt.QueueDocuments, func(q *jobs.Queue) (name, set string) { return q.Name, q.Set })
	if err != nil {
		return err
	}
	dependencies, err := allNamed(c, c.s.rt.DependencyDocuments,
		func(d *jobs.Dependency) (name, set string) { return d.Name, d.Set })
	if err != nil {
		return err
	}
	all, err := allNamed(c, c.s.rt.Store().Jobs, func(j *jobs.Job) (name, set string) { return j.Name, j.Set })
	if err != nil {
		return err
	}
	schedules, err := allNamed(c, c.s.rt.ScheduleDocuments,
		func(s *store.Schedule) (name, set string) { return s.Name, s.Set })
	if err != nil {
		return err
	}
	alerts, err := allNamed(c, c.s.rt.Alerts, func(a *jobs.Alert) (name, set string) { return a.Name, a.Set })
	if err != nil {
		return err
	}
	out := wire.Export{Jobs: []jobs.Raw{}}
	for _, p := range policies {
		if !p.BuiltIn {
			out.Policies = append(out.Policies, p.Document())
		}
	}
	for _, q := range queues {
		out.Queues = append(out.Queues, q.Document())
	}
	for _, d := range dependencies {
		out.Dependencies = append(out.Dependencies, d.Document())
	}
	for _, j := range all {
		if c.who.reaches(j.Name) {
			out.Jobs = append(out.Jobs, j.Document())
		}
	}
	for _, s := range schedules {
		if c.who.reaches(s.Job) {
			out.Schedules = append(out.Schedules, s.Document())
		}
	}
	for _, a := range alerts {
		if c.who.reaches(a.Run) {
			out.Alerts = append(out.Alerts, a.Document())
		}
	}
	return c.answer(200, &out)
}

// allNamed are all documents of a kind, of the set that the call asks for, sorted by name.
func allNamed[T any](
	c *call, list func(context.Context, store.Page) ([]*T, string, error), is func(*T) (name, set string),
) ([]*T, error) {
	set, only := c.query.Get("set"), c.query.Has("set")
	byName := map[string]*T{}
	err := store.Each(func(p store.Page) ([]*T, string, error) {
		return list(c.ctx(), p)
	}, func(v *T) {
		if name, of := is(v); !only || of == set {
			byName[name] = v
		}
	})
	all := make([]*T, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, err
}
