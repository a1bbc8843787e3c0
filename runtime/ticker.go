package runtime

import (
	"errors"
	"time"

	"github.com/go-co-op/gocron/v2"

	"nightshift/store"
)

const (
	// tickRest is the longest that the ticker sleeps, in heartbeats: a minute.
	tickRest = 12
	// alarmLeast is the shortest wait that gocron is asked for. An alarm repeats until it is turned
	// off, and gocron counts the repetitions one by one that a stalled process has missed.
	alarmLeast = 20 * time.Millisecond
	// alarmGrace is how long after its time an alarm is not waited for any more.
	alarmGrace = time.Second
)

// alarm wakes the ticker after a while. That is all that gocron is for: it knows neither schedules
// nor what is due, and where it fails or is late the ticker wakes all the same.
//
// Each wait is a job of its own with an interval: one whose instant passes while it is handed over
// would be looked for forever, and a timer that fires as its job is replaced would put off the new
// one.
type alarm struct {
	scheduler gocron.Scheduler // nil: it could not be made
	set       gocron.Job       // nil: none is
	rang      chan struct{}    // capacity 1
	timer     *time.Timer
}

func newAlarm() *alarm {
	a := &alarm{rang: make(chan struct{}, 1), timer: time.NewTimer(0)}
	scheduler, err := gocron.NewScheduler(gocron.WithLocation(time.UTC))
	if err == nil {
		a.scheduler = scheduler
		scheduler.Start()
	}
	return a
}

// after rings rang, or fires timer, when a time has passed. Nothing but timer does where nothing is due
// then.
func (a *alarm) after(wait time.Duration, due bool) {
	a.off()
	if wait >= alarmLeast && due && a.scheduler != nil {
		job, err := a.scheduler.NewJob(gocron.DurationJob(wait), gocron.NewTask(a.ring))
		if err == nil {
			a.set = job
			wait += alarmGrace
		}
	}
	a.timer.Reset(wait)
}

func (a *alarm) ring() {
	select {
	case a.rang <- struct{}{}:
	default:
	}
}

func (a *alarm) off() {
	a.timer.Stop()
	if a.set != nil {
		_ = a.scheduler.RemoveJob(a.set.ID()) // it is known until here
		a.set = nil
	}
}

func (a *alarm) close() {
	a.off()
	if a.scheduler != nil {
		_ = a.scheduler.Shutdown() // ringing blocks nobody
	}
}

// ticker is the state of the one loop that decides ticks as they come.
type ticker struct {
	*Runtime
	alarm    *alarm
	starting startTicks
	aside    map[string]asideSchedule // by name: those that could not be planned
	skipped  int                      // due ones that were not decided when they were looked at last
	failing  bool
	watching watching
}

// tick decides what becomes of each tick until the runtime stops. It sleeps until one is due or
// something changes: there is no polling.
func (r *Runtime) tick() {
	// The first claim takes in by how much the clock was set while nothing ran.
	select {
	case <-r.synced:
	case <-r.stopping.Done():
		return
	}
	t := &ticker{Runtime: r, alarm: newAlarm(), aside: map[string]asideSchedule{}}
	t.watching.failing = map[string]bool{}
	defer t.alarm.close()
	t.starting.at = r.Now()
	for r.stopping.Err() == nil {
		wait, err := t.turn()
		if err != nil {
			if !t.failed(err) {
				return
			}
			continue
		}
		t.recovered()
		t.watch()
		due := wait < tickRest*t.heartbeat
		if quiet := t.watchIn(); quiet < wait {
			wait, due = quiet, false
		}
		t.plannedFor(wait)
		t.await(wait, due)
	}
}

// plannedFor notes by when the loop will have come round, for Health.
func (t *ticker) plannedFor(wait time.Duration) { t.tickBy.Store(int64(t.clock.ran() + wait)) }

// await sleeps for a while, or until something wants attention. due: a tick is then.
func (t *ticker) await(wait time.Duration, due bool) {
	if wait <= 0 {
		return
	}
	t.alarm.after(wait, due)
	defer t.alarm.off()
	select {
	case <-t.alarm.rang:
	case <-t.alarm.timer.C:
	case <-t.tickPoke:
	case <-t.stopping.Done():
	}
}

// failed waits before the next try where the store cannot be asked; false: the loop is over.
func (t *ticker) failed(err error) bool {
	switch {
	case t.stopping.Err() != nil, errors.Is(err, store.ErrClosed):
		return false
	case errors.Is(err, store.ErrUnknown):
		t.log.Error("the database failed under the ticker: the server has to start again", "error", err)
		t.die(err)
		return false
	case !t.failing:
		t.failing = true
		t.log.Error("ticks of schedules cannot be decided: they are until they can", "error", err)
	}
	t.tickFails.Store(&err)
	t.await(retryWrite, false)
	return t.stopping.Err() == nil
}

func (t *ticker) recovered() {
	if t.failing {
		t.tickFails.Store(nil)
		t.failing = false
		t.log.Warn("ticks of schedules are decided again")
	}
}

// wakeTicker makes the loop look again.
func (r *Runtime) wakeTicker() {
	select {
	case r.tickPoke <- struct{}{}:
	default:
	}
}
