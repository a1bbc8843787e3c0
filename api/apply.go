package api

import (
	"bytes"
	"errors"
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
	in := ChangesOf(file.Documents)
	in.Set, in.Prune, in.DryRun = c.set(), c.flag("prune"), c.flag("dry_run")
	if in.Prune && c.who.Jobs != nil {
		return refuse(probForbidden, "a token that is narrowed to some jobs may not prune")
	}
	saved, err := c.saveFile(file, in)
	if err != nil {
		return saveError(err, func(kind string, i int, f jobs.Fault) jobs.Fault {
			return inBody(kind, i, file.PlaceFaults(kind, i, []jobs.Fault{f})[0].Fault)
		})
	}
	return c.answer(200, AppliedOf(saved))
}

// saveFile saves what a file holds. A token that is narrowed must reach the jobs of the schedules that
// stand: they are looked at, and saved as long as they are as they were then.
func (c *call) saveFile(file *jobs.File, in runtime.Changes) (runtime.Saved, error) {
	if c.who.Jobs == nil {
		return c.s.rt.Save(c.ctx(), in, c.by(""))
	}
	for {
		if err := c.ownSchedules(in.Schedules); err != nil {
			return runtime.Saved{}, err
		}
		saved, err := c.s.rt.Save(c.ctx(), in, c.by(""))
		if !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrExists) {
			return saved, err
		}
	}
}

// ownSchedules notes what stands under the names of schedules, and tells of those whose job the token
// does not reach.
func (c *call) ownSchedules(puts []runtime.PutSchedule) error {
	var faults []error
	for i := range puts {
		put := &puts[i]
		stands, err := c.s.rt.Store().Schedule(c.ctx(), put.Schedule.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			put.Create, put.IfMatch = true, nil
		case err != nil:
			return err
		case c.who.reaches(stands.Job):
			put.Create, put.IfMatch = false, &stands.Revision
		default:
			faults = append(faults, &store.EntryError{
				Index: i, Kind: store.KindSchedule, Err: jobs.Invalid([]jobs.Fault{{
					Location: "name", Message: "a schedule of this name stands, and the token does not reach its job",
				}}),
			})
		}
	}
	return errors.Join(faults...)
}

// ChangesOf are the changes that make documents stand.
func ChangesOf(docs jobs.Documents) runtime.Changes {
	var in runtime.Changes
	for _, p := range docs.Policies {
		in.Policies = append(in.Policies, runtime.PutPolicy{Policy: p})
	}
	for _, q := range docs.Queues {
		in.Queues = append(in.Queues, runtime.PutQueue{Queue: q})
	}
	for _, d := range docs.Dependencies {
		in.Dependencies = append(in.Dependencies, runtime.PutDependency{Dependency: d})
	}
	for _, j := range docs.Jobs {
		in.Jobs = append(in.Jobs, store.PutJob{Job: j})
	}
	for _, s := range docs.Schedules {
		in.Schedules = append(in.Schedules, runtime.PutSchedule{Schedule: s})
	}
	for _, a := range docs.Alerts {
		in.Alerts = append(in.Alerts, runtime.PutAlert{Alert: a})
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
			faults = append(faults, file.PlaceFaults(jobs.RefJob, i, []jobs.Fault{{
				Location: "name", Message: "the token does not reach a job of this name",
			}})[0].Fault)
		}
	}
	for i, s := range file.Schedules {
		if !c.who.reaches(s.Job) {
			faults = append(faults, file.PlaceFaults(jobs.RefSchedule, i, []jobs.Fault{{
				Location: "job", Message: "the token does not reach a job of this name",
			}})[0].Fault)
		}
	}
	if c.who.Jobs == nil {
		return file, jobs.Invalid(faults)
	}
	for _, kind := range []string{jobs.RefPolicy, jobs.RefQueue, jobs.RefDependency, jobs.RefAlert} {
		if list := jobs.FileLists[kind]; len(file.Names(kind)) > 0 {
			faults = append(faults, jobs.Fault{
				Location: list,
				Message:  "a token that is narrowed to some jobs does not reach " + list + ": they are about all jobs",
			})
		}
	}
	return file, jobs.Invalid(faults)
}

// AppliedOf says what an apply did.
func AppliedOf(saved runtime.Saved) *wire.Applied {
	done := &wire.Applied{Items: []wire.AppliedItem{}, Warnings: []wire.Warning{}}
	add := func(kind, name string, isNew, isChanged bool) *wire.AppliedItem {
		done.Items = append(done.Items, wire.AppliedItem{
			Kind: kind, Name: name, Action: actionOf(isNew, isChanged),
		})
		return &done.Items[len(done.Items)-1]
	}
	for _, p := range saved.Policies {
		item := add(store.KindPolicy, p.Policy.Name, p.Created, p.Changed)
		if p.Before != nil {
			compare(item, p.Before, p.Policy, p.Before.Set == p.Policy.Set)
		}
	}
	for _, q := range saved.Queues {
		item := add(store.KindQueue, q.Queue.Name, q.Created, q.Changed)
		if q.Before != nil {
			compare(item, q.Before, q.Queue, q.Before.Set == q.Queue.Set)
		}
	}
	for _, d := range saved.Dependencies {
		item := add(store.KindDependency, d.Dependency.Name, d.Created, d.Changed)
		if d.Before != nil {
			compare(item, d.Before, d.Dependency, d.Before.Set == d.Dependency.Set)
		}
	}
	for _, j := range saved.Jobs {
		item := add(store.KindJob, j.Job.Name, j.Created, j.Changed)
		item.Version = &j.Job.Version
		if j.Before != nil {
			compare(item, j.Before, j.Job, j.Before.Set == j.Job.Set)
		}
	}
	for _, s := range saved.Schedules {
		item := add(store.KindSchedule, s.Schedule.Name, s.Created, s.Changed)
		if s.Before != nil {
			compare(item, s.Before, s.Schedule, s.Before.Set == s.Schedule.Set)
		}
	}
	for _, a := range saved.Alerts {
		item := add(store.KindAlert, a.Alert.Name, a.Created, a.Changed)
		if a.Before != nil {
			compare(item, a.Before, a.Alert, a.Before.Set == a.Alert.Set)
		}
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
	for _, name := range saved.Unreachable {
		done.Warnings = append(done.Warnings, wire.Warning{Kind: store.KindJob, Name: name, Message: unreachableText})
	}
	for i := range done.Items {
		if done.Items[i].Changes == nil {
			done.Items[i].Changes = []jobs.Change{}
		}
	}
	return done
}

const unreachableText = "its runs wait for a callback, and the server is called at an address of this machine alone, which its " +
	"receiver cannot reach: start the server with --url, by which it does; until then they end at their timeout"

func missingText(secrets []string) string {
	what := "the secret " + secrets[0] + " is not set: until it is, runs that need it are held, and doors are shut"
	if n := len(secrets); n > 1 {
		what = "the secrets " + strings.Join(secrets[:n-1], ", ") + " and " + secrets[n-1] +
			" are not set: until they are, runs that need them are held, and doors are shut"
	}
	return what
}

// compare tells what changed of a document that stood.
func compare(item *wire.AppliedItem, before, after interface{ Document() jobs.Raw }, sameSet bool) {
	item.Changes = jobs.Diff(before.Document(), after.Document())
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
