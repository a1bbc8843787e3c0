package mail

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

func TestMailKeepsTheContractOfKinds(t *testing.T) {
	b := startBox(t, options{})
	kindtest.Run(t, kindtest.Subject{
		Kind:     b.inClear(),
		Succeeds: func(testing.TB) jobs.Spec { return mailTo("ops@example.com") },
		Fails: func(testing.TB) (jobs.Spec, jobs.FailureKind) {
			return mailTo("no-550@example.com"), jobs.FailSMTP
		},
		Hangs: func(t testing.TB) kindtest.Hanging {
			held := len(b.all("held"))
			started := make(chan struct{})
			go func() {
				b.until("the mail server to hang", func() bool {
					return t.Context().Err() != nil || len(b.all("held")) > held
				})
				close(started)
			}()
			return kindtest.Hanging{Spec: mailTo("hang@example.com"), Started: started, Gone: b.idle}
		},
		Floods:      func(testing.TB, int64) jobs.Spec { return mailTo("flood@example.com") },
		Garbles:     func(testing.TB) jobs.Spec { return mailTo("garble@example.com") },
		Unstartable: unstartable(),
		MaxLog:      8 << 10,
	})
}

func unstartable() map[string]kindtest.Broken {
	broken := map[string]kindtest.Broken{}
	invalid := func(name string, change func(*jobs.Mail)) {
		spec := mailTo("ops@example.com")
		change(spec.Mail)
		broken[name] = kindtest.Broken{Spec: spec, Kind: jobs.FailInvalid}
	}
	invalid("no recipient", func(m *jobs.Mail) { m.To = nil })
	invalid("blank recipient", func(m *jobs.Mail) { m.To = []string{" "} })
	invalid("recipient", func(m *jobs.Mail) { m.To = []string{"ops@example.com, x@example.com"} })
	invalid("cc", func(m *jobs.Mail) { m.CC = []string{"ops"} })
	invalid("sender", func(m *jobs.Mail) { m.From = "jobs@here.test\r\nBcc: x@example.com" })
	invalid("subject", func(m *jobs.Mail) { m.Subject = "a\nBcc: x@example.com" })
	invalid("body", func(m *jobs.Mail) { m.Body = "\xff" })
	invalid("too many", func(m *jobs.Mail) {
		for i := range maxRecipients {
			m.CC = append(m.CC, fmt.Sprintf("a%d@example.com", i))
		}
	})
	return broken
}

// A black hole: connections are taken and nothing is ever said.
func TestBlackHoleIsLeftAtTheDeadlineAndSaysWhere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	k := newKind(t, Config{SMTP: "smtp://" + l.Addr().String(), From: "jobs@here.test"})
	rep := stopAt(t, k, mailTo("ops@example.com"))
	if f := rep.Failure; f == nil || f.Kind != jobs.FailTimeout || !strings.Contains(f.Message, "at its greeting") {
		t.Errorf("failure %+v", f)
	}
}
