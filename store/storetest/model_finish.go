package storetest

import (
	"cmp"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

func (m *model) finish(f store.Finish) store.FinishResult {
	r := m.runs[f.Run]
	if r == nil || !r.works() && r.State != jobs.Waiting || r.Counts.Number != f.Number {
		return store.FinishResult{Err: store.ErrLease}
	}
	t := f.Transition
	goesOn := t.Outcome == 0
	t.Counts.Number = r.Counts.Number // the store counts executions itself
	asked, orphaned := r.CancelRequestedAt != 0, r.lane == ""
	if asked && t.State != jobs.Cancelled || orphaned && !t.State.Terminal() || goesOn && r.State == jobs.Waiting {
		return store.FinishResult{Err: store.ErrState, CancelAsked: asked, Orphaned: orphaned}
	}
	signal := f.Signal
	signal.Started = f.Started
	m.hear(r, f.Host, signal, f.Now)
	if f.Held != "" {
		m.hold(r, f.Held)
		return store.FinishResult{}
	}
	if r.keepLog(f.Log); f.Progress != nil {
		r.Progress = f.Progress
	}
	switch {
	case t.State == jobs.Succeeded:
		delete(m.saved, r.owner())
	case f.Checkpoint != nil:
		m.keep(r, f.Checkpoint, f.Now)
	}
	switch t.State {
	case jobs.Running:
		m.goOn(r, t.DueAt)
		return store.FinishResult{}
	case jobs.Waiting:
		m.await(r, f.Until)
		return store.FinishResult{}
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
		m.letGo(r.Schedule)
		m.nextOfKey(r.Job, r.Keys.Checkpoint)
		m.ended(r, f.Now)
	}
	res, left := m.spawn(f.Spawn)
	if left != "" {
		t.Decision.Reason = strings.TrimPrefix(t.Decision.Reason+"; ", "; ") + left
	}
	a := r.last()
	r.leave()
	if r.told == nil {
		r.told = map[int]string{}
	}
	r.told[f.Number] = f.Told
	a.Version, a.StartedAt, a.Slices = f.Version, f.Started, f.Slices // the holder of the lease says
	a.FinishedAt, a.Outcome, a.Error, a.HTTPStatus = f.Now, t.Outcome, t.Error, f.HTTPStatus
	a.ExitCode, a.OutputTail, a.Decision = f.ExitCode, f.OutputTail, &t.Decision
	r.boundAttempts()
	return res
}

// hold makes a run as it was before it was given out.
func (m *model) hold(r *modelRun, secret string) {
	r.held = secret
	if r.Slices > 0 {
		r.between = true
		r.last().Slices = r.Slices
		m.keepSlots(r, func(k jobs.GateKind) bool { return k == jobs.GateConcurrency })
		return
	}
	r.State, r.AttemptAt, r.slots, r.said = jobs.Queued, 0, nil, nil
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

// spawn makes runs that follow, and says which are not made: those that were folded into another, and
// those whose job does not stand.
func (m *model) spawn(subs []store.Submission) (res store.FinishResult, left string) {
	var reasons, without []string
	for _, sub := range subs {
		job, err := m.liveJob(sub.Run.Job)
		if err != nil {
			without = append(without, sub.Run.Job)
			continue
		}
		if out, _, _ := m.fold(sub); out != nil {
			reasons = append(reasons, foldedText(sub.Unique, out))
			continue
		}
		res.Spawned = append(res.Spawned, m.insert(job, sub.Run))
		m.takeUnique(sub.Unique, sub.Run)
	}
	if len(without) > 0 {
		reasons = append(reasons, "no run follows of "+strings.Join(without, ", ")+
			": there is no such job any more")
	}
	return res, strings.Join(reasons, "; ")
}
