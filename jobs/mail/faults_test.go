package mail

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// stopAt runs an attempt whose deadline comes soon.
func stopAt(t *testing.T, k *Kind, spec jobs.Spec) jobs.Report {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), 500*time.Millisecond, jobs.ErrTimeout)
	defer cancel()
	rep := k.Run(ctx, kindtest.NewCall(spec))
	kindtest.CheckReport(t, rep)
	if rep.Stopped != jobs.ErrTimeout {
		t.Fatalf("stopped %v, failure %v: want a time-out", rep.Stopped, rep.Failure)
	}
	return rep
}

func TestServerThatHangsIsLeftAtTheDeadline(t *testing.T) {
	cert, trust := certificate(t, "localhost")
	stages := []struct{ name, where string }{
		{"greeting", "greeting"},
		{"hello", "EHLO"},
		{"starttls", "STARTTLS"},
		{"handshake", "STARTTLS"},
		{"auth", "sign-in"},
		{"from", "MAIL FROM"},
		{"to", "RCPT TO"},
		{"data", "DATA"},
		{"message", "unknown"},
		{"end", "unknown"},
	}
	all := make([]options, len(stages))
	for i, stage := range stages {
		all[i] = options{
			TLS: "starttls", Cert: cert.file, Key: cert.key, Auth: "u:password", Hang: stage.name,
		}
	}
	boxes := startBoxes(t, all...)
	for i, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			b := boxes[i].of(t)
			k := newKind(t, Config{
				SMTP: b.url("smtp", "u", ""), Password: "password", From: "jobs@here.test", RootCAs: trust,
			})
			var rep jobs.Report
			// The server may be slow to come as far as that.
			b.until("it to hang there", func() bool {
				rep = stopAt(t, k, mailTo("ops@example.com"))
				return len(b.all("held")) > 0
			})
			if f := rep.Failure; f == nil || f.Kind != jobs.FailTimeout || !strings.Contains(f.Message, stage.where) {
				t.Errorf("failure %+v: want %q in it", f, stage.where)
			}
			b.until("the connections to be closed", b.idle)
		})
	}
}

func TestServerThatHangsAtQuitHasTakenTheMessage(t *testing.T) {
	b := startBox(t, options{Hang: "quit"})
	wantSent(t, send(t, b.inClear(), mailTo("ops@example.com")))
	if n := len(b.messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestConnectionLostOnTheWaySaysWhere(t *testing.T) {
	stages := []struct{ name, where string }{
		{"greeting", "at its greeting"},
		{"hello", "after EHLO"},
		{"from", "after MAIL FROM"},
		{"to", "after RCPT TO"},
		{"data", "after DATA"},
		{"message", "whether it was taken is unknown"},
		{"end", "whether it was taken is unknown"},
	}
	all := make([]options, len(stages))
	for i, stage := range stages {
		all[i] = options{Drop: stage.name}
	}
	boxes := startBoxes(t, all...)
	for i, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			b := boxes[i].of(t)
			rep := send(t, b.inClear(), mailTo("ops@example.com"))
			wantFailure(t, rep, jobs.FailConnection, "connection", "localhost:"+b.port, stage.where)
			if rep.Checkpoint != nil {
				t.Errorf("checkpoint %s though nothing is known to be taken", rep.Checkpoint)
			}
		})
	}
}

func TestServerThatCannotBeReachedHasTheKindsOfAllJobs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	from := "jobs@here.test"
	rep := send(t, newKind(t, Config{SMTP: "smtp://" + nobody, From: from}), mailTo("ops@example.com"))
	wantFailure(t, rep, jobs.FailConnection, "connection", nobody, "nothing listens there")
	rep = send(t, newKind(t, Config{SMTP: "smtps://mail.invalid", From: from}), mailTo("ops@example.com"))
	wantFailure(t, rep, jobs.FailDNS, "dns", "mail.invalid")
}

func TestWhatSpeaksNoSMTPIsSaidToDoSo(t *testing.T) {
	for _, said := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x01\x00\x05hello\r\n", "199 strange\r\n", "2\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(said))
				c.Close()
			}
		}()
		k := newKind(t, Config{SMTP: "smtp://" + l.Addr().String(), From: "jobs@here.test"})
		rep := send(t, k, mailTo("ops@example.com"))
		wantFailure(t, rep, jobs.FailConnection, "connection", "does not speak SMTP")
	}
}

func TestServerThatSaysTooMuchIsLeft(t *testing.T) {
	b := startBox(t, options{})
	rep := send(t, b.inClear(), mailTo("flood@example.com"))
	wantFailure(t, rep, jobs.FailConnection, "connection", "more than 1 MiB")
}

func TestRefusedSenderFailsWithTheReplyAndMarksNoRecipient(t *testing.T) {
	b := startBox(t, options{})
	spec := mailTo("ops@example.com")
	spec.Mail.From = "no-553@here.test"
	rep := send(t, b.inClear(), spec)
	wantFailure(t, rep, jobs.FailSMTP, "553", "553 5.7.1 this sender may not", "after MAIL FROM")
	if rep.Checkpoint != nil {
		t.Errorf("checkpoint %s", rep.Checkpoint)
	}
}
