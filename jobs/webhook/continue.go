package webhook

import (
	"fmt"
	"strings"

	"nightshift/jobs"
)

// continueHeader, with true, says of a good answer that it was a slice of the work: the run is to be
// called again.
const continueHeader = "Nightshift-Continue"

// continues reports whether a good answer asks to be called again, and what was not understood of that.
func (x *exchange) continues(mask *jobs.Mask) (more bool, notes []string) {
	values := x.resp.Header[continueHeader]
	if values == nil {
		return false, nil
	}
	value := strings.TrimSpace(strings.Join(values, ", "))
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, []string{fmt.Sprintf("%s ignored: want true or false, got %q",
		continueHeader, oneLine(mask.Text(value), 40))}
}

// slice is the report of a slice of the work: what its answer saves, byte for byte, is what the next
// one starts from. Whether it may go on is not known here.
func (x *exchange) slice(call *jobs.Call) jobs.Report {
	var said struct {
		Checkpoint jobs.Raw `json:"checkpoint"`
		Progress   jobs.Raw `json:"progress"`
	}
	if x.past {
		return x.badSlice(call.Mask, "it is larger than 1 MiB")
	}
	if err := jobs.DecodeLenient(x.body, &said); err != nil {
		return x.badSlice(call.Mask, err.Error())
	}
	if n := len(said.Checkpoint); n > jobs.MaxCheckpoint {
		return x.badSlice(call.Mask, fmt.Sprintf("checkpoint: want at most 4 KiB, got %d bytes", n))
	}
	rep := jobs.Report{
		Continue: true, Checkpoint: said.Checkpoint, HTTPStatus: x.resp.StatusCode, ExitCode: -1,
	}
	if said.Progress == nil {
		return rep
	}
	var err error
	if rep.Progress, err = jobs.ParseProgress(said.Progress, call.Mask); err != nil {
		return x.badSlice(call.Mask, "progress: "+err.Error())
	}
	return rep
}

// badSlice is the failure of an answer that asks to be called again and does not say where to go on.
func (x *exchange) badSlice(mask *jobs.Mask, why string) jobs.Report {
	x.hide(mask)
	return x.failed(jobs.FailInvalid, continueHeader+": true wants an answer such as "+
		`{"checkpoint": {"page": 3}, "progress": {"done": 3, "total": 10}}: `+mask.Text(why))
}
