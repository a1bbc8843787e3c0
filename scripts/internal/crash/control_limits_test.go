package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"nightshift/scripts/internal/rig"
)

func instant(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// payload is what the key of a run has brought.
func (c *control) payload(run *rig.Run) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := json.Marshal(payloadOf(c.keyOf[run.ID]))
	return text
}

// enter waits until the limits of a run let it start, and returns with the lock held.
func (c *control) enter(run *rig.Run) []limit {
	limits := limitsOf(run.Job, c.payload(run))
	for c.mu.Lock(); !c.room(run.Job, limits); c.mu.Lock() {
		c.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
	}
	for _, l := range limits {
		c.flying[l.of]++
	}
	if run.Job == borrower || run.Job == lone {
		c.lentAt = append(c.lentAt, time.Now())
	}
	if c.mode == leaks {
		c.must("INSERT INTO slots SELECT 1 WHERE NOT EXISTS (SELECT * FROM slots)")
	}
	return limits
}

func (c *control) room(job string, limits []limit) bool {
	if n := len(c.lentAt) - lentStarts; (job == borrower || job == lone) && n >= 0 &&
		time.Since(c.lentAt[n]) < lentWindow+10*time.Millisecond {
		return false
	}
	for _, l := range limits {
		if c.mode != crowds && c.flying[l.of] >= l.most {
			return false
		}
	}
	return true
}

func (c *control) leave(limits []limit) {
	for _, l := range limits {
		c.flying[l.of]--
	}
}

// standing is the run that stands for another one of its thing.
func (c *control) standing(job, key string) *rig.Run {
	if job != lone || c.mode == doubles {
		return nil
	}
	for id, run := range c.runs {
		if run.Job == lone && !run.Terminal() && payloadOf(c.keyOf[id])["thing"] == payloadOf(key)["thing"] {
			return run
		}
	}
	return nil
}

func (c *control) queues(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"items": [{"name": "narrow", "running": 0}]}`)
}

func (c *control) dependencies(w http.ResponseWriter, _ *http.Request) {
	used := 0
	if c.mode == leaks {
		used = 1
	}
	_, _ = fmt.Fprintf(w, `{"items": [{"name": "lent", "in_use": %d}]}`, used)
}
