package storetest

import (
	"cmp"
	"slices"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

// model is a store in memory, written for plainness: what a real one does must look the same.
type model struct {
	jobs []*modelJob // in the order in which the names were first used
	runs map[jobs.ID]*modelRun
	gone [jobs.Cancelled + 1]int64 // ended ones that were deleted, by their state
	keys map[string]modelKey
	// saved are the checkpoints, by owner.
	saved map[string]modelSaved
	// alike are groups of failures, by fingerprint.
	alike  map[string]*modelAlike
	orders map[jobs.ID]*modelOrder

	schedules    map[string]*modelSchedule
	workers      [store.Pools]int // that the last claim told of
	gates        map[gateName]*modelGate
	queues       map[string]*jobs.Queue      // those that have a document
	dependencies map[string]*jobs.Dependency // those that have a document
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
	lane    string            // job and sort of worker; "" once it has none
	slots   map[gateName]bool // of gates that it holds while it runs
	held    string            // the secret it waits for
	waits   bool              // for an earlier run of its schedule
	behind  bool              // it waits for an earlier run of its checkpoint key
	dealing modelDealing      // of a failure

	between bool           // two slices: it is running, and waits like one that is queued
	said    *jobs.Said     // by the attempt under way
	told    map[int]string // by attempt: the call that ended it
	log     []store.LogPiece
}

type modelKey struct {
	run   jobs.ID
	hash  [16]byte
	until jobs.Time
}

func newModel() *model {
	return &model{
		runs: map[jobs.ID]*modelRun{}, keys: map[string]modelKey{}, saved: map[string]modelSaved{},
		alike: map[string]*modelAlike{}, orders: map[jobs.ID]*modelOrder{},
		gates: map[gateName]*modelGate{}, queues: map[string]*jobs.Queue{},
		dependencies: map[string]*jobs.Dependency{}, schedules: map[string]*modelSchedule{},
	}
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

func (m *model) put(p store.PutJob, now jobs.Time) (created, changed bool, err error) {
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
	if j.doc != nil {
		m.dropProbes(j.name, j.doc.Dependencies, p.Job.Dependencies, now)
	}
	j.doc = p.Job
	m.putSchedules(p.Job, now)
	j.revision++
	if n := len(j.specs); n == 0 || !jobs.SameSpec(j.specs[n-1], p.Job.Spec()) {
		j.specs = append(j.specs, p.Job.Spec())
		j.version++
	}
	m.allowAnew(now)
	return !live, true, nil
}

func (m *model) delete(name string, now jobs.Time) (cancelled int, err error) {
	j, err := m.liveJob(name)
	if err != nil {
		return 0, err
	}
	j.live = false
	j.revision++
	for _, s := range m.schedules {
		if s.Job == name {
			s.drop()
		}
	}
	for _, r := range m.runs {
		switch {
		case r.Job != name || r.State.Terminal():
		case r.works():
			r.lane = ""
		default:
			r.endIdle(now, jobs.ByJobDeleted, "the job was deleted")
			m.cancelIdle(r, now)
			m.ended(r, now)
			cancelled++
		}
	}
	for schedule := range m.schedules {
		m.letGo(schedule)
	}
	return cancelled, nil
}

func (m *model) cancelIdle(r *modelRun, now jobs.Time) {
	r.State, r.lane, r.FinishedAt, r.CancelRequestedAt = jobs.Cancelled, "", now, now
	r.held, r.waits, r.behind = "", false, false
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
		keys := keysOf(sub)
		var earlier *store.Submitted
		for _, key := range keys {
			if earlier == nil && err == nil {
				earlier, err = m.standing(key, sub)
			}
		}
		if err != nil {
			faults[i], earlier = err, &store.Submitted{}
		}
		if earlier != nil {
			out = append(out, *earlier)
			continue
		}
		answer, back, err := m.fold(sub)
		if err != nil {
			faults[i] = err
			out = append(out, store.Submitted{})
			continue
		}
		if answer == nil {
			forget := m.alikeAsIs(sub.Run)
			made := m.insert(job, sub.Run)
			answer = &made
			free := m.takeUnique(sub.Unique, sub.Run)
			back = func() { free(); forget(); delete(m.runs, sub.Run.ID) }
		}
		out, undo = append(out, *answer), append(undo, back)
		for _, key := range keys {
			old, had := m.keys[key.name]
			m.keys[key.name] = modelKey{answer.ID, key.hash, sub.Run.CreatedAt.Add(sub.KeyTTL)}
			undo = append(undo, func() {
				if delete(m.keys, key.name); had {
					m.keys[key.name] = old
				}
			})
		}
	}
	if len(faults) > 0 {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	return out, faults
}

// namedKey is a key as a submission brings it.
type namedKey struct {
	name, text string
	hash       [16]byte
}

func keysOf(sub store.Submission) (keys []namedKey) {
	if text := sub.Run.IdempotencyKey; text != "" {
		keys = append(keys, namedKey{sub.Run.Job + " key " + text, text, sub.KeyHash})
	}
	if sub.Delivery != "" {
		keys = append(keys, namedKey{name: sub.Run.Job + " delivery " + sub.Delivery, text: sub.Delivery})
	}
	return keys
}

// standing is the answer that a known key gives; nil where the key is free.
func (m *model) standing(key namedKey, sub store.Submission) (*store.Submitted, error) {
	k, ok := m.keys[key.name]
	if !ok {
		return nil, nil
	}
	r := m.runs[k.run]
	if k.until <= sub.Run.CreatedAt && (r == nil || r.State.Terminal()) {
		return nil, nil
	}
	if k.hash != key.hash {
		return nil, &store.KeyConflict{Key: key.text, Run: k.run}
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
	if r.State.Terminal() {
		r.lane, r.FinishedAt, r.Queue = "", r.CreatedAt, job.doc.QueueOf()
	}
	m.runs[r.ID] = r
	m.joinKey(r)
	if r.State.Terminal() {
		m.ended(r, r.CreatedAt)
	}
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

// startable are the queued runs of jobs that are not paused, by lane, in order: what their gates say
// is another matter.
func (m *model) startable() map[string][]*modelRun {
	lanes := map[string][]*modelRun{}
	for _, r := range m.sorted(func(r *modelRun) bool { return r.State == jobs.Queued || r.between }) {
		if !m.job(r.Job).paused && r.held == "" && !r.waits && !r.behind {
			lanes[m.laneOf(r)] = append(lanes[m.laneOf(r)], r)
		}
	}
	for _, lane := range lanes {
		slices.SortStableFunc(lane,
			func(a, b *modelRun) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	return lanes
}

// laneOf is what the runs have in common that wait in a row.
func (m *model) laneOf(r *modelRun) string {
	return words(r.lane, m.hostOf(r), keyText(r.Keys.Concurrency), keyText(r.Keys.Rate),
		r.Trigger == jobs.TriggerCatchUp, r.between)
}

func keyText(key *string) string {
	if key == nil {
		return "none"
	}
	return strconv.Quote(*key)
}

func (r *modelRun) rank() int64 { return int64(r.DueAt) - int64(r.Priority)*6000 }

func (r *modelRun) start(now jobs.Time) {
	if r.between {
		r.between = false
		r.last().Slices++
		return
	}
	r.State = jobs.Running
	r.Counts.Number++
	if r.StartedAt == 0 {
		r.StartedAt = now
	}
	r.AttemptAt = now
	r.Attempts = append(r.Attempts, jobs.Attempt{
		Number: r.Counts.Number, Version: r.Version, StartedAt: now, ExitCode: -1, Slices: 1,
	})
}
