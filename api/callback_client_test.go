package api

import (
	"errors"
	"testing"

	"nightshift/api/client"
	"nightshift/jobs"
)

func TestTheClientSpeaksForAnAttempt(t *testing.T) {
	ts, ctx := newTestServer(t), t.Context()
	s := ts.speaker("a", `"retry":{"max_attempts":1}`)
	id, err := jobs.ParseID(s.run)
	if err != nil {
		t.Fatal(err)
	}
	attempt := client.NewCallback(ts.url+callbackPath+s.run, s.token)
	operator := client.New(ts.url, ts.admin)
	const value = `{"offset":  4900}`
	if got, err := attempt.Checkpoint(ctx); got != nil || err != nil {
		t.Errorf("before: %s, %v", got, err)
	}
	if _, err := operator.Checkpoint(ctx, id); client.StatusOf(err) != 404 {
		t.Errorf("the operator reads before: %v", err)
	}
	state := func(state string, err error) error {
		if err == nil && state != "running" {
			err = errors.New("the state is " + state)
		}
		return err
	}
	for name, call := range map[string]func() error{
		"save":      func() error { return attempt.SaveCheckpoint(ctx, jobs.Raw(value)) },
		"progress":  func() error { return attempt.Progress(ctx, jobs.Progress{Done: 49, Total: 100}) },
		"log":       func() error { return attempt.Log(ctx, []byte("half\n")) },
		"heartbeat": func() error { return attempt.Heartbeat(ctx) },
		"complete":  func() error { return state(attempt.Complete(ctx, nil)) },
		"fail": func() error {
			return state(attempt.Fail(ctx, jobs.SaidError{Type: "Gone", RetryAfter: new(jobs.Duration(90e9))}))
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := attempt.Checkpoint(ctx); string(got) != value || err != nil {
		t.Errorf("the attempt reads %s, %v", got, err)
	}
	if got, err := operator.Checkpoint(ctx, id); string(got) != value || err != nil {
		t.Errorf("the operator reads %s, %v", got, err)
	}
	if err := operator.DropCheckpoint(ctx, id); err != nil {
		t.Error(err)
	}
	s.end()
	if got := ts.until(s.run, "failed"); got.field("error.type") != "Gone" || got.field("progress.done") != "49" {
		t.Errorf("the run is %s", got.body)
	}
	var problem *client.Problem
	if err := attempt.SaveCheckpoint(ctx, jobs.Raw(value)); !errors.As(err, &problem) || problem.State != "failed" {
		t.Errorf("when it is over: %v", err)
	}
	if err := operator.DropCheckpoint(ctx, id); client.StatusOf(err) != 404 {
		t.Errorf("nothing was saved, and was dropped: %v", err)
	}
}
