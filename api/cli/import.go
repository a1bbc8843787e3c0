package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"nightshift/api/cli/importer"
	"nightshift/api/wire"
	"nightshift/jobs"
)

type importCmd struct {
	Crontab importCrontabCmd `cmd:"" help:"Print a job file that does what a crontab does."`
	Vercel  importVercelCmd  `cmd:"" help:"Print a job file that calls what the crons of a vercel.json call."`
}

// maxImport is how much of a file is read, in bytes: those that are written by hand are far smaller.
const maxImport = 1 << 20

// importFile reads a file, has it imported, and prints what came of it: the job file on the standard
// output, what is to be looked at on the other.
func (s *session) importFile(path string, do func(name string, data []byte) (*importer.Imported, error)) error {
	name, data, err := readImport(path, os.Stdin)
	if err != nil {
		return err
	}
	made, err := do(name, data)
	if err != nil {
		return usageError{err}
	}
	file, err := jobs.ParseFile("imported", made.Text)
	if err != nil {
		return fmt.Errorf("what was imported is no job file, and that is a mistake of this program: %w", err)
	}
	if s.out.json {
		out := wire.Export{Jobs: []jobs.Raw{}}
		for _, j := range file.Jobs {
			out.Jobs = append(out.Jobs, j.Document())
		}
		s.out.value(&out)
	} else if _, err := s.out.w.Write(made.Text); err != nil {
		return err
	}
	made.Summary(s.stderr, name, len(file.Jobs))
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

// checkPrefix says what is wrong with the flag.
func checkPrefix(prefix string) error {
	if prefix != "" && (!jobs.ValidName(prefix) || len(prefix) > 30) {
		return usage("--prefix: want up to 30 of a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or a digit")
	}
	return nil
}
