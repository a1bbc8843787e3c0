package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// why says in a sentence where a run stands: why it has not started, or how it ended.
func why(r *wire.Run, now time.Time) string {
	state, _ := jobs.StateOf(r.State)
	switch state {
	case jobs.Scheduled:
		return clean(fmt.Sprintf("It has not started: it is not due until %s (%s).",
			clock(r.NextAttemptAt), fromNow(r.NextAttemptAt, now)))
	case jobs.Queued:
		what := "It has not started: "
		if r.Attempts != nil && len(*r.Attempts) > 0 {
			what = "Its next attempt has not started: "
		}
		return clean(what + whyHeld(r) + ".")
	case jobs.Retrying:
		return clean(fmt.Sprintf("It is tried again at %s (%s)%s.",
			clock(r.NextAttemptAt), fromNow(r.NextAttemptAt, now), lastError(r)))
	case jobs.Running:
		return running(r)
	case jobs.Waiting:
		return "It holds no worker: it waits for others."
	}
	return clean(whyEnded(r, state))
}

func whyHeld(r *wire.Run) string {
	if r.HeldBy == nil {
		return "it is about to"
	}
	switch r.HeldBy.Kind {
	case jobs.HeldWorkers:
		return "it waits for a free worker" + reasonOf(r.HeldBy)
	case jobs.HeldPaused:
		text := "the job " + r.Job + " is paused"
		if strings.Contains(text, r.HeldBy.Reason) {
			return text
		}
		return text + reasonOf(r.HeldBy)
	case jobs.HeldDrain:
		return "the server starts nothing until nightshift resume or a restart"
	case jobs.HeldDisk:
		return "the database of the server cannot be written" + reasonOf(r.HeldBy)
	}
	return "it waits for " + r.HeldBy.Kind + " " + r.HeldBy.Name + reasonOf(r.HeldBy)
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
	return ": " + errorText(r.Error)
}

func running(r *wire.Run) string {
	since := r.StartedAt
	if r.Attempts != nil && len(*r.Attempts) > 0 {
		since = (*r.Attempts)[len(*r.Attempts)-1].StartedAt
	}
	text := "It runs since " + clock(since) + "."
	if r.CancelRequestedAt != 0 {
		text = "It is being stopped since " + clock(r.CancelRequestedAt) + "; then it is cancelled."
	}
	return text
}

func whyEnded(r *wire.Run, state jobs.State) string {
	count := ""
	if r.Attempts != nil && len(*r.Attempts) > 1 {
		count = fmt.Sprintf(" after %d attempts", len(*r.Attempts))
	}
	switch state {
	case jobs.Succeeded:
		return fmt.Sprintf("It succeeded%s.", count)
	case jobs.Cancelled:
		if r.StartedAt == 0 {
			return "It was cancelled before it started."
		}
		return "It was cancelled."
	case jobs.Failed:
		text := fmt.Sprintf("It failed%s%s", count, lastError(r))
		if r.Attempts != nil && len(*r.Attempts) > 0 {
			if d := (*r.Attempts)[len(*r.Attempts)-1].Decision; d != nil {
				text += "; " + decisionText(d)
			}
		}
		return text + "."
	}
	return "It is " + r.State + "."
}
