package mail

import (
	"context"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// sendmail writes a program that does what the lines of shell say, in a folder of its own.
func sendmail(t testing.TB, script string) (k *Kind, dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "sendmail")
	text := "#!/bin/sh\ncd " + dir + "\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return newKind(t, Config{Sendmail: path, From: "jobs@here.test"}), dir
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSendmailIsGivenTheMessageAndItsRecipients(t *testing.T) {
	t.Setenv("NIGHTSHIFT_SMTP_PASSWORD", "canary-of-the-test")
	k, dir := sendmail(t, `printf '%s\n' "$@" > args; cat > message; env > environ`)
	spec := mailTo("one@example.com", "two@example.com")
	spec.Mail.Body = strings.Repeat("a line\n", 50_000) // more than a pipe holds
	call := kindtest.NewCall(spec)
	rep := run(t, k, call)
	wantAccepted(t, rep, call, "one@example.com", "two@example.com")
	if rep.ExitCode != 0 {
		t.Errorf("exit code %d", rep.ExitCode)
	}
	if got := read(t, dir, "args"); got != "-i\n-f\njobs@here.test\none@example.com\ntwo@example.com\n" {
		t.Errorf("arguments %q", got)
	}
	m, err := mail.ReadMessage(strings.NewReader(read(t, dir, "message")))
	if err != nil || m.Header.Get("Message-ID") != "<"+call.Operation.String()+"@here.test>" {
		t.Errorf("message: %v, %v", m, err)
	}
	if env := read(t, dir, "environ"); strings.Contains(env, "canary") || !strings.Contains(env, "PATH=") {
		t.Errorf("environment %q", env)
	}
}

func TestExitCodesOfSendmailAreThoseOfScripts(t *testing.T) {
	for code, action := range map[string]string{"75": jobs.ThenRetry, "67": jobs.ThenFail} {
		k, _ := sendmail(t, "echo no such user >&2; exit "+code)
		rep := send(t, k, mailTo("ops@example.com"))
		wantFailure(t, rep, jobs.FailExit, "exit", "exit code "+code+": no such user")
		wantDecision(t, rep, action)
	}
	k, _ := sendmail(t, "kill -9 $$")
	wantFailure(t, send(t, k, mailTo("ops@example.com")), jobs.FailSignal, "signal", "SIGKILL")
	k = newKind(t, Config{Sendmail: "/nonexistent/sendmail", From: "jobs@here.test"})
	wantFailure(t, send(t, k, mailTo("ops@example.com")), jobs.FailSpawn, "spawn", "could not be started")
}

func TestSendmailKeepsTheContractOfKinds(t *testing.T) {
	k, dir := sendmail(t, `
case "$*" in
*no@*) echo refused >&2; exit 67;;
*flood@*) head -c 9000000 /dev/zero; exit 69;;
*garble@*) printf '\377\376 \001\033[31m' >&2; exit 65;;
*hang@*) echo $$ > pid.new; mv pid.new pid; exec sleep 1000;;
esac`)
	kindtest.Run(t, kindtest.Subject{
		Kind:     k,
		Succeeds: func(testing.TB) jobs.Spec { return mailTo("ops@example.com") },
		Fails: func(testing.TB) (jobs.Spec, jobs.FailureKind) {
			return mailTo("no@example.com"), jobs.FailExit
		},
		Hangs: func(t testing.TB) kindtest.Hanging {
			pid := filepath.Join(dir, "pid")
			_ = os.Remove(pid)
			started := make(chan struct{})
			go func() {
				defer close(started)
				for t.Context().Err() == nil {
					if _, err := os.Stat(pid); err == nil {
						return
					}
					time.Sleep(2 * time.Millisecond)
				}
			}()
			return kindtest.Hanging{Spec: mailTo("hang@example.com"), Started: started, Gone: func() bool { return gone(pid) }}
		},
		Floods:      func(testing.TB, int64) jobs.Spec { return mailTo("flood@example.com") },
		Garbles:     func(testing.TB) jobs.Spec { return mailTo("garble@example.com") },
		Unstartable: unstartable(),
		MaxLog:      4 << 10,
	})
}

// gone reports whether nothing but a corpse is left of the process whose id is in the file.
func gone(path string) bool {
	pid, err := os.ReadFile(path)
	if err != nil {
		return true // it never started
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestWhatSendmailStartedIsKilledWithIt(t *testing.T) {
	k, dir := sendmail(t, "sleep 1000 & echo $! > pid.new; mv pid.new pid; wait")
	ctx, cancel := context.WithCancelCause(context.Background())
	pid := filepath.Join(dir, "pid")
	go func() {
		for {
			if _, err := os.Stat(pid); err == nil {
				cancel(jobs.ErrCancelled)
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	rep := k.Run(ctx, kindtest.NewCall(mailTo("ops@example.com")))
	if rep.Stopped != jobs.ErrCancelled {
		t.Errorf("stopped %v", rep.Stopped)
	}
	// It has been killed; when the kernel takes it away is another matter.
	until(t, "the child of sendmail to be gone", func() bool { return gone(pid) })
}

func TestServerWithoutAnyWayToSendRefusesMailJobs(t *testing.T) {
	k := newKind(t, Config{From: "jobs@here.test"})
	k.sendmail = "" // whatever the machine has
	spec := mailTo("ops@example.com")
	if found := k.Check(spec); len(found) != 1 || found[0].Location != "mail" || !strings.Contains(found[0].Message, "--smtp") {
		t.Errorf("when saved: %+v", found)
	}
	wantFailure(t, send(t, k, spec), jobs.FailSpawn, "spawn", "--smtp")
}
