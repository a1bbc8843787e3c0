package api

import (
	"errors"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// watchable is how long after its end a run can be watched.
const watchable = 24 * time.Hour

// watched is the run of a watch link. A wrong key and a run that does not exist look the same.
func (c *call) watched() (*jobs.Run, error) {
	none := refuse(probNotFound, "there is no run behind this link any more")
	id, err := jobs.ParseID(c.Param("id"))
	if err != nil || !c.s.rt.CheckWatchKey(id, c.query.Get("key")) {
		return nil, none
	}
	r, err := c.s.rt.Run(c.ctx(), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, none
	}
	if err == nil && r.State.Terminal() && c.s.rt.Now().Sub(r.FinishedAt) > watchable {
		return nil, none
	}
	return r, err
}

func watchOf(r *jobs.Run) *wire.Watch {
	return &wire.Watch{State: r.State.String(), Progress: r.Progress}
}

// watchPace is the least time between two looks at a run that is watched. A run may say more often how
// far it is: who watches sees the last of it.
const watchPace = 200 * time.Millisecond

func sameWatch(a, b *wire.Watch) bool {
	if a.Progress == nil || b.Progress == nil {
		return a.State == b.State && a.Progress == b.Progress
	}
	return a.State == b.State && *a.Progress == *b.Progress
}

func (c *call) anyOrigin() {
	c.Response().Header().Set("Access-Control-Allow-Origin", "*")
}

func getWatch(c *call) error {
	c.anyOrigin()
	if !accepts(c.Request(), "text/event-stream") {
		r, err := c.watched()
		if err != nil {
			return err
		}
		return c.answer(200, watchOf(r))
	}
	r, err := c.watched()
	if err != nil {
		return err
	}
	// Asked for before the run is read again, so that no change falls between.
	changed, stop := c.s.rt.Changes(r.ID)
	defer stop()
	e, err := c.openEvents()
	if err != nil {
		return err
	}
	defer e.stop()
	for shown := (*wire.Watch)(nil); ; {
		looked := time.Now()
		if r, err = c.s.rt.Run(e.ctx, r.ID); err != nil {
			if e.ctx.Err() != nil || errors.Is(err, store.ErrNotFound) {
				return nil
			}
			return err
		}
		if now := watchOf(r); shown == nil || !sameWatch(shown, now) {
			e.send("run", "", now)
			shown = now
		}
		if r.State.Terminal() {
			e.send("end", "", &wire.EndEvent{State: r.State.String()})
			return nil
		}
		select {
		case <-changed:
		case <-e.ctx.Done():
			return nil
		}
		select {
		case <-time.After(watchPace - time.Since(looked)):
		case <-e.ctx.Done():
			return nil
		}
	}
}

func preflightWatch(c *call) error {
	c.anyOrigin()
	h := c.Response().Header()
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Accept, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "86400")
	return c.NoContent(204)
}
