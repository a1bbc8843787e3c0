package jobs

// month is one of the calendar (Gregorian, before 1582 too).
type month struct {
	year, number int   // number from 1
	begin        int64 // the day number of the 1st
	days         int
	first        int // the day of the week of the 1st, Sunday 0
}

// monthOf is the month that a day is in, and which day of it.
func monthOf(day int64) (m month, d int) {
	// Years that begin in March, counted from the year 0, have the leap day last (Howard Hinnant,
	// "chrono-compatible low-level date algorithms", civil_from_days).
	era, ofEra := floorDiv(day+719468, 146097)
	year := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := ofEra - (365*year + year/4 - year/100)
	fromMarch := (5*ofYear + 2) / 153
	d = int(ofYear - (153*fromMarch+2)/5 + 1)
	m.number = int(fromMarch) + 3
	m.year = int(era*400 + year)
	if m.number > 12 {
		m.number -= 12
		m.year++
	}
	m.begin = day - int64(d) + 1
	m.days = daysIn(m.year, m.number)
	_, first := floorDiv(m.begin+4, 7) // 1970 began on a Thursday
	m.first = int(first)
	return m, d
}

func daysIn(year, number int) int {
	switch number {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// weekday is the day of the week of one of its days, Sunday 0.
func (m *month) weekday(day int) int { return (m.first + day - 1) % 7 }

// next is the month after.
func (m month) next() month {
	n := month{year: m.year, number: m.number + 1, begin: m.begin + int64(m.days), first: (m.first + m.days) % 7}
	if n.number > 12 {
		n.year, n.number = n.year+1, 1
	}
	n.days = daysIn(n.year, n.number)
	return n
}

// prev is the month before.
func (m month) prev() month {
	p := month{year: m.year, number: m.number - 1}
	if p.number < 1 {
		p.year, p.number = p.year-1, 12
	}
	p.days = daysIn(p.year, p.number)
	p.begin = m.begin - int64(p.days)
	p.first = (m.first - p.days + 35) % 7
	return p
}

// workday is the day from Monday to Friday nearest to one, within the month.
func (m *month) workday(day int) int {
	switch m.weekday(day) {
	case 6:
		if day == 1 {
			return 3
		}
		return day - 1
	case 0:
		if day == m.days {
			return day - 2
		}
		return day + 1
	}
	return day
}
