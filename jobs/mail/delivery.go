package mail

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"nightshift/jobs"
)

// progress is what the attempts of an operation have come to: its checkpoint.
type progress struct {
	Run      string    `json:"run"`      // the run that refusals belong to
	Accepted []string  `json:"accepted"` // of the operation
	Refused  []refusal `json:"refused,omitempty"`
}

// refusal is a recipient that is not tried again by the run.
type refusal struct {
	Address string `json:"address"`
	Reply   string `json:"reply"` // begins with the code
}

// verdict is what a mail server said to a recipient: code 250, or why not.
type verdict struct {
	address string
	code    int
	reply   string // the code and the text, one line
}

func (v verdict) accepted() bool { return v.code/100 == 2 }
func (v verdict) passing() bool  { return v.code/100 == 4 }

// delivery is an attempt to bring a letter to those recipients that are not done with.
type delivery struct {
	letter *letter
	log    io.Writer
	mask   *jobs.Mask
	state  progress
	again  []verdict // those that said: not now
	notes  []string
	output strings.Builder
}

// newDelivery goes on from what the operation has saved. What another run of it was refused, a
// person has looked at since: it is tried again.
func newDelivery(l *letter, call *jobs.Call) *delivery {
	d := &delivery{letter: l, log: call.Log, mask: call.Mask}
	if call.Checkpoint != nil {
		if err := jobs.DecodeLenient(call.Checkpoint, &d.state); err != nil {
			d.state = progress{}
			d.notes = append(d.notes, "the checkpoint is not one of a mail: all recipients are written to")
		}
	}
	if run := call.Run.String(); d.state.Run != run {
		d.state.Run, d.state.Refused = run, nil
	}
	return d
}

// pending are the recipients that have neither taken nor refused the letter.
func (d *delivery) pending() []string {
	var list []string
	for _, address := range d.letter.recipients {
		refused := slices.ContainsFunc(d.state.Refused, func(r refusal) bool {
			return r.Address == address
		})
		if !refused && !slices.Contains(d.state.Accepted, address) {
			list = append(list, address)
		}
	}
	return list
}

// take puts the verdicts on record.
func (d *delivery) take(verdicts []verdict) {
	for _, v := range verdicts {
		line := fmt.Sprintf("%s: %s\n", v.address, v.reply)
		d.output.WriteString(line)
		if d.log != nil {
			_, _ = io.WriteString(d.log, line)
		}
		switch {
		case v.accepted():
			d.state.Accepted = append(d.state.Accepted, v.address)
		case v.passing():
			d.again = append(d.again, v)
		default:
			d.state.Refused = append(d.state.Refused, refusal{v.address, v.reply})
		}
	}
}

// report judges: to be tried again while a recipient said "not now", failed where one refused.
func (d *delivery) report() jobs.Report {
	rep := jobs.Report{ExitCode: -1, Notes: d.notes, OutputTail: d.tail()}
	if len(d.again) == 0 && len(d.state.Refused) == 0 {
		rep.Result, rep.ResultTruncated = d.result()
		return rep
	}
	rep.Checkpoint = jobs.AppendJSON(nil, &d.state)
	f := &jobs.Failure{Kind: jobs.FailSMTP}
	var parts []string
	if refused := d.state.Refused; len(refused) > 0 {
		f.Type = codeOf(refused[0].Reply)
		texts := make([]string, len(refused))
		for i, r := range refused {
			texts[i] = r.Address + ": " + r.Reply
		}
		parts = append(parts, "refused by "+strings.Join(texts, "; "))
	}
	if len(d.again) > 0 {
		f.Type = strconv.Itoa(d.again[0].code)
		texts := make([]string, len(d.again))
		for i, v := range d.again {
			texts[i] = v.address + ": " + v.reply
		}
		parts = append([]string{"not taken yet by " + strings.Join(texts, "; ")}, parts...)
	}
	if n := len(d.state.Accepted); n > 0 {
		parts = append(parts, fmt.Sprintf("taken by %d of %d", n, len(d.letter.recipients)))
	}
	f.Message = strings.Join(parts, ", ")
	rep.Failure = f.Bound()
	return rep
}

// broken reports an attempt whose delivery came to no verdicts: nothing is known to be taken.
func (d *delivery) broken(f *jobs.Failure) jobs.Report {
	return jobs.Report{ExitCode: -1, Failure: f.Bound(), Notes: d.notes, OutputTail: d.tail()}
}

func codeOf(reply string) string {
	code, _, _ := strings.Cut(reply, " ")
	return code
}

// result is what a run that succeeded gives back.
func (d *delivery) result() (result jobs.Raw, truncated bool) {
	result = jobs.AppendJSON(nil, &struct {
		Accepted  []string `json:"accepted"`
		MessageID string   `json:"message_id"`
	}{d.state.Accepted, d.letter.messageID})
	if len(result) > jobs.MaxResult {
		return nil, true
	}
	return result, false
}

func (d *delivery) tail() string {
	s := d.output.String()
	if cut := len(s) - jobs.MaxOutput; cut > 0 {
		_, s, _ = strings.Cut(s[cut:], "\n")
	}
	return s
}
