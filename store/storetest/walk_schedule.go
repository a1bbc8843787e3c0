package storetest

import (
	"errors"
	"maps"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// walkSchedules are the schedules by themselves in the walk, by their overlap. Jobs have one of their
// own now and then, which queues.
var walkSchedules = []string{
	jobs.OverlapAllow, jobs.OverlapQueue, jobs.OverlapReplace, jobs.OverlapSkip,
}

// anySchedule is the name of one.
func (w *walker) anySchedule() string {
	if w.IntN(4) == 0 {
		return jobs.ScheduleName(w.anyJob(), "s")
	}
	return w.either(walkSchedules...)
}

// anyTimes are the rest of the document of a schedule. All of one name tick at the same instants: a
// store that keeps ranges of ticks need not know those of a text that was replaced.
func (w *walker) anyTimes(every string) string {
	return `"every":"` + every + `","start":"2026-02-01T00:00:00Z"` + w.either("", `,"payload":{"by":"tick"}`) +
		w.either("", `,"catch_up":{"mode":"none"}`, `,"catch_up":{"mode":"all","limit":5}`,
			`,"catch_up":{"mode":"all","window":"2h"}`)
}

// decidedThen does something about schedules; where past ticks are undecided, as the model knows they
// are, it decides them first.
func (w *walker) decidedThen(changed []string, do func() error) error {
	w.Helper()
	for {
		var want []string
		for _, name := range changed {
			if s := w.model.schedules[name]; s != nil && s.live && s.undecided(w.now) {
				want = append(want, name)
			}
		}
		err := do()
		undecided := (*store.UndecidedError)(nil)
		if !errors.As(err, &undecided) {
			if err == nil && len(want) > 0 {
				w.Fatalf("%v had ticks to decide", want)
			}
			return err
		}
		slices.Sort(want)
		got := slices.Sorted(slices.Values(undecided.Names))
		equal(w.world, "undecided", got, want)
		for _, name := range want {
			w.decideAll(name)
		}
	}
}

// changedBy are the schedules that a document of a job changes.
func (w *walker) changedBy(j *jobs.Job) (names []string) {
	name := jobs.ScheduleName(j.Name, "s")
	s := w.model.schedules[name]
	if s == nil || !s.live {
		return nil
	}
	for i := range j.Schedules {
		said := j.Schedules[i]
		said.Name, said.Job = s.Name, s.Job
		if string(jobs.AppendJSON(nil, &said)) == string(jobs.AppendJSON(nil, &s.Schedule)) {
			return nil
		}
	}
	return []string{name}
}

// putSchedules takes in what the document of a job says.
func (m *model) putSchedules(j *jobs.Job, now jobs.Time) {
	if s := m.schedules[jobs.ScheduleName(j.Name, "s")]; s != nil && len(j.Schedules) == 0 {
		s.drop()
	}
	for _, said := range j.Schedules {
		said.Name, said.Job = jobs.ScheduleName(j.Name, said.Name), j.Name
		m.putSchedule(said, now)
	}
}

// walkSchedule puts, deletes, pauses or resumes one.
func (w *walker) walkSchedule() {
	switch w.IntN(6) {
	case 0:
		w.walkDropSchedule(w.either(walkSchedules...))
	case 1, 2:
		w.walkPauseSchedule(w.anySchedule(), w.IntN(2) == 0)
	default:
		w.walkPutSchedule(w.either(walkSchedules...), w.anyJob())
	}
}

func (w *walker) walkPutSchedule(name, job string) {
	every := map[string]string{
		jobs.OverlapAllow: "20m", jobs.OverlapQueue: "13m", jobs.OverlapReplace: "1h", jobs.OverlapSkip: "30m",
	}
	text := `{"job":"` + job + `",` + w.anyTimes(every[name]) + `,"overlap":"` + name + `"}`
	var said jobs.Schedule
	w.check(jobs.DecodeLenient([]byte(text), &said))
	said.Name = name
	doc := said
	doc.Name = ""
	put := scheduleDoc(name, string(jobs.AppendJSON(nil, &doc)))
	changed := []string{name}
	if s := w.model.schedules[name]; s != nil && s.live &&
		string(jobs.AppendJSON(nil, &s.Schedule)) == string(jobs.AppendJSON(nil, &said)) {
		changed = nil
	}
	_, wantErr := w.model.liveJob(job)
	if wantErr != nil {
		missing := (*store.MissingRef)(nil)
		if err := w.saveAll(store.Changes{Documents: []store.PutDocument{put}}); !errors.As(err, &missing) {
			w.Fatalf("error is %v, there is no job %s", err, job)
		}
		return
	}
	w.check(w.decidedThen(changed, func() error {
		return w.saveAll(store.Changes{Documents: []store.PutDocument{put}})
	}))
	w.model.putSchedule(said, w.now)
}

func (w *walker) walkDropSchedule(name string) {
	err := w.decidedThen([]string{name}, func() error {
		return w.DeleteDocument(w.ctx, store.KindSchedule, name, nil, w.by())
	})
	s := w.model.schedules[name]
	if s == nil || !s.live {
		w.wantErr(err, store.ErrNotFound)
		return
	}
	w.check(err)
	s.drop()
}

func (w *walker) walkPauseSchedule(name string, paused bool) {
	s := w.model.schedules[name]
	if s == nil || !s.live {
		_, err := w.PauseSchedule(w.ctx, name, paused, "note", w.by())
		w.wantErr(err, store.ErrNotFound)
		return
	}
	changed := []string{name}
	if s.paused == paused {
		changed = nil
	}
	w.check(w.decidedThen(changed, func() error {
		_, err := w.PauseSchedule(w.ctx, name, paused, "note", w.by())
		return err
	}))
	s.paused = paused
}

// walkTick is a turn of a runtime's ticker: what is due, or a step of a backlog.
func (w *walker) walkTick() {
	due := w.due(100)
	var names, want []string
	for _, s := range due.List {
		names = append(names, s.Name)
	}
	for name, s := range w.model.schedules {
		if s.due(w.now) {
			want = append(want, name)
		}
	}
	slices.Sort(names)
	slices.Sort(want)
	equal(w.world, "due", names, want)
	if len(names) > 0 && w.IntN(4) > 0 {
		w.decideAll(names[w.IntN(len(names))])
	}
	list, err := w.Backlogs(w.ctx, 100)
	w.check(err)
	for _, s := range list {
		if w.IntN(2) == 0 {
			w.decideOne(w.world.catchUp(s, 1+w.IntN(3), w.anyTickRun))
		}
	}
}

// decideAll decides about what has come of one; its backlog comes first.
func (w *walker) decideAll(name string) {
	w.Helper()
	for s := w.schedule(name); s.Backlog.Count > 0; s = w.schedule(name) {
		w.decideOne(w.world.catchUp(s, 1+w.IntN(3), w.anyTickRun))
	}
	w.decideOne(w.plan(w.schedule(name), w.anyTickRun))
	for s := w.schedule(name); s.Backlog.Count > 0 && w.model.schedules[name].live; s = w.schedule(name) {
		if w.IntN(3) == 0 {
			return // the rest another time
		}
		w.decideOne(w.world.catchUp(s, 1+w.IntN(3), w.anyTickRun))
	}
}

// anyTickRun makes the run of a tick one of this sort or that.
func (w *walker) anyTickRun(sub *store.Submission) {
	switch w.IntN(12) {
	case 0:
		bornFailed(sub)
	case 1, 2:
		dueIn(time.Duration(w.IntN(600)) * time.Second)(sub)
	case 3:
		sub.Unique = w.anyUnique()
	case 4:
		sub.Run.Keys = w.anyKeys()
	}
}

func (w *walker) decideOne(d store.Decision) {
	w.Helper()
	if d.OnTime == nil && len(d.CaughtUp) == 0 && w.IntN(4) == 0 {
		// A tick that was decided before, as after a restored backup.
		if s := w.model.schedules[d.Schedule.Name]; len(s.ledger) > 0 {
			key := slices.SortedFunc(maps.Keys(s.ledger), func(a, b modelTickKey) int { return int(a.at - b.at) })[0]
			run := w.tickRun(d.Schedule, key.at, jobs.TriggerSchedule)
			d.OnTime = &run
		}
	}
	stale := w.IntN(4) == 0
	want := w.model.decide(d, w.now)
	got := w.decided(d)
	for i := range got.Ran {
		got.Ran[i].Made.HeldBy = nil
	}
	w.note("  " + d.Schedule.Name + ": " + words(got.Ran, got.Cancelled, got.Stop))
	equal(w.world, "outcomes of "+d.Schedule.Name, got.Ran, want.Ran)
	sameIDs := func(what string, got, want []jobs.ID) {
		bySeq := func(a, b jobs.ID) int { return int(a.Seq() - b.Seq()) }
		slices.SortFunc(got, bySeq)
		slices.SortFunc(want, bySeq)
		equal(w.world, what+" by "+d.Schedule.Name, got, want)
	}
	sameIDs("cancelled", got.Cancelled, want.Cancelled)
	sameIDs("asked to end", got.Stop, want.Stop)
	for _, made := range got.Ran {
		if !made.Made.ID.IsNil() {
			w.ids = append(w.ids, made.Made.ID)
		}
	}
	if stale && !w.decide(d)[0].Stale {
		w.Fatalf("the same decision about %s counts twice", d.Schedule.Name)
	}
}

func (w *walker) walkRewind() {
	want := w.model.rewind(w.now)
	n, err := w.Rewind(w.ctx, w.now)
	w.check(err)
	equal(w.world, "schedules ahead", n, want)
}

// compareSchedules compares each with what the model knows, its ledger tick by tick, and demands that
// no two runs of one are free to go that must not be.
func (w *walker) compareSchedules() {
	w.Helper()
	for name, s := range w.model.schedules {
		if !s.live {
			w.noSchedule(name)
			continue
		}
		got := w.schedule(name)
		var first, last jobs.Time
		if n := len(s.backlog); n > 0 {
			first, last = s.backlog[0], s.backlog[n-1]
		}
		equal(w.world, name, words(got.Job, got.Anchor, got.Cursor, got.PausedAt != 0, got.Backlog.Count,
			got.Backlog.From*min(1, jobs.Time(got.Backlog.Count)), got.Backlog.To*min(1, jobs.Time(got.Backlog.Count))),
			words(s.Job, s.anchor, s.cursor, s.paused, len(s.backlog), first, last))
		w.compareLedger(s)
		free, line := 0, w.model.line(name)
		for _, r := range line {
			equal(w.world, "what holds run "+r.ID.String(), w.overlaps(r.ID), r.waits && r.State == jobs.Queued)
			if !r.waits && r.Trigger != jobs.TriggerRequeue {
				free++
			}
		}
		if len(line) > 0 && !slices.ContainsFunc(line, func(r *modelRun) bool { return !r.waits }) {
			w.Fatalf("%d runs of schedule %s wait, and none goes", len(line), name)
		}
		if free > 1 && s.OverlapOf() != jobs.OverlapAllow {
			w.Fatalf("%d runs of schedule %s go side by side", free, name)
		}
	}
}

func (w *walker) compareLedger(s *modelSchedule) {
	w.Helper()
	left := map[jobs.Time]modelTick{}
	for key, t := range s.ledger {
		if key.job == s.Job {
			left[key.at] = t
		}
	}
	var lines []jobs.Tick
	w.check(store.Each(func(p store.Page) ([]jobs.Tick, string, error) {
		return w.Ticks(w.ctx, s.Name, p)
	}, func(t jobs.Tick) { lines = append(lines, t) }))
	before := never
	for _, line := range lines {
		if line.To >= before || line.From > line.To {
			w.Fatalf("line %+v of schedule %s is in the way of one from %s", line, s.Name, before)
		}
		before = line.From
		count := 0
		for at, t := range left {
			if at < line.From || at > line.To {
				continue
			}
			count++
			equal(w.world, "tick of "+s.Name+" at "+at.String(), words(line.Outcome, line.Reason, line.Run),
				words(t.outcome, t.reason, t.run))
			delete(left, at)
		}
		equal(w.world, "ticks in the line of "+s.Name+" from "+line.From.String(), line.Count, count)
	}
	equal(w.world, "ticks that the ledger of "+s.Name+" does not know", len(left), 0)
}
