package cli

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// testedAlerts is what became of a made failure.
type testedAlerts struct {
	Event string        `json:"event"`
	Told  []testedAlert `json:"alerts"`
}

// testedAlert is what became of it for one alert.
type testedAlert struct {
	Alert     string  `json:"alert"`
	Job       string  `json:"job"`
	Run       jobs.ID `json:"run"` // null: none was made in time
	State     string  `json:"state"`
	Delivered bool    `json:"delivered"`
	Said      string  `json:"said"` // in words
}

func (t *testedAlerts) undelivered() bool {
	for i := range t.Told {
		if !t.Told[i].Delivered {
			return true
		}
	}
	return false
}

// settled reports whether there is no more to wait for.
func (t *testedAlerts) settled() bool {
	for i := range t.Told {
		if t.Told[i].Said == "" {
			return false
		}
	}
	return true
}

// pollAlerts is how often it is asked for the runs that tell.
const pollAlerts = 200 * time.Millisecond

// testAlerts makes a failure up and waits until each alert has told it, or has failed to once.
func (s *session) testAlerts(c *client.Client, job string, patience time.Duration) (done testedAlerts, err error) {
	made, err := c.TestAlerts(s.ctx, job)
	if err != nil {
		return done, err
	}
	done = testedAlerts{Event: made.Event, Told: make([]testedAlert, len(made.Alerts))}
	for i, name := range made.Alerts {
		done.Told[i].Alert = name
	}
	for deadline := time.Now().Add(patience); !done.settled() && time.Now().Before(deadline); {
		if err := s.lookAtTest(c, made.CorrelationID, &done); err != nil || done.settled() {
			return done, err
		}
		select {
		case <-s.ctx.Done():
			return done, s.ctx.Err()
		case <-time.After(pollAlerts):
		}
	}
	for i := range done.Told {
		t := &done.Told[i]
		switch {
		case t.Said != "":
		case t.Run.IsNil():
			t.Said = "nothing was sent within " + jobs.Duration(patience).String() + ": where it has sent 10 messages in the " +
				"last minute, it is part of the next digest"
		default:
			t.Said = "not told within " + jobs.Duration(patience).String() + ": it is " + t.State
		}
	}
	return done, nil
}

// lookAtTest looks what has become of a made failure.
func (s *session) lookAtTest(c *client.Client, correlation string, done *testedAlerts) error {
	filter := url.Values{"correlation_id": {correlation}, "trigger": {string(jobs.TriggerAlert)}}
	list, err := c.Runs(s.ctx, filter, client.Page{Limit: 1000})
	if err != nil {
		return err
	}
	for i := range done.Told {
		t := &done.Told[i]
		for _, run := range slices.Backward(list.Items) { // the newer ones tell that it could not be told
			if t.Said != "" || run.Labels[jobs.LabelAlert] != t.Alert {
				continue
			}
			whole, err := c.Run(s.ctx, run.ID, 0)
			if err != nil {
				return err
			}
			t.judge(&whole)
			break
		}
	}
	return nil
}

// judge says what a run that tells has come to; nothing while its first attempt is under way.
func (t *testedAlert) judge(run *wire.Run) {
	t.Job, t.Run, t.State = run.Job, run.ID, run.State
	switch {
	case run.State == jobs.Succeeded.String():
		t.Delivered, t.Said = true, "told by run "+run.ID.String()+" of "+run.Job
	case words.Ended(run):
		t.Said = "NOT told. " + words.At{Now: time.Now()}.Why(run)
	case run.Attempts != nil && len(*run.Attempts) > 0 && run.State == jobs.Retrying.String():
		t.Said = "not told yet. " + words.At{Now: time.Now()}.Why(run)
	case run.HeldBy != nil && heldForLong(run.HeldBy):
		t.Said = "not told yet. " + words.At{Now: time.Now()}.Why(run)
	}
}

// heldForLong reports whether what holds a run is for a person to end.
func heldForLong(h *jobs.HeldBy) bool {
	switch h.Kind {
	case jobs.HeldPaused, jobs.HeldSecret, jobs.HeldDrain, jobs.HeldDisk:
		return true
	}
	return false
}

// printTest prints what became of a made failure.
func (s *session) printTest(c *client.Client, done *testedAlerts) {
	if len(done.Told) == 0 {
		s.out.line("No alert tells of it.")
		s.saySilence(c)
		return
	}
	for i := range done.Told {
		t := &done.Told[i]
		s.out.line("%s: %s", words.Clean(t.Alert), words.Clean(strings.TrimSpace(t.Said)))
	}
}
