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

// clients enqueue without pause until ctx ends; each repeats a request until it is answered with
// 2xx, the last one after ctx has ended too.
type clients struct {
	api     rig.API
	history *history
	seed    uint64
	count   int
	sharing float64       // of the requests
	pause   time.Duration // between two requests of one client, on average
}

// run returns when every key that was sent has been answered, or when giveUp ends.
func (c *clients) run(ctx, giveUp context.Context) {
	var all sync.WaitGroup
	for i := range c.count {
		all.Go(func() {
			random := rand.New(rand.NewPCG(c.seed, uint64(i)))
			for n := 0; ctx.Err() == nil; n++ {
				c.one(giveUp, random, fmt.Sprintf("client-%d-%d", i, n))
				select {
				case <-time.After(time.Duration(random.Float64() * 2 * float64(c.pause))):
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
}

// one sends one request, sometimes a batch or a delivery to a door, sometimes the same key once more
// or twice at once.
func (c *clients) one(ctx context.Context, random *rand.Rand, key string) {
	if random.IntN(100) < 5 {
		c.batch(ctx, random, key)
		return
	}
	if random.IntN(100) < 15 {
		c.bring(ctx, random, "delivery-"+key)
		return
	}
	job := c.drawJob(random)
	c.history.intend(key, job)
	switch draw := random.IntN(100); {
	case draw < 5:
		var twins sync.WaitGroup
		twins.Go(func() { c.enqueue(ctx, job, key) })
		twins.Go(func() { c.enqueue(ctx, job, key) })
		twins.Wait()
	case draw < 15:
		c.enqueue(ctx, job, key)
		c.enqueue(ctx, job, key)
	default:
		c.enqueue(ctx, job, key)
	}
}

func (c *clients) drawJob(random *rand.Rand) string {
	if random.Float64() < c.sharing {
		return sharers[random.IntN(len(sharers))]
	}
	switch draw := random.IntN(100); {
	case draw < 40:
		return "quick"
	case draw < 50:
		return chained
	case draw < 80:
		return "slow"
	case draw < 95:
		return "flaky"
	}
	return "script"
}

func (c *clients) enqueue(ctx context.Context, job, key string) {
	c.until2xx(ctx, func() error {
		run, status, err := c.api.Enqueue(ctx, job, key, payloadOf(key))
		if err == nil && status != http.StatusAccepted && status != http.StatusOK {
			return fmt.Errorf("key %s: status %d; want 202 or 200", key, status)
		}
		if err == nil && (status == http.StatusOK) != run.Duplicate {
			c.history.surprise(fmt.Sprintf("key %s: status %d with duplicate %v",
				key, status, run.Duplicate))
		}
		if err == nil {
			c.history.answered(key, run, status)
		}
		return err
	})
}

func (c *clients) batch(ctx context.Context, random *rand.Rand, key string) {
	entries := make([]rig.Entry, 2+random.IntN(8))
	for i := range entries {
		k := fmt.Sprintf("%s-%d", key, i)
		entries[i] = rig.Entry{Job: c.drawJob(random), Key: k, Payload: payloadOf(k)}
		c.history.intend(k, entries[i].Job)
	}
	c.until2xx(ctx, func() error {
		runs, err := c.api.Batch(ctx, entries)
		for i, run := range runs {
			c.history.answered(entries[i].Key, run, http.StatusAccepted)
		}
		return err
	})
}

// until2xx repeats a request while its outcome is unknown or a passing error.
func (c *clients) until2xx(ctx context.Context, send func() error) {
	for ctx.Err() == nil {
		err := send()
		if err == nil {
			return
		}
		var answer *rig.StatusError
		if errors.As(err, &answer) && !answer.Passing() {
			c.history.surprise("enqueue: " + err.Error())
			return
		}
		c.history.unanswered()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// watch reads runs that were acknowledged, oldest first, until ctx ends, so that a run which ends
// twice is caught.
func watch(ctx context.Context, api rig.API, h *history) {
	for ctx.Err() == nil {
		open := h.unended()
		for _, r := range open[:min(len(open), 50)] {
			asked := time.Now()
			if run, err := api.Run(ctx, r.id); err == nil {
				h.saw(run, asked, time.Now())
			}
		}
		_ = learn(ctx, api, h, false) // what is missed now is read at the end
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// drain reads the acknowledged runs until all have ended; after within it gives up.
func drain(ctx context.Context, api rig.API, h *history, within time.Duration) {
	deadline := time.Now().Add(within)
	for open := h.unended(); len(open) > 0 && time.Now().Before(deadline); open = h.unended() {
		readAll(ctx, api, h, open)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// readAll reads runs with eight requests at a time.
func readAll(ctx context.Context, api rig.API, h *history, runs []*record) {
	next := make(chan *record)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for r := range next {
				asked := time.Now()
				run, err := api.Run(ctx, r.id)
				switch {
				case err == nil:
					h.saw(run, asked, time.Now())
				case notFound(err):
					h.notFound(r)
				case ctx.Err() == nil:
					h.surprise("read run " + r.id + ": " + err.Error())
				}
			}
		})
	}
	for _, r := range runs {
		next <- r
	}
	close(next)
	readers.Wait()
}

func notFound(err error) bool {
	var answer *rig.StatusError
	return errors.As(err, &answer) && answer.Status == http.StatusNotFound
}
