package doctor

import (
	"fmt"
	"time"
)

// Clock is what is known of the wall clock.
type Clock struct {
	Known    bool          // the kernel was asked
	Synced   bool          // something keeps it right
	MaxError time.Duration // as the kernel bounds it
	Offset   *Offset       // nil: nobody was asked
	OffErr   string        // why nobody answered; "": nobody was asked, or somebody answered
	Err      string
}

// Offset is how far the clock is from another one.
type Offset struct {
	By   time.Duration // positive: this one is behind
	From string        // whose clock that is
}

// maxOffset is how wrong a clock may be: receivers refuse signatures that are older than minutes, and
// certificates and tokens of short life fail at about that.
const maxOffset = 30 * time.Second

// maxAhead is how far the newest row may lie before now.
const maxAhead = 5 * time.Second

func checkClock(f *Facts) []Finding {
	const check = "clock"
	var wrong []Finding
	add := func(level Level, advice, format string, args ...any) {
		wrong = append(wrong, Finding{check, level, fmt.Sprintf(format, args...), advice})
	}
	c := &f.Clock
	const sync = "run chrony or systemd-timesyncd: timedatectl set-ntp true"
	if o := c.Offset; o != nil && o.By.Abs() > maxOffset {
		where := "behind"
		if o.By < 0 {
			where = "ahead of"
		}
		add(Error, sync+"; schedules fire at the wrong time until then, and receivers refuse signatures",
			"the wall clock is %s %s %s", o.By.Abs().Round(time.Second), where, o.From)
	}
	if c.OffErr != "" {
		add(Warning, "name another server with --ntp, or let UDP port 123 out", "the time was asked for in vain: %s", c.OffErr)
	}
	switch {
	case c.Err != "":
		add(Warning, "see that the clock is right: timedatectl", "whether the clock is kept right is not known: %s", c.Err)
	case c.Known && !c.Synced:
		add(Warning, sync, "nothing keeps the wall clock right, as far as the kernel knows: it will drift")
	case c.Known && c.MaxError > maxOffset:
		add(Error, sync, "the wall clock may be wrong by %s, as the kernel bounds it", c.MaxError.Round(time.Millisecond))
	}
	if f.Inside != nil && !f.Inside.Newest.IsZero() {
		if ahead := f.Inside.Newest.Sub(f.Now); ahead > maxAhead {
			level := Warning
			if ahead > maxOffset {
				level = Error
			}
			add(level, "set the clock right before the server goes on: new rows get the time of the newest until then",
				"the newest row of the file was made at %s, %s after now: the clock is behind, or was ahead",
				instant(f.Inside.Newest), ahead.Round(time.Second))
		}
	}
	well := instant(f.Now)
	if c.Known {
		well += fmt.Sprintf(", kept right within %s", c.MaxError.Round(time.Millisecond))
	}
	if c.Offset != nil {
		well += fmt.Sprintf(", %s from %s", c.Offset.By.Abs().Round(time.Millisecond), c.Offset.From)
	}
	return orOK(check, wrong, well)
}
