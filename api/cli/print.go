package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// printer writes what a command has to say: JSON, or text for people.
type printer struct {
	w    io.Writer
	json bool
	term bool // w is a terminal
}

func newPrinter(w io.Writer, asJSON bool) *printer {
	return &printer{w: w, json: asJSON, term: isTerminal(w)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// value prints v as JSON.
func (p *printer) value(v any) { fmt.Fprintf(p.w, "%s\n", jobs.AppendJSON(nil, v)) }

// document prints a document for people: indented.
func (p *printer) document(v any) {
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, jobs.AppendJSON(nil, v), "", "  ") // what it is given is JSON
	p.line("%s", pretty.String())
}

// line prints one line of text. What came from elsewhere goes through clean.
func (p *printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// table prints aligned columns, the head underlined on a terminal.
func (p *printer) table(head []string, rows [][]string) {
	var aligned strings.Builder
	tab := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, strings.Join(head, "\t"))
	for _, row := range rows {
		for i := range row {
			if row[i] = clean(row[i]); row[i] == "" {
				row[i] = "-"
			}
		}
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	_ = tab.Flush() // a strings.Builder takes everything
	first, rest, _ := strings.Cut(aligned.String(), "\n")
	if p.term {
		first = "\x1b[4m" + first + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "%s\n%s", first, rest)
}

// fields prints names and values, leaving out what is empty.
func (p *printer) fields(pairs ...string) {
	tab := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := clean(pairs[i+1]); v != "" {
			fmt.Fprintf(tab, "%s\t%s\n", pairs[i], v)
		}
	}
	_ = tab.Flush()
}

// clean makes a text of others fit for one line of a terminal: no control characters, no escape
// sequences.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError, unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// short cuts a text to n characters.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// clock is an instant as it is shown: local time, "" for none.
func clock(t jobs.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Local().Format("2006-01-02 15:04:05")
}

// took is a length of time as it is shown.
func took(from, to jobs.Time) string {
	if from == 0 || to == 0 {
		return ""
	}
	return roundly(to.Sub(from))
}

func roundly(d time.Duration) string {
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

// fromNow says how far an instant is ahead: "in 12s", "now".
func fromNow(t jobs.Time, now time.Time) string {
	d := t.Std().Sub(now)
	if d < time.Millisecond {
		return "now"
	}
	return "in " + roundly(d.Round(time.Millisecond))
}

// inWords says when an instant comes: "in 12s, at 14:03:07", with its day where that is another one.
func inWords(t jobs.Time, now time.Time) string {
	at, here := t.Std().Local(), now.Local()
	layout := "15:04:05"
	if at.Year() != here.Year() || at.YearDay() != here.YearDay() {
		layout = "2006-01-02 15:04:05"
	}
	return fromNow(t, now) + ", at " + at.Format(layout)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
