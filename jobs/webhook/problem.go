package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"nightshift/jobs"
)

// maxType bounds the type of an error.
const maxType = 256

// problem is an application/problem+json answer (RFC 9457) that is read into a report.
type problem struct {
	body []byte // as it came: a checkpoint stays as it is
	mask *jobs.Mask
	now  time.Time
	rep  *jobs.Report
}

// read takes the type, the message, what it says of another try, and what the job has saved. Members
// of the wrong type are ignored and noted.
func (p *problem) read() {
	var said struct {
		Type       jobs.Raw `json:"type"`
		Title      jobs.Raw `json:"title"`
		Detail     jobs.Raw `json:"detail"`
		Retryable  jobs.Raw `json:"retryable"`
		RetryAfter jobs.Raw `json:"retry_after"`
		Checkpoint jobs.Raw `json:"checkpoint"`
		Progress   jobs.Raw `json:"progress"`
	}
	if len(p.body) > maxBodyBytes || jobs.DecodeLenient(p.body, &said) != nil {
		p.note("the problem+json answer is not a JSON object of up to 1 MiB: not read")
		return
	}
	if t := oneLine(p.text("type", said.Type), maxType); t != "" && t != "about:blank" {
		p.rep.Failure.Type = t
	}
	title := oneLine(p.text("title", said.Title), jobs.MaxMessage)
	detail := oneLine(p.text("detail", said.Detail), jobs.MaxMessage)
	if message := orElse(detail, title); message != "" {
		p.rep.Failure.Message = message
	}
	if isSaid(said.Retryable) {
		var b bool
		if jobs.DecodeJSON(said.Retryable, &b) == nil {
			p.rep.Retryable = &b
		} else {
			p.note("retryable of the problem ignored: want true or false")
		}
	}
	if isSaid(said.RetryAfter) {
		d, err := reportedWait(said.RetryAfter, p.now)
		if err == nil {
			p.rep.RetryAfter = &d
		} else {
			p.note("retry_after of the problem ignored: %s", err)
		}
	}
	p.saved(said.Checkpoint, said.Progress)
}

// saved takes what the job has saved with its error. A checkpoint of null says that there is none any
// more.
func (p *problem) saved(checkpoint, progress jobs.Raw) {
	if n := len(checkpoint); n > jobs.MaxCheckpoint {
		p.note("checkpoint of the problem ignored: want at most 256 KiB, got %d bytes", n)
	} else {
		p.rep.Checkpoint = checkpoint
	}
	if progress == nil {
		return
	}
	said, err := jobs.ParseProgress(progress, p.mask)
	if err != nil {
		p.note("progress of the problem ignored: %s", err)
	}
	p.rep.Progress = said
}

// text is a member that is a string, masked; "" where it is none.
func (p *problem) text(name string, raw jobs.Raw) string {
	var s string
	if isSaid(raw) && jobs.DecodeJSON(raw, &s) != nil {
		p.note("%s of the problem ignored: want a string", name)
		return ""
	}
	return p.mask.Text(s)
}

func (p *problem) note(format string, args ...any) {
	p.rep.Notes = append(p.rep.Notes, oneLine(p.mask.Text(fmt.Sprintf(format, args...)), jobs.MaxMessage))
}

// isSaid is false for a member that is left out, or null, which is the same.
func isSaid(raw jobs.Raw) bool { return raw != nil && string(raw) != "null" }

// reportedWait reads seconds as a number, a duration, or an instant as RFC 3339 or HTTP has it.
func reportedWait(raw jobs.Raw, now time.Time) (time.Duration, error) {
	d, err := jobs.ParseWait(raw)
	if err == nil {
		return d.Std(), nil
	}
	var s string
	if jobs.DecodeJSON(raw, &s) != nil {
		return 0, err
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if at, err = http.ParseTime(s); err != nil {
			return 0, errors.New("want seconds as a number, a duration such as \"90s\", or a time")
		}
	}
	wait := at.Sub(now)
	switch {
	case wait < 0:
		return 0, errors.New("the time is past")
	case wait > time.Duration(jobs.MaxDuration):
		return 0, errors.New("it is too long: at most 3653d")
	}
	return wait, nil
}
