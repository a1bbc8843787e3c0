package jobs

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
)

// Bounds of what is rendered.
const (
	MaxBody       = 1 << 20       // of a webhook or a mail
	maxArgument   = 128<<10 - 256 // Linux: MAX_ARG_STRLEN, the name of a variable included
	maxRecipients = 100
)

// maxRendered bounds all texts of one attempt together.
const maxRendered = 4 << 20

// renderer renders the templates of one attempt, within one budget.
type renderer struct {
	*evidence
	size    int // of the texts so far
	scratch []byte
}

func newRenderer(ev *evidence) *renderer {
	ev.budget = &meter{left: evalBudget}
	return &renderer{evidence: ev}
}

// value is what an expression gives: as it stands in the facts where it is a path into them.
func (r *renderer) value(p *part) (raw Raw, value any, err error) {
	if raw, err = r.exact(p.prog); err == nil && raw == nil {
		value, err = r.run(p.prog)
	}
	return raw, value, err
}

// text is the text of an expression.
func (r *renderer) text(p *part, lists bool) (text string, err error) {
	raw, value, err := r.value(p)
	switch {
	case err != nil:
	case raw != nil:
		text, err = textOfRaw(raw, lists)
	default:
		text, err = textOf(value, lists)
	}
	if err != nil {
		return "", p.placed(err)
	}
	return text, nil
}

// textForm is what a rendered text may be.
type textForm struct {
	lists bool                     // lists and objects have their JSON text
	most  int                      // bytes
	value func(value string) error // of a value that is not alone; nil: any
	whole func(text string) error  // of the whole; nil: any
}

var (
	headerForm     = textForm{most: maxHeaderValue, whole: checkHeaderValue}
	hostHeaderForm = textForm{most: maxHeaderValue, whole: checkHostValue}
	signingForm    = textForm{most: maxHeaderValue, whole: checkSigningSecret}
	argumentForm   = textForm{lists: true, most: maxArgument, whole: checkNoNUL}
	addressForm    = textForm{most: maxAddress, value: checkInAddress, whole: checkAddress}
	subjectForm    = textForm{lists: true, most: maxSubject, whole: checkSubject}
	mailBodyForm   = textForm{lists: true, most: MaxBody}
)

// field renders a text.
func (r *renderer) field(t *template, form *textForm) (string, error) {
	text, err := r.appendText(r.scratch[:0], t, form)
	r.scratch = text
	if r.size += len(text); r.size > maxRendered {
		return "", fmt.Errorf("is too much: all rendered fields together may have %d bytes", maxRendered)
	}
	if err == nil && form.whole != nil {
		err = form.whole(string(text))
	}
	return string(text), err
}

func (r *renderer) appendText(dst []byte, t *template, form *textForm) ([]byte, error) {
	start, alone := len(dst), t.alone() != nil
	for i := range t.parts {
		p := &t.parts[i]
		text := p.text
		if p.prog != nil {
			var err error
			if text, err = r.text(p, form.lists); err != nil {
				return nil, err
			}
			if form.value != nil && !alone {
				if err = form.value(text); err != nil {
					return nil, p.placed(err)
				}
			}
		}
		if dst = append(dst, text...); len(dst)-start > form.most {
			return nil, fmt.Errorf("is longer than %d bytes", form.most)
		}
	}
	return dst, nil
}

// render gives what a webhook sends; nil: the payload as it came.
func (b *bodyTemplate) render(r *renderer) ([]byte, error) {
	switch {
	case b.text != nil:
		return r.appendText([]byte{}, b.text, &textForm{lists: true, most: MaxBody})
	case b.json != nil:
		return r.appendJSON(b.json, MaxBody)
	}
	return b.fixed, nil
}

