package main

import "slices"

// expected is a tick that a schedule must have decided.
type expected struct {
	at     int64 // milliseconds of Unix time
	paused bool  // it must be skipped for that
	// A save is as of a time shortly before it is kept. A tick that comes between the two may still be
	// decided by the text before.
	eitherText  bool // and only one of the two has it
	eitherPause bool
}

// phase is how a schedule stood after a change, for ticks after an instant.
type phase struct {
	after  int64 // milliseconds
	kept   int64 // when the change that began it had been kept at the latest
	text   *text // nil: it was deleted
	anchor int64 // seconds
	paused bool
}

func (p *phase) ticks(second int64) bool { return p.text != nil && p.text.ticks(second, p.anchor) }

// phases are the schedule's, oldest first. outages are those of the server.
func (s *schedule) phases(outages []outage) (list []phase) {
	now := phase{}
	for i := range s.changes {
		c := &s.changes[i]
		switch c.what {
		case doPut:
			if now.text == nil {
				now.anchor, now.paused = c.at/1000, false
			}
			now.text = &c.text
		case doDelete:
			now.text = nil
		default:
			now.paused = c.what == doPause
		}
		now.after, now.kept = c.at, c.answered.UnixMilli()
		for _, o := range outages {
			if down := o.down.UnixMilli(); down >= c.at {
				now.kept = min(now.kept, down)
			}
		}
		list = append(list, now)
	}
	return list
}

// expect gives all ticks up to an instant.
func (s *schedule) expect(outages []outage, until int64) (list []expected) {
	phases := s.phases(outages)
	if len(phases) == 0 {
		return nil
	}
	for second := phases[0].after/1000 + 1; second*1000 <= until; second++ {
		if e, ok := expectAt(phases, second); ok {
			list = append(list, e)
		}
	}
	return list
}

func expectAt(phases []phase, second int64) (e expected, ok bool) {
	e.at = second * 1000
	ticks, paused, all := 0, 0, 0
	for i, p := range slices.Backward(phases) {
		if p.after >= e.at {
			continue
		}
		all++
		if p.ticks(second) {
			ticks++
			if p.paused {
				paused++
			}
		}
		// The one before counts too where this one may have been kept after the tick. A new schedule begins
		// with an instant, whenever it is kept.
		if p.kept < e.at || i == 0 || phases[i-1].text == nil {
			break
		}
	}
	e.paused = paused > 0
	e.eitherText = ticks < all
	e.eitherPause = 0 < paused && paused < ticks
	return e, ticks > 0
}
