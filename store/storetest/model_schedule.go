package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// modelSchedule is a schedule and what became of each of its ticks. It stays when it is deleted, for its
// ledger. Its overlap never changes: runs of another way would stand in line.
type modelSchedule struct {
	jobs.Schedule
	live    bool
	paused  bool
	anchor  jobs.Time
	cursor  jobs.Time
	backlog []jobs.Time
	ledger  map[modelTickKey]modelTick
}

type modelTickKey struct {
	job string
	at  jobs.Time
}

type modelTick struct {
	outcome, reason string
	run             jobs.ID
}

func (s *modelSchedule) table() *jobs.Timetable {
	t, err := s.Timetable(s.anchor)
	if err != nil {
		panic(fmt.Sprintf("schedule %s: %v", s.Name, err))
	}
	return t
}

// ticksIn are those of the timetable from one instant to another, both included.
func (s *modelSchedule) ticksIn(from, to jobs.Time) (list []jobs.Time) {
	t := s.table()
	for at := t.Next(from - 1); at != 0 && at <= to; at = t.Next(at) {
		list = append(list, at)
	}
	return list
}

func (s *modelSchedule) undecided(now jobs.Time) bool {
	next := s.table().Next(s.cursor)
	return len(s.backlog) > 0 || next != 0 && next <= now
}

func (s *modelSchedule) due(now jobs.Time) bool {
	next := s.table().Next(s.cursor)
	return s.live && !s.paused && next != 0 && next <= now
}

// putSchedule makes one what its document says.
func (m *model) putSchedule(d jobs.Schedule, now jobs.Time) {
	s := m.schedules[d.Name]
	if s == nil {
		s = &modelSchedule{ledger: map[modelTickKey]modelTick{}}
		m.schedules[d.Name] = s
	}
	if s.live && string(jobs.AppendJSON(nil, &s.Schedule)) == string(jobs.AppendJSON(nil, &d)) {
		return
	}
	again := !s.live
	s.live, s.Schedule, s.cursor = true, d, max(s.cursor, now)
	if again {
		s.paused, s.anchor, s.cursor, s.backlog = false, now, now, nil
		s.forgetMissed(now)
	}
}

func (s *modelSchedule) drop() { s.live, s.backlog = false, nil }

// line are the unfinished runs of a schedule.
func (m *model) line(name string) []*modelRun {
	return m.sorted(func(r *modelRun) bool { return r.Schedule == name && !r.State.Terminal() })
}

// letGo lets the next one of a line go that may.
func (m *model) letGo(name string) {
	s := m.schedules[name]
	if s == nil {
		return
	}
	var regular, catchUp *modelRun
	ahead, caught := 0, 0
	for _, r := range m.line(name) {
		switch {
		case r.waits && r.Trigger == jobs.TriggerSchedule:
			regular = cmp.Or(regular, r)
		case r.waits:
			catchUp = cmp.Or(catchUp, r)
		case r.Trigger == jobs.TriggerCatchUp:
			caught++
			ahead++
		default:
			ahead++
		}
	}
	var next *modelRun
	switch allow := s.OverlapOf() == jobs.OverlapAllow; {
	case regular != nil && ahead == 0:
		next = regular
	case regular == nil && catchUp != nil && (ahead == 0 || allow && caught == 0):
		next = catchUp
	default:
		return
	}
	next.waits, next.behind = false, next.Keys.Checkpoint != nil
	m.nextOfKey(next.Job, next.Keys.Checkpoint)
}

// decide applies a decision, made of what the model knows too.
func (m *model) decide(d store.Decision, now jobs.Time) (out store.Decided) {
	s := m.schedules[d.Schedule.Name]
	for _, r := range d.Skipped {
		for _, at := range s.ticksIn(r.From, r.To) {
			s.skip(at, r.Reason)
		}
	}
	var last *store.TickMade
	if d.OnTime != nil {
		last = m.onTime(s, d.OnTime, now, &out)
	}
	for i := range d.CaughtUp {
		t := &d.CaughtUp[i]
		made := store.TickMade{}
		if m.mayRun(s, t, now, &made) {
			made.Outcome = jobs.TickCaughtUp
			m.makeTick(s, t, &made, true)
		}
		out.Ran = append(out.Ran, made)
	}
	if last != nil {
		out.Ran = append(out.Ran, *last)
	}
	m.letGo(s.Name)
	s.cursor = d.Cursor
	s.backlog = nil
	if d.Backlog.Count > 0 {
		s.backlog = s.ticksIn(d.Backlog.From, d.Backlog.To)
	}
	return out
}