// appendJSON renders a JSON text of bounded size.
func (r *renderer) appendJSON(t *jsonTemplate, most int) ([]byte, error) {
	dst := make([]byte, 0, 512)
	for i := range t.parts {
		p := &t.parts[i]
		var err error
		switch {
		case p.tmpl == nil:
			dst = append(dst, p.text...)
		case p.tmpl.alone() != nil:
			dst, err = r.appendTyped(dst, p.tmpl.alone())
		default:
			var text []byte
			text, err = r.appendText(r.scratch[:0], p.tmpl, &textForm{lists: true, most: most})
			if r.scratch = text; err == nil {
				dst = AppendJSONString(dst, string(text))
			}
		}
		if err != nil {
			return nil, &fieldError{p.at, err}
		}
		if len(dst) > most {
			return nil, fmt.Errorf("is longer than %d bytes", most)
		}
	}
	return dst, nil
}

// fieldError is the error of a place within a JSON text.
type fieldError struct {
	at  string
	err error
}

func (e *fieldError) Error() string { return e.at + ": " + e.err.Error() }

// appendTyped writes a value as JSON; what is a path to something byte for byte.
func (r *renderer) appendTyped(dst []byte, p *part) ([]byte, error) {
	raw, value, err := r.value(p)
	switch {
	case err != nil:
	case raw != nil:
		dst = append(dst, raw...)
	default:
		dst, err = appendValue(dst, value)
	}
	if err != nil {
		return nil, p.placed(err)
	}
	return dst, nil
}

// holds evaluates a condition; nil is false.
func (ev *evidence) holds(p *program) (bool, error) {
	value, err := ev.run(p)
	if err != nil {
		return false, err
	}
	switch v := value.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return false, fmt.Errorf("gave %s, not true or false", kindName(value))
}

// runFactsOf is a run as expressions see it.
func runFactsOf(run *Run, attempt int) runFacts {
	if run == nil {
		return runFacts{Attempt: attempt}
	}
	known := runFacts{
		ID: run.ID.String(), OperationID: run.OperationID.String(), Trigger: string(run.Trigger),
		CorrelationID: run.CorrelationID, Attempt: attempt,
	}
	if run.Schedule != "" {
		known.Schedule = run.Schedule
	}
	if run.ScheduledFor != 0 {
		known.ScheduledFor = run.ScheduledFor.String()
	}
	if len(run.Labels) > 0 {
		known.Labels = run.Labels
	}
	return known
}

// Bounds of the fields of a mail.
const (
	maxAddress = 1 << 10
	maxSubject = 8 << 10
)

func checkHeaderValue(text string) error {
	if strings.ContainsFunc(text, badHeaderRune) {
		return errors.New("has a line break or another control character")
	}
	return nil
}

func checkSigningSecret(text string) error {
	_, err := SigningKey(text)
	return err
}

func checkHostValue(text string) error {
	var f faults
	if f.checkHostHeader("", text); len(f) > 0 {
		return errors.New(f[0].Message)
	}
	return nil
}

func checkNoNUL(text string) error {
	if strings.Contains(text, "\x00") {
		return errors.New("has the character NUL")
	}
	return nil
}

// badLineRune is what may not stand in a header of a mail.
func badLineRune(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func checkSubject(text string) error {
	if strings.ContainsFunc(text, badLineRune) {
		return errors.New("has a line break or another control character")
	}
	return nil
}

// checkInAddress refuses, in a value that is a part of an address, all that would make another
// of it.
func checkInAddress(value string) error {
	if strings.ContainsAny(value, `"<>(),;:\[]`) {
		return errors.New(`gives a text with one of "<>(),;:\[], which would change the address`)
	}
	return nil
}

// checkAddress wants one address as RFC 5322 has it, without comments and groups.
func checkAddress(text string) error {
	if strings.ContainsFunc(text, badLineRune) {
		return errors.New("has a line break or another control character")
	}
	a, err := mail.ParseAddress(text)
	if err != nil || text != a.Address && !strings.HasSuffix(text, "<"+a.Address+">") {
		return errors.New("want one address, such as ops@example.com or Ops <ops@example.com>")
	}
	return nil
}
