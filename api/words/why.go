package words

import (
	"fmt"
	"strconv"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// Why says in a sentence where a run stands: why it has not started, or how it ended.
func (at At) Why(r *wire.Run) string {
	state, _ := jobs.StateOf(r.State)
	switch state {
	case jobs.Scheduled:
		return Clean(fmt.Sprintf("It has not started: it is not due until %s (%s).",
			at.Clock(r.NextAttemptAt), at.FromNow(r.NextAttemptAt)))
	case jobs.Queued:
		what := "It has not started: "
		if r.Attempts != nil && len(*r.Attempts) > 0 {
			what = "Its next attempt has not started: "
		}
		return Clean(what + at.WhyHeld(r) + ".")
	case jobs.Retrying:
		return Clean(fmt.Sprintf("It is tried again at %s (%s)%s.",
			at.Clock(r.NextAttemptAt), at.FromNow(r.NextAttemptAt), lastError(r)))
	case jobs.Running:
		return Clean(at.running(r) + howFar(r))
	case jobs.Waiting:
		return Clean(at.waiting(r) + howFar(r))
	}
	return Clean(whyEnded(r, state))
}

func (at At) WhyHeld(r *wire.Run) string {
	h := r.HeldBy
	if h == nil {
		return "it is about to"
	}
	switch h.Kind {
	case jobs.HeldWorkers:
		return h.Reason
	case jobs.HeldPaused:
		if pausedQueue(h) {
			return h.Reason
		}
		text := "the job " + r.Job + " is paused"
		if strings.Contains(text, h.Reason) {
			return text
		}
		return text + reasonOf(h)
	case jobs.HeldDependency, jobs.HeldConcurrency, jobs.HeldRate, jobs.HeldQueue:
		text := h.Reason // which names it
		if text == "" {
			text = "it waits for the " + h.Kind + " " + h.Name
		}
		if h.Until != 0 {
			text += "; it may start " + at.InWords(h.Until)
		}
		return text
	case jobs.HeldOverlap:
		return whyOverlap(r)
	case jobs.HeldCheckpoint:
		return h.Reason
	case jobs.HeldDrain:
		return "the server starts nothing until nightshift resume or a restart"
	case jobs.HeldDisk:
		return "the database of the server cannot be written" + reasonOf(h)
	}
	return "it waits for " + h.Kind + " " + h.Name + reasonOf(h)
}

// whyOverlap says that a run waits for another one of its schedule.
func whyOverlap(r *wire.Run) string {
	if h := r.HeldBy; h.Reason != "" {
		return h.Reason
	}
	return "an earlier run of the schedule " + r.HeldBy.Name + " has not ended"
}

// pausedQueue tells a pause of the run's queue from one of its job.
func pausedQueue(h *jobs.HeldBy) bool {
	return strings.HasPrefix(h.Reason, "the queue "+h.Name+" is paused")
}

func reasonOf(h *jobs.HeldBy) string {
	if h.Reason == "" {
		return ""
	}
	return " (" + h.Reason + ")"
}

func lastError(r *wire.Run) string {
	if r.Error == nil {
		return ""
	}
	return ": " + Error(r.Error)
}

// underWay is the attempt of a run that is running or waiting; nil: it is not known.
func underWay(r *wire.Run) *wire.Attempt {
	if r.Attempts == nil || len(*r.Attempts) == 0 {
		return nil
	}
	return &(*r.Attempts)[len(*r.Attempts)-1]
}

func (at At) sinceWhen(r *wire.Run) string {
	if a := underWay(r); a != nil {
		return at.Clock(a.StartedAt)
	}
	return at.Clock(r.StartedAt)
}

func (at At) running(r *wire.Run) string {
	since := " since " + at.sinceWhen(r)
	if a := underWay(r); a != nil && a.Slices > 1 {
		since += fmt.Sprintf(", in %d slices so far", a.Slices)
	}
	switch {
	case r.CancelRequestedAt != 0:
		return "It is being stopped since " + at.Clock(r.CancelRequestedAt) + "; then it is cancelled."
	case r.HeldBy != nil:
		return "It runs" + since + ". Its next slice has not started: " + at.WhyHeld(r) + "."
	}
	return "It runs" + since + "."
}

func (at At) waiting(r *wire.Run) string {
	if r.WaitingUntil == 0 {
		return "It holds no worker: it waits for its members, and for what merges them."
	}
	return fmt.Sprintf("It waits for its callback since %s. It must have called back by %s (%s).",
		at.sinceWhen(r), at.Clock(r.WaitingUntil), at.FromNow(r.WaitingUntil))
}

// howFar says in a sentence what a run said last of its progress.
func howFar(r *wire.Run) string {
	if r.Progress == nil {
		return ""
	}
	return " Progress: " + Progress(r.Progress) + "."
}

// Progress is 40 of 100 (40 %): note.
func Progress(p *jobs.Progress) string {
	if p == nil {
		return ""
	}
	text := plainNumber(p.Done)
	if p.Total > 0 {
		text += " of " + plainNumber(p.Total)
	}
	if share := p.Done / p.Total; share <= 1 {
		text += fmt.Sprintf(" (%.0f %%)", 100*share)
	}
	if p.Note != "" {
		text += ": " + p.Note
	}
	return text
}

func plainNumber(n float64) string {
	if n < 1e15 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

func whyEnded(r *wire.Run, state jobs.State) string {
	count := ""
	if r.Attempts != nil && len(*r.Attempts) > 1 {
		count = fmt.Sprintf(" after %d attempts", len(*r.Attempts))
	}
	switch state {
	case jobs.Succeeded:
		text := fmt.Sprintf("It succeeded%s.", count)
		if r.ResultTruncated {
			text += " Its result was larger than 64 KiB and is not kept."
		}
		return text
	case jobs.Cancelled:
		if r.StartedAt == 0 {
			return "It was cancelled before it started."
		}
		return "It was cancelled."
	case jobs.Failed:
		text := fmt.Sprintf("It failed%s%s", count, lastError(r))
		if r.Attempts != nil && len(*r.Attempts) > 0 {
			if d := (*r.Attempts)[len(*r.Attempts)-1].Decision; d != nil {
				text += "; " + Decision(d)
			}
		}
		return text + "."
	}
	return "It is " + r.State + "."
}
