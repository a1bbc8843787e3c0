package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type importCmd struct {
	Crontab importCrontabCmd `cmd:"" help:"Print a job file that does what a crontab does."`
	Vercel  importVercelCmd  `cmd:"" help:"Print a job file that calls what the crons of a vercel.json call."`
}

// maxImport is how much of a file is read, in bytes: those that are written by hand are far smaller.
const maxImport = 1 << 20

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

// importFile reads a file, has it imported, and prints what came of it: the job file on the standard
// output, what is to be looked at on the other.
func (s *session) importFile(path string, do func(name string, data []byte) (*imported, error)) error {
	name, data, err := readImport(path, os.Stdin)
	if err != nil {
		return err
	}
	made, err := do(name, data)
	if err != nil {
		return usageError{err}
	}
	file, err := jobs.ParseFile("imported", made.text)
	if err != nil {
		return fmt.Errorf("what was imported is no job file, and that is a mistake of this program: %w", err)
	}
	if s.out.json {
		out := wire.Export{Jobs: []jobs.Raw{}}
		for _, j := range file.Jobs {
			out.Jobs = append(out.Jobs, j.Document())
		}
		s.out.value(&out)
	} else if _, err := s.out.w.Write(made.text); err != nil {
		return err
	}
	made.summary(s.stderr, name, len(file.Jobs))
	return nil
}

// readImport reads a file, or the standard input.
func readImport(path string, stdin io.Reader) (name string, data []byte, err error) {
	name, in := stdinName, stdin
	if path != "-" {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil, usage("there is no file %s", path)
		}
		if err != nil {
			return path, nil, fmt.Errorf("read the file: %w", err)
		}
		defer f.Close()
		name, in = path, f
	}
	data, err = io.ReadAll(io.LimitReader(in, maxImport+1))
	switch {
	case err != nil:
		return name, nil, fmt.Errorf("read the file: %w", err)
	case len(data) > maxImport:
		return name, nil, usage("%s: want at most %d bytes", name, maxImport)
	}
	return name, data, nil
}

// summary says what came of a file, and where to look.
func (m *imported) summary(w io.Writer, name string, made int) {
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
func (m *imported) firstNotes(name string) error {
	var all []string
	for _, n := range m.notes {
		if n.lost && len(all) < 10 {
			all = append(all, (&unusable{file: name, line: n.line, msg: n.text}).Error())
		}
	}
	return errors.New(strings.Join(all, "\n"))
}
