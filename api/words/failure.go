package words

import (
	"fmt"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// FailureStands says in a sentence what failed, and whether somebody has dealt with it.
func (at At) FailureStands(f *wire.FailureDetail) string {
	count := "before its first attempt"
	switch n := f.Retries + 1; {
	case f.LastAttemptAt != 0 && n == 1:
		count = "in its only attempt"
	case f.LastAttemptAt != 0:
		count = fmt.Sprintf("after %d attempts", n)
	}
	what := fmt.Sprintf("The run of %s failed %s, %s ago: %s. ", f.JobType, count, Age(FailedAt(&f.FailureRow), at.Now),
		FailureText(&f.FailureRow))
	switch f.Status {
	case jobs.FailureOpen.String():
		return what + "Nobody has dealt with it."
	case jobs.FailureWillRetry.String():
		return fmt.Sprintf("The run of %s has failed and is tried again at %s (%s): %s.", f.JobType,
			at.Clock(f.NextAttemptAt), at.FromNow(f.NextAttemptAt), FailureText(&f.FailureRow))
	case jobs.FailureRequeued.String():
		if last := InItsPlace(f); last != nil {
			return what + fmt.Sprintf("Run %s stands in its place and is %s.", last.ID, last.State)
		}
	case jobs.FailureIgnored.String():
		if f.Until != 0 {
			return what + "It is ignored until " + at.Clock(f.Until) + byWhom(f) + "."
		}
	}
	return what + "It is " + f.Status + byWhom(f) + "."
}

func byWhom(f *wire.FailureDetail) string {
	if f.ResolvedBy == nil {
		return ""
	}
	return ", by " + *f.ResolvedBy
}

// InItsPlace is the run at the end of the chain; nil: that is the failure itself.
func InItsPlace(f *wire.FailureDetail) *wire.Run {
	if n := len(f.Chain); n > 0 && f.Chain[n-1].ID != f.ID {
		return &f.Chain[n-1]
	}
	return nil
}

// FailedAt is when it failed last; where no attempt was made, when it was made.
func FailedAt(f *wire.FailureRow) jobs.Time {
	if f.LastAttemptAt != 0 {
		return f.LastAttemptAt
	}
	return f.CreatedAt
}

// FailureText is what went wrong, in a line.
func FailureText(f *wire.FailureRow) string {
	return Error(&jobs.Failure{Kind: jobs.FailureKind(f.ErrorKind), Type: f.ErrorType, Message: f.ErrorMessage})
}

// Age says roughly how long ago something was.
func Age(t jobs.Time, now time.Time) string {
	d := now.Sub(t.Std())
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	}
	return fmt.Sprintf("%ds", max(0, int(d/time.Second)))
}

// Order is how an order stands, on one line.
func Order(o *wire.Order) string {
	done := map[string]string{"requeue": "requeued", "resolve": "resolved", "ignore": "ignored"}[o.Action]
	text := fmt.Sprintf("%s: %d of %d %s", o.State, o.Done, o.Count, done)
	if o.Action == "requeue" {
		text += fmt.Sprintf("; %d succeeded, %d failed, %d cancelled", o.Succeeded, o.Failed, o.Cancelled)
		if open := o.Done - o.Succeeded - o.Failed - o.Cancelled; open > 0 {
			text += fmt.Sprintf(", %d to go", open)
		}
	}
	if o.Skipped > 0 {
		text += fmt.Sprintf("; %d left as they were", o.Skipped)
	}
	return Clean(text)
}
