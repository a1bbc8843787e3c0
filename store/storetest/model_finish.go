package storetest

import (
	"cmp"
	"slices"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

func (m *model) finish(f store.Finish) store.FinishResult {
	r := m.runs[f.Run]
	if r == nil || r.State != jobs.Running || r.Counts.Number != f.Number {
		return store.FinishResult{Err: store.ErrLease}
	}
	t := f.Transition
	t.Counts.Number = r.Counts.Number // the store counts executions itself
	asked, orphaned := r.CancelRequestedAt != 0, r.lane == ""
	if asked && t.State != jobs.Cancelled || orphaned && !t.State.Terminal() {
		return store.FinishResult{Err: store.ErrState, CancelAsked: asked, Orphaned: orphaned}
	}
	if f.Held != "" {
		r.hold(f.Held)
		return store.FinishResult{}
	}
	res, without := m.spawn(f.Spawn)
	if len(without) > 0 {
		t.Decision.Reason = strings.TrimPrefix(t.Decision.Reason+"; ", "; ") + "no run follows of " +
			strings.Join(without, ", ") + ": there is no such job any more"
	}
	switch {
	case t.State == jobs.Succeeded:
		delete(m.saved, r.OperationID)
	case f.Checkpoint != nil:
		m.saved[r.OperationID] = string(f.Checkpoint)
	}
	r.State, r.Counts, r.DueAt = t.State, t.Counts, cmp.Or(t.DueAt, r.DueAt)
	switch {
	case t.State == jobs.Succeeded:
		r.Error, r.Result, r.ResultTruncated = nil, f.Result, f.Truncated
	case t.Error != nil:
		r.Error = t.Error
	}
	if t.State.Terminal() {
		r.lane, r.FinishedAt, r.Queue = "", f.Now, f.Queue
	}
	a := &r.Attempts[len(r.Attempts)-1]
	a.Version, a.StartedAt = f.Version, f.Started // the holder of the lease says
	a.FinishedAt, a.Outcome, a.Error, a.HTTPStatus = f.Now, t.Outcome, t.Error, f.HTTPStatus
	a.ExitCode, a.OutputTail, a.Decision = f.ExitCode, f.OutputTail, &t.Decision
	if len(r.Attempts) > 200 {
		r.Attempts = slices.Delete(r.Attempts, 100, len(r.Attempts)-100)
	}
	for _, p := range f.Log {
		r.output += string(p.Data)
	}
	return res
}

// hold makes a run as it was before it was given out.
func (r *modelRun) hold(secret string) {
	r.State, r.held = jobs.Queued, secret
	r.Attempts = r.Attempts[:len(r.Attempts)-1]
	if r.Counts.Number--; r.Counts.Number == 0 {
		r.StartedAt, r.Attempts = 0, nil
	}
}

// release gives the runs that wait for a secret another try; "": for any.
func (m *model) release(secret string) {
	for _, r := range m.runs {
		if secret == "" || r.held == secret {
			r.held = ""
		}
	}
}

// spawn makes runs that follow, and names the jobs that do not stand.
func (m *model) spawn(subs []store.Submission) (res store.FinishResult, without []string) {
	for _, sub := range subs {
		job, err := m.liveJob(sub.Run.Job)
		if err != nil {
			without = append(without, sub.Run.Job)
			continue
		}
		res.Spawned = append(res.Spawned, m.insert(job, sub.Run))
	}
	return res, without
}
