package jobs

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// unreadError is the message of an error that was reported in a form that cannot be read.
const unreadError = "the job reported an error that cannot be read"

// ParseNote reads the JSON of a ::nightshift line: checkpoint, progress, result, error, each of
// which may be left out. wrong says on one line what of it was not taken and what would be right;
// "": all was. The members that are right are taken all the same, and an error that cannot be read is
// an error: nothing that is mistyped makes a success of it.
//
// A result past MaxResult counts as one that is too large. A checkpoint past MaxCheckpoint is not taken.
// Texts that are cut are masked before; the result is masked with the rest of the report.
func ParseNote(text []byte, mask *Mask) (n *Note, wrong string) {
	p := noteParser{mask: mask}
	p.read(text)
	return &p.note, clipEnd(oneLine(mask.Text(strings.Join(p.wrong, "; "))), MaxMessage)
}

type noteParser struct {
	mask  *Mask
	note  Note
	wrong []string
}

// maxNoteFaults is how many faults of a line are told.
const maxNoteFaults = 5

// found notes what is wrong with the value at a place.
func (p *noteParser) found(at string, err error) {
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		invalid = &InvalidError{Faults: []Fault{{Message: err.Error()}}}
	}
	for _, f := range invalid.Faults {
		if len(p.wrong) == maxNoteFaults {
			return
		}
		if where := strings.Trim(at+"."+f.Location, "."); where != "" {
			f.Message = where + ": " + f.Message
		}
		p.wrong = append(p.wrong, f.Message)
	}
}

// members reads an object into a struct of Raw values. What is unknown in it is told, and hides
// nothing of the rest; ok is false where nothing can be read.
func (p *noteParser) members(at string, text []byte, into any) (ok bool) {
	err := DecodeJSON(text, into)
	if err == nil {
		return true
	}
	p.found(at, err)
	return DecodeLenient(text, into) == nil
}

// value reads a member, null is as good as left out.
func (p *noteParser) value(at string, raw Raw, into any) (ok bool) {
	if raw.given() == nil {
		return false
	}
	err := DecodeJSON(raw, into)
	if err != nil {
		p.found(at, err)
	}
	return err == nil
}

func (p *noteParser) read(text []byte) {
	var line struct {
		Checkpoint Raw `json:"checkpoint"`
		Progress   Raw `json:"progress"`
		Result     Raw `json:"result"`
		Error      Raw `json:"error"`
	}
	if !p.members("", text, &line) {
		return
	}
	if err := CheckCheckpoint(line.Checkpoint); err != nil {
		p.found("", err)
	} else {
		p.note.Checkpoint = line.Checkpoint
	}
	if line.Progress != nil {
		progress, err := ParseProgress(line.Progress, p.mask)
		if err != nil {
			p.found("progress", err)
		}
		p.note.Progress = progress
	}
	p.note.Result = line.Result
	if len(line.Result) > MaxResult {
		p.note.Result, p.note.Truncated = nil, true
	}
	if line.Error.given() != nil {
		p.note.Error = p.readError(line.Error)
	}
}

// readError reads what it can of an error that was reported.
func (p *noteParser) readError(raw Raw) *SaidError {
	said, told := &SaidError{}, len(p.wrong)
	if text, ok := jsonText(raw); ok {
		p.found("error", errors.New(`want an object such as {"message": "no such user"}, got a string`))
		said.Message = text
		return said.Bound(p.mask)
	}
	var line struct {
		Type       Raw `json:"type"`
		Message    Raw `json:"message"`
		Stack      Raw `json:"stack"`
		Retryable  Raw `json:"retryable"`
		RetryAfter Raw `json:"retry_after"`
	}
	if p.members("error", raw, &line) {
		p.value("error.type", line.Type, &said.Type)
		p.value("error.message", line.Message, &said.Message)
		p.value("error.stack", line.Stack, &said.Stack)
		var retryable bool
		if p.value("error.retryable", line.Retryable, &retryable) {
			said.Retryable = &retryable
		}
		wait, err := ParseWait(line.RetryAfter)
		if said.RetryAfter = wait; err != nil {
			p.found("error.retry_after", err)
		}
	}
	if said.Message == "" && len(p.wrong) > told {
		said.Message = unreadError + ": " + p.wrong[told]
	}
	return said.Bound(p.mask)
}

// ParseWait reads a wait as jobs ask for one: a number of seconds, or a duration. Null, and nothing,
// is nil.
func ParseWait(raw Raw) (*Duration, error) {
	if len(raw.given()) == 0 {
		return nil, nil
	}
	if text, ok := jsonText(raw); ok {
		d, err := ParseDuration(text)
		if err != nil {
			return nil, err
		}
		return &d, nil
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return nil, errors.New(`want seconds as a number, or a duration such as "90s"`)
	case seconds < 0:
		return nil, errors.New("it is negative: want 0 or more")
	case seconds > time.Duration(MaxDuration).Seconds():
		return nil, errors.New("it is too long: want at most 3653d")
	}
	return new(Duration(math.Round(seconds * float64(time.Second)))), nil
}

// CheckCheckpoint gives a *TooLargeError for what is too large for a checkpoint.
func CheckCheckpoint(value Raw) error { return checkSize("checkpoint", len(value), MaxCheckpoint) }

// CheckResult gives a *TooLargeError for what is too large for a result.
func CheckResult(value Raw) error { return checkSize("result", len(value), MaxResult) }

func checkSize(what string, size, limit int) error {
	if size <= limit {
		return nil
	}
	return &TooLargeError{Location: what, Size: size, Limit: limit}
}

// Bound masks its texts and makes them fit to be kept and shown, as those of a Failure.
func (e *SaidError) Bound(mask *Mask) *SaidError {
	e.Type = clipEnd(oneLine(mask.Text(e.Type)), maxType)
	e.Message = clipEnd(oneLine(mask.Text(e.Message)), MaxMessage)
	e.Stack = clipMiddle(cleanText(mask.Text(e.Stack)), MaxStack)
	return e
}
