package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// end stores a run after an attempt; where it succeeded, with what follows it.
func (c *control) end(run *rig.Run, succeeded bool) {
	if !succeeded || run.Job != chained || c.mode == early {
		c.save(run)
		return
	}
	if c.mode == late {
		c.save(run)
		time.AfterFunc(500*time.Millisecond, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.follow(run)
		})
		return
	}
	c.must("BEGIN")
	c.save(run)
	c.follow(run)
	c.must("COMMIT")
}

func (c *control) must(query string, args ...any) {
	if _, err := c.db.Exec(query, args...); err != nil {
		panic(err)
	}
}

// follow makes the run that follows one of chained.
func (c *control) follow(after *rig.Run) {
	if after.Job != chained {
		return
	}
	next, seq, tail := c.made(follower, "")
	next.CorrelationID, next.Trigger = after.ID, "chain"
	doc, _ := json.Marshal(next)
	c.must("INSERT INTO runs VALUES (?, ?, ?, ?)", seq, int64(tail), next.ID, doc)
	go c.execute(next)
}

func (c *control) list(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var items []rig.Run
	for _, run := range c.runs {
		if run.Job == req.FormValue("job") {
			items = append(items, *run)
		}
	}
	slices.SortFunc(items, func(a, b rig.Run) int { return strings.Compare(b.ID, a.ID) })
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
}

// take takes a delivery in at a door.
func (c *control) take(w http.ResponseWriter, req *http.Request) {
	id := "door " + req.Header.Get("Idempotency-Key")
	if c.mode == open {
		id += time.Now().String()
	}
	run, _ := c.submit(req.PathValue("job"), id)
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(run)
}
