package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// clients enqueue runs of one job, one after another each, and follow them to their end.
type clients struct {
	api     rig.API
	history *history
	seed    uint64
	job     string
	count   int
}

// run goes on until load ends; what was begun is followed until giveUp ends.
func (c *clients) run(load, giveUp context.Context) {
	var all sync.WaitGroup
	for i := range c.count {
		all.Go(func() {
			random := rand.New(rand.NewPCG(c.seed, uint64(i)))
			for n := 0; load.Err() == nil; n++ {
				c.one(giveUp, random, fmt.Sprintf("%s-%d-%d", c.job, i, n))
			}
		})
	}
	all.Wait()
}

// one enqueues a run, cancels one in eight of them, and follows it. A run of slices that failed is
// requeued once.
func (c *clients) one(ctx context.Context, random *rand.Rand, key string) {
	payload := map[string]any{"total": 2 + random.IntN(20), "batch": batches[random.IntN(len(batches))]}
	run, ok := c.until2xx(ctx, "enqueue", func() (rig.Run, error) {
		run, _, err := c.api.Enqueue(ctx, c.job, key, payload)
		return run, err
	})
	if !ok {
		return
	}
	c.history.tell(run)
	if random.IntN(8) == 0 {
		if !pause(ctx, time.Duration(random.IntN(2500))*time.Millisecond) {
			return
		}
		cancel(ctx, c.api, c.history, run.ID)
	}
	ended, ok := follow(ctx, c.api, c.history, run.ID)
	if !ok || ended.State != "failed" || c.job != sliced {
		return
	}
	again, ok := c.until2xx(ctx, "requeue", func() (again rig.Run, err error) {
		_, err = c.api.Do(ctx, http.MethodPost, "/v1/runs/"+run.ID+"/requeue", "", map[string]any{}, &again)
		return again, err
	})
	if ok {
		c.history.tell(again)
		follow(ctx, c.api, c.history, again.ID)
	}
}

func (c *clients) until2xx(ctx context.Context, what string, send func() (rig.Run, error)) (rig.Run, bool) {
	for {
		run, err := send()
		if err == nil {
			return run, true
		}
		var answer *rig.StatusError
		if errors.As(err, &answer) && !answer.Passing() {
			c.history.fault("%s: %v", what, err)
			return run, false
		}
		if !pause(ctx, 20*time.Millisecond) {
			return run, false
		}
	}
}

// cancel asks until it is answered: yes, or that the run has ended otherwise.
func cancel(ctx context.Context, api rig.API, h *history, id string) {
	for {
		try := h.cancels(id)
		var run rig.Run
		status, err := api.Do(ctx, http.MethodPost, "/v1/runs/"+id+"/cancel", "", map[string]any{}, &run)
		var answer *rig.StatusError
		switch known := errors.As(err, &answer); {
		case err != nil && (!known || answer.Passing()):
			status = 0
		case known && status != http.StatusConflict:
			h.fault("cancel run %s: %v", id, err)
		case status == http.StatusOK && run.State != "cancelled":
			h.fault("cancel of run %s was answered with 200 and the state %s", id, run.State)
		}
		h.cancelled(try, status)
		if status != 0 || !pause(ctx, 20*time.Millisecond) {
			return
		}
	}
}

// follow reads a run until it has ended.
func follow(ctx context.Context, api rig.API, h *history, id string) (rig.Run, bool) {
	for {
		run, err := api.Run(ctx, id)
		var answer *rig.StatusError
		switch {
		case err == nil:
			h.saw(run)
		case errors.As(err, &answer) && !answer.Passing():
			h.fault("read run %s: %v", id, err)
			return run, false
		}
		if err == nil && run.Terminal() {
			return run, true
		}
		if !pause(ctx, 60*time.Millisecond) {
			return run, false
		}
	}
}

// readAll reads every run of a job.
func readAll(ctx context.Context, api rig.API, h *history, job string) error {
	for next := ""; ; {
		runs, more, err := api.Runs(ctx, job, next)
		if err != nil {
			return fmt.Errorf("list the runs of %s: %w", job, err)
		}
		for _, listed := range runs {
			run, err := api.Run(ctx, listed.ID)
			if err != nil {
				return fmt.Errorf("read run %s: %w", listed.ID, err)
			}
			h.saw(run)
		}
		if next = more; next == "" {
			return nil
		}
	}
}
