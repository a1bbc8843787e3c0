package main

import (
	"context"
	"fmt"
	"time"

	"nightshift/scripts/internal/rig"
)

// often is how rarely a schedule may tick to be waited for, in seconds.
const often = 10

// settle waits until the ticker has come round by itself, pauses what stands, so that all up to then is
// decided, and waits until all runs have ended.
func (l *lab) settle(ctx context.Context) error {
	deadline := time.Now().Add(l.drainWithin)
	for _, s := range l.schedules {
		if !s.stands() || s.paused() || s.text.gap() > often || s.text.start > l.ready.Unix() || s.text.end != 0 {
			continue
		}
		if err := l.await(ctx, deadline, "a tick of schedule "+s.name+" after the last start", func() (bool, error) {
			return l.tickedSince(ctx, s, l.ready)
		}); err != nil {
			return err
		}
	}
	for _, s := range l.schedules {
		if !s.stands() || s.paused() {
			continue
		}
		if err := l.pause(ctx, s, true); err != nil {
			return err
		}
	}
	for _, s := range l.schedules {
		if err := l.await(ctx, deadline, "the runs of schedule "+s.name+" to end", func() (bool, error) {
			return l.ended(ctx, s)
		}); err != nil {
			return err
		}
	}
	return nil
}

// await waits for something of a server that runs; after a deadline it goes on without.
func (l *lab) await(ctx context.Context, deadline time.Time, what string, there func() (bool, error)) error {
	for {
		ok, err := there()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			l.surprise("waited in vain for %s", what)
			return nil
		}
		if err := l.sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// tickedSince reports whether a tick after an instant has been decided.
func (l *lab) tickedSince(ctx context.Context, s *schedule, since time.Time) (bool, error) {
	var shown struct{ Last *wireTick }
	if _, err := l.server.Do(ctx, "GET", "/v1/schedules/"+s.name, "", nil, &shown); err != nil {
		return false, err
	}
	return shown.Last != nil && shown.Last.row().to >= since.UnixMilli(), nil
}

func (l *lab) ended(ctx context.Context, s *schedule) (bool, error) {
	var page struct{ Items []rig.Run }
	_, err := l.server.Do(ctx, "GET", "/v1/runs?state=scheduled,queued,running,retrying,waiting&limit=1&schedule="+s.name,
		"", nil, &page)
	return len(page.Items) == 0, err
}

// judge reads what the server tells, stops it, reads its file, and checks every schedule.
func (l *lab) judge(ctx context.Context) (r rig.Report, err error) {
	known := make([]seen, len(l.schedules))
	for i, s := range l.schedules {
		known[i].schedule, known[i].outages, known[i].receiver = s, append(s.outages, l.outages...), l.receiver
		if err := known[i].ask(ctx, l.server.API); err != nil {
			return r, err
		}
	}
	if err := l.server.Stop(readyWithin); err != nil {
		l.surprise("%v", err)
		_ = l.server.Kill()
	}
	if _, err := rig.Inspect(ctx, l.server.DB()); err != nil {
		l.surprise("%v", err)
	}
	f, err := readFile(ctx, l.server.DB())
	if err != nil {
		return r, err
	}
	var t tally
	for i := range known {
		known[i].mark(l.lives)
	}
	for i := range known {
		known[i].lives = l.lives
		for _, fault := range append(known[i].take(f), known[i].check(&t)...) {
			l.surprise("schedule %s: %s", known[i].name, fault)
		}
	}
	if n := l.receiver.nameless; n > 0 {
		l.surprise("%d deliveries without Nightshift-Run or Idempotency-Key", n)
	}
	r = l.report
	t.tell(&r)
	r.Faults = l.surprises
	return r, nil
}

// tally counts what was checked, over all schedules.
type tally struct {
	schedules, changes int
	ticks, ran, caughtUp, missed,
	limit, overlap, paused, unique int
	either                  int // of a save that came about at the tick
	outages                 int // of a schedule, with a tick in it
	delayed                 int // missed or caught up while the server ran
	runs, deliveries, again int
	failed, cancelled       int
}

// tell reports it.
func (t *tally) tell(r *rig.Report) {
	r.Row("schedules", t.schedules)
	r.Row("changes of them", t.changes)
	r.Row("ticks", t.ticks)
	r.Row("  ran", t.ran)
	r.Row("  caught up", t.caughtUp)
	r.Row("  skipped", fmt.Sprintf("%d missed, %d limit, %d overlap, %d paused, %d unique",
		t.missed, t.limit, t.overlap, t.paused, t.unique))
	r.Row("  about which a save was under way", t.either)
	r.Row("  missed or caught up, though the server ran", t.delayed)
	r.Row("outages of a schedule with ticks in them", t.outages)
	r.Row("runs", fmt.Sprintf("%d (%d cancelled, %d failed)", t.runs, t.cancelled, t.failed))
	r.Row("deliveries", fmt.Sprintf("%d (%d more than one per run)", t.deliveries, t.again))
}
