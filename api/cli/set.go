package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"nightshift/api/client"
	"nightshift/jobs"
)

// setEach puts the documents of a file one by one, which holds those of one kind alone. Faults that the
// server finds are told by their place in the file.
func setEach[Doc, Saved any](
	s *session, path, kind string, list func(*jobs.Documents) []*Doc,
	put func(*client.Client, *Doc) (saved Saved, created bool, err error),
	tell func(saved *Saved, how string),
) error {
	set, err := readFiles([]string{path}, os.Stdin)
	if err != nil {
		return err
	}
	docs, name := list(&set.Documents), jobs.FileLists[kind]
	if len(set.from) > 1 || len(docs) == 0 {
		return usage("%s: want a file with %s alone; for all else there is apply -f", path, name)
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	for i, doc := range docs {
		saved, created, err := put(c, doc)
		var problem *client.Problem
		if errors.As(err, &problem) && len(problem.Errors) > 0 {
			for n := range problem.Errors {
				at := strings.TrimPrefix(strings.TrimPrefix(problem.Errors[n].Location, "body"), ".")
				problem.Errors[n].Location = fmt.Sprintf("%s[%d].%s", name, i, at)
			}
			return set.placed(problem.Errors)
		}
		switch {
		case err != nil:
			return err
		case s.out.json:
			s.out.value(&saved)
		case created:
			tell(&saved, "created")
		default:
			tell(&saved, "saved")
		}
	}
	return nil
}
