package main

import (
	"math"
	"slices"
	"time"
)

// text is when a schedule ticks, so simple that arithmetic on seconds tells it: at some seconds of each
// minute, or every so many seconds.
type text struct {
	cron       string
	seconds    []int // of each minute, at which cron ticks
	every      int64 // 0: cron
	start, end int64 // seconds of Unix time; 0: none
}

// atStart reports whether it ticks once at each start of the server.
func (t *text) atStart() bool { return t.cron == "@reboot" }

// secondly ticks at each second.
func secondly() text { return stepping("* * * * * *", 0, 1) }

// stepping is a cron line that ticks at a second of each minute and each step after it.
func stepping(cron string, first, step int) text {
	t := text{cron: cron}
	for s := first; s < 60; s += step {
		t.seconds = append(t.seconds, s)
	}
	return t
}

func every(seconds int64) text { return text{every: seconds} }

// ticks reports whether there is a tick at a second. anchor is the one at which the schedule was first saved.
func (t *text) ticks(at, anchor int64) bool {
	if t.start != 0 && at < t.start || t.end != 0 && at > t.end {
		return false
	}
	if t.every == 0 {
		return slices.Contains(t.seconds, int(at%60))
	}
	if t.start != 0 {
		anchor = t.start
	}
	return (at-anchor)%t.every == 0
}

// gap is the longest time from one tick to the next, in seconds, start and end aside.
func (t *text) gap() int64 {
	if t.every > 0 {
		return t.every
	}
	if len(t.seconds) == 0 {
		return math.MaxInt32
	}
	last := t.seconds[len(t.seconds)-1] - 60
	gap := 0
	for _, s := range t.seconds {
		gap, last = max(gap, s-last), s
	}
	return int64(gap)
}

func (t *text) equal(u *text) bool {
	return t.cron == u.cron && t.every == u.every && t.start == u.start && t.end == u.end
}

// schedule is one that is judged. What it says of catching up and of overlap stays; its text is changed.
type schedule struct {
	name, job string
	inJob     bool // name is JOB:NAME
	before    int  // puts of that job without it
	text      text // as it was saved last
	overlap   string
	mode      string // of catch_up
	limit     int    // of mode all; 0: 100
	window    time.Duration
	spread    time.Duration

	changes []change
	// outages are those of this schedule alone.
	outages []outage
}

// What is done to a schedule, as the audit names it.
const (
	doPut    = "put"
	doDelete = "delete"
	doPause  = "pause"
	doResume = "resume"
)

// change is one of a schedule that was acknowledged.
type change struct {
	what           string
	text           text // of a put
	sent, answered time.Time
	at             int64 // as of when it was made, by the audit: milliseconds of Unix time
}

// paused and stands tell how its last change left it.
func (s *schedule) paused() bool {
	for _, c := range slices.Backward(s.changes) {
		switch c.what {
		case doPause:
			return true
		case doResume, doDelete:
			return false
		}
	}
	return false
}

func (s *schedule) stands() bool {
	return len(s.changes) > 0 && s.changes[len(s.changes)-1].what != doDelete
}

func (s *schedule) limitOf() int {
	if s.limit == 0 {
		return 100
	}
	return s.limit
}

// document is what is put, with a text.
func (s *schedule) document(t *text) map[string]any {
	doc := map[string]any{"overlap": s.overlap}
	catchUp := map[string]any{"mode": s.mode}
	if s.limit > 0 {
		catchUp["limit"] = s.limit
	}
	if s.window > 0 {
		catchUp["window"] = s.window.String()
	}
	doc["catch_up"] = catchUp
	if s.spread > 0 {
		doc["spread"] = s.spread.String()
	}
	if t.every > 0 {
		doc["every"] = (time.Duration(t.every) * time.Second).String()
	} else {
		doc["cron"] = t.cron
	}
	if t.start != 0 {
		doc["start"] = instant(t.start)
	}
	if t.end != 0 {
		doc["end"] = instant(t.end)
	}
	if s.inJob {
		doc["name"] = s.name[len(s.job)+1:]
	} else {
		doc["job"] = s.job
	}
	return doc
}

func instant(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
