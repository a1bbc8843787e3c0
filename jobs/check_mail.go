package jobs

import (
	"strconv"
	"strings"
)

func (m *Mail) check(f *faults) {
	if len(m.To) == 0 {
		f.add("mail.to", "want at least one address, such as ops@example.com")
	}
	f.checkAddresses("mail.to", m.To)
	f.checkAddresses("mail.cc", m.CC)
	if m.From != "" {
		f.checkAddress("mail.from", m.From)
	}
	subject, ok := skeleton(m.Subject, func(string) string { return "" })
	switch {
	case m.Subject == "":
		f.add("mail.subject", "want a subject")
	case !ok: // Prepare says so
	case len(subject) > maxSubject:
		f.add("mail.subject", "want at most %d bytes, got %d", maxSubject, len(subject))
	default:
		f.check("mail.subject", checkSubject(subject))
	}
	switch {
	case m.Body == "":
		f.add("mail.body", "want a text")
	case strings.Contains(m.Body, "\x00"):
		f.add("mail.body", "want text without NUL")
	}
}

func (f *faults) checkAddresses(at string, list []string) {
	if len(list) > maxRecipients {
		f.add(at, "want at most %d addresses, got %d", maxRecipients, len(list))
		return
	}
	for i, text := range list {
		f.checkAddress(at+"["+strconv.Itoa(i)+"]", text)
	}
}

// checkAddress checks an address, with words in the place of its expressions.
func (f *faults) checkAddress(at, text string) {
	literal, ok := skeleton(text, func(string) string { return "x" })
	full, _ := skeleton(text, func(before string) string {
		if strings.HasSuffix(before, "<") {
			return "x@x"
		}
		return "x"
	})
	switch {
	case !ok: // Prepare says so
	case len(literal) > maxAddress:
		f.add(at, "want at most %d bytes, got %d", maxAddress, len(literal))
	case hasTemplate(text) && literal == "x": // one expression
	case checkAddress(full) != nil:
		f.check(at, checkAddress(literal))
	}
}
