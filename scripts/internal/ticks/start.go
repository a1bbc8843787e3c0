package main

import "slices"

// mark notes in which lives of the server the ticker has come to decide: it looks for what is due when the ticks
// of the start have been decided. A schedule that is edited tells nothing: a save decides too.
func (s *seen) mark(lives []life) {
	if len(s.changes) > 2 || s.text.atStart() {
		return
	}
	for _, r := range s.runs {
		if i := slices.IndexFunc(lives, func(l life) bool { return l.has(r.CreatedAt.UnixMilli()) }); i >= 0 {
			lives[i].active = true
		}
	}
}

// has reports whether an instant lies in a life, by a clock that may go a little apart. Lives follow each other
// within milliseconds.
func (l *life) has(at int64) bool {
	const apart = 5
	return at >= l.begun.UnixMilli()-apart && (l.ended.IsZero() || at <= l.ended.UnixMilli()+apart)
}

// expectStarts gives the ticks of a schedule that ticks at each start: one in each life that began when it stood,
// whenever that is. A life that was killed early may have none.
func (s *seen) expectStarts() (list []expected) {
	rows := s.rows
	for _, l := range s.lives {
		if l.begun.UnixMilli() < s.changes[0].at {
			continue
		}
		i := slices.IndexFunc(rows, func(r row) bool { return l.has(r.from) })
		switch {
		case i >= 0:
			list = append(list, expected{at: rows[i].from})
			rows = rows[i+1:] // a tick is of one start
		case l.active:
			list = append(list, expected{at: l.begun.UnixMilli()})
		}
	}
	return list
}
