package jobs

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxFile is how many bytes a job file may have, and how many its aliases may stand for.
const MaxFile = 16 << 20

// File is a job file that was read: what an apply sets.
type File struct {
	Name string // as given to ParseFile; messages begin with it
	Jobs []*Job

	places []place    // of the jobs
	text   []byte     // JSON
	lines  *positions // of text
	marks  []mark     // where the pieces of text stand in the YAML; nil: it was JSON

	found []FileFault // what is wrong
	more  int         // how much more is
}

// maxFileFaults is how many faults of a file are listed.
const maxFileFaults = 1000

// maxJobs is how many jobs a file may hold.
const maxJobs = 10_000

// place is where a job stands.
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

// fileDocument is what a file holds.
type fileDocument struct {
	Jobs fileJobs `json:"jobs"`
}

// FieldHint says where a field belongs that stands beside jobs.
func (*fileDocument) FieldHint(parent, name string) string {
	switch {
	case parent != "":
		return ""
	case name == "job":
		return `did you mean "jobs"?`
	case slices.Contains(strings.Fields("schedules policies dependencies queues alerts defaults"),
		name):
		return "this version does not have it yet"
	case belongs(reflect.TypeFor[Job](), "job", name) != "":
		return "it belongs to a job, in the list or map below jobs"
	}
	return ""
}

// fileJobs are jobs as a list, or as a map by name.
type fileJobs struct {
	list   []*Job
	places []place
	broken map[*Job]bool // could not be read: there is no use in checking them
}

func (js *fileJobs) decodeJSON(d *decoder) bool {
	next := d.item
	switch d.peek() {
	case '[':
	case '{':
		next = d.member
	default:
		return d.mistyped("a list of jobs, or a map of jobs by name")
	}
	if !d.open() {
		return false
	}
	js.list, js.broken = []*Job{}, map[*Job]bool{}
	for {
		if s := next(); s != stepValue {
			return s == stepEnd
		}
		if d.top().n > maxJobs {
			if d.top().n == maxJobs+1 {
				d.fault(d.pos, "want at most "+strconv.Itoa(maxJobs)+" jobs in a file")
			}
			if !d.skip() {
				return false
			}
			continue
		}
		before := len(d.faults) + d.more
		if !js.job(d) {
			return false
		}
		js.broken[js.list[len(js.list)-1]] = len(d.faults)+d.more > before
	}
}

// job reads the next one. In a map its key is its name.
func (js *fileJobs) job(d *decoder) bool {
	key, at := string(d.text(d.top().key)), d.top().at
	named := !d.top().list
	j := new(Job)
	d.space()
	js.list = append(js.list, j)
	js.places = append(js.places, place{d.location(d.frames), d.pos})
	if !decoderOf(jobType)(d, reflect.ValueOf(j).Elem()) {
		return false
	}
	if named && j.Name != "" && j.Name != key {
		d.fault(at, "its name is another than the key that it stands under")
	} else if named {
		j.Name = key
	}
	return true
}

var (
	jobType    = reflect.TypeFor[Job]()
	shortForms = map[reflect.Type]string{
		reflect.TypeFor[Webhook](): "url", reflect.TypeFor[Script](): "source",
	}
)

// ParseFile reads a job file, YAML or, where it begins with {, JSON. Below jobs it holds a list of
// job documents, or a map of them by name; webhook: URL and script: TEXT are short forms. Jobs
// are checked as ParseJob does. Name is what messages call the file. The error is a *FileError.
//
// YAML becomes the JSON text of the same value, by the core schema of YAML 1.2 with these bounds:
// only true and false are booleans, timestamps are strings, the text of numbers is kept. Numbers
// that YAML versions read differently (007, 0x1F, 0o17), .inf, .nan and foreign tags are refused.
// Anchors, aliases and merge keys (<<) are written out, up to MaxFile. A second document is
// refused.
func ParseFile(name string, data []byte) (*File, error) {
	f := &File{Name: name}
	if len(data) > MaxFile {
		f.fault(0, 0, "", fmt.Sprintf("want at most %d bytes, got %d", MaxFile, len(data)))
		return nil, f.invalid()
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return nil, f.syntax(data, badUTF8(data), "want UTF-8")
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		f.text = data
	} else if err := f.readYAML(data); err != nil {
		return nil, err
	}
	f.lines = newPositions(f.text)
	var doc fileDocument
	placed, syntax := decode(f.text, &doc, decodeOptions{short: shortForms})
	if syntax != nil {
		return nil, f.syntax(data, syntax.Offset, syntax.Msg)
	}
	for _, p := range placed {
		line, column := f.at(p.offset)
		f.fault(line, column, p.Location, p.Message)
	}
	if doc.Jobs.list == nil && len(placed) == 0 {
		f.fault(0, 0, "", "holds nothing to apply: want a list or map of jobs below jobs")
	}
	f.Jobs, f.places = doc.Jobs.list, doc.Jobs.places
	if f.check(doc.Jobs.broken); len(f.found) > 0 {
		return nil, f.invalid()
	}
	return f, nil
}

// check notes what is wrong with the jobs, one by one and together.
func (f *File) check(broken map[*Job]bool) {
	first := map[string]int{}
	for i, j := range f.Jobs {
		if broken[j] {
			continue
		}
		j.dropState()
		list := faults(j.faults())
		if other, twice := first[j.Name]; twice && j.Name != "" {
			line, _ := f.at(f.places[other].offset)
			list.add("name", "this name stands at %s too, on line %d", f.places[other].location, line)
		} else if j.Name == "" {
			list.add("", "want a name")
		} else {
			first[j.Name] = i
		}
		if len(f.found) >= maxFileFaults {
			f.more += len(list)
			continue
		}
		for _, p := range f.PlaceFaults(i, list) {
			f.fault(p.Line, p.Column, p.Location, p.Message)
		}
	}
}

// PlaceFaults gives faults of job i, with locations within that job, their place in the file.
func (f *File) PlaceFaults(i int, list []Fault) []FileFault {
	job := f.places[i]
	placed := make([]FileFault, len(list))
	for n, fault := range list {
		line, column := f.at(job.offset + locate(f.text[job.offset:], fault.Location))
		location := job.location
		if fault.Location != "" && fault.Location[0] != '[' {
			location += "."
		}
		fault.Location = location + fault.Location
		placed[n] = FileFault{f.Name, line, column, fault}
	}
	return placed
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
