package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// forStore are the changes in the types of the store: of documents policies come first, then queues,
// then dependencies, then schedules, then alerts.
func (c *Changes) forStore() store.Changes {
	out := store.Changes{Set: c.Set, Jobs: c.Jobs, Prune: c.Prune, DryRun: c.DryRun}
	put := func(p store.PutDocument) { out.Documents = append(out.Documents, p) }
	for _, p := range c.Policies {
		put(store.PutDocument{
			Kind: store.KindPolicy, Name: p.Policy.Name, Doc: p.Policy.Document(),
			IfMatch: p.IfMatch, Create: p.Create,
		})
	}
	for _, q := range c.Queues {
		put(store.PutDocument{
			Kind: store.KindQueue, Name: q.Queue.Name, Doc: q.Queue.Document(),
			IfMatch: q.IfMatch, Create: q.Create,
		})
	}
	for _, d := range c.Dependencies {
		put(store.PutDocument{
			Kind: store.KindDependency, Name: d.Dependency.Name, Doc: d.Dependency.Document(),
			IfMatch: d.IfMatch, Create: d.Create,
		})
	}
	for _, s := range c.Schedules {
		put(store.PutDocument{
			Kind: store.KindSchedule, Name: s.Schedule.Name, Doc: s.Schedule.Document(),
			IfMatch: s.IfMatch, Create: s.Create,
		})
	}
	for _, a := range c.Alerts {
		put(store.PutDocument{
			Kind: store.KindAlert, Name: a.Alert.Name, Doc: a.Alert.Document(),
			IfMatch: a.IfMatch, Create: a.Create,
		})
	}
	return out
}

// inLists counts the entries that are at fault in the list of their kind: to the store documents
// are one list.
func (c *Changes) inLists(err error) error {
	queues := len(c.Policies)
	dependencies := queues + len(c.Queues)
	schedules := dependencies + len(c.Dependencies)
	before := map[string]int{
		store.KindQueue: queues, store.KindDependency: dependencies, store.KindSchedule: schedules,
		store.KindAlert: schedules + len(c.Schedules),
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = slices.Clone(joined.Unwrap())
	}
	var entry *store.EntryError
	for i, e := range all {
		if errors.As(e, &entry) && before[entry.Kind] > 0 {
			moved := *entry
			moved.Index -= before[entry.Kind]
			all[i] = &moved
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

func savedOf(done store.Saved) (out Saved, err error) {
	out = Saved{Jobs: done.Jobs, Removed: done.Removed}
	for i := range done.Documents {
		d := &done.Documents[i]
		switch d.Document.Kind {
		case store.KindPolicy:
			saved := SavedPolicy{Created: d.Created, Changed: d.Changed}
			saved.Policy, saved.Before, err = bothOf(d, policyOf)
			out.Policies = append(out.Policies, saved)
		case store.KindQueue:
			saved := SavedQueue{Created: d.Created, Changed: d.Changed}
			saved.Queue, saved.Before, err = bothOf(d, queueOf)
			out.Queues = append(out.Queues, saved)
		case store.KindDependency:
			saved := SavedDependency{Created: d.Created, Changed: d.Changed}
			saved.Dependency, saved.Before, err = bothOf(d, dependencyOf)
			out.Dependencies = append(out.Dependencies, saved)
		case store.KindSchedule:
			saved := SavedSchedule{Created: d.Created, Changed: d.Changed}
			saved.Schedule, saved.Before, err = bothOf(d, scheduleOf)
			out.Schedules = append(out.Schedules, saved)
		case store.KindAlert:
			saved := SavedAlert{Created: d.Created, Changed: d.Changed}
			saved.Alert, saved.Before, err = bothOf(d, alertOf)
			out.Alerts = append(out.Alerts, saved)
		default:
			err = fmt.Errorf("saved a document of the unknown kind %s", d.Document.Kind)
		}
		if err != nil {
			return Saved{}, err
		}
	}
	return out, nil
}

// QueueDocuments lists the queues that somebody has put, newest first.
func (r *Runtime) QueueDocuments(ctx context.Context, p store.Page) ([]*jobs.Queue, string, error) {
	return documentsOf(ctx, r.store, store.KindQueue, p, queueOf)
}

// DependencyDocuments lists the dependencies that somebody has put, newest first.
func (r *Runtime) DependencyDocuments(
	ctx context.Context, p store.Page,
) ([]*jobs.Dependency, string, error) {
	return documentsOf(ctx, r.store, store.KindDependency, p, dependencyOf)
}

// ScheduleDocuments lists the schedules that stand by themselves, newest first: what SavedSchedule has
// of them.
func (r *Runtime) ScheduleDocuments(
	ctx context.Context, p store.Page,
) ([]*store.Schedule, string, error) {
	return documentsOf(ctx, r.store, store.KindSchedule, p, scheduleOf)
}

func documentsOf[T any](
	ctx context.Context, st store.Store, kind string, p store.Page,
	read func(*store.Document) (*T, error),
) (list []*T, next string, err error) {
	docs, next, err := st.Documents(ctx, kind, p)
	for i := 0; err == nil && i < len(docs); i++ {
		var v *T
		v, err = read(docs[i])
		list = append(list, v)
	}
	return list, next, err
}

// bothOf reads a document as it stands and as it stood; nil: it did not.
func bothOf[T any](
	d *store.SavedDocument, read func(*store.Document) (*T, error),
) (now, before *T, err error) {
	if now, err = read(d.Document); err == nil && d.Before != nil {
		before, err = read(d.Before)
	}
	return now, before, err
}

func queueOf(d *store.Document) (*jobs.Queue, error) {
	q, err := jobs.ParseQueueDocument(d.Name, d.Doc)
	if err == nil {
		q.Shared = sharedOf(d)
	}
	return q, err
}

func dependencyOf(d *store.Document) (*jobs.Dependency, error) {
	v, err := jobs.ParseDependencyDocument(d.Name, d.Doc)
	if err == nil {
		v.Shared = sharedOf(d)
	}
	return v, err
}

func scheduleOf(d *store.Document) (*store.Schedule, error) {
	s, err := jobs.ParseScheduleDocument(d.Name, d.Doc)
	if err != nil {
		return nil, err
	}
	return &store.Schedule{
		Schedule: *s, Set: d.Set, Revision: d.Revision, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}, nil
}

func sharedOf(d *store.Document) jobs.Shared {
	return jobs.Shared{
		Set: d.Set, Revision: d.Revision, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
}