func (s *modelSchedule) skip(at jobs.Time, reason string) {
	key := modelTickKey{s.Job, at}
	if _, known := s.ledger[key]; !known {
		s.ledger[key] = modelTick{outcome: jobs.TickSkipped, reason: reason}
	}
}

// mayRun reports whether a tick is to make a run, overlap aside; else it says what became of it.
func (m *model) mayRun(s *modelSchedule, t *store.TickRun, now jobs.Time, made *store.TickMade) bool {
	if _, known := s.ledger[modelTickKey{s.Job, t.At}]; known {
		return false
	}
	if u := t.Sub.Unique; u != nil && !t.Sub.Run.State.Terminal() && m.holder(s.Job, u, now) != nil {
		made.Outcome, made.Reason = jobs.TickSkipped, jobs.SkipUnique
		s.skip(t.At, jobs.SkipUnique)
		return false
	}
	return true
}

func (m *model) onTime(s *modelSchedule, t *store.TickRun, now jobs.Time, out *store.Decided) *store.TickMade {
	made := &store.TickMade{}
	if !m.mayRun(s, t, now, made) {
		return made
	}
	waits := false
	if mode := s.OverlapOf(); mode != jobs.OverlapAllow && !t.Sub.Run.State.Terminal() {
		var regular, ahead []*modelRun
		for _, r := range m.line(s.Name) {
			if r.Trigger != jobs.TriggerCatchUp {
				regular = append(regular, r)
			}
			if !r.waits {
				ahead = append(ahead, r)
			}
		}
		if mode == jobs.OverlapSkip && len(regular) > 0 {
			made.Outcome, made.Reason = jobs.TickSkipped, jobs.SkipOverlap
			s.skip(t.At, jobs.SkipOverlap)
			return made
		}
		for _, r := range regular {
			switch {
			case mode == jobs.OverlapReplace && r.works():
				r.CancelRequestedAt = cmp.Or(r.CancelRequestedAt, now)
				out.Stop = append(out.Stop, r.ID)
			case mode == jobs.OverlapReplace || r.waits:
				r.endIdle(now, jobs.ByCancel, "a newer tick of its schedule took its place")
				m.cancelIdle(r, now)
				m.ended(r, now)
				m.nextOfKey(r.Job, r.Keys.Checkpoint)
				out.Cancelled = append(out.Cancelled, r.ID)
			}
		}
		waits = slices.ContainsFunc(ahead, func(r *modelRun) bool { return !r.State.Terminal() })
	}
	made.Outcome = jobs.TickRan
	m.makeTick(s, t, made, waits)
	return made
}

func (m *model) makeTick(s *modelSchedule, t *store.TickRun, made *store.TickMade, waits bool) {
	made.Made = m.insert(m.job(s.Job), t.Sub.Run)
	m.takeUnique(t.Sub.Unique, t.Sub.Run)
	r := m.runs[t.Sub.Run.ID]
	if waits && !r.State.Terminal() {
		r.waits, r.behind = true, false
	}
	s.ledger[modelTickKey{s.Job, t.At}] = modelTick{outcome: made.Outcome, run: r.ID}
}

// rewind takes in that the clock was set back.
func (m *model) rewind(now jobs.Time) (ahead int) {
	for _, s := range m.schedules {
		if !s.live || s.cursor <= now {
			continue
		}
		ahead++
		s.cursor = now
		s.backlog = slices.DeleteFunc(s.backlog, func(at jobs.Time) bool { return at > now })
		s.forgetMissed(now)
	}
	return ahead
}

// forgetMissed has ticks after now that were skipped as missed come anew.
func (s *modelSchedule) forgetMissed(now jobs.Time) {
	maps.DeleteFunc(s.ledger, func(key modelTickKey, t modelTick) bool {
		return key.job == s.Job && key.at > now && (t.reason == jobs.SkipMissed || t.reason == jobs.SkipLimit)
	})
}
