package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/api/wire"
	"nightshift/store"
)

func (c *call) answerServer() error {
	alerts, err := c.alertState()
	if err != nil {
		return err
	}
	server := &wire.Server{
		Version: c.s.version, Draining: c.s.rt.Draining(), Running: c.s.rt.Running(), Alerts: alerts,
		Scripts: c.s.scripts,
	}
	if c.who.Jobs == nil {
		if server.Database, err = c.database(); err != nil {
			return err
		}
	}
	return c.answer(200, server)
}

func (c *call) database() (*wire.Database, error) {
	size, err := c.s.rt.Store().Size(c.ctx())
	if err != nil {
		return nil, err
	}
	db := &wire.Database{Path: size.Path, Size: size.Size, Free: size.Free, Log: size.Log}
	if disk, known := c.s.rt.Disk(); known {
		db.DiskFree, db.DiskTotal, db.DiskLow = disk.Free, disk.Total, disk.Low()
	}
	return db, nil
}

func getServer(c *call) error { return c.answerServer() }

func drain(c *call, on bool) error {
	if err := c.decodeOptional(&wire.Empty{}); err != nil {
		return err
	}
	change := c.s.rt.Resume
	if on {
		change = c.s.rt.Drain
	}
	if err := change(c.ctx(), c.by("")); err != nil {
		return err
	}
	c.s.log.Info("drain", "on", on, "by", c.by("").Actor)
	return c.answerServer()
}

func getHealth(c *call) error { return c.answer(200, &wire.Status{Status: "alive"}) }

// readyWithin is how long a probe of the database may take.
const readyWithin = 5 * time.Second

func getReady(c *call) error {
	if c.s.stopping.Err() != nil {
		return refuse(probStopping, "the server is stopping")
	}
	ctx, cancel := context.WithTimeout(c.ctx(), readyWithin)
	defer cancel()
	err := c.s.rt.Health(ctx)
	if err == nil {
		return c.answer(200, &wire.Status{Status: "ready", Detail: c.undelivered(ctx)})
	}
	c.s.log.Warn("not ready", "error", err)
	return &problem{kind: probNotReady, detail: whyNotReady(err), retryAfter: 5 * time.Second}
}

// undelivered says of an open answer that people were not told of something; "": they were.
func (c *call) undelivered(ctx context.Context) string {
	n, _, err := c.s.rt.Store().Undelivered(ctx)
	if err != nil || n == 0 {
		return ""
	}
	return undeliveredText(n)
}

func undeliveredText(n int) string {
	if n == 1 {
		return "1 alert could not be delivered, and nobody has dealt with it"
	}
	return fmt.Sprintf("%d alerts could not be delivered, and nobody has dealt with them", n)
}

// whyNotReady says it in words that give nothing away: everybody may ask. What the runtime says
// in its own words is fit for that, what it got from below is not.
func whyNotReady(err error) string {
	if errors.Unwrap(err) == nil {
		return err.Error()
	}
	for _, known := range []error{store.ErrBusy, store.ErrFull, store.ErrUnknown, store.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the database does not answer in time"
	}
	return "the log of the server tells why"
}

func getSpec(c *call) error {
	spec, err := c.s.spec()
	if err != nil {
		return fmt.Errorf("describe the routes: %w", err)
	}
	return c.Blob(200, "application/json", spec)
}

func getDocs(c *call) error {
	page, err := c.s.docs()
	if err != nil {
		return fmt.Errorf("render the page of the routes: %w", err)
	}
	c.Response().Header().Set("Content-Security-Policy", docsPolicy)
	return c.Blob(200, "text/html; charset=utf-8", page)
}
