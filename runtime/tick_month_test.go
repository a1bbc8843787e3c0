package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// monthFrom is where the month begins, and monthDays its length: the clocks of Europe, America and
// Australia are changed in it. Under the race detector it is what lies around that.
var monthFrom, monthDays = func() (time.Time, int) {
	if raced {
		return time.Date(2000, 3, 25, 0, 0, 0, 0, time.UTC), 9
	}
	return time.Date(2000, 3, 15, 0, 0, 0, 0, time.UTC), 31
}()

// monthAfter is how many days past its end an outage that began in the month may last, and some.
const monthAfter = 4

// monthly are the schedules of the month, each with the texts that edits change between.
func monthly() []*modelSchedule {
	// at is each hour that n divides, at a minute.
	at := func(minute, n int) func(w wall) bool {
		return func(w wall) bool { return w.minute == minute && w.hour%n == 0 }
	}
	daily := func(hour, minute int) func(w wall) bool {
		return func(w wall) bool { return w.hour == hour && w.minute == minute }
	}
	hourly := func(minute int) func(w wall) bool { return func(w wall) bool { return w.minute == minute } }
	cron := func(line, zone string, match func(w wall) bool) modelText {
		fields := strings.Fields(line)
		free := fields[0][0] == '*' || fields[1][0] == '*'
		return modelText{
			doc:   fmt.Sprintf(`"cron":%q,"timezone":%q`, line, zone),
			ticks: scan(zone, free, match),
		}
	}
	every := func(length time.Duration, from time.Time) modelText {
		text := modelText{doc: fmt.Sprintf(`"every":%q,"start":%q`, length, from.Format(time.RFC3339))}
		for at := from; at.Before(monthFrom.AddDate(0, 0, monthDays+monthAfter)); at = at.Add(length) {
			text.ticks = append(text.ticks, jobs.TimeOf(at))
		}
		return text
	}
	all := func(window time.Duration, limit int) modelCatchUp {
		return modelCatchUp{fmt.Sprintf(`{"mode":"all","window":%q,"limit":%d}`, window, limit), window, limit, true}
	}
	latest, none := modelCatchUp{`{"mode":"latest"}`, 0, 1, false}, modelCatchUp{`{"mode":"none"}`, 0, 0, false}
	recent := modelCatchUp{`{"mode":"latest","window":"2h"}`, 2 * time.Hour, 1, false}
	const berlin, york, sydney, howe, kolkata = "Europe/Berlin", "America/New_York", "Australia/Sydney",
		"Australia/Lord_Howe", "Asia/Kolkata"
	return []*modelSchedule{
		{catchUp: latest, texts: []modelText{cron("30 2 * * *", berlin, daily(2, 30)), cron("15 4 * * *", berlin, daily(4, 15))}},
		{catchUp: none, texts: []modelText{cron("30 1 * * *", york, daily(1, 30)), cron("30 2 * * *", york, daily(2, 30))}},
		{catchUp: all(48*time.Hour, 10), texts: []modelText{cron("15 2 * * *", howe, daily(2, 15)), cron("45 1 * * *", howe, daily(1, 45))}},
		{catchUp: latest, texts: []modelText{cron("0 * * * *", sydney, hourly(0)), cron("7 * * * *", sydney, hourly(7))}},
		{catchUp: all(24*time.Hour, 5), texts: []modelText{cron("30 */4 * * *", kolkata, at(30, 4)), cron("0 */3 * * *", kolkata, at(0, 3))}},
		{catchUp: recent, texts: []modelText{cron("*/30 2 * * *", berlin, func(w wall) bool { return w.minute%30 == 0 && w.hour == 2 })}},
		{catchUp: none, texts: []modelText{cron("10 */2 * * *", york, at(10, 2))}},
		{catchUp: latest, texts: []modelText{cron("0 9-17 * * 1-5", berlin, func(w wall) bool {
			return w.minute == 0 && w.hour >= 9 && w.hour <= 17 && w.weekday >= time.Monday && w.weekday <= time.Friday
		}), cron("0 9 * * 6,0", berlin, func(w wall) bool {
			return w.minute == 0 && w.hour == 9 && (w.weekday == time.Saturday || w.weekday == time.Sunday)
		})}},
		{catchUp: all(12*time.Hour, 3), texts: []modelText{cron("0 0 1,15 * 5", "UTC", func(w wall) bool {
			return w.minute == 0 && w.hour == 0 && (w.day == 1 || w.day == 15 || w.weekday == time.Friday)
		})}},
		{catchUp: latest, texts: []modelText{cron("59 23 31 * *", sydney, func(w wall) bool { return w.minute == 59 && w.hour == 23 && w.day == 31 })}},
		{catchUp: all(6*time.Hour, 100), texts: []modelText{every(5*time.Hour, monthFrom.Add(-time.Hour)), every(7*time.Hour, monthFrom)}},
		{catchUp: latest, texts: []modelText{every(25*time.Hour, monthFrom.Add(3*time.Hour))}},
		{catchUp: latest, texts: []modelText{cron("0 0 * * *", "Pacific/Kiritimati", daily(0, 0)), cron("0 12 * * *", "Pacific/Kiritimati", daily(12, 0))}},
		{catchUp: recent, texts: []modelText{cron("0 6,18 * * *", kolkata, func(w wall) bool { return w.minute == 0 && w.hour%12 == 6 })}},
		{catchUp: none, texts: []modelText{cron("45 5 * * *", york, daily(5, 45))}},
		{catchUp: latest, texts: []modelText{cron("5 3 * * *", berlin, daily(3, 5)), cron("0 3 * * *", berlin, daily(3, 0))}},

		{overlap: "skip", takes: 9*time.Hour + 7*time.Second, catchUp: none, texts: []modelText{cron("0 */4 * * *", "UTC", at(0, 4))}},
		{overlap: "queue", takes: 4*time.Hour + 7*time.Second, catchUp: none, texts: []modelText{cron("0 */3 * * *", "UTC", at(0, 3))}},
		{overlap: "replace", takes: 7*time.Hour + 7*time.Second, catchUp: none, texts: []modelText{cron("0 */6 * * *", "UTC", at(0, 6))}},
		{overlap: "queue", takes: 5*time.Hour + 11*time.Second, catchUp: none, texts: []modelText{cron("20 */2 * * *", york, at(20, 2))}},
	}
}

