package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/api/words"
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
			if row[i] = words.Clean(row[i]); row[i] == "" {
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
		if v := words.Clean(pairs[i+1]); v != "" {
			fmt.Fprintf(tab, "%s\t%s\n", pairs[i], v)
		}
	}
	_ = tab.Flush()
}

// clock is an instant as it is shown: local time, "" for none.
func clock(t jobs.Time) string { return words.At{Now: time.Now()}.Clock(t) }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
