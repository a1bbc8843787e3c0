package importer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// importWriter writes a job file with comments.
type importWriter struct {
	defaults any // what stands below defaults
	head     bytes.Buffer
	body     bytes.Buffer // what stands below jobs
	tail     bytes.Buffer
	jobs     int
	notes    []importNote
	blank    bool // a blank line is due
}

// How wide lines of comments are, and how far jobs are indented.
const (
	commentWidth = 100
	jobIndent    = "  "
)

// comment writes texts as comments, each wrapped.
func comment(out *bytes.Buffer, indent string, texts ...string) {
	for _, text := range texts {
		if text == "" {
			out.WriteString(indent + "#\n")
		}
		for _, line := range wrapped(escaped(text), commentWidth-len(indent)) {
			out.WriteString(indent + "# " + line + "\n")
		}
	}
}

// verbatim writes a line of another file as a comment, not wrapped.
func verbatim(out *bytes.Buffer, indent, text string) {
	out.WriteString(indent + strings.TrimRight("# "+escaped(text), " \t") + "\n")
}

// wrapped cuts a text at spaces. What begins with "- " goes on below its text.
func wrapped(text string, width int) (lines []string) {
	hang := ""
	if strings.HasPrefix(text, "- ") {
		hang = "  "
	}
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = hang + word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line == "" {
		return lines
	}
	return append(lines, line)
}

// escaped is a text as it may stand in a comment: what YAML refuses there, or takes for the end of
// the line, is escaped.
func escaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

// yaml writes a value at an indent.
func yaml(out *bytes.Buffer, indent string, v any) {
	text, err := jobs.ToYAML(jobs.AppendJSON(nil, v))
	if err != nil {
		panic(err) // AppendJSON gave no JSON
	}
	for line := range strings.Lines(string(text)) {
		if line != "\n" {
			out.WriteString(indent)
		}
		out.WriteString(line)
	}
}

// yamlKey is a name as it may stand before a colon.
func yamlKey(name string) string {
	var b bytes.Buffer
	yaml(&b, "", map[string]int{name: 0})
	return strings.TrimSuffix(b.String(), ": 0\n")
}

// space makes a blank line before what comes next.
func (w *importWriter) space() { w.blank = true }

// begin writes the blank line that is due.
func (w *importWriter) begin() {
	if w.blank && w.body.Len() > 0 {
		w.body.WriteString("\n")
	}
	w.blank = false
}

// note writes a comment on a line, where it stood, and remembers it.
func (w *importWriter) note(line int, format string, args ...any) {
	n := importNote{line: line, text: fmt.Sprintf(format, args...)}
	w.begin()
	comment(&w.body, jobIndent, n.String())
	w.notes = append(w.notes, n)
}

// lose writes a part that is not carried over as a comment, and why.
func (w *importWriter) lose(line int, texts []string, why string) {
	n := importNote{line: line, lost: true, text: why}
	w.begin()
	comment(&w.body, jobIndent, n.String())
	for _, text := range texts {
		verbatim(&w.body, jobIndent, "  "+text)
	}
	w.notes = append(w.notes, n)
}

// refused says why a job would be refused, "" where it would not.
func (w *importWriter) refused(job []byte) string {
	var whole bytes.Buffer
	if w.defaults != nil {
		yaml(&whole, "", map[string]any{"defaults": w.defaults})
	}
	whole.WriteString("jobs:\n")
	whole.Write(job)
	_, err := jobs.ParseFile("", whole.Bytes())
	return faultsOf(err)
}

// job writes a job.
func (w *importWriter) job(text []byte) {
	w.begin()
	w.body.Write(text)
	w.blank = true // what follows belongs to the next
	w.jobs++
}

// file is the whole file.
func (w *importWriter) file() []byte {
	var out bytes.Buffer
	out.Write(w.head.Bytes())
	out.WriteString("\n")
	if w.jobs == 0 {
		out.WriteString("jobs: {}\n")
	} else {
		if w.defaults != nil {
			yaml(&out, "", map[string]any{"defaults": w.defaults})
			out.WriteString("\n")
		}
		out.WriteString("jobs:\n")
	}
	out.Write(w.body.Bytes())
	out.Write(w.tail.Bytes())
	return out.Bytes()
}

// faultsOf are the messages of a job that was refused; "": it was not.
func faultsOf(err error) string {
	var invalid *jobs.FileError
	if err == nil {
		return ""
	}
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var texts []string
	for _, f := range invalid.Faults {
		at := strings.TrimPrefix(f.Location, "jobs.")
		if _, inner, ok := strings.Cut(at, "."); ok {
			at = inner
		}
		texts = append(texts, strings.TrimPrefix(at+": "+f.Message, ": "))
	}
	return strings.Join(texts, "; ")
}
