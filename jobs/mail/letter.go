package mail

import (
	"bytes"
	"errors"
	"fmt"
	netmail "net/mail"

	gomail "github.com/wneessen/go-mail"

	"nightshift/jobs"
)

// letter is a message and its envelope.
type letter struct {
	sender     string   // of the envelope
	recipients []string // of the envelope: to, then cc, each once
	messageID  string   // with its brackets
	text       []byte   // headers and body, lines ended by CRLF
}

// compose makes the message of an attempt. What is refused here was refused, where it held no
// template, when the job was saved; errors name the field.
func (k *Kind) compose(call *jobs.Call) (*letter, error) {
	m := call.Spec.Mail
	from := m.From
	if from == "" {
		from = k.from
	}
	if from == "" {
		return nil, errors.New("mail.from: want an address: the server has no --mail-from")
	}
	sender, err := parseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("mail.from: %w", err)
	}
	to, err := parseList("mail.to", m.To)
	if err != nil {
		return nil, err
	}
	if len(to) == 0 {
		return nil, errors.New("mail.to: want at least one address")
	}
	cc, err := parseList("mail.cc", m.CC)
	if err != nil {
		return nil, err
	}
	if n := len(to) + len(cc); n > maxRecipients {
		return nil, fmt.Errorf("mail.to: %w", tooMany(n))
	}
	if err := checkSubject(m.Subject); err != nil {
		return nil, fmt.Errorf("mail.subject: %w", err)
	}
	if err := checkBody(m.Body); err != nil {
		return nil, fmt.Errorf("mail.body: %w", err)
	}
	l := &letter{
		sender:    sender.Address,
		messageID: fmt.Sprintf("<%s@%s>", call.Operation, domainOf(sender.Address)),
	}
	l.addressTo(to, cc)
	return l, l.write(k, call, sender, to, cc)
}

func parseList(at string, texts []string) ([]*netmail.Address, error) {
	var list []*netmail.Address
	for i, text := range texts {
		a, err := parseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", at, i, err)
		}
		list = append(list, a)
	}
	return list, nil
}

func (l *letter) addressTo(lists ...[]*netmail.Address) {
	seen := map[string]bool{}
	for _, list := range lists {
		for _, a := range list {
			if address := normal(a.Address); !seen[address] {
				seen[address] = true
				l.recipients = append(l.recipients, address)
			}
		}
	}
}

func (l *letter) write(k *Kind, call *jobs.Call, from *netmail.Address, to, cc []*netmail.Address) error {
	// Addresses go in as plain headers: go-mail folds those it formats itself inside of names.
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.SetGenHeader(gomail.HeaderMessageID, l.messageID)
	m.SetDateWithValue(k.now())
	m.SetGenHeader("From", headerAddress(from))
	m.SetGenHeader("To", headerAddresses(to)...)
	if len(cc) > 0 {
		m.SetGenHeader("Cc", headerAddresses(cc)...)
	}
	m.SetGenHeader(gomail.HeaderSubject, headerText(call.Spec.Mail.Subject))
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office answers
	m.SetGenHeader("Nightshift-Job", call.Job)
	m.SetGenHeader("Nightshift-Run", call.Run.String())
	m.SetBodyString(gomail.TypeTextPlain, call.Spec.Mail.Body)
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		return fmt.Errorf("mail: put the message together: %w", err)
	}
	l.text = b.Bytes()
	return nil
}

func headerAddresses(list []*netmail.Address) []string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = headerAddress(a)
	}
	return texts
}
