package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of schedules.
const (
	MinEvery  = time.Second
	MaxSpread = 24 * time.Hour
)

// ScheduleState are the fields that an answer has besides the document of a schedule: they are passed
// over when one is sent back, whatever they hold.
var ScheduleState = []string{
	"set", "revision", "in_job", "paused", "pause_note", "job_paused", "reads", "next", "last",
	"backlog", "created_at", "updated_at",
}

// isState implements stateful.
func (*Schedule) isState(name string) bool { return slices.Contains(ScheduleState, name) }

// ParseSchedule reads the document of a schedule that stands by itself as it is sent, strictly, and
// checks it. It gives a *SyntaxError, a *TooLargeError for a payload over MaxPayload, or an
// *InvalidError with all that is wrong. What the document says of the schedule's state is dropped. A
// missing name is left to the caller, who may know it from elsewhere.
func ParseSchedule(data []byte) (*Schedule, error) {
	return parseSent(data, func(s *Schedule) ([]Fault, error) {
		s.dropState()
		if err := tooLarge("payload", s.Payload); err != nil {
			return nil, err
		}
		return s.Check(), nil
	})
}

// ParseScheduleDocument reads a stored document: fields that this version does not know are passed
// over, and nothing is checked again.
func ParseScheduleDocument(name string, data Raw) (*Schedule, error) {
	var s Schedule
	if err := DecodeLenient(data, &s); err != nil {
		return nil, fmt.Errorf("read the document of schedule %s: %w", name, err)
	}
	s.dropState()
	s.Name = name
	return &s, nil
}

func (s *Schedule) dropState() { s.Payload = s.Payload.given() }

// Document is the JSON text of the schedule: what is stored, exported and compared to see whether a
// document changed. The payload stands in it byte for byte.
func (s *Schedule) Document() Raw { return AppendJSON(nil, s) }

// tooLarge refuses a payload over its bound.
func tooLarge(at string, p Raw) error {
	if len(p) > MaxPayload {
		return &TooLargeError{Location: at, Size: len(p), Limit: MaxPayload}
	}
	return nil
}

// Check gives all that is wrong with a schedule that stands by itself. A missing name is left to the
// caller.
func (s *Schedule) Check() []Fault {
	var f faults
	if s.Name != "" {
		f.check("name", checkScheduleName(s.Name))
	}
	if s.Job == "" {
		f.add("job", "is missing: want the name of the job whose runs it makes")
	} else {
		f.check("job", CheckName(s.Job))
	}
	s.check(&f, "")
	return f
}

// checkSchedules checks the schedules that stand in a job.
func (j *Job) checkSchedules(f *faults) {
	if n := len(j.Schedules); n > MaxSchedulesOfJob {
		f.add("schedules", "want at most %d of them, got %d: others may stand by themselves", MaxSchedulesOfJob, n)
		return
	}
	first := map[string]int{}
	for i := range j.Schedules {
		s, at := &j.Schedules[i], scheduleAt(i)
		name := s.Name
		if name == "" {
			name = DefaultSchedule
		}
		f.check(at+".name", checkScheduleName(name))
		if other, twice := first[name]; !twice {
			first[name] = i
		} else if s.Name == "" {
			f.add(at, "want a name: without one it is called %s, as %s is", name, scheduleAt(other))
		} else {
			f.add(at+".name", "another schedule of the job, %s, is called %s", scheduleAt(other), name)
		}
		if s.Job != "" {
			f.add(at+".job", "want none here: it makes runs of the job that it stands in. A schedule with a job stands "+
				"by itself: below schedules of a file, or at /v1/schedules/NAME")
		}
		s.check(f, at+".")
	}
}

func scheduleAt(i int) string { return "schedules[" + strconv.Itoa(i) + "]" }

// checkScheduleName says what is wrong with the name of a schedule as documents give it.
func checkScheduleName(name string) error {
	if strings.Contains(name, ":") {
		return errors.New(`want a plain name: JOB:NAME is what a schedule is called that stands in a job, where its ` +
			`name is NAME alone`)
	}
	return CheckName(name)
}

// check checks what schedules have alike, wherever they stand. at is "", or their place and a dot.
func (s *Schedule) check(f *faults, at string) {
	s.checkTimes(f, at)
	if s.Payload != nil {
		f.check(at+"payload", CheckPayload(s.Payload))
	}
	s.CatchUp.check(f, at+"catch_up.")
	switch s.Overlap {
	case "", OverlapQueue, OverlapSkip, OverlapReplace, OverlapAllow:
	default:
		f.add(at+"overlap", "is %q: want one of %s, %s, %s, %s", clip(s.Overlap, 40), OverlapQueue, OverlapSkip,
			OverlapReplace, OverlapAllow)
	}
	if d := s.Spread; d != nil && (*d < 0 || d.Std() > MaxSpread) {
		f.add(at+"spread", "is %s: want a duration from 0s to 24h", d)
	}
	if d := s.LateAfter; d != nil && *d <= 0 {
		f.add(at+"late_after", "is %s: want more than 0s, or null: late is then what has not started 15m after the tick", d)
	}
}

// checkTimes checks what says when there are ticks.
func (s *Schedule) checkTimes(f *faults, at string) {
	before := len(*f)
	switch {
	case s.Cron == "" && s.Every == nil:
		f.add(strings.TrimSuffix(at, "."), `want exactly one of cron, such as "0 2 * * *", and every, such as "15m"`)
	case s.Cron != "" && s.Every != nil:
		f.add(at+"every", "want exactly one of cron and every: cron is there too")
	}
	if s.Cron != "" {
		_, err := ParseCron(s.Cron)
		f.check(at+"cron", err)
	}
	if d := s.Every; d != nil && (d.Std() < MinEvery || d.Std() > MaxDuration || d.Std()%time.Second != 0) {
		f.add(at+"every", "is %s: want a duration of whole seconds from 1s to 3653d", d)
	}
	_, err := LoadZone(s.Timezone) // it may stand beside every, which counts real time in all zones
	f.check(at+"timezone", err)
	if s.Start != 0 && s.End != 0 && s.End < s.Start {
		f.add(at+"end", "want no time before start, which is %s", s.Start)
	}
	if len(*f) == before {
		f.check(at+s.line(), s.CheckTicks())
	}
}

// line is the field that says when there are ticks.
func (s *Schedule) line() string {
	if s.Every != nil {
		return "every"
	}
	return "cron"
}

// check checks a catch_up; at is its place and a dot.
func (c *CatchUp) check(f *faults, at string) {
	switch mode := c.ModeOf(); mode {
	case CatchUpNone, CatchUpLatest, CatchUpAll:
	default:
		f.add(at+"mode", "is %q: want one of %s, %s, %s", clip(mode, 40), CatchUpNone, CatchUpLatest, CatchUpAll)
	}
	// What a mode does not look at may stand: it is there when the mode is changed back.
	if d := c.Window; d != nil && *d <= 0 {
		f.add(at+"window", "is %s: want more than 0s; with mode: none no tick is caught up", d)
	}
	if n := c.Limit; n != nil && (*n < 1 || *n > MaxCatchUpLimit) {
		f.add(at+"limit", "is %d: want a whole number from 1 to %d", *n, MaxCatchUpLimit)
	}
}
