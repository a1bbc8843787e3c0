package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"nightshift/api/client"
	"nightshift/jobs"
)

type applyCmd struct {
	File []string `short:"f" required:"" placeholder:"FILE" help:"YAML or JSON files with jobs."`
}

// Run registers the jobs of the files.
func (cmd applyCmd) Run(s *session) error {
	set, err := readFiles(cmd.File)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	done, err := c.Apply(s.ctx, set.jobs)
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == 422 {
		return set.placed(problem.Errors, err)
	}
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&done)
		return nil
	}
	for _, j := range done.Items {
		s.out.line("%s %s, version %d", clean(j.Name), clean(j.Action), j.Version)
	}
	return nil
}

// fileSet is what several files set together.
type fileSet struct {
	jobs []*jobs.Job
	from []origin // of each job
}

// origin is where a job was written.
type origin struct {
	file *jobs.File
	at   int
}

// readFiles reads files; all that is wrong with them is said at once.
func readFiles(paths []string) (*fileSet, error) {
	set := &fileSet{}
	seen := map[string]string{}
	var wrong []error
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		file, err := jobs.ParseFile(path, data)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		for i, j := range file.Jobs {
			if other, twice := seen[j.Name]; twice {
				wrong = append(wrong, fmt.Errorf("%s: the job %s stands in %s too", path, j.Name, other))
			}
			seen[j.Name] = path
			set.jobs = append(set.jobs, j)
			set.from = append(set.from, origin{file, i})
		}
	}
	return set, errors.Join(wrong...)
}

var jobLocation = regexp.MustCompile(`^(?:body\.)?jobs\[(\d+)\]\.?(.*)$`)

// placed says in which file, line and column faults are; err is what they came from.
func (set *fileSet) placed(faults []jobs.Fault, err error) error {
	var all []error
	for _, f := range faults {
		m := jobLocation.FindStringSubmatch(f.Location)
		if m == nil {
			return err
		}
		i, _ := strconv.Atoi(m[1])
		if i >= len(set.from) {
			return err
		}
		from := set.from[i]
		f.Location = m[2]
		for _, at := range from.file.PlaceFaults(from.at, []jobs.Fault{f}) {
			all = append(all, errors.New(at.String()))
		}
	}
	if all == nil {
		return err
	}
	return errors.Join(all...)
}
