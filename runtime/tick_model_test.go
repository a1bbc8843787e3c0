package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
)

// wall is what a wall clock shows.
type wall struct {
	minute, hour, day int
	weekday           time.Weekday
}

func wallAt(n int64) wall { // n: minutes since 1970, as the wall counts them
	at := time.Unix(n*60, 0).UTC()
	return wall{at.Minute(), at.Hour(), at.Day(), at.Weekday()}
}

// scan works out ticks minute by minute. free: they follow real time. Others come at the first instant
// after a gap, and once where a wall time comes twice.
func scan(zone string, free bool, match func(w wall) bool) (ticks []jobs.Time) {
	loc, err := jobs.LoadZone(zone)
	if err != nil {
		panic(err)
	}
	number := func(at time.Time) int64 {
		_, offset := at.In(loc).Zone()
		return (at.Unix() + int64(offset)) / 60
	}
	at := monthFrom.AddDate(0, 0, -3)
	seen := number(at)
	for range (3 + monthDays + monthAfter) * 24 * 60 {
		at = at.Add(time.Minute)
		n := number(at)
		found := match(wallAt(n)) && (free || n > seen)
		for skipped := seen + 1; !free && skipped < n; skipped++ {
			found = found || match(wallAt(skipped))
		}
		if found {
			ticks = append(ticks, jobs.TimeOf(at))
		}
		seen = max(seen, n)
	}
	return ticks
}

type modelText struct {
	doc   string
	ticks []jobs.Time
}

type modelCatchUp struct {
	doc    string
	window time.Duration
	limit  int
	all    bool
}

type modelTick struct {
	outcome, reason string
	state           jobs.State // of its run; 0: none, or not looked at
}

// modelSchedule is a schedule as the model knows it.
type modelSchedule struct {
	name    string
	texts   []modelText
	catchUp modelCatchUp
	overlap string
	takes   time.Duration

	stands, paused bool
	text           int
	cursor         jobs.Time
	decided        map[jobs.Time]*modelTick

	running, waiting *modelTick // its run
	over             time.Time  // when the one that runs ends; zero: it does not run now
}

// modelRun is a server and the model of what it is to do.
type modelRun struct {
	t      *testing.T
	random *rand.Rand
	server *server
	list   []*modelSchedule
	up     bool
}

func now() jobs.Time { return jobs.TimeOf(time.Now()) }

// decideAll decides what has come while the server was up.
func (m *modelRun) decideAll() {
	for _, s := range m.list {
		if !s.stands || s.paused {
			continue
		}
		for _, at := range s.due(now()) {
			s.tick(at)
		}
		s.cursor = max(s.cursor, now())
	}
}

// due are the ticks after the cursor.
func (s *modelSchedule) due(till jobs.Time) (list []jobs.Time) {
	for _, at := range s.texts[s.text].ticks {
		if at > s.cursor && at <= till {
			list = append(list, at)
		}
	}
	return list
}

func (s *modelSchedule) decide(at jobs.Time, outcome, reason string) *modelTick {
	if s.decided[at] != nil { // it was made again within the instant of a tick
		return nil
	}
	t := &modelTick{outcome: outcome, reason: reason}
	s.decided[at] = t
	return t
}

// tick is one that comes on time.
func (s *modelSchedule) tick(at jobs.Time) {
	s.pass(at.Std())
	if s.running != nil && s.overlap == "skip" {
		s.decide(at, jobs.TickSkipped, jobs.SkipOverlap)
		return
	}
	t := s.decide(at, jobs.TickRan, "")
	switch {
	case t == nil || s.takes == 0:
		return
	case s.running != nil && s.overlap == "queue":
		if s.waiting != nil {
			s.waiting.state = jobs.Cancelled
		}
		s.waiting = t
		return
	case s.running != nil:
		s.running.state = jobs.Cancelled
	}
	s.running, s.over = t, at.Std().Add(s.takes)
}

// pass lets runs end till then, and the ones that wait for them start.
func (s *modelSchedule) pass(till time.Time) {
	for s.running != nil && !s.over.IsZero() && !s.over.After(till) {
		s.running.state = jobs.Succeeded
		s.running, s.waiting = s.waiting, nil
		s.over = s.over.Add(s.takes)
	}
}

func (m *modelRun) stop() {
	m.decideAll()
	began := time.Now()
	m.server.stop()
	for _, s := range m.list {
		s.pass(began)
		if s.running != nil && !s.over.After(time.Now()) { // within the grace: nothing starts after it
			s.running.state = jobs.Succeeded
			s.running, s.waiting = s.waiting, nil
		}
		s.over = time.Time{}
	}
	m.server.open()
	m.server.rt.SetHeartbeat(10 * time.Minute)
	m.up = false
}

// start decides what was missed. Before it, at times, somebody changes something.
func (m *modelRun) start() {
	for _, s := range m.list {
		if s.running != nil {
			s.over = time.Now().Add(s.takes)
		}
		if s.stands && !s.paused {
			m.missed(s)
		}
	}
	if m.random.IntN(2) == 0 {
		s := m.list[m.random.IntN(len(m.list))]
		if s.stands && len(s.texts) > 1 {
			m.edit(s)
		}
	}
	m.server.rt.SetHeartbeat(10 * time.Minute)
	m.server.rt.Start()
	m.up = true
	synctest.Wait()
}