// A month of twenty schedules with restarts, downtime and edits: each tick has the one decision that a
// model gives it, which works the ticks out minute by minute and knows the rules as the contract has
// them.
func TestMonthOfTwentySchedules(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	month(t, seed)
}

func month(t *testing.T, seed uint64) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monthFrom))
		m := &modelRun{t: t, random: rand.New(rand.NewPCG(seed, 0)), list: monthly(), up: true}
		takes := map[string]time.Duration{}
		for i, s := range m.list {
			s.name = fmt.Sprintf("s%02d", i)
			takes[s.name] = s.takes
		}
		m.server = newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			k := executed{takes: takes[c.Job]}
			return k.run(ctx, c)
		})
		for _, s := range m.list {
			m.server.put(`{"name":"` + s.name + `","webhook":{"url":"http://127.0.0.1:9/"},` +
				`"timeout":"24h","retain":{"succeeded":"90d","cancelled":"90d"}}`)
			m.make(s)
		}
		m.start()
		for end := monthFrom.AddDate(0, 0, monthDays); ; {
			next := time.Now().Add(m.pause())
			if next.After(end) {
				break
			}
			time.Sleep(time.Until(next))
			synctest.Wait()
			m.something()
		}
		m.finish()
	})
	t.Logf("took %v", time.Since(began))
}

// pause is the time till the next thing happens: sometimes that is in the instant of a tick.
func (m *modelRun) pause() time.Duration {
	d := time.Duration(m.random.Int64N(int64(14 * time.Hour)))
	if m.random.IntN(4) == 0 {
		return time.Until(time.Now().Add(d).Truncate(10 * time.Minute).Add(10 * time.Minute))
	}
	return d.Truncate(time.Millisecond)
}

// something happens to the server or to a schedule.
func (m *modelRun) something() {
	s := m.list[m.random.IntN(len(m.list))]
	switch m.random.IntN(8) {
	case 0, 1, 2:
		m.outage()
	case 3, 4:
		m.setPaused(s, !s.paused)
	case 5, 6:
		if len(s.texts) > 1 && s.stands {
			m.decideAll()
			m.edit(s)
		}
	case 7:
		if s.takes == 0 && s.stands {
			m.delete(s)
		} else if !s.stands {
			m.make(s)
		}
	}
}

// outage is a moment, minutes, hours or days; sometimes something changes before the start.
func (m *modelRun) outage() {
	longest := []time.Duration{9 * time.Second, 30 * time.Minute, 8 * time.Hour, 60 * time.Hour}[m.random.IntN(4)]
	m.stop()
	time.Sleep(time.Duration(m.random.Int64N(int64(longest))).Truncate(time.Millisecond))
	m.start()
}

func (m *modelRun) finish() {
	for _, s := range m.list {
		if s.stands && s.paused {
			m.setPaused(s, false)
		}
	}
	time.Sleep(10 * time.Second) // what runs shortly has ended
	m.decideAll()
	ticks := 0
	for _, s := range m.list {
		if !s.stands {
			m.make(s) // to be seen
		}
		m.compare(s)
		ticks += len(s.decided)
	}
	m.t.Logf("%d ticks", ticks)
	for _, s := range m.list {
		for _, run := range m.server.runsFor(s.name) {
			if !run.State.Terminal() {
				_, _ = m.server.rt.Cancel(context.Background(), run.ID, store.By{Actor: "test"})
			}
		}
	}
	m.server.stop()
}
