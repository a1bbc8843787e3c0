package script

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"nightshift/jobs"
)

// The folder of an attempt holds work, where the script starts, tmp, the files payload and checkpoint, of a
// merge the file results, and the script, where it is not run where it lies.

func (a *attempt) work() string       { return filepath.Join(a.folder, "work") }
func (a *attempt) temp() string       { return filepath.Join(a.folder, "tmp") }
func (a *attempt) payload() string    { return filepath.Join(a.folder, "payload") }
func (a *attempt) checkpoint() string { return filepath.Join(a.folder, "checkpoint") }
func (a *attempt) results() string    { return filepath.Join(a.folder, "results") }

func (a *attempt) makeFolder() error {
	name := strconv.FormatInt(a.kind.attempt.Add(1), 10)
	a.folder = filepath.Join(a.claim.Path, name)
	for _, folder := range []string{a.folder, a.work(), a.temp()} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	payload := a.call.Payload
	if payload == nil {
		payload = jobs.Raw("{}")
	}
	err := errors.Join(
		os.WriteFile(a.payload(), payload, 0o600),
		os.WriteFile(a.checkpoint(), a.call.Checkpoint, 0o600),
	)
	if err == nil && a.call.Results != nil {
		err = a.writeResults()
	}
	if err != nil {
		return err
	}
	a.stdin, err = os.Open(a.payload())
	return err
}

// writeResults writes what a merge merges, few at a time.
func (a *attempt) writeResults() error {
	file, err := os.OpenFile(a.results(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(a.call.Results(file), file.Close())
}

// handOver gives the attempt's folder to the script's user, and itself last: nobody gets in before.
// From then on it is that user's: this process, which may be root, opens nothing in it any more.
func (a *attempt) handOver() error {
	if a.user == nil {
		return nil
	}
	entries, err := os.ReadDir(a.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := a.user.own(filepath.Join(a.folder, e.Name())); err != nil {
			return err
		}
	}
	return a.user.own(a.folder)
}