func (m *modelRun) missed(s *modelSchedule) {
	list, at := s.due(now()), now()
	s.cursor = max(s.cursor, at)
	onTime := len(list) > 0 && at.Sub(list[len(list)-1]) <= 10*time.Second
	missed := list
	if onTime {
		missed = list[:len(list)-1]
	}
	left := s.catchUp.limit
	for _, tick := range slices.Backward(missed) {
		fresh := s.catchUp.window == 0 || at.Sub(tick) <= s.catchUp.window
		switch {
		case fresh && left > 0:
			left--
			s.decide(tick, jobs.TickCaughtUp, "")
		case fresh && s.catchUp.all:
			s.decide(tick, jobs.TickSkipped, jobs.SkipLimit)
		default:
			s.decide(tick, jobs.TickSkipped, jobs.SkipMissed)
		}
	}
	if onTime {
		s.tick(list[len(list)-1])
		if s.running != nil && s.running == s.decided[list[len(list)-1]] {
			s.over = time.Now().Add(s.takes)
		}
	}
}

func (m *modelRun) save(s *modelSchedule) {
	overlap := s.overlap
	if overlap == "" {
		overlap = "queue"
	}
	m.server.schedule(s.name, fmt.Sprintf(`{"job":%q,%s,"catch_up":%s,"overlap":%q}`, s.name, s.texts[s.text].doc,
		s.catchUp.doc, overlap))
}

// edit changes the text; what is past is decided by the old one.
func (m *modelRun) edit(s *modelSchedule) {
	m.skipPaused(s)
	s.text = (s.text + 1) % len(s.texts)
	m.save(s)
}

func (m *modelRun) make(s *modelSchedule) {
	m.save(s)
	s.stands, s.paused, s.cursor = true, false, now()
	if s.decided == nil {
		s.decided = map[jobs.Time]*modelTick{}
	}
}

func (m *modelRun) delete(s *modelSchedule) {
	m.decideAll()
	m.skipPaused(s)
	if err := m.server.rt.DeleteSchedule(context.Background(), s.name, nil, byTest); err != nil {
		m.t.Fatal(err)
	}
	s.stands = false
}

func (m *modelRun) setPaused(s *modelSchedule, paused bool) {
	if !s.stands {
		return
	}
	m.decideAll()
	m.server.pause(s.name, paused)
	if !paused {
		m.skipPaused(s)
	}
	s.paused = paused
}

func (m *modelRun) skipPaused(s *modelSchedule) {
	if !s.paused {
		return
	}
	for _, at := range s.due(now()) {
		s.decide(at, jobs.TickSkipped, jobs.SkipPaused)
	}
	s.cursor = now()
}

// compare compares the ledger of a schedule, and its runs, with the model, tick by tick.
func (m *modelRun) compare(s *modelSchedule) {
	s.pass(time.Now())
	want := make([]jobs.Time, 0, len(s.decided))
	for at := range s.decided {
		want = append(want, at)
	}
	slices.Sort(want)
	for _, line := range m.server.ledger(s.name) {
		for i := range line.Count {
			if len(want) == 0 {
				m.t.Errorf("%s: more lines than ticks: %s", s.name, lines([]jobs.Tick{line}))
				return
			}
			tick := s.decided[want[0]]
			in := want[0] >= line.From && want[0] <= line.To && (i > 0 || want[0] == line.From) &&
				(i < line.Count-1 || want[0] == line.To)
			if !in || line.Outcome != tick.outcome || line.Reason != tick.reason {
				m.t.Errorf("%s: %s of day %d, want %s %s for %s", s.name, lines([]jobs.Tick{line}),
					line.From.Std().Day(), tick.outcome, tick.reason, want[0])
				return
			}
			want = want[1:]
		}
	}
	if len(want) > 0 {
		m.t.Errorf("%s: %d ticks are not in the ledger, the first of them %s", s.name, len(want), want[0])
	}
	m.compareRuns(s)
}

func (m *modelRun) compareRuns(s *modelSchedule) {
	made := 0
	for _, run := range m.server.runsFor(s.name) {
		made++
		tick := s.decided[run.ScheduledFor]
		if tick == nil || tick.outcome == jobs.TickSkipped {
			m.t.Errorf("%s: a run for %s, which is no tick that makes one", s.name, run.ScheduledFor)
			return
		}
		want := tick.state
		if s.takes == 0 {
			want = jobs.Succeeded
		}
		if want != 0 && run.State != want {
			m.t.Errorf("%s: the run for %s is %s, want %s", s.name, run.ScheduledFor, run.State, want)
			return
		}
	}
	for _, tick := range s.decided {
		if tick.outcome != jobs.TickSkipped {
			made--
		}
	}
	if made != 0 {
		m.t.Errorf("%s: %+d runs", s.name, made)
	}
}
