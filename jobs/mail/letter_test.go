package mail

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

func TestMessageArrivesAsItWasWritten(t *testing.T) {
	b := startBox(t, options{})
	k := b.inClear()
	call := kindtest.NewCall(jobs.Spec{Mail: &jobs.Mail{
		From: `"Night \"Shift\", the" <Jobs@HERE.test>`,
		To:   []string{"ops@example.com", "Zoë Müller <zoe@example.com>"},
		CC:   []string{"=?utf-8?q?J=C3=BCrgen?= <j@example.com>"}, Subject: "Größe: 1 — ≥ 2",
		Body: "line one\n.\n..dots\r\nund Grüße\rlast" + strings.Repeat(" long", 300),
	}})
	wantSent(t, run(t, k, call))
	m := b.messages()
	if len(m) != 1 {
		t.Fatalf("%d messages", len(m))
	}
	for name, want := range map[string]string{
		"From":                      `"Night \"Shift\", the" <Jobs@HERE.test>`,
		"To":                        "ops@example.com, Zoë Müller <zoe@example.com>",
		"Cc":                        "Jürgen <j@example.com>",
		"Subject":                   "Größe: 1 — ≥ 2",
		"Message-ID":                "<" + call.Operation.String() + "@here.test>",
		"Auto-Submitted":            "auto-generated",
		"Nightshift-Job":            "kindtest",
		"Nightshift-Run":            call.Run.String(),
		"MIME-Version":              "1.0",
		"Content-Type":              `text/plain; charset="UTF-8"`,
		"Content-Transfer-Encoding": "quoted-printable",
	} {
		if got := m[0].header(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := time.Parse(time.RFC1123Z, m[0].header("Date")); err != nil {
		t.Error(err)
	}
	if len(m[0].Headers) != 12 || len(m[0].Defects) > 0 {
		t.Errorf("headers %q, defects %q", m[0].Headers, m[0].Defects)
	}
	want := "line one\n.\n..dots\nund Grüße\nlast" + strings.Repeat(" long", 300)
	if got := strings.ReplaceAll(m[0].Body, "\r\n", "\n"); strings.TrimSuffix(got, "\n") != want {
		t.Errorf("body %q, want %q", got, want)
	}
	if e := m[0].Envelope; e.From != "Jobs@HERE.test" ||
		!slices.Equal(e.To, []string{"ops@example.com", "zoe@example.com", "j@example.com"}) {
		t.Errorf("envelope %+v", e)
	}
}

// What a mail program would read as something else than it is goes encoded, and reads as written.
func TestSubjectsReadAsTheyAreWritten(t *testing.T) {
	b := startBox(t, options{})
	k := b.inClear()
	subjects := []string{
		"", "plain", "=?utf-8?q?=0D=0ABcc:_x@example.com?=", "a =?utf-8?b?DQo=?= b", "  two  spaces  ",
		strings.Repeat("a", 998), strings.Repeat("é", 499), strings.Repeat("word ", 199) + "end",
		strings.Repeat(" ", 80) + strings.Repeat("x", 100), "ends in space ", "🎉 done: 100 %",
		"Bcc: x@example.com",
	}
	for _, subject := range subjects {
		spec := mailTo("ops@example.com")
		spec.Mail.Subject = subject
		wantSent(t, send(t, k, spec))
	}
	for i, m := range b.messages() {
		if got := m.header("Subject"); got != subjects[i] {
			t.Errorf("%q arrived as %q", subjects[i], got)
		}
		if len(m.Headers) != 11 || len(m.Defects) > 0 || m.header("Bcc") != "" {
			t.Errorf("%q: headers %q, defects %q", subjects[i], m.Headers, m.Defects)
		}
		head, _, _ := strings.Cut(m.Raw, "\r\n\r\n")
		for line := range strings.SplitSeq(head, "\r\n") {
			if strings.TrimSpace(line) == "" || len(line) > 998 || !utf8.ValidString(line) {
				t.Errorf("%q: the line %q", subjects[i], line)
			}
		}
	}
}

// injections are texts that try to get a line of their own into a header.
var injections = []string{
	"a\r\nBcc: x@example.com", "a\nBcc: x@example.com", "a\rBcc: x@example.com", "a\x00b", "a\u0085b",
	"a\u2028b", "a\u2029b", "a\vb", "a\fb", "a\x1b[2J", "\u202ea", "a\xffb", "a\tb", "a\r\n\r\nbody",
}

func TestHeaderInjectionIsRefusedInEveryField(t *testing.T) {
	k := newKind(t, Config{SMTP: "smtp://127.0.0.1:1", From: "jobs@here.test"})
	fields := map[string]func(*jobs.Mail, string){
		"mail.subject": func(m *jobs.Mail, s string) { m.Subject = s },
		"mail.from":    func(m *jobs.Mail, s string) { m.From = s },
		"mail.to[1]":   func(m *jobs.Mail, s string) { m.To = append(m.To, s) },
		"mail.cc[0]":   func(m *jobs.Mail, s string) { m.CC = []string{s} },
	}
	for field, set := range fields {
		texts := injections
		if field != "mail.subject" {
			texts = nil
			for _, s := range injections {
				texts = append(texts, s+" <a@example.com>", `"`+s+`" <a@example.com>`, s+"@example.com", "a@example.com"+s,
					"a <a@example.com> "+s)
			}
			texts = append(texts, "=?utf-8?q?a=0D=0ABcc:?= <a@example.com>", "=?utf-8?b?AA==?= <a@example.com>")
		}
		for _, text := range texts {
			spec := mailTo("ops@example.com")
			set(spec.Mail, text)
			rep := send(t, k, spec)
			wantFailure(t, rep, jobs.FailInvalid, "invalid", field+": want ")
			if found := k.Check(spec); len(found) != 1 || found[0].Location != field {
				t.Errorf("%s %q, when saved: %+v", field, text, found)
			}
		}
	}
}

func TestAddressesThatProgramsReadDifferentlyAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "ops", "@example.com", "ops@", "a@b@example.com", "a@example.com, b@example.com",
		"Team: a@example.com, b@example.com;", `"a b"@example.com`, `"a@evil.com"@example.com`,
		"a..b@example.com", ".a@example.com", "a.@example.com", "-a@example.com", "a@-example.com",
		"a@example..com", "a@[127.0.0.1]", "zoë@example.com", "a@exämple.com", "a＠example.com",
		"a@example．com", "a(comment)@example.com", "<a@example.com", "a@example.com>",
		"a@example.com <b@example.com> x", "<@relay:a@example.com>", "a@example.com\u200b",
		strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("a.", 126) + "com",
		strings.Repeat("n ", 600) + "<a@example.com>",
	} {
		// net/mail drops comments; what is left is a plain address.
		if a, err := parseAddress(text); err == nil && text != "a(comment)@example.com" {
			t.Errorf("%.100q is read as %+v", text, a)
		}
	}
	for text, want := range map[string]string{
		"ops@example.com": "ops@example.com", "<ops@example.com>": "ops@example.com",
		"Ops <o.p+s@EXAMPLE.com>": "o.p+s@EXAMPLE.com", "a@xn--exmple-cua.com": "a@xn--exmple-cua.com",
		"root@localhost": "root@localhost", " a@example.com ": "a@example.com",
	} {
		if a, err := parseAddress(text); err != nil || a.Address != want {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
}

func FuzzMessageHasOnlyItsOwnHeaders(f *testing.F) {
	k, err := New(Config{SMTP: "smtp://127.0.0.1:1", From: "jobs@here.test"})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range injections {
		f.Add(s, s+" <a@example.com>", s)
	}
	f.Add("=?utf-8?q?=0A?=", "=?utf-8?q?=0A?= <a@example.com>", "\r\n.\r\n")
	f.Fuzz(func(t *testing.T, subject, to, body string) {
		spec := mailTo(to)
		spec.Mail.Subject, spec.Mail.Body = subject, body
		l, err := k.compose(kindtest.NewCall(spec))
		if err != nil {
			return
		}
		head, _, _ := strings.Cut(string(l.text), "\r\n\r\n")
		names := 0
		for line := range strings.SplitSeq(head, "\r\n") {
			if strings.ContainsAny(line, "\r\n\x00") || strings.TrimSpace(line) == "" {
				t.Fatalf("the line %q", line)
			}
			if line[0] != ' ' {
				names++
			}
		}
		if names != 11 || len(l.recipients) != 1 {
			t.Fatalf("%d headers, recipients %q in %q", names, l.recipients, head)
		}
	})
}

func TestCheckLooksAtWhatHoldsNoTemplate(t *testing.T) {
	k := newKind(t, Config{SMTP: "smtp://127.0.0.1:1"})
	spec := mailTo("{{ payload.to }}", "ops", "ops@example.com")
	spec.Mail.Subject, spec.Mail.From = "{{ payload.a }}\n", "jobs"
	want := []jobs.Fault{
		{Location: "mail.from", Message: errAddress.Error()}, {Location: "mail.to[1]", Message: errAddress.Error()},
	}
	if got := k.Check(spec); !slices.Equal(got, want) {
		t.Errorf("faults %+v", got)
	}
	spec = mailTo("ops@example.com")
	if got := k.Check(spec); len(got) != 1 || got[0].Location != "mail.from" || !strings.Contains(got[0].Message, "--mail-from") {
		t.Errorf("faults without a sender: %+v", got)
	}
	if got := k.Check(jobs.Spec{}); got != nil {
		t.Errorf("faults of another kind: %+v", got)
	}
	wantFailure(t, send(t, k, spec), jobs.FailInvalid, "invalid", "mail.from: want an address")
}
