package jobs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxFile is how many bytes a job file may have, and how many its aliases may stand for.
const MaxFile = 16 << 20

// File is a job file that was read. Its jobs have its defaults.
type File struct {
	Name string // as given to ParseFile; messages begin with it
	Documents

	places   map[string][]place // of the documents, by kind
	defaults int                // where they begin in the text; 0: there are none
	text     []byte             // JSON
	lines    *positions         // of text
	marks    []mark             // where the pieces of text stand in the YAML; nil: it was JSON

	found  []FileFault        // what is wrong
	seen   map[FileFault]bool // of the defaults: they are in many jobs
	unread []string           // places in the defaults
	more   int                // how much more is
}

// maxFileFaults is how many faults of a file are listed.
const maxFileFaults = 1000

// place is where a document stands.
type place struct {
	location string
	offset   int // in the JSON text
}

// mark says that the JSON from offset on comes from a place in the YAML.
type mark struct{ offset, line, column int }

// FileFault is a fault and its place in a file, from 1; line 0: in the file as a whole.
type FileFault struct {
	File         string
	Line, Column int
	Fault
}

// String is FILE:LINE:COLUMN: LOCATION: MESSAGE.
func (f FileFault) String() string {
	s := f.File + ": "
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
	}
	if f.Location != "" {
		s += f.Location + ": "
	}
	return s + f.Message
}

// FileError is a file that cannot be applied, with all faults in the order of their places.
type FileError struct {
	Faults []FileFault
	err    error
}

// Error has one line for each fault.
func (e *FileError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives a *SyntaxError where the file is neither YAML nor JSON, else an *InvalidError.
func (e *FileError) Unwrap() error { return e.err }

// ParseFile reads a job file, YAML or, where it begins with {, JSON. Below jobs, schedules, policies,
// queues and dependencies it holds a list of documents, or a map of them by name; webhook: URL and
// script: TEXT are short forms. What stands below defaults holds for each job of the file that says
// nothing else, and its timezone for each schedule with a cron line that says none.
// Jobs are checked as ParseJob does, and so are the others. Name is what messages call the file. The
// error is a *FileError.
//
// YAML becomes the JSON text of the same value, by the core schema of YAML 1.2 with these bounds:
// only true and false are booleans, timestamps are strings, the text of numbers is kept. Numbers
// that YAML versions read differently (007, 0x1F, 0o17), .inf, .nan and foreign tags are refused.
// Anchors, aliases and merge keys (<<) are written out, up to MaxFile. A second document is
// refused. A string with the tag !json is JSON text that is taken byte for byte.
func ParseFile(name string, data []byte) (*File, error) {
	f := &File{Name: name}
	if len(data) > MaxFile {
		f.fault(0, 0, "", fmt.Sprintf("want at most %d bytes, got %d", MaxFile, len(data)))
		return nil, f.invalid()
	}
	if err := f.read(data, beginsWith(data, '{')); err != nil {
		return nil, err
	}
	var doc fileDocument
	opts := decodeOptions{short: shortForms}
	f.defaults, opts.defaults = findDefaults(f.text)
	placed, syntax := decode(f.text, &doc, opts)
	if syntax != nil {
		return nil, f.syntax(f.text, syntax.Offset, syntax.Msg)
	}
	for _, p := range placed {
		line, column := f.at(p.offset)
		f.fault(line, column, p.Location, p.Message)
		if fromDefaults(p.Location) {
			f.unread = append(f.unread, p.Location)
		}
	}
	f.checkDefaults(&doc.Defaults)
	f.take(&doc, placed)
	if len(f.found) > 0 {
		return nil, f.invalid()
	}
	return f, nil
}

// read takes in a text that is JSON, or YAML.
func (f *File) read(data []byte, isJSON bool) error {
	data = withoutMark(data)
	if !utf8.Valid(data) {
		return f.syntax(data, badUTF8(data), "want UTF-8")
	}
	if isJSON {
		f.text = data
	} else if err := f.readYAML(data); err != nil {
		return err
	}
	f.lines = newPositions(f.text)
	return nil
}

// withoutMark drops the byte order mark that a text may begin with.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// beginsWith tells the first character of a text that is no white space.
func beginsWith(data []byte, c byte) bool {
	data = bytes.TrimLeft(withoutMark(data), " \t\r\n")
	return len(data) > 0 && data[0] == c
}

// PlaceFaults gives faults of document i of a kind, such as RefJob, with locations within it, their
// place in the file.
func (f *File) PlaceFaults(kind string, i int, list []Fault) []FileFault {
	placed := make([]FileFault, len(list))
	for n, fault := range list {
		placed[n] = f.place(f.places[kind][i], fault, kind == RefJob)
	}
	return placed
}

// place is where a fault of a document stands: in the defaults where its value comes from there.
func (f *File) place(in place, fault Fault, defaulted bool) FileFault {
	at, found := seek(f.text[in.offset:], fault.Location)
	at += in.offset
	if !found && defaulted && f.defaults > 0 {
		if here, found := seek(f.text[f.defaults:], fault.Location); found {
			in, at = place{location: defaultsKey}, f.defaults+here
		}
	}
	line, column := f.at(at)
	location := in.location
	if fault.Location != "" && fault.Location[0] != '[' {
		location += "."
	}
	fault.Location = location + fault.Location
	return FileFault{f.Name, line, column, fault}
}

// JSON is the file as JSON text; locations in it are those of the file.
func (f *File) JSON() []byte { return f.text }

// Position is the line and column of a location, such as jobs[0].retry.rules[1].if, or, where
// nothing stands there, of what is around it.
func (f *File) Position(location string) (line, column int) {
	return f.at(locate(f.text, location))
}

// at is the place in the file of an offset in the JSON text.
func (f *File) at(offset int) (line, column int) {
	if f.marks == nil {
		return f.lines.at(offset)
	}
	i, exact := slices.BinarySearchFunc(f.marks, offset, func(m mark, offset int) int {
		return cmp.Compare(m.offset, offset)
	})
	if !exact {
		i = max(0, i-1)
	}
	return f.marks[i].line, f.marks[i].column
}

func (f *File) fault(line, column int, location, msg string) {
	if len(f.found) >= maxFileFaults {
		f.more++
		return
	}
	f.found = append(f.found, FileFault{f.Name, line, column, Fault{location, msg}})
}

// syntax is the error of a file that cannot be read.
func (f *File) syntax(data []byte, offset int, msg string) *FileError {
	line, column := newPositions(data).at(offset)
	return &FileError{
		Faults: []FileFault{{f.Name, line, column, Fault{Message: msg}}},
		err:    &SyntaxError{offset, line, column, msg},
	}
}

// invalid is the error of what was found.
func (f *File) invalid() *FileError {
	slices.SortStableFunc(f.found, func(a, b FileFault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if f.more > 0 {
		f.found = append(f.found, FileFault{File: f.Name, Fault: andMore(f.more)})
	}
	invalid := &InvalidError{}
	for _, fault := range f.found {
		invalid.Faults = append(invalid.Faults, fault.Fault)
	}
	return &FileError{Faults: f.found, err: invalid}
}
