package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func (m *model) cancel(id jobs.ID, now jobs.Time) (s jobs.State, changed bool, err error) {
	r := m.runs[id]
	switch {
	case r == nil:
		return 0, false, store.ErrNotFound
	case r.State == jobs.Cancelled:
		return r.State, false, nil
	case r.State.Terminal():
		return r.State, false, store.ErrState
	case r.works():
		changed = r.CancelRequestedAt == 0
		r.CancelRequestedAt = cmp.Or(r.CancelRequestedAt, now)
		return r.State, changed, nil
	}
	r.endIdle(now, jobs.ByCancel, "cancelled on request")
	m.cancelIdle(r, now)
	m.ended(r, now)
	m.letGo(r.Schedule)
	m.nextOfKey(r.Job, r.Keys.Checkpoint)
	return r.State, true, nil
}

func (m *model) runNow(id jobs.ID, now jobs.Time) (changed bool, err error) {
	r := m.runs[id]
	switch {
	case r == nil:
		return false, store.ErrNotFound
	case r.State.Terminal():
		return false, store.ErrState
	case r.State != jobs.Scheduled && r.State != jobs.Retrying:
		return false, nil
	case r.State == jobs.Scheduled:
		r.RunAt = now
	}
	r.State, r.DueAt = jobs.Queued, now
	return true, nil
}

func (m *model) shift(step time.Duration) {
	for _, r := range m.runs {
		if r.State == jobs.Retrying || r.State == jobs.Waiting {
			r.DueAt = r.DueAt.Add(step)
		}
	}
	m.shiftGates(step)
}

func (m *model) requeue(rq store.Requeue) (store.Submitted, error) {
	r := m.runs[rq.Of]
	if r == nil {
		return store.Submitted{}, store.ErrNotFound
	}
	if !r.State.Terminal() {
		return store.Submitted{}, store.ErrState
	}
	end := m.endOf(r)
	if end != r && !end.State.Terminal() {
		return end.submitted(true), nil
	}
	job, err := m.liveJob(r.Job)
	if err != nil {
		return store.Submitted{}, err
	}
	run := &jobs.Run{
		ID: rq.ID, Job: r.Job, OperationID: r.OperationID, State: jobs.Queued, Trigger: rq.Trigger,
		Payload: r.Payload, Priority: r.Priority, Labels: r.Labels, CorrelationID: r.CorrelationID,
		CreatedBy: rq.Creator, CreatedAt: rq.By.Now, RunAt: rq.By.Now, DueAt: rq.By.Now, RequeuedFrom: end.ID,
		Keys: rq.Keys, Schedule: r.Schedule, ScheduledFor: r.ScheduledFor, Bulk: rq.Bulk,
	}
	if rq.RunAt > rq.By.Now {
		run.State, run.RunAt, run.DueAt = jobs.Scheduled, rq.RunAt, rq.RunAt
	}
	if rq.Payload != nil {
		run.Payload = rq.Payload
	}
	if rq.Payload != nil || rq.Reset || r.State == jobs.Succeeded {
		run.OperationID = rq.ID
	}
	if u := rq.Unique; u != nil {
		if by := m.holder(r.Job, u, rq.By.Now); by != nil && by.ID != rq.Of {
			return store.Submitted{}, &store.UniqueConflict{
				Job: r.Job, Run: by.ID, Until: by.UniqueUntil, While: u.While,
			}
		}
	}
	m.requeued(end, rq.ID)
	if r != end && r.Dealt != nil {
		m.behind(&modelRun{Run: *run}, func(older *modelRun) bool {
			older.reopen(jobs.FailureRequeued)
			return older != r
		})
	}
	m.takeUnique(rq.Unique, run)
	if rq.Reset && run.Keys.Checkpoint != nil && len(m.ofKey(run.Job, run.Keys.Checkpoint, false)) == 0 {
		delete(m.saved, (&modelRun{Run: *run}).owner())
	}
	for _, other := range m.runs {
		if other.OperationID == run.OperationID {
			run.Continues = max(run.Continues, other.Continues)
		}
	}
	return m.insert(job, run), nil
}

func (m *model) remove(id jobs.ID) error {
	r := m.runs[id]
	switch {
	case r == nil:
		return store.ErrNotFound
	case !r.State.Terminal():
		return store.ErrState
	}
	m.forget(r)
	m.freeUnique(id)
	return nil
}

// forget deletes a run.
func (m *model) forget(r *modelRun) {
	m.unlink(r)
	m.gone[r.State]++
	delete(m.runs, r.ID)
	left := m.sorted(func(other *modelRun) bool { return other.OperationID == r.OperationID })
	if len(left) == 0 {
		delete(m.saved, r.OperationID.String())
		return
	}
	newest := left[len(left)-1]
	newest.Continues = max(newest.Continues, r.Continues)
}

// prune is a whole round: run after run, oldest first, then keys and checkpoints. Runs whose id was made within
// the shortest time that something of their job is kept are not looked at.
func (m *model) prune(now jobs.Time) {
	for _, r := range m.sorted(func(*modelRun) bool { return true }) {
		keep := m.job(r.Job).doc.Retain.Durations()
		young := now.Add(-min(keep.Succeeded, keep.Cancelled, keep.Failed))
		if at := idTime(r.ID); at > young && at <= now {
			continue
		}
		end, kept := r.FinishedAt, time.Duration(0)
		switch r.State {
		case jobs.Succeeded:
			kept = keep.Succeeded
		case jobs.Cancelled:
			kept = keep.Cancelled
		case jobs.Failed:
			end, kept = r.dealing.at, keep.Failed
		}
		if r.State.Terminal() && end != 0 && end <= now.Add(-kept) {
			m.forget(r)
		}
	}
	for name, k := range m.keys {
		if r := m.runs[k.run]; k.until <= now && (r == nil || r.State.Terminal()) {
			delete(m.keys, name)
		}
	}
	m.pruneSaved(now)
}

func (m *model) upgrade(name string) (moved int, err error) {
	j, err := m.liveJob(name)
	if err != nil {
		return 0, err
	}
	for _, r := range m.runs {
		waits := r.State == jobs.Scheduled || r.State == jobs.Queued || r.State == jobs.Retrying
		if r.Job == name && waits && r.Version != j.version {
			r.Version, r.lane, r.held = j.version, j.lane(), ""
			moved++
		}
	}
	return moved, nil
}

// sameFault compares an error of an entry with the model's.
func sameFault(got, want error) bool {
	conflict, wanted := (*store.KeyConflict)(nil), (*store.KeyConflict)(nil)
	if errors.As(want, &wanted) {
		if !errors.As(got, &conflict) {
			return false
		}
		plain := *conflict
		plain.Entry = nil
		return plain == *wanted
	}
	if same, unique := sameUnique(got, want); unique {
		return same
	}
	return errors.Is(got, want)
}

// specText is what is executed, for comparing.
func specText(s jobs.Spec) string {
	text, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return string(text)
}
