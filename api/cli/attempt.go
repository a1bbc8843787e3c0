package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"time"

	"nightshift/api/client"
	"nightshift/jobs"
)

// A call of an attempt is made again for tellFor where the server is not there, is busy or has too much
// to do: one that waits for its callback outlives a restart of the server.
const (
	tellFor    = 10 * time.Second
	tellAgain  = 250 * time.Millisecond
	tellAtMost = 30 * time.Second // one call
)

// attemptHelp is what the commands have in common that an attempt calls.
const attemptHelp = `It speaks for the attempt that it runs in, by NIGHTSHIFT_CALLBACK and NIGHTSHIFT_CALLBACK_TOKEN, which each
script has in its environment: a script calls it by its name. --server, --token and the database count for
nothing. Exit code 0: it was taken; 1: it was not, and why; 2: it was called wrongly, or outside of an attempt.`

// attemptError is why a call of an attempt failed. What helps others, such as another token, does not
// help here.
type attemptError struct{ error }

func (e attemptError) Unwrap() error { return e.error }

// tell makes a call for the attempt that the command runs in.
func (s *session) tell(what string, call func(context.Context, *client.Callback) error) error {
	url, token := os.Getenv("NIGHTSHIFT_CALLBACK"), os.Getenv("NIGHTSHIFT_CALLBACK_TOKEN")
	if url == "" || token == "" {
		return usage("%s works inside an attempt alone: NIGHTSHIFT_CALLBACK and NIGHTSHIFT_CALLBACK_TOKEN, which "+
			"the server sets for each script, are not in the environment", what)
	}
	callback := client.NewCallback(url, token)
	for until := time.Now().Add(tellFor); ; {
		err := once(s.ctx, callback, call)
		if err == nil {
			return nil
		}
		if !passing(err) || time.Now().After(until) || s.ctx.Err() != nil {
			return attemptError{err}
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(tellAgain):
		}
	}
}

func once(ctx context.Context, c *client.Callback, call func(context.Context, *client.Callback) error) error {
	ctx, cancel := context.WithTimeout(ctx, tellAtMost)
	defer cancel()
	return call(ctx, c)
}

// passing reports whether a call may get through a moment later. Each may be made twice.
func passing(err error) bool {
	status := client.StatusOf(err)
	return status == 0 || status >= 500 || status == http.StatusTooManyRequests
}

// told reads JSON that was given as an argument; -: from the standard input.
func told(what, arg string, most int) (jobs.Raw, error) {
	data := []byte(arg)
	if arg == "-" {
		var err error
		if data, err = io.ReadAll(io.LimitReader(os.Stdin, maxTold+1)); err != nil {
			return nil, fmt.Errorf("read the %s: %w", what, err)
		}
	}
	whole := len(data) <= maxTold
	data = bytes.Trim(data, " \t\r\n")
	if !whole || len(data) > most {
		return nil, fmt.Errorf("the %s is larger than %d KiB: it was not taken, and what was said before stays", what, most>>10)
	}
	if err := jobs.ValidJSON(data); err != nil {
		return nil, usage("the %s: %w; a text has quotes of its own: '\"done\"'", what, err)
	}
	return data, nil
}

// maxTold bounds what is read of the standard input.
const maxTold = 1 << 20

// numbersAreNoFlags puts -- before a negative number that is a result or checkpoint.
func numbersAreNoFlags(args []string) []string {
	for _, command := range [][]string{{"result"}, {"checkpoint", "set"}} {
		at := len(command)
		if len(args) > at && slices.Equal(args[:at], command) && negative.MatchString(args[at]) {
			return slices.Insert(slices.Clone(args), at, "--")
		}
	}
	return args
}

// negative is a number below zero, which would be taken for a flag.
var negative = regexp.MustCompile(`^-[0-9]`)
