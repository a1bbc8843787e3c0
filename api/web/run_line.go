package web

import (
	"fmt"
	"strconv"

	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// timeline draws the attempts of a run, and the waits between them, along the time they took.
type timeline struct {
	Width, Height int
	Bars          []bar
	Now           string // where the present is; "": it is the end of the line
	From, To      string
}

// bar is a stretch of a time line: an attempt, or a wait where Class is wait.
type bar struct {
	X, W  string
	Class string
	Label string
}

// Y is where it begins: what succeeded or runs is as high as the line, what was bad is low, a wait is thin. So they
// are told apart without colours too.
func (b bar) Y() int {
	switch b.Class {
	case "wait":
		return 21
	case "succeeded", "running":
		return 3
	}
	return 14
}

// Height is how high it is.
func (b bar) Height() int {
	if b.Class == "wait" {
		return 4
	}
	return 31 - b.Y()
}

const lineWidth = 1000

func timelineOf(run *wire.Run, at words.At) *timeline {
	if run.Attempts == nil || len(*run.Attempts) == 0 {
		return nil
	}
	begin, end := run.CreatedAt, run.FinishedAt
	if first := (*run.Attempts)[0].StartedAt; run.RunAt > begin && run.RunAt <= first { // a delay says nothing
		begin = run.RunAt
	}
	if end == 0 {
		end = max(jobs.TimeOf(at.Now), run.NextAttemptAt)
	}
	whole := float64(max(1, end-begin))
	t := &timeline{Width: lineWidth, Height: 34, From: at.Clock(begin), To: at.Clock(end)}
	place := func(from, to jobs.Time, class, label string) {
		x := float64(from-begin) / whole * lineWidth
		w := max(3, float64(to-from)/whole*lineWidth) // what was short is still seen
		x = min(x, lineWidth-w)
		t.Bars = append(t.Bars, bar{fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", w), class, label})
	}
	before := begin
	for i := range *run.Attempts {
		a := &(*run.Attempts)[i]
		over, outcome := a.FinishedAt, "running"
		if over == 0 {
			over = jobs.TimeOf(at.Now)
		}
		if a.Outcome != nil {
			outcome = *a.Outcome
		}
		if a.StartedAt > before {
			place(before, a.StartedAt, "wait", "waited "+words.Roundly(a.StartedAt.Sub(before)))
		}
		place(a.StartedAt, over, outcome, "attempt "+strconv.Itoa(a.Number)+" "+outcome+", "+words.Roundly(over.Sub(a.StartedAt)))
		before = over
	}
	if run.FinishedAt == 0 && run.NextAttemptAt > before {
		place(before, run.NextAttemptAt, "wait", "waits until "+at.Clock(run.NextAttemptAt))
	}
	if now := jobs.TimeOf(at.Now); now < end && run.FinishedAt == 0 {
		t.Now = fmt.Sprintf("%.1f", float64(now-begin)/whole*lineWidth)
	}
	return t
}
