package mail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// lingering is how long what sendmail left behind may hold its output open.
const lingering = 2 * time.Second

// bySendmail gives the letter to the machine's sendmail, which takes it for all or for none.
func (k *Kind) bySendmail(ctx context.Context, d *delivery, pending []string) jobs.Report {
	message, err := whole(d.letter.text)
	if err != nil {
		return d.broken(&jobs.Failure{
			Kind: jobs.FailSpawn, Message: "write the message for sendmail: " + err.Error(),
		})
	}
	defer message.Close()
	var said tail
	cmd := exec.CommandContext(ctx, k.sendmail,
		slices.Concat([]string{"-i", "-f", d.letter.sender}, pending)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = message, &said, &said
	cmd.Env, cmd.Dir = environ(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lingering
	err = cmd.Run()
	text := oneLine(d.mask.Text(string(said.kept)))
	if text != "" {
		d.say(text)
	}
	switch state := cmd.ProcessState; {
	case state != nil && state.Success():
		d.take(allOf(pending, verdict{code: 250, reply: "250 taken by sendmail"}))
		rep := d.report()
		rep.ExitCode = 0
		return rep
	case ctx.Err() != nil:
		rep := d.broken(&jobs.Failure{Kind: jobs.FailTimeout})
		rep.Stopped = jobs.StopCause(ctx)
		rep.Failure = stopped(rep.Stopped, k.sendmail)
		return rep
	case state == nil:
		return d.broken(&jobs.Failure{Kind: jobs.FailSpawn, Message: notStarted(err)})
	default:
		return d.exited(state, text)
	}
}

// whole is the message in a file without a name: were it a pipe, sendmail would take a message
// that breaks off, for the server was killed, for a whole one.
func whole(text []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "nightshift-mail-*") // 0600
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// environ is what sendmail programs look at. The server's own may hold its password.
func environ() []string {
	var env []string
	for _, name := range []string{"PATH", "LANG", "TZ", "HOME", "USER", "LOGNAME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func notStarted(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Sprintf("sendmail could not be started: %s", err)
}

// exited reports a sendmail that did not take the message: an exit code of sysexits.h, of which
// 75 is passing.
func (d *delivery) exited(state *os.ProcessState, said string) jobs.Report {
	exit := &jobs.ExitFailure{Code: state.ExitCode()}
	how := fmt.Sprintf("ended with exit code %d", exit.Code)
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = unix.SignalName(status.Signal())
		how = "was killed by " + exit.Signal
	}
	f := &jobs.Failure{Kind: jobs.FailExit, Message: "sendmail " + how, Exit: exit}
	if exit.Signal != "" {
		f.Kind = jobs.FailSignal
	}
	if said != "" {
		f.Message += ": " + said
	}
	rep := d.broken(f)
	rep.ExitCode = exit.Code
	return rep
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = jobs.MaxMessage / 2
	t.kept = append(t.kept, p[max(0, len(p)-most):]...)
	t.kept = t.kept[max(0, len(t.kept)-most):]
	return len(p), nil
}

// say puts a line into the log.
func (d *delivery) say(line string) {
	line = strings.TrimSpace(line) + "\n"
	d.output.WriteString(line)
	if d.log != nil {
		_, _ = d.log.Write([]byte(line))
	}
}
