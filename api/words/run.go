package words

import (
	"fmt"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func Error(e *jobs.Failure) string {
	if e.Type != "" && e.Type != string(e.Kind) {
		return fmt.Sprintf("%s %s: %s", e.Kind, e.Type, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func Held(h *jobs.HeldBy) string {
	if h.Kind == jobs.HeldPaused && !pausedQueue(h) {
		return "paused: " + h.Reason
	}
	if h.Reason != "" {
		return h.Reason
	}
	return strings.TrimSpace("held by " + h.Kind + " " + h.Name)
}

// Decision says in words what came of an attempt and why.
func Decision(d *jobs.Decision) string {
	what := map[string]string{
		"succeed": "done", "retry": "tried again", "rerun": "run again", "fail": "not tried again",
		"cancel": "cancelled",
	}[d.Action]
	if what == "" {
		what = d.Action
	}
	switch {
	case d.Action == "succeed" && d.Reason == "":
		return what
	case d.Reason == "":
		return what + ": " + d.By
	}
	return what + ": " + d.Reason // a sentence that names who decided
}

// Folded tells of runs that were not made as this one stood.
func (at At) Folded(f *jobs.Folded) string {
	if f == nil {
		return ""
	}
	from := ""
	if f.By != "" {
		from = " from " + f.By
	}
	return fmt.Sprintf("%d not made as it stood, the last by %s%s, %s", f.Count, f.Trigger, from, at.Clock(f.At))
}

func Ended(run *wire.Run) bool {
	state, _ := jobs.StateOf(run.State)
	return state.Terminal()
}
