package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type failuresShowCmd struct {
	ID string `arg:"" name:"failure" help:"The failure's id: that of its run."`
}

// Run shows one failure.
func (cmd failuresShowCmd) Run(s *session) error {
	id, err := failureID(cmd.ID)
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.FailureDetail, error) {
		return c.Failure(s.ctx, id)
	}, s.showFailure)
}

// failureID reads an id that was given as an argument.
func failureID(text string) (jobs.ID, error) {
	id, err := jobs.ParseID(text)
	if err != nil {
		return id, usage("%q is not the id of a failure: %s failures lists them", text, calledAs())
	}
	return id, nil
}

// showFailure prints all that helps at two in the morning, what to do next last.
func (s *session) showFailure(f *wire.FailureDetail) {
	s.out.line("%s", words.Clean(words.At{Now: time.Now()}.FailureStands(f)))
	s.out.line("")
	s.out.fields(
		"failure", f.ID.String(),
		"job", f.JobType,
		"status", f.Status,
		"error", words.FailureText(&f.FailureRow),
		"fingerprint", f.Fingerprint,
		"created", clock(f.CreatedAt),
		"last attempt", clock(f.LastAttemptAt),
		"next attempt", clock(f.NextAttemptAt),
		"dealt with", clock(f.DealtAt),
		"by", text(f.ResolvedBy),
		"until", clock(f.Until),
		"note", text(f.Note),
	)
	if len(f.Attempts) > 0 {
		s.chapter("Attempts")
		rows := make([][]string, len(f.Attempts))
		for i := range f.Attempts {
			rows[i] = attemptRow(&f.Attempts[i])
		}
		s.out.table([]string{"#", "STARTED", "TOOK", "OUTCOME", "ERROR", "DECISION"}, rows)
	}
	if f.Error != nil && f.Error.HTTP != nil && f.Error.HTTP.Body != "" {
		s.block(fmt.Sprintf("Answer %d", f.Error.HTTP.Status), f.Error.HTTP.Body)
	}
	s.block("Stack", text(f.StackTrace))
	if n := len(f.Attempts); n > 0 && f.StackTrace == nil {
		s.block("Printed at last", f.Attempts[n-1].OutputTail)
	}
	s.block("Payload", string(f.Payload))
	s.showChain(f)
	s.chapter("What to do")
	s.out.fields(whatNext(f)...)
}

func (s *session) chapter(title string) {
	s.out.line("\n%s", title)
}

// Bounds of texts on the page; the whole is in the JSON.
const (
	maxBlockLines = 40
	maxBlock      = 4 << 10
)

// block prints a text of several lines below a title; of a long one the end, where errors stand.
func (s *session) block(title, text string) {
	text = strings.TrimRight(text, " \r\n\t")
	if text == "" {
		return
	}
	cut := false
	if r := []rune(text); len(r) > maxBlock {
		text, cut = string(r[len(r)-maxBlock:]), true
	}
	lines := strings.Split(text, "\n")
	if n := len(lines) - maxBlockLines; n > 0 {
		lines, cut = lines[n:], true
	}
	if cut {
		title += " (the end of it; --json has all)"
	}
	s.chapter(title)
	for _, line := range lines {
		s.out.line("  %s", words.Clean(strings.ReplaceAll(line, "\t", "    ")))
	}
}

// showChain prints the runs that it was requeued from and to, where there are any.
func (s *session) showChain(f *wire.FailureDetail) {
	if len(f.Chain) < 2 {
		return
	}
	s.chapter("Requeues, oldest first")
	rows := make([][]string, len(f.Chain))
	for i := range f.Chain {
		r := &f.Chain[i]
		note := noteOf(r)
		if r.ID == f.ID {
			note = strings.TrimPrefix("this one; "+note, "; ")
		}
		rows[i] = []string{r.ID.String(), r.State, r.Trigger, by(r.CreatedBy), clock(r.CreatedAt), words.Short(note, 80)}
	}
	s.out.table([]string{"RUN", "STATE", "TRIGGER", "BY", "CREATED", "NOTE"}, rows)
}

// whatNext are commands and what they do.
func whatNext(f *wire.FailureDetail) []string {
	me, id := calledAs(), f.ID.String()
	requeue := []string{
		me + " failures requeue " + id, "run it again, with this payload; --patch JSON changes it",
	}
	var do []string
	switch f.Status {
	case jobs.FailureOpen.String():
		do = append(requeue,
			me+" failures resolve "+id+" --note TEXT", "it has been dealt with",
			me+" failures ignore "+id+" --note TEXT", "nothing will be done about it",
		)
	case jobs.FailureWillRetry.String():
		do = []string{
			me + " runs run-now " + id, "try it now",
			me + " cancel " + id, "try it no more",
		}
	case jobs.FailureRequeued.String():
		if last := words.InItsPlace(f); last != nil && words.Ended(last) {
			do = []string{me + " failures show " + last.ID.String(), "the failure that is open in its place"}
		} else if last != nil {
			do = []string{me + " runs show " + last.ID.String(), "the run that stands in its place"}
		}
	default:
		do = requeue
	}
	return append(do,
		me+" logs "+id, "what it printed",
		me+" failures groups --fingerprint "+f.Fingerprint, "how many are alike",
		me+" failures requeue --fingerprint "+f.Fingerprint+" --dry-run", "what running all of them again would do",
	)
}
