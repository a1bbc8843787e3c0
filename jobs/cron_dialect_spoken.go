package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// take gives the next word and goes on, "" at the end.
func (s *spoken) take() string {
	if len(s.words) == 0 {
		return ""
	}
	word := s.words[0]
	s.words = s.words[1:]
	return word
}

func (s *spoken) peek() string {
	if len(s.words) == 0 {
		return ""
	}
	return s.words[0]
}

// read takes all words; false where one is not understood, or was said twice.
func (s *spoken) read() bool {
	for len(s.words) > 0 {
		word := s.take()
		var ok bool
		switch {
		case word == "every" || word == "each" || word == "and" || word == "on":
			ok = len(s.words) > 0
		case word == "at":
			ok = s.readAt()
		case word == "in":
			ok = s.readZone(s.take())
		case word == "day" && isNumber(s.peek()):
			ok = s.dom == ""
			s.dom = s.take()
		case spokenOrdinal(word) != "" && !(word == "second" && s.unit == "" && len(s.words) == 0):
			ok = s.readOrdinal(spokenOrdinal(word))
		case isNumber(word) || spokenNumbers[word] != "":
			ok = s.readCount(word)
		default:
			ok = s.readDay(word) || s.readUnit(word) || s.readTime(word) || s.readZone(word)
		}
		if !ok {
			return false
		}
	}
	return true
}

func isNumber(word string) bool {
	n, err := strconv.Atoi(word)
	return err == nil && n >= 0
}

// readAt reads what follows at: a minute of the hour, or times.
func (s *spoken) readAt() bool {
	if s.peek() == "minute" {
		s.take()
		minute := s.take()
		if !isNumber(minute) || s.minute >= 0 || s.unit != "hour" {
			return false
		}
		s.minute, _ = strconv.Atoi(minute)
		return s.minute < 60
	}
	for {
		word := s.take()
		if isNumber(word) {
			word += ":00"
		}
		if !s.readTime(word) {
			return false
		}
		if s.peek() != "and" {
			return true
		}
		s.take()
		if s.peek() == "at" {
			s.take()
		}
	}
}

func (s *spoken) readTime(word string) bool {
	at, ok := spokenTime(word)
	if ok {
		s.times = append(s.times, at)
	}
	return ok
}

// timeOfDay is one as it is spoken of day: 9am, 9:30pm, 21:30.
var timeOfDay = regexp.MustCompile(`^(\d{1,2})(?::(\d\d))?(am|pm)?$`)

func spokenTime(word string) (at [2]int, ok bool) {
	switch word {
	case "noon":
		return [2]int{12, 0}, true
	case "midnight":
		return [2]int{0, 0}, true
	}
	m := timeOfDay.FindStringSubmatch(word)
	if m == nil || m[2] == "" && m[3] == "" {
		return at, false
	}
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	if m[3] != "" {
		if hour < 1 || hour > 12 {
			return at, false
		}
		hour %= 12
		if m[3] == "pm" {
			hour += 12
		}
	}
	return [2]int{hour, minute}, hour < 24 && minute < 60
}

func (s *spoken) readCount(word string) bool {
	if number := spokenNumbers[word]; number != "" {
		word = number
	}
	if s.n != "" || s.unit != "" {
		return false
	}
	s.n = word
	return s.readUnit(s.take())
}

func (s *spoken) readUnit(word string) bool {
	unit := singular(word)
	switch {
	case spokenUnits[unit] == 0 && unit != "month" && unit != "year":
		if d, err := ParseDuration(word); err == nil && d > 0 && s.unit == "" && s.n == "" {
			s.unit = everyText(d.Std())
			return s.unit != ""
		}
		return false
	case s.unit == "":
		s.unit = unit
		return true
	}
	return unit == "month" && s.unit == "month"
}

// spokenOrdinal is the number of 1st, second, last, "" for what is none.
func spokenOrdinal(word string) string {
	if m := ordinal.FindStringSubmatch(word); m != nil {
		return m[1]
	}
	return spokenOrdinals[word]
}

var ordinal = regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th)$`)

// readOrdinal reads which day of the month, or which of its Mondays.
func (s *spoken) readOrdinal(nth string) bool {
	if s.dom != "" || s.nth != "" {
		return false
	}
	if _, day := spokenDays[s.peek()]; day {
		s.nth = nth
		return len(nth) == 1 && nth <= "5" || nth == "L"
	}
	if s.peek() == "day" {
		s.take()
	}
	s.dom = nth
	return true
}

// readDay reads a day of the week, or a range of them.
func (s *spoken) readDay(word string) bool {
	first, last, ranged := strings.Cut(word, "-")
	if next := s.peek(); !ranged && (next == "to" || next == "through") {
		s.take()
		last, ranged = s.take(), true
	}
	from, ok := spokenDays[first]
	if !ok {
		return false
	}
	if ranged {
		to, ok := spokenDays[last]
		if !ok || len(to) > 1 || len(from) > 1 {
			return false
		}
		from += "-" + to
	}
	s.days = append(s.days, from)
	return true
}

func (s *spoken) readZone(word string) bool {
	for _, name := range zoneNames() {
		if s.zone == "" && strings.EqualFold(name, word) && (name == "UTC" || strings.Contains(name, "/")) {
			s.zone = name
			return true
		}
	}
	return false
}
