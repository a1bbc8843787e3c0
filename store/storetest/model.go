package storetest

import (
	"cmp"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// model is a store in memory, written for plainness: what a real one does must look the same.
type model struct {
	jobs []*modelJob // in the order in which the names were first used
	runs map[jobs.ID]*modelRun
	keys map[string]modelKey
}

type modelJob struct {
	name     string
	live     bool
	paused   bool
	doc      *jobs.Job
	version  int
	specs    []jobs.Spec // of the versions
	revision int64
}

type modelRun struct {
	jobs.Run
	lane   string // job and sort of worker; "" once it has none
	dealt  jobs.Time
	output string
}

type modelKey struct {
	run   jobs.ID
	hash  [16]byte
	until jobs.Time
}

func newModel() *model {
	return &model{runs: map[jobs.ID]*modelRun{}, keys: map[string]modelKey{}}
}

func (m *model) job(name string) *modelJob {
	for _, j := range m.jobs {
		if j.name == name {
			return j
		}
	}
	return nil
}

func (m *model) liveJob(name string) (*modelJob, error) {
	if j := m.job(name); j != nil && j.live {
		return j, nil
	}
	return nil, store.ErrNotFound
}

func (j *modelJob) lane() string { return j.name + " " + j.specs[j.version-1].Kind() }

// sorted gives the runs that fit, oldest first.
func (m *model) sorted(fits func(*modelRun) bool) (list []*modelRun) {
	for _, r := range m.runs {
		if fits(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *modelRun) int { return cmp.Compare(a.ID.Seq(), b.ID.Seq()) })
	return list
}

func (m *model) put(p store.PutJob) (created, changed bool, err error) {
	j := m.job(p.Job.Name)
	live := j != nil && j.live
	switch {
	case p.Create && live:
		return false, false, store.ErrExists
	case p.IfMatch != nil && (!live || j.revision != *p.IfMatch):
		return false, false, store.ErrStale
	case live && string(j.doc.Document()) == string(p.Job.Document()):
		return false, false, nil
	}
	if j == nil {
		j = &modelJob{name: p.Job.Name}
		m.jobs = append(m.jobs, j)
	}
	if !live {
		j.live, j.paused = true, false
	}
	j.doc = p.Job
	j.revision++
	if n := len(j.specs); n == 0 || !jobs.SameSpec(j.specs[n-1], p.Job.Spec()) {
		j.specs = append(j.specs, p.Job.Spec())
		j.version++
	}
	return !live, true, nil
}

func (m *model) delete(name string, now jobs.Time) (cancelled int, err error) {
	j, err := m.liveJob(name)
	if err != nil {
		return 0, err
	}
	j.live = false
	j.revision++
	for _, r := range m.runs {
		switch {
		case r.Job != name || r.State.Terminal():
		case r.State == jobs.Running:
			r.lane = ""
		default:
			m.cancelIdle(r, now)
			cancelled++
		}
	}
	return cancelled, nil
}

func (m *model) cancelIdle(r *modelRun, now jobs.Time) {
	r.State, r.lane, r.FinishedAt, r.CancelRequestedAt = jobs.Cancelled, "", now, now
	r.Queue = m.job(r.Job).doc.QueueOf()
}

// enqueue gives an answer or a fault for each entry.
func (m *model) enqueue(subs []store.Submission) (out []store.Submitted, faults map[int]error) {
	faults = map[int]error{}
	undo := []func(){}
	for i, sub := range subs {
		job, err := m.liveJob(sub.Run.Job)
		if err != nil {
			faults[i] = err
			out = append(out, store.Submitted{})
			continue
		}
		key := job.name + " " + sub.Run.IdempotencyKey
		if sub.Run.IdempotencyKey != "" {
			old, had := m.keys[key]
			if answer, err := m.standing(key, sub); answer != nil || err != nil {
				if err != nil {
					faults[i], answer = err, &store.Submitted{}
				}
				out = append(out, *answer)
				continue
			}
			m.keys[key] = modelKey{sub.Run.ID, sub.KeyHash, sub.Run.CreatedAt.Add(sub.KeyTTL)}
			undo = append(undo, func() {
				if delete(m.keys, key); had {
					m.keys[key] = old
				}
			})
		}
		out = append(out, m.insert(job, sub.Run))
		undo = append(undo, func() { delete(m.runs, sub.Run.ID) })
	}
	if len(faults) > 0 {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	return out, faults
}

// standing is the answer that a known key gives; nil where the key is free.
func (m *model) standing(key string, sub store.Submission) (*store.Submitted, error) {
	k, ok := m.keys[key]
	if !ok {
		return nil, nil
	}
	r := m.runs[k.run]
	if k.until <= sub.Run.CreatedAt && (r == nil || r.State.Terminal()) {
		return nil, nil
	}
	if k.hash != sub.KeyHash {
		return nil, &store.KeyConflict{Key: sub.Run.IdempotencyKey, Run: k.run}
	}
	if r == nil {
		return &store.Submitted{ID: k.run, Job: sub.Run.Job, Operation: k.run, Duplicate: true}, nil
	}
	answer := r.submitted(true)
	return &answer, nil
}

func (m *model) insert(job *modelJob, run *jobs.Run) store.Submitted {
	r := &modelRun{Run: *run, lane: job.lane()}
	r.Version = job.version
	m.runs[r.ID] = r
	return r.submitted(false)
}

func (r *modelRun) submitted(duplicate bool) store.Submitted {
	return store.Submitted{
		ID: r.ID, Job: r.Job, Version: r.Version, State: r.State, Operation: r.OperationID,
		DueAt: r.DueAt, Duplicate: duplicate,
	}
}

// fallDue queues what is due.
func (m *model) fallDue(now jobs.Time) {
	for _, r := range m.runs {
		if (r.State == jobs.Scheduled || r.State == jobs.Retrying) && r.DueAt <= now {
			r.State = jobs.Queued
		}
	}
}

// startable are the runs that a kind of worker may take, by lane, in order.
func (m *model) startable(kind string) map[string][]*modelRun {
	lanes := map[string][]*modelRun{}
	for _, r := range m.sorted(func(r *modelRun) bool { return r.State == jobs.Queued }) {
		if !m.job(r.Job).paused && r.lane == r.Job+" "+kind {
			lanes[r.lane] = append(lanes[r.lane], r)
		}
	}
	for _, lane := range lanes {
		slices.SortStableFunc(lane,
			func(a, b *modelRun) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	return lanes
}

func (r *modelRun) rank() int64 { return int64(r.DueAt) - int64(r.Priority)*6000 }

func (r *modelRun) start(now jobs.Time) {
	r.State = jobs.Running
	r.Counts.Number++
	if r.StartedAt == 0 {
		r.StartedAt = now
	}
	r.Attempts = append(r.Attempts, jobs.Attempt{
		Number: r.Counts.Number, Version: r.Version, StartedAt: now, ExitCode: -1,
	})
}

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
	return store.FinishResult{}
}
