package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// What attempts say, and those that go on in slices or wait for their callback, in the model.

// modelSaved is a checkpoint.
type modelSaved struct {
	value string
	at    jobs.Time
}

// works reports whether an attempt is at work: it runs, and is not between two slices.
func (r *modelRun) works() bool { return r.State == jobs.Running && !r.between }

// owner is whose the checkpoint of a run is: its operation's, or its key's.
func (r *modelRun) owner() string {
	if r.Keys.Checkpoint != nil {
		return r.Job + " " + keyText(r.Keys.Checkpoint)
	}
	return r.OperationID.String()
}

// last is the attempt under way.
func (r *modelRun) last() *jobs.Attempt { return &r.Attempts[len(r.Attempts)-1] }

// goOn ends a good slice.
func (m *model) goOn(r *modelRun, due jobs.Time) {
	r.between, r.DueAt = true, due
	r.Counts = jobs.Counts{Number: r.Counts.Number}
	r.Slices++
	r.Continues++
	r.last().Slices = r.Slices
	m.keepSlots(r, func(k jobs.GateKind) bool { return k == jobs.GateConcurrency })
}

// await has a run wait for its callback.
func (m *model) await(r *modelRun, until jobs.Time) {
	r.State, r.DueAt = jobs.Waiting, until
	m.keepSlots(r, func(k jobs.GateKind) bool { return k != jobs.GateCatchUp })
}

func (m *model) keepSlots(r *modelRun, keep func(jobs.GateKind) bool) {
	maps.DeleteFunc(r.slots, func(n gateName, _ bool) bool { return !keep(n.kind) })
}

// endIdle ends the attempt of a run that waits for its callback or its next slice.
func (r *modelRun) endIdle(now jobs.Time, by, reason string) {
	if r.State != jobs.Waiting && !r.between {
		return
	}
	a := r.last()
	a.FinishedAt, a.Outcome = now, jobs.OutcomeCancelled
	a.Decision = &jobs.Decision{Action: jobs.ActionCancel, By: by, Reason: reason}
	r.leave()
	r.boundAttempts()
}

// leave forgets what belongs to the attempt that is over.
func (r *modelRun) leave() {
	r.AttemptAt, r.Slices, r.between, r.slots, r.said = 0, 0, false, nil, nil
}

func (r *modelRun) boundAttempts() {
	if len(r.Attempts) > 2*jobs.KeptAttempts {
		r.Attempts = slices.Delete(r.Attempts, jobs.KeptAttempts, len(r.Attempts)-jobs.KeptAttempts)
	}
}

// fence is nil where an attempt is under way.
func (m *model) fence(f store.Fence) *store.OverError {
	r := m.runs[f.Run]
	if r == nil {
		return &store.OverError{}
	}
	if (r.State == jobs.Running || r.State == jobs.Waiting) && r.Counts.Number == f.Number {
		return nil
	}
	over := &store.OverError{State: r.State}
	if slices.ContainsFunc(r.Attempts, func(a jobs.Attempt) bool { return a.Number == f.Number && a.Outcome != 0 }) {
		over.Told = r.told[f.Number]
	}
	return over
}

// save keeps a checkpoint of an attempt under way.
func (m *model) save(f store.Fence, value jobs.Raw, now jobs.Time) {
	r := m.runs[f.Run]
	r.Counts.Deaths, r.Counts.Interrupts = 0, 0
	m.keep(r, value, now)
}

func (m *model) keep(r *modelRun, value jobs.Raw, now jobs.Time) {
	if string(value) == "null" {
		delete(m.saved, r.owner())
		return
	}
	m.saved[r.owner()] = modelSaved{string(value), now}
}

// keepLog keeps pieces of output.
func (r *modelRun) keepLog(pieces []store.LogPiece) {
	for _, p := range pieces {
		at := slices.IndexFunc(r.log, func(q store.LogPiece) bool { return q.Attempt == p.Attempt && q.Piece == p.Piece })
		if at < 0 {
			r.log = append(r.log, p)
		} else {
			r.log[at] = p
		}
	}
	slices.SortFunc(r.log, func(a, b store.LogPiece) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Offset, b.Offset))
	})
}

// output is all that is kept of it.
func (r *modelRun) output() (text string) {
	for _, p := range r.log {
		text += string(p.Data)
	}
	return text
}

// logOf is what is kept of one attempt, in words.
func logOf(pieces []store.LogPiece, attempt int) (text string) {
	for _, p := range pieces {
		if p.Attempt == attempt {
			text += strconv.Itoa(p.Piece) + " " + string(p.Data) + ","
		}
	}
	return text
}

// pruneSaved drops checkpoints that no run needs and whose time is over.
func (m *model) pruneSaved(now jobs.Time) {
	maps.DeleteFunc(m.saved, func(owner string, c modelSaved) bool {
		job, last := "", c.at
		for _, r := range m.runs {
			switch {
			case r.OperationID.String() == owner: // also one that has a key now
			case r.owner() != owner, r.State == jobs.Succeeded: // which has dropped what was saved before
				continue
			}
			end := r.FinishedAt
			if r.State == jobs.Failed {
				end = r.dealing.at
			}
			if !r.State.Terminal() || end == 0 {
				return false
			}
			job, last = r.Job, max(last, end)
		}
		if job == "" {
			job = m.jobOf(owner)
		}
		return last <= now.Add(-m.ttl(job))
	})
}

// jobOf is the job of a key.
func (m *model) jobOf(owner string) string {
	for _, j := range m.jobs {
		if len(owner) > len(j.name) && owner[:len(j.name)+1] == j.name+" " {
			return j.name
		}
	}
	return ""
}

func (m *model) ttl(job string) time.Duration {
	j := m.job(job)
	if j == nil {
		return 0
	}
	return j.doc.CheckpointTTL()
}

// Lines of checkpoint keys.

// ofKey are the unfinished runs of a checkpoint key that are free to go, or that wait for one.
func (m *model) ofKey(job string, key *string, behind bool) []*modelRun {
	return m.sorted(func(r *modelRun) bool {
		return r.Job == job && r.Keys.Checkpoint != nil && key != nil && *r.Keys.Checkpoint == *key &&
			!r.State.Terminal() && !r.waits && r.behind == behind
	})
}

// joinKey has a run wait where another one of its key is free to go.
func (m *model) joinKey(r *modelRun) {
	r.behind = false
	if r.State.Terminal() || r.Keys.Checkpoint == nil {
		return
	}
	others := slices.DeleteFunc(m.ofKey(r.Job, r.Keys.Checkpoint, false), func(o *modelRun) bool { return o == r })
	r.behind = len(others) > 0
}

// nextOfKey lets the first of a key go where none is free to.
func (m *model) nextOfKey(job string, key *string) {
	if next := m.ofKey(job, key, true); len(next) > 0 && len(m.ofKey(job, key, false)) == 0 {
		next[0].behind = false
	}
}
