package storetest

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const uniqueSort = " unique "

func uniqueName(job string, u *jobs.UniqueRun) string { return job + uniqueSort + u.Key }

// holder is the run that stands by a unique key, as its answer tells it; nil: the key is free.
func (m *model) holder(job string, u *jobs.UniqueRun, now jobs.Time) *store.Submitted {
	k, ok := m.keys[uniqueName(job, u)]
	if !ok {
		return nil
	}
	out := store.Submitted{ID: k.run, Job: job, Operation: k.run, Duplicate: true}
	r := m.runs[k.run]
	if r != nil {
		out = r.submitted(true)
	}
	out.Unique = true
	switch {
	case u.While == jobs.WhileActive:
		if r == nil || r.State.Terminal() {
			return nil
		}
		return &out
	case u.While == jobs.WhileQueued:
		if r == nil || r.StartedAt != 0 || r.State.Terminal() {
			return nil
		}
		return &out
	case r == nil:
		out.UniqueUntil = min(k.until, idTime(k.run).Add(u.For.Std()))
	default:
		out.UniqueUntil = r.CreatedAt.Add(u.For.Std())
	}
	if out.UniqueUntil <= now {
		return nil
	}
	return &out
}

// fold is the answer where a run stands for the new one; nil: none does. undo takes back what it
// changed.
func (m *model) fold(sub store.Submission) (out *store.Submitted, undo func(), err error) {
	u := sub.Unique
	if u == nil || sub.Run.State.Terminal() {
		return nil, nil, nil
	}
	out = m.holder(sub.Run.Job, u, sub.Run.CreatedAt)
	if out == nil {
		return nil, nil, nil
	}
	if !sub.Quiet && u.Conflict == jobs.ConflictReject {
		return nil, nil, &store.UniqueConflict{
			Job: sub.Run.Job, Run: out.ID, Until: out.UniqueUntil, While: u.While,
		}
	}
	name := uniqueName(sub.Run.Job, u)
	key, r := m.keys[name], m.runs[out.ID]
	undo = func() { m.keys[name] = key }
	longer := key
	longer.until = max(key.until, out.UniqueUntil)
	m.keys[name] = longer
	if r == nil {
		return out, undo, nil
	}
	payload, folded, keys, held, behind := r.Payload, r.Folded, r.Keys, r.held, m.behindOthers()
	undo = func() {
		m.keys[name], r.Payload, r.Folded, r.Keys, r.held = key, payload, folded, keys, held
		for _, other := range m.runs {
			other.behind = behind[other.ID]
		}
	}
	switch {
	case sub.Quiet:
		note := jobs.Folded{Count: 1, Trigger: sub.Run.Trigger, By: sub.By, At: sub.Run.CreatedAt}
		if folded != nil {
			note.Count += folded.Count
		}
		r.Folded = &note
	case u.Conflict == jobs.ConflictReplace:
		r.Payload, r.Keys, out.Replaced = sub.Run.Payload, sub.Run.Keys, true
		if !r.waits && keyText(r.Keys.Checkpoint) != keyText(keys.Checkpoint) {
			if m.joinKey(r); r.behind {
				r.held = "" // it finds out again when it may go
			}
			m.nextOfKey(r.Job, keys.Checkpoint)
		}
	}
	return out, undo, nil
}

// behindOthers are the runs that wait for another of their checkpoint key.
func (m *model) behindOthers() map[jobs.ID]bool {
	behind := map[jobs.ID]bool{}
	for _, r := range m.runs {
		behind[r.ID] = r.behind
	}
	return behind
}

// takeUnique gives a new run the key.
func (m *model) takeUnique(u *jobs.UniqueRun, run *jobs.Run) (undo func()) {
	if u == nil || run.State.Terminal() {
		return func() {}
	}
	name := uniqueName(run.Job, u)
	old, had := m.keys[name]
	k := modelKey{run: run.ID, until: run.CreatedAt}
	if u.While == "" {
		k.until = k.until.Add(u.For.Std())
	}
	m.keys[name] = k
	return func() {
		if delete(m.keys, name); had {
			m.keys[name] = old
		}
	}
}

// freeUnique frees the key of a run that is deleted.
func (m *model) freeUnique(id jobs.ID) {
	for name, k := range m.keys {
		if k.run == id && strings.Contains(name, uniqueSort) {
			delete(m.keys, name)
		}
	}
}

// foldedText is what the decision says of a run that would have followed.
func foldedText(u *jobs.UniqueRun, out *store.Submitted) string {
	until := "until it ends"
	switch {
	case out.UniqueUntil != 0:
		until = "until " + out.UniqueUntil.String()
	case u.While == jobs.WhileQueued:
		until = "until it starts"
	}
	return "the run of " + out.Job + " that follows was folded into run " + out.ID.String() +
		", which stands " + until
}

// sameUnique compares conflicts of unique keys; ok: want is one.
func sameUnique(got, want error) (same, ok bool) {
	conflict, wanted := (*store.UniqueConflict)(nil), (*store.UniqueConflict)(nil)
	if !errors.As(want, &wanted) {
		return false, false
	}
	if !errors.As(got, &conflict) {
		return false, true
	}
	plain := *conflict
	plain.Entry = nil
	return plain == *wanted, true
}

// anyUnique is what makes a run one of its kind; nil: nothing. A job may be changed between any two
// runs, so it says something else each time.
func (w *walker) anyUnique() *jobs.UniqueRun {
	if w.IntN(3) > 0 {
		return nil
	}
	u := &jobs.UniqueRun{
		Key:      "u" + strconv.Itoa(w.IntN(3)),
		While:    []string{jobs.WhileQueued, jobs.WhileActive, ""}[w.IntN(3)],
		Conflict: []string{jobs.ConflictExisting, jobs.ConflictReject}[w.IntN(2)],
	}
	if u.While == "" {
		u.For = jobs.Duration(w.IntN(48)) * jobs.Duration(time.Hour)
	}
	if u.While == jobs.WhileQueued && w.IntN(2) == 0 {
		u.Conflict = jobs.ConflictReplace
	}
	return u
}
