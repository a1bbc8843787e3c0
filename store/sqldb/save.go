package sqldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// errDry rolls a dry run back.
var errDry = errors.New("dry run")

// Save implements store.Catalog. A dry run does it all and is rolled back.
func (s *Store) Save(
	ctx context.Context, c store.Changes, by store.By,
) (out store.Saved, err error) {
	if out, same, err := unchanged(ctx, s.db, &c); err != nil || same {
		return out, err
	}
	err = s.write(ctx, func(tx Tx) error {
		v := newSaving(s, tx, &c, by)
		err := v.save()
		if out = v.out; err == nil && c.DryRun {
			err = errDry
		}
		return err
	})
	if err != nil && !errors.Is(err, errDry) {
		return store.Saved{}, err
	}
	return out, nil
}

// saving is a Save under way.
type saving struct {
	*Store
	c      *store.Changes
	tx     Tx
	by     store.By
	given  map[named]int // what is given, by its place in its list
	out    store.Saved
	faults []error
	limits limits
	// undecided are schedules with ticks that are to be decided by the text they had.
	undecided []string
}

// named is what is registered.
type named struct{ kind, name string }

func newSaving(s *Store, tx Tx, c *store.Changes, by store.By) *saving {
	return &saving{Store: s, c: c, tx: tx, by: by, given: givenBy(c), limits: limits{}}
}

func givenBy(c *store.Changes) map[named]int {
	given := make(map[named]int, len(c.Jobs)+len(c.Documents))
	for i := range c.Jobs {
		given[named{store.KindJob, c.Jobs[i].Job.Name}] = i
	}
	for i := range c.Documents {
		given[named{c.Documents[i].Kind, c.Documents[i].Name}] = i
	}
	return given
}

// save makes the changes, then looks whether what stands is whole.
func (v *saving) save() error {
	v.out.Documents = make([]store.SavedDocument, len(v.c.Documents))
	if err := v.putDocuments(false); err != nil {
		return err
	}
	v.out.Jobs = make([]store.SavedJob, len(v.c.Jobs))
	for i := range v.c.Jobs {
		p := &v.c.Jobs[i]
		var err error
		if v.out.Jobs[i], err = v.putJob(p); v.isFault(store.KindJob, i, err) != nil {
			return fmt.Errorf("put job %s: %w", p.Job.Name, err)
		}
	}
	if err := v.putDocuments(true); err != nil {
		return err
	}
	if err := v.prune(); err != nil {
		return err
	}
	if err := v.checkScheduleJobs(); err != nil {
		return err
	}
	if len(v.limits) > 0 {
		if err := v.allowAnew(v.tx, v.limits, v.by.Now); err != nil {
			return err
		}
	}
	if err := v.checkRefs(); err != nil {
		return err
	}
	if len(v.faults) == 0 && len(v.undecided) > 0 {
		return &store.UndecidedError{Names: v.undecided}
	}
	return errors.Join(v.faults...)
}

// putDocuments puts those of schedules, which need the jobs, or all others.
func (v *saving) putDocuments(schedules bool) error {
	for i := range v.c.Documents {
		p := &v.c.Documents[i]
		if (p.Kind == store.KindSchedule) != schedules {
			continue
		}
		put := v.putDocument
		if schedules {
			put = v.putSchedule
		}
		var err error
		if v.out.Documents[i], err = put(p); v.isFault(p.Kind, i, err) != nil {
			return fmt.Errorf("put %s %s: %w", p.Kind, p.Name, err)
		}
	}
	return nil
}

// isFault keeps what is wrong with an entry, and gives back what is wrong with the store.
func (v *saving) isFault(kind string, i int, err error) error {
	var missing *store.MissingRef
	for _, fault := range []error{store.ErrStale, store.ErrExists, store.ErrSet} {
		if errors.Is(err, fault) || errors.As(err, &missing) {
			v.faults = append(v.faults, &store.EntryError{Index: i, Kind: kind, Err: err})
			return nil
		}
	}
	return err
}

// standing is what is registered under a name.
type standing struct {
	stands   bool
	revision int64
	set      string
}

// allows gives the set that an entry will bear, or why it must not be saved.
func (v *saving) allows(n named, at standing, create bool, ifMatch *int64) (set string, err error) {
	switch {
	case create && at.stands:
		return "", fmt.Errorf("%s %q: %w", n.kind, n.name, store.ErrExists)
	case ifMatch != nil && (!at.stands || at.revision != *ifMatch):
		return "", fmt.Errorf("%s %q: %w", n.kind, n.name, store.ErrStale)
	case v.c.Set == "":
		return at.set, nil
	case at.set != "" && at.set != v.c.Set:
		return "", &store.SetError{Kind: n.kind, Name: n.name, Set: at.set}
	}
	return v.c.Set, nil
}

// adopted notes that what stands bears a set now.
func (v *saving) adopted(n named, before string) error {
	return v.audit(v.tx, v.by, "adopt", n.kind, n.name, withSet(nil, before, v.c.Set)...)
}

// withSet adds that something bears another set now.
func withSet(changes []jobs.Change, before, after string) []jobs.Change {
	if before == after {
		return changes
	}
	c := jobs.Change{Location: "set", After: jobs.AppendJSONString(nil, after)}
	if before != "" {
		c.Before = jobs.AppendJSONString(nil, before)
	}
	return append(changes, c)
}

