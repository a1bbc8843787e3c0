package storetest

import (
	"cmp"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// modelAlike are failures that are alike.
type modelAlike struct {
	count   int
	message string
	last    jobs.Time
	ignored bool
	until   jobs.Time // zero: for good
	by      string
	more    int // that came while it was ignored
}

// modelDealing is what was said of a failure last.
type modelDealing struct {
	at    jobs.Time // zero: it is open, or requeued
	by    string
	note  string
	until jobs.Time
	came  bool // while those alike were ignored
}

// ended takes in that a run has ended.
func (m *model) ended(r *modelRun, now jobs.Time) {
	switch r.State {
	case jobs.Failed:
		m.fail(r, now)
	case jobs.Succeeded:
		m.behind(r, func(older *modelRun) bool {
			if *older.Dealt != jobs.FailureResolved {
				older.settle(jobs.FailureResolved, modelDealing{at: now, by: "run " + r.ID.String()})
			}
			return true
		})
	case jobs.Cancelled:
		m.reopenBehind(r)
	}
}

func (m *model) fail(r *modelRun, now jobs.Time) {
	alike := m.alike[jobs.Fingerprint(r.Job, r.Error)]
	if alike == nil {
		alike = &modelAlike{}
		m.alike[jobs.Fingerprint(r.Job, r.Error)] = alike
	}
	alike.count++
	alike.last, alike.message = now, r.Error.Message
	r.Dealt = new(jobs.FailureOpen)
	if alike.ignored && (alike.until == 0 || alike.until > now) {
		alike.more++
		r.settle(jobs.FailureIgnored, modelDealing{at: now, by: alike.by, until: alike.until, came: true})
	}
}

// alikeAsIs gives what takes back that a run was born failed.
func (m *model) alikeAsIs(run *jobs.Run) (back func()) {
	if run.State != jobs.Failed {
		return func() {}
	}
	fingerprint := jobs.Fingerprint(run.Job, run.Error)
	was := m.alike[fingerprint]
	if was == nil {
		return func() { delete(m.alike, fingerprint) }
	}
	kept := *was
	return func() { *was = kept }
}

// settle makes a failure resolved or ignored. What was noted before stays unless there is a new note.
func (r *modelRun) settle(status jobs.FailureStatus, d modelDealing) {
	d.note = cmp.Or(d.note, r.dealing.note)
	r.Dealt, r.dealing = &status, d
}

func (r *modelRun) reopen(status jobs.FailureStatus) {
	r.Dealt = &status
	r.dealing.at = 0
}

// behind calls each for the failures that a run stands for, newest first, until it says that is all.
func (m *model) behind(r *modelRun, each func(*modelRun) bool) {
	for {
		older := m.runs[r.RequeuedFrom]
		if older == nil || older.RequeuedTo != r.ID || older.State == jobs.Succeeded {
			return
		}
		if older.Dealt != nil && !each(older) {
			return
		}
		r = older
	}
}

// reopenBehind opens the failure that a run stood for.
func (m *model) reopenBehind(r *modelRun) {
	m.behind(r, func(older *modelRun) bool {
		if *older.Dealt == jobs.FailureRequeued {
			older.reopen(jobs.FailureOpen)
		}
		return false
	})
}

// endOf is the last of those that stand for a run, up to one that succeeded.
func (m *model) endOf(r *modelRun) *modelRun {
	for {
		newer := m.runs[r.RequeuedTo]
		if newer == nil || newer.RequeuedFrom != r.ID || newer.State == jobs.Succeeded {
			return r
		}
		r = newer
	}
}

// requeued notes that a run stands for another.
func (m *model) requeued(old *modelRun, to jobs.ID) {
	old.RequeuedTo = to
	if old.Dealt != nil {
		old.reopen(jobs.FailureRequeued)
		return
	}
	if old.State == jobs.Cancelled {
		m.behind(old, func(older *modelRun) bool {
			if *older.Dealt == jobs.FailureOpen {
				older.reopen(jobs.FailureRequeued)
			}
			return false
		})
	}
}

func (m *model) deal(id jobs.ID, d store.Dealing, by store.By) (changed bool, err error) {
	r := m.runs[id]
	switch {
	case r == nil:
		return false, store.ErrNotFound
	case r.Dealt == nil:
		return false, store.ErrState
	}
	how := modelDealing{at: by.Now, by: by.Actor, note: d.Note, until: d.Until}
	if *r.Dealt == d.Status {
		note, until := cmp.Or(d.Note, r.dealing.note), cmp.Or(d.Until, r.dealing.until)
		if note == r.dealing.note && until == r.dealing.until {
			return false, nil
		}
		r.dealing.note, r.dealing.until = note, until
	} else {
		r.settle(d.Status, how)
		m.behind(r, func(older *modelRun) bool {
			if *older.Dealt != jobs.FailureRequeued {
				return false
			}
			older.settle(d.Status, how)
			return true
		})
	}
	m.settleAlike(jobs.Fingerprint(r.Job, r.Error), d, by)
	return true, nil
}

// settleAlike: failures are ignored once the last open one of those alike was, until one is resolved.
func (m *model) settleAlike(fingerprint string, d store.Dealing, by store.By) {
	alike := m.alike[fingerprint]
	switch {
	case d.Status == jobs.FailureResolved:
		alike.ignored, alike.until, alike.by, alike.more = false, 0, "", 0
	case len(m.failures(jobs.FailureOpen, fingerprint)) == 0:
		if !alike.ignored {
			alike.more = 0
		}
		alike.ignored, alike.until, alike.by = true, d.Until, by.Actor
	}
}

// failures are those of a status, and a fingerprint where one is named, newest first.
func (m *model) failures(status jobs.FailureStatus, fingerprint string) []*modelRun {
	list := m.sorted(func(r *modelRun) bool {
		is := r.Dealt != nil && *r.Dealt == status || status == jobs.FailureWillRetry && r.State == jobs.Retrying
		return is && (fingerprint == "" || jobs.Fingerprint(r.Job, r.Error) == fingerprint)
	})
	slices.Reverse(list)
	return list
}

func (m *model) reopenIgnored(now jobs.Time) (reopened int) {
	for fingerprint, alike := range m.alike {
		if !alike.ignored || alike.until == 0 || alike.until > now {
			continue
		}
		opened := false
		for _, r := range m.failures(jobs.FailureIgnored, fingerprint) {
			if r.dealing.came {
				r.reopen(jobs.FailureOpen)
				r.dealing, opened = modelDealing{}, true
			}
		}
		if opened {
			reopened++
		}
		alike.ignored, alike.until, alike.by, alike.more = false, 0, "", 0
	}
	return reopened
}

// unlink takes a run out of its chain before it is deleted.
func (m *model) unlink(r *modelRun) {
	from := m.runs[r.RequeuedFrom]
	open := r.Dealt != nil && *r.Dealt == jobs.FailureOpen
	if next := m.runs[r.RequeuedTo]; next != nil && next.RequeuedFrom == r.ID && !open && !r.RequeuedFrom.IsNil() {
		next.RequeuedFrom = r.RequeuedFrom
		if from != nil && from.RequeuedTo == r.ID {
			from.RequeuedTo = next.ID
		}
		return
	}
	m.reopenBehind(r)
	if from != nil && from.RequeuedTo == r.ID {
		from.RequeuedTo = jobs.NilID
	}
}

// status is that of failures that are alike.
func (m *model) status(fingerprint string) jobs.FailureStatus {
	switch {
	case len(m.failures(jobs.FailureOpen, fingerprint)) > 0:
		return jobs.FailureOpen
	case m.alike[fingerprint].ignored:
		return jobs.FailureIgnored
	}
	return jobs.FailureResolved
}
