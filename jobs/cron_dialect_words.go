package jobs

import (
	"fmt"
	"regexp"
	"strings"
)

// spokenForm is what Fugit (Solid Queue, GoodJob), App Engine and Whenever read.
const spokenForm = "a line in words is Fugit's (Solid Queue, GoodJob) or App Engine's"

// Words of such lines.
var (
	spokenDays = map[string]string{
		"sun": "0", "mon": "1", "tue": "2", "tues": "2", "wed": "3", "thu": "4", "thur": "4",
		"thurs": "4", "fri": "5", "sat": "6", "sunday": "0", "monday": "1", "tuesday": "2",
		"wednesday": "3", "thursday": "4", "friday": "5", "saturday": "6",
		"sundays": "0", "mondays": "1", "tuesdays": "2", "wednesdays": "3", "thursdays": "4",
		"fridays": "5", "saturdays": "6", "weekday": "1-5", "weekdays": "1-5", "weekend": "0,6",
		"weekends": "0,6",
	}
	spokenNumbers = map[string]string{
		"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
		"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "fifteen": "15",
		"twenty": "20", "thirty": "30", "other": "2",
	}
	spokenOrdinals = map[string]string{
		"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "last": "L",
	}
	// spokenStarts begin such a line, and what they stand for.
	spokenStarts = map[string]string{
		"every": "", "each": "", "daily": "day", "nightly": "day", "hourly": "hour", "weekly": "week",
		"monthly": "month", "yearly": "year", "annually": "year", "on": "", "at": "day at",
	}
)

// spoken is what has been read of a line in words.
type spoken struct {
	words  []string // those still to be read
	every  bool     // begins with every
	n      string   // each n-th unit; "": none given
	unit   string   // of spokenUnits, month, year, or "" where days are given
	days   []string // days of the week by number
	nth    string   // which of those in the month
	dom    string   // day of the month
	times  [][2]int // hours and minutes
	minute int      // of an hour; -1: none given
	zone   string
}

// spokenLine knows lines in words: every day at 3:00am. Those that it does not understand to the
// last word get no line.
func spokenLine(text string) *foreignLine {
	words := spokenWords(text)
	if len(words) == 0 {
		return nil
	}
	start, known := spokenStarts[words[0]]
	_, day := spokenDays[words[0]]
	ordinal := spokenOrdinal(words[0]) != "" && len(words) > 1
	clock, timed := spokenTime(words[0])
	switch {
	case known:
		words = append(strings.Fields(start), words[1:]...)
	case timed && len(words) == 1:
		return foreign("a time of day alone is not a line of crontab's",
			plainLine{cron: fmt.Sprintf("%d %d * * *", clock[1], clock[0])})
	case !day && !ordinal:
		return nil
	}
	s := spoken{words: words, minute: -1, every: known && start == ""}
	if s.read() {
		if lines := s.lines(); len(lines) > 0 {
			return foreign(spokenForm, lines...)
		}
	}
	return foreign(spokenForm + `: want five fields such as "0 3 * * *", or every with a duration such as 15m`)
}

// spokenWords are the words that mean something, in small letters.
func spokenWords(text string) (words []string) {
	text = glued.ReplaceAllString(strings.ReplaceAll(strings.ToLower(text), ",", " and "), "$1$2")
	for _, word := range strings.Fields(text) {
		switch word {
		case "the", "o'clock", "synchronized", "of":
		default:
			words = append(words, word)
		}
	}
	return words
}

// glued is 3 am, which is one word.
var glued = regexp.MustCompile(`\b(\d{1,2}(?::\d\d)?)\s+(am|pm)\b`)