func (v *saving) putJob(p *store.PutJob) (store.SavedJob, error) {
	if p.Job.Name == jobs.GroupJob {
		return store.SavedJob{}, fmt.Errorf("job %q is the server's own: %w", p.Job.Name, store.ErrNotFound)
	}
	row, err := storedJobRow(v.tx, p.Job.Name)
	if err != nil {
		return store.SavedJob{}, err
	}
	at, before := standing{}, (*jobs.Job)(nil)
	if row != nil && !row.deleted {
		at, before = standing{true, row.job.Revision, row.job.Set}, row.job
	}
	n := named{store.KindJob, p.Job.Name}
	set, err := v.allows(n, at, p.Create, p.IfMatch)
	if err != nil {
		return store.SavedJob{}, err
	}
	doc := p.Job.Document()
	if at.stands && bytes.Equal(row.doc, doc) {
		out := store.SavedJob{Job: row.job, Before: before}
		if set == at.set {
			return out, nil
		}
		adopted := *row.job
		adopted.Set = set
		out.Job = &adopted
		if err := must(v.tx.Exec(updateJobSet, row.id, set)); err != nil {
			return out, err
		}
		return out, v.adopted(n, at.set)
	}
	v.forgetJob(p.Job.Name)
	if row == nil {
		err = v.makeJob(p.Job, doc, set)
	} else {
		err = v.changeJob(row, p.Job, doc, set)
	}
	if err != nil {
		return store.SavedJob{}, err
	}
	return v.savedJob(row, before, p.Job.Name, doc)
}

func (v *saving) makeJob(j *jobs.Job, doc []byte, set string) error {
	var id int64
	_, err := one(v.tx, insertJob, func(r Row) { id = r.Int(0) }, j.Name, string(doc), j.QueueOf(),
		noneText(set), int64(v.by.Now))
	if err != nil {
		return err
	}
	if err := saveVersion(v.tx, id, 1, j, v.by.Now); err != nil {
		return err
	}
	if err := v.keepSchedules(id, j); err != nil {
		return err
	}
	return v.keepRefs(id, j)
}

func (v *saving) changeJob(row *storedJob, j *jobs.Job, doc []byte, set string) error {
	version := row.job.Version
	if !jobs.SameSpec(row.job.Spec(), j.Spec()) {
		version++
		if err := saveVersion(v.tx, row.id, version, j, v.by.Now); err != nil {
			return err
		}
	}
	err := must(v.tx.Exec(updateJob, row.id, version, string(doc), j.QueueOf(), noneText(set),
		int64(v.by.Now)))
	if err == nil && row.deleted {
		if err = must(v.tx.Exec(updateJobAnew, row.id, int64(v.by.Now))); err == nil {
			_, err = v.tx.Exec(updateLanesOpen, row.id, 1)
		}
	}
	if err == nil {
		_, err = v.tx.Exec(deleteRefs, row.id)
	}
	if err != nil {
		return err
	}
	if row.deleted || !row.job.SameGates(j) {
		if err := v.changeGates(row, j); err != nil {
			return err
		}
	}
	if err := v.keepSchedules(row.id, j); err != nil {
		return err
	}
	return v.keepRefs(row.id, j)
}

func saveVersion(tx Tx, job int64, version int, j *jobs.Job, now jobs.Time) error {
	_, err := tx.Exec(insertVersion, job, version, marshalSpec(j.Spec()), int64(now))
	return err
}

// savedJob reads the row back, so that the answer is what stands, and notes the change.
func (v *saving) savedJob(old *storedJob, before *jobs.Job, name string, doc []byte) (store.SavedJob, error) {
	row, err := storedJobRow(v.tx, name)
	if err != nil {
		return store.SavedJob{}, err
	}
	out := store.SavedJob{Job: row.job, Before: before, Created: before == nil, Changed: true}
	changes, set := made(doc), ""
	if before != nil {
		changes, set = jobs.Diff(old.doc, doc), before.Set
		if before.Version != row.job.Version {
			changes = append(changes, changed("version", before.Version, row.job.Version))
		}
	}
	return out, v.audit(v.tx, v.by, "put", store.KindJob, name, withSet(changes, set, row.job.Set)...)
}

// unchanged answers changes that stand already without a write.
func unchanged(
	ctx context.Context, db DB, c *store.Changes,
) (out store.Saved, same bool, err error) {
	err = db.Read(ctx, func(tx Tx) error {
		out = store.Saved{}
		for i := range c.Documents {
			p := &c.Documents[i]
			d, err := storedDocument(tx, p.Kind, p.Name)
			if same = err == nil && d != nil && bytes.Equal(d.Doc, p.Doc) && !p.Create &&
				p.IfMatch == nil && (c.Set == "" || c.Set == d.Set); !same {
				return err
			}
			out.Documents = append(out.Documents, store.SavedDocument{Document: d, Before: d})
		}
		for i := range c.Jobs {
			p := &c.Jobs[i]
			row, err := storedJobRow(tx, p.Job.Name)
			if same = err == nil && row != nil && !row.deleted &&
				bytes.Equal(row.doc, p.Job.Document()) && !p.Create && p.IfMatch == nil &&
				(c.Set == "" || c.Set == row.job.Set); !same {
				return err
			}
			out.Jobs = append(out.Jobs, store.SavedJob{Job: row.job, Before: row.job})
		}
		left, err := leftOver(tx, c)
		same = err == nil && len(left) == 0
		return err
	})
	return out, same, err
}
