package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// At is when, and for whom, something is said: instants are told in the location of Now. The zero value
// tells them in UTC.
type At struct {
	Now   time.Time
	Zoned bool // instants name their zone
}

// zone is the end of a layout.
func (at At) zone() string {
	if at.Zoned {
		return " MST"
	}
	return ""
}

// Clock is an instant as it is shown: "2006-01-02 15:04:05" in the zone of Now, "" for none.
func (at At) Clock(t jobs.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().In(at.Now.Location()).Format("2006-01-02 15:04:05" + at.zone())
}

// Clean makes a text of others fit for one line of a terminal: no control characters, no escape
// sequences.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t', r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError, unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// Short cuts a text to n characters.
func Short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Took is a length of time as it is shown.
func Took(from, to jobs.Time) string {
	if from == 0 || to == 0 {
		return ""
	}
	return Roundly(to.Sub(from))
}

func Roundly(d time.Duration) string {
	switch {
	case d < 0:
		d = 0
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= 10*time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	}
	return jobs.Duration(d).String()
}

// FromNow says how far an instant is ahead: "in 12s", "now".
func (at At) FromNow(t jobs.Time) string {
	d := t.Std().Sub(at.Now)
	if d < time.Millisecond {
		return "now"
	}
	return "in " + Roundly(d.Round(time.Millisecond))
}

// InWords says when an instant comes: "in 12s, at 14:03:07", with its day where that is another one.
func (at At) InWords(t jobs.Time) string {
	when, here := t.Std().In(at.Now.Location()), at.Now
	layout := "15:04:05"
	if when.Year() != here.Year() || when.YearDay() != here.YearDay() {
		layout = "2006-01-02 15:04:05"
	}
	return at.FromNow(t) + ", at " + when.Format(layout+at.zone())
}

func CountOf(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Bytes writes bytes in a unit that leaves few digits: 1.2 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size /= 1024; size < 1024 {
			break
		}
	}
	if size < 10 {
		return fmt.Sprintf("%.1f %s", size, unit)
	}
	return fmt.Sprintf("%.0f %s", size, unit)
}
