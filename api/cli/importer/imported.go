// Package importer makes job files of the files of other schedulers.
package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"nightshift/api/words"
)

// Imported is a job file that was made of another file.
type Imported struct {
	Text  []byte
	notes []importNote
	noun  string // what a part of the other file is called
}

// importNote is what a person should look at.
type importNote struct {
	line int // of the other file
	lost bool
	text string
}

func (n importNote) String() string {
	if n.lost {
		return fmt.Sprintf("line %d is not carried over: %s", n.line, n.text)
	}
	return fmt.Sprintf("line %d: %s", n.line, n.text)
}

// unusable is what cannot be imported at all, by line.
type unusable struct {
	file         string
	line, column int // column 0: the whole line
	msg          string
}

func (e *unusable) Error() string {
	if e.column > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", e.file, e.line, e.column, e.msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.msg)
}

// Summary says what came of a file, and where to look.
func (m *Imported) Summary(w io.Writer, name string, made int) {
	lost := 0
	for _, n := range m.notes {
		if n.lost {
			lost++
		}
	}
	text := name + ": " + words.CountOf(made, "job")
	if lost > 0 {
		text += ", " + words.CountOf(lost, m.noun) + " not carried over"
	}
	if rest := len(m.notes) - lost; rest > 0 {
		text += ", " + words.CountOf(rest, "note")
	}
	if len(m.notes) > 0 {
		text += ", which stand as comments in the file too:"
	}
	fmt.Fprintln(w, words.Clean(text))
	const most = 50
	for i, n := range m.notes {
		if i == most {
			fmt.Fprintf(w, "  and %d more\n", len(m.notes)-most)
			break
		}
		fmt.Fprintln(w, "  "+words.Clean(n.String()))
	}
}

// firstNotes are the first few of what was not carried over, for an error.
func (m *Imported) firstNotes(name string) error {
	var all []string
	for _, n := range m.notes {
		if n.lost && len(all) < 10 {
			all = append(all, (&unusable{file: name, line: n.line, msg: n.text}).Error())
		}
	}
	return errors.New(strings.Join(all, "\n"))
}
