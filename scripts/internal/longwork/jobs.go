package main

import (
	"context"
	"net/http"
	"os"
	"strings"
)

// documents are those of the jobs.
func (s *storm) documents() map[string]map[string]any {
	url := s.receiver.url
	soon := map[string]any{"backoff": map[string]any{"kind": "fixed", "base": "50ms"}}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	script := map[string]any{
		"source": scriptSource, "env": map[string]string{dirEnv: s.scripts, selfEnv: self},
	}
	return map[string]map[string]any{
		saveCall: {"script": script, "retry": soon},
		saveLine: {"script": script, "retry": soon},
		saveHook: {"webhook": map[string]any{"url": url + "/" + saveHook}, "timeout": "1h", "retry": soon},
		sliced:   slicesJob(url),
		batched:  batchJob(url),
		called:   callbackJob(url, called),
		beaten:   callbackJob(url, beaten),
	}
}

// register puts the jobs.
func (s *storm) register(ctx context.Context) error {
	// The breaker of the host would open by chance.
	host := "/v1/dependencies/" + strings.TrimPrefix(s.receiver.url, "http://")
	if _, err := s.server.Do(ctx, http.MethodPut, host, "", map[string]any{"breaker": nil}, nil); err != nil {
		return err
	}
	for name, document := range s.documents() {
		if err := s.server.Register(ctx, name, document); err != nil {
			return err
		}
	}
	return nil
}

// freshRuns wants a run of each job to start and succeed when all others are over: nothing is left that
// holds it.
func (s *storm) freshRuns(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // what is stuck is told already
	}
	for job := range s.documents() {
		run, _, err := s.server.Enqueue(ctx, job, "fresh", map[string]any{"total": 3, "batch": batches[0], "plain": true})
		if err != nil {
			return err
		}
		s.history.tell(run)
		if ended, ok := follow(ctx, s.server.API, s.history, run.ID); ok && ended.State != "succeeded" {
			s.history.fault("a fresh run of %s after all had ended: %s (%v)", job, ended.State, ended.Error)
		}
	}
	return nil
}

// free wants all that runs share to be free when all have ended.
func (s *storm) free(ctx context.Context) error {
	for _, kind := range []string{"queues", "dependencies"} {
		var page struct {
			Items []struct {
				Name    string
				Running int
				InUse   int `json:"in_use"`
			}
		}
		if _, err := s.server.Do(ctx, http.MethodGet, "/v1/"+kind+"?limit=1000", "", nil, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			if n := item.Running + item.InUse; n > 0 {
				s.history.fault("all runs have ended, and %d use %s of the %s", n, item.Name, kind)
			}
		}
	}
	return nil
}
