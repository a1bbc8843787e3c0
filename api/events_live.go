package api

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
)

// livePace is the least time between two looks at the runs that have changed. One that changes more often is told
// as it stands then.
const livePace = 250 * time.Millisecond

// runTeller tells one reader of runs that change.
type runTeller struct {
	*events
	follower *runtime.Follower
	rest     <-chan time.Time // until the next look may be taken; nil: now
	told     int
}

// due is ready when there is something to tell; never for nobody.
func (t *runTeller) due() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.follower.Changed()
}

// tell sends what has changed since it was called before, at its pace.
func (t *runTeller) tell() error {
	if t.rest != nil {
		select {
		case <-t.rest:
		case <-t.ctx.Done():
			return nil
		}
	}
	t.rest = time.After(livePace)
	ids, many := t.follower.Take()
	runs, err := t.c.s.rt.Listed(t.ctx, ids)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if t.c.who.may(run) {
			t.one("run/"+run.ID.String(), changeOf(run))
		}
	}
	if many || len(runs) < len(ids) { // some may be gone
		t.one("server", &jobs.RunChanged{})
	}
	return nil
}

func (t *runTeller) one(subject string, data *jobs.RunChanged) {
	now := t.c.s.rt.Now()
	t.told++ // with the time it makes an id that no other event of this source has
	t.send(jobs.EventRunChanged, "", &jobs.CloudEvent{
		SpecVersion: jobs.CloudEventsVersion, ID: fmt.Sprintf("live-%d-%d", now, t.told), Source: t.c.s.base, Type: jobs.EventRunChanged, Subject: subject,
		Time: now, Data: jobs.AppendJSON(nil, data),
	})
}

func changeOf(run *jobs.Run) *jobs.RunChanged {
	change := &jobs.RunChanged{
		Run: run.ID, Job: &run.Job, State: run.State.String(), Attempt: run.Counts.Number, Group: run.Group,
		Progress: run.Progress,
	}
	if run.Schedule != "" {
		change.Schedule = &run.Schedule
	}
	return change
}
