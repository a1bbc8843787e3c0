package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type secretsCmd struct {
	List      secretsListCmd   `cmd:"" default:"withargs" help:"List secrets, without their values."`
	Set       secretsSetCmd    `cmd:"" help:"Make a secret or give it a value: from stdin, or asked for."`
	Delete    secretsDeleteCmd `cmd:"" help:"Delete secrets: runs that need them are held."`
	RotateKey secretsRotateCmd `cmd:"" help:"Seal all secrets with a new key."`
}

type secretsListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists secrets.
func (cmd secretsListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Secrets, error) {
		return c.Secrets(s.ctx, cmd.page())
	}, func(list *wire.Secrets) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			secret := &list.Items[i]
			state := "set"
			if !secret.Readable {
				state = "unreadable: sealed with another key"
			}
			rows[i] = []string{secret.Name, state, clock(secret.CreatedAt), clock(secret.UpdatedAt)}
		}
		s.out.table([]string{"SECRET", "STATE", "CREATED", "UPDATED"}, rows)
		s.more(list.Next)
	})
}

type secretsSetCmd struct {
	Name  string   `arg:"" help:"The secret's name."`
	Value []string `arg:"" optional:"" hidden:"" help:"Not taken."`
}

// Run sets a secret.
func (cmd secretsSetCmd) Run(s *session) error {
	if len(cmd.Value) > 0 {
		return usage("a value is not taken as an argument: others on the machine could read it, and the "+
			"shell keeps it. Give it on stdin, such as with %s secrets set %s < FILE, or leave it out to "+
			"be asked", calledAs(), words.Clean(cmd.Name))
	}
	if err := jobs.CheckSecretName(cmd.Name); err != nil {
		return usage("the name: %w", err)
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	value, err := readSecret(os.Stdin, s.stderr, cmd.Name)
	if err != nil {
		return err
	}
	if err := jobs.CheckSecret(value); err != nil {
		return fmt.Errorf("the value: %w", err)
	}
	secret, made, err := c.PutSecret(s.ctx, cmd.Name, value)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&secret)
		return nil
	}
	what := "set"
	if made {
		what = "made"
	}
	s.out.line("%s %s", what, words.Clean(secret.Name))
	if len(secret.UsedBy) > 0 {
		s.out.line("used by %s", words.Clean(strings.Join(secret.UsedBy, ", ")))
	}
	return nil
}

// readSecret reads a value: asked for on a terminal, which does not show it, else all of stdin. One
// line end behind it is no part of it.
func readSecret(in *os.File, prompt io.Writer, name string) (string, error) {
	var text []byte
	var err error
	if isTerminal(in) {
		text, err = readHidden(in, func() { fmt.Fprintf(prompt, "Value of %s: ", words.Clean(name)) })
		fmt.Fprintln(prompt)
	} else {
		// One byte more than is taken, and a line end, say that it is too large.
		text, err = io.ReadAll(io.LimitReader(in, jobs.MaxSecret+3))
	}
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	value, ended := strings.CutSuffix(string(text), "\n")
	if ended {
		value = strings.TrimSuffix(value, "\r")
	}
	return value, nil
}

// readHidden reads a line from a terminal that does not show what is typed. It asks once nothing is shown any
// more: what was typed before is dropped, what answers the question is not.
func readHidden(in *os.File, ask func()) (line []byte, err error) {
	fd := int(in.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	show := func() error { return unix.IoctlSetTermios(fd, unix.TCSETS, before) }
	defer showOnSignal(show)()
	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &hidden); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, show()) }()
	ask()
	for buf := make([]byte, 1); len(line) <= jobs.MaxSecret; {
		n, err := in.Read(buf)
		line = append(line, buf[:n]...)
		if n == 1 && buf[0] == '\n' || errors.Is(err, io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return line, nil
}

// showOnSignal lets the terminal show what is typed again before a signal ends the process. The
// caller ends that with what it gives back.
func showOnSignal(show func() error) (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	over := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case sig := <-signals:
			_ = show() // the process ends one way or the other
			signal.Reset(sig)
			_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
		case <-over:
		}
	})
	return func() {
		signal.Stop(signals)
		close(over)
		waiting.Wait()
	}
}

type secretsDeleteCmd struct {
	Names []string `arg:"" name:"name" help:"Names of secrets."`
}

// Run deletes secrets.
func (cmd secretsDeleteCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	for _, name := range cmd.Names {
		gone, err := c.DeleteSecret(s.ctx, name)
		if err != nil {
			return err
		}
		s.gone("deleted", words.Clean(name))
		if len(gone.UsedBy) > 0 && !s.out.json {
			s.out.line("runs of these jobs are held until it is set again: %s",
				words.Clean(strings.Join(gone.UsedBy, ", ")))
		}
	}
	return nil
}

type secretsRotateCmd struct{}

// Run seals all secrets with a new key.
func (secretsRotateCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.RotatedKey, error) {
		return c.RotateKey(s.ctx)
	}, func(done *wire.RotatedKey) {
		s.out.line("secrets sealed anew: %d", done.Resealed)
		if len(done.Unreadable) > 0 {
			s.out.line("left as they are, since no key of the server opens them: %s",
				words.Clean(strings.Join(done.Unreadable, ", ")))
		}
	})
}
