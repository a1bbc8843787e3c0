package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nightshift/scripts/internal/rig"
)

// surplus is how many ticks more than its limit the schedule has missed.
const surplus = 50

// catchUp kills the server while it catches up thousands of ticks, one after another.
func catchUp(ctx context.Context, l *lab) error {
	bulk := &schedule{
		name: "bulk", job: "bulk", text: secondly(), overlap: "queue", mode: "all", limit: l.backlog, window: 24 * time.Hour,
	}
	beat := &schedule{name: "beat", job: "bulk", text: stepping("*/5 * * * * *", 0, 5), overlap: "allow", mode: "none"}
	if err := l.start(); err != nil {
		return err
	}
	if err := l.register(ctx, "bulk", "/bulk", nil); err != nil {
		return err
	}
	bulk.text.end = time.Now().Unix() + 2
	if err := l.add(ctx, bulk, beat); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	if err := l.backdate(ctx, bulk, int64(l.backlog+surplus)); err != nil {
		return err
	}
	during, err := l.killWhile(ctx)
	if err != nil {
		return err
	}
	l.note("kills", fmt.Sprintf("%d (%d of them before all had been caught up)", l.backlogKills, during))
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.caughtAll(ctx, bulk); err != nil {
		return err
	}
	return l.onTime(ctx, beat)
}

// backdate makes the file what it were had the schedule been saved, and the server been stopped, so many seconds
// earlier.
func (l *lab) backdate(ctx context.Context, s *schedule, seconds int64) error {
	by, of := seconds*1000, fmt.Sprintf("(SELECT id FROM schedules WHERE name = '%s')", s.name)
	for _, statement := range []string{
		`UPDATE schedules SET cursor = cursor - %d, anchor = anchor - %[1]d, created_at = created_at - %[1]d,
updated_at = updated_at - %[1]d WHERE id = ` + of,
		`UPDATE schedules SET due_at = (cursor / 1000 + 1) * 1000 + 0 * %d WHERE id = ` + of,
		`UPDATE ticks SET at = at - %d, until = until - %[1]d, late_at = late_at - %[1]d WHERE schedule = ` + of,
		`UPDATE runs SET scheduled_for = scheduled_for - %d, created_at = created_at - %[1]d, run_at = run_at - %[1]d
WHERE schedule = '` + s.name + `'`,
		`UPDATE audit SET at = at - %d WHERE kind = 'schedule' AND name = '` + s.name + `'`,
	} {
		if _, err := rig.Rows(ctx, l.server.DB(), fmt.Sprintf(statement, by)); err != nil {
			return err
		}
	}
	back := -time.Duration(seconds) * time.Second
	for i := range s.changes {
		s.changes[i].sent, s.changes[i].answered = s.changes[i].sent.Add(back), s.changes[i].answered.Add(back)
	}
	s.outages = []outage{{down: l.outages[0].down.Add(back), up: time.Now()}}
	return nil
}

// killWhile kills as often as planned, at moments that are spread over the time it takes. during: so many times
// there was something left to catch up.
func (l *lab) killWhile(ctx context.Context) (during int, err error) {
	up := time.Duration(0)
	for n := range l.backlogKills + 1 {
		if err := l.start(); err != nil {
			return during, err
		}
		if n == l.backlogKills {
			break
		}
		// The first ones fall into the time in which the runs are made.
		wait := min(400*time.Millisecond, time.Duration(l.backlog)*200*time.Microsecond)
		if done := l.receiver.called(); n >= l.backlogKills/4 && done > 0 {
			each := up / time.Duration(done)
			wait = each * time.Duration(2*max(0, l.backlog-done)/(l.backlogKills-n+1))
		}
		wait = min(max(wait, 20*time.Millisecond), 20*time.Second)
		if err := l.sleep(ctx, time.Duration(l.random.Float64()*float64(wait))); err != nil {
			return during, err
		}
		if l.receiver.called() < l.backlog {
			during++
		}
		if err := l.kill(); err != nil {
			return during, err
		}
		up += time.Since(l.ready)
		if (n+1)%5 == 0 {
			fmt.Printf("ticks: %d kills, %d of %d ticks caught up\n", n+1, l.receiver.called(), l.backlog)
		}
	}
	return during, nil
}

// caughtAll wants the limit of ticks to have been caught up.
func (l *lab) caughtAll(ctx context.Context, bulk *schedule) error {
	count := map[string]int{}
	err := pages(ctx, l.server.API, "/v1/schedules/"+bulk.name+"/ticks?limit=1000", func(t *wireTick) {
		r := t.row()
		count[r.outcome+r.reason] += r.count
	})
	if err == nil && (count[caughtUp] != l.backlog || count[skipped+"limit"] == 0) {
		l.surprise("%d ticks were caught up, %d skipped for the limit; want %d caught up and some skipped", count[caughtUp],
			count[skipped+"limit"], l.backlog)
	}
	return err
}

// onTime wants the regular runs of the other schedule not to have waited for those that catch up.
func (l *lab) onTime(ctx context.Context, beat *schedule) error {
	var late []time.Duration
	err := pages(ctx, l.server.API, "/v1/runs?limit=1000&schedule="+beat.name, func(r *tickRun) {
		if r.StartedAt.IsZero() {
			return
		}
		due := r.ScheduledFor
		for _, life := range l.lives {
			if life.ready.Before(r.StartedAt) && life.ready.After(due) {
				due = life.ready // it could not start before
			}
		}
		took := max(0, r.StartedAt.Sub(due))
		late = append(late, took)
		if took > l.lateWithin {
			l.surprise("schedule %s: the run of the tick %s started %v after it could have", beat.name,
				stamp(r.ScheduledFor.UnixMilli()), took.Round(time.Millisecond))
		}
	})
	if err != nil {
		return err
	}
	if len(late) == 0 {
		l.surprise("schedule %s made no run meanwhile", beat.name)
		return nil
	}
	slices.Sort(late)
	l.note("regular runs meanwhile, started after, median", late[len(late)/2].Round(time.Millisecond))
	l.note("regular runs meanwhile, started after, slowest", late[len(late)-1].Round(time.Millisecond))
	return nil
}
