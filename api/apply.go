package api

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func apply(c *call) error {
	var file *jobs.File
	err := c.read(func(data []byte) (err error) {
		file, err = c.parseApply(data)
		return err
	})
	if err != nil {
		return err
	}
	in := ChangesOf(file.Policies, file.Jobs)
	in.Set, in.Prune, in.DryRun = c.set(), c.flag("prune"), c.flag("dry_run")
	if in.Prune && c.who.Jobs != nil {
		return refuse(probForbidden, "a token that is narrowed to some jobs may not prune")
	}
	saved, err := c.s.rt.Save(c.ctx(), in, c.by(""))
	if err != nil {
		return saveError(err, func(kind string, i int, f jobs.Fault) jobs.Fault {
			place := file.PlaceFaults
			if kind == store.KindPolicy {
				place = file.PlacePolicyFaults
			}
			return inBody(kind, i, place(i, []jobs.Fault{f})[0].Fault)
		})
	}
	return c.answer(200, AppliedOf(saved))
}

// ChangesOf are the changes that make documents stand.
func ChangesOf(policies []*jobs.Policy, all []*jobs.Job) runtime.Changes {
	var in runtime.Changes
	for _, p := range policies {
		in.Policies = append(in.Policies, runtime.PutPolicy{Policy: p})
	}
	for _, j := range all {
		in.Jobs = append(in.Jobs, store.PutJob{Job: j})
	}
	return in
}

// DefaultSet is the set of an apply that names none.
const DefaultSet = "default"

func (c *call) set() string {
	if set := c.query.Get("set"); set != "" {
		return set
	}
	return DefaultSet
}

// flag reads a parameter that is true or false, which has been checked.
func (c *call) flag(name string) bool { return c.query.Get(name) == "true" }

func (c *call) parseApply(data []byte) (*jobs.File, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return nil, jobs.DecodeJSON(data, &wire.Empty{}) // files may be YAML, bodies are JSON
	}
	file, err := jobs.ParseFile("body", data)
	if err != nil {
		return nil, err
	}
	var faults []jobs.Fault
	for i, j := range file.Jobs {
		if !c.who.reaches(j.Name) {
			faults = append(faults, file.PlaceFaults(i, []jobs.Fault{{
				Location: "name", Message: "the token does not reach a job of this name",
			}})[0].Fault)
		}
	}
	if c.who.Jobs != nil && len(file.Policies) > 0 {
		faults = append(faults, jobs.Fault{
			Location: "policies",
			Message:  "a token that is narrowed to some jobs does not reach policies, which others name too",
		})
	}
	return file, jobs.Invalid(faults)
}

// AppliedOf says what an apply did.
func AppliedOf(saved runtime.Saved) *wire.Applied {
	done := &wire.Applied{Items: []wire.AppliedItem{}, Warnings: []wire.Warning{}}
	for _, p := range saved.Policies {
		item := wire.AppliedItem{
			Kind: store.KindPolicy, Name: p.Policy.Name, Action: actionOf(p.Created, p.Changed),
		}
		if p.Before != nil {
			compare(&item, p.Before.Document(), p.Policy.Document(), p.Before.Set == p.Policy.Set)
		}
		done.Items = append(done.Items, item)
	}
	for _, j := range saved.Jobs {
		item := wire.AppliedItem{
			Kind: store.KindJob, Name: j.Job.Name, Version: &j.Job.Version,
			Action: actionOf(j.Created, j.Changed),
		}
		if j.Before != nil {
			compare(&item, j.Before.Document(), j.Job.Document(), j.Before.Set == j.Job.Set)
		}
		done.Items = append(done.Items, item)
	}
	for _, gone := range saved.Removed {
		done.Items = append(done.Items, wire.AppliedItem{
			Kind: gone.Kind, Name: gone.Name, Action: removed, CancelledRuns: gone.Runs,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(saved.Missing)) {
		done.Warnings = append(done.Warnings, wire.Warning{
			Kind: store.KindJob, Name: name, Message: missingText(saved.Missing[name]),
		})
	}
	for i := range done.Items {
		if done.Items[i].Changes == nil {
			done.Items[i].Changes = []jobs.Change{}
		}
	}
	return done
}

func missingText(secrets []string) string {
	what := "the secret " + secrets[0] + " is not set: until it is, runs that need it are held, and doors are shut"
	if n := len(secrets); n > 1 {
		what = "the secrets " + strings.Join(secrets[:n-1], ", ") + " and " + secrets[n-1] +
			" are not set: until they are, runs that need them are held, and doors are shut"
	}
	return what
}

// compare tells what changed of a document that stood.
func compare(item *wire.AppliedItem, before, after []byte, sameSet bool) {
	item.Changes = jobs.Diff(before, after)
	if item.Action == unchanged && !sameSet {
		item.Action = adopted
	}
}

// What an apply does to a document.
const (
	created   = "created"
	changed   = "changed"
	adopted   = "adopted"
	unchanged = "unchanged"
	removed   = "removed"
)

func actionOf(isNew, isChanged bool) string {
	switch {
	case isNew:
		return created
	case isChanged:
		return changed
	}
	return unchanged
}

func exportAll(c *call) error {
	set, only := c.query.Get("set"), c.query.Has("set")
	policies, all := map[string]*jobs.Policy{}, map[string]*jobs.Job{}
	err := store.Each(func(p store.Page) ([]*jobs.Policy, string, error) {
		return c.s.rt.Policies(c.ctx(), p)
	}, func(p *jobs.Policy) { policies[p.Name] = p })
	if err != nil {
		return err
	}
	err = store.Each(func(p store.Page) ([]*jobs.Job, string, error) {
		return c.s.rt.Store().Jobs(c.ctx(), p)
	}, func(j *jobs.Job) { all[j.Name] = j })
	if err != nil {
		return err
	}
	out := wire.Export{Jobs: []jobs.Raw{}}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if p := policies[name]; !p.BuiltIn && (!only || p.Set == set) {
			out.Policies = append(out.Policies, p.Document())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if j := all[name]; c.who.reaches(name) && (!only || j.Set == set) {
			out.Jobs = append(out.Jobs, j.Document())
		}
	}
	return c.answer(200, &out)
}

func getRetry(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	plan, err := c.s.rt.Plan(c.ctx(), name)
	if err != nil {
		return jobError(err)
	}
	return c.answer(200, plan.EffectiveRetry())
}

func wrongSet(values []string) string {
	if err := jobs.CheckName(values[0]); err != nil {
		return err.Error()
	}
	return ""
}

func wrongFlag(values []string) string {
	if v := values[0]; v != "true" && v != "false" {
		return "want true or false"
	}
	return ""
}
