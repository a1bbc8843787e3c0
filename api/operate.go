package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"nightshift/api/wire"
	"nightshift/runtime"
	"nightshift/store"
)

func (c *call) server() (*wire.Server, error) {
	alerts, err := c.alertState()
	if err != nil {
		return nil, err
	}
	server := &wire.Server{
		Version: c.s.version, Draining: c.s.rt.Draining(), Running: c.s.rt.Running(), Alerts: alerts,
		Scripts: c.s.scripts,
	}
	if h := c.s.rt.Restored(); h != nil {
		server.Restored = &wire.Restored{
			Why: string(h.Why), Reason: runtime.RestoredText(h), Since: h.Since, AsOf: h.AsOf,
		}
	}
	if server.Unfinished, err = c.s.rt.Store().Unfinished(c.ctx()); err != nil {
		return nil, err
	}
	if most := c.s.rt.MaxUnfinished(); most > 0 {
		server.MaxUnfinished = &most
	}
	if c.who.Jobs == nil {
		if server.Database, err = c.database(); err != nil {
			return nil, err
		}
		server.Backups = c.backups()
	}
	return server, nil
}

// backups is nil where none are made.
func (c *call) backups() *wire.Backups {
	s := c.s.rt.Backups()
	if s.Path == "" && s.Dated == 0 && s.Failed == "" {
		return nil
	}
	b := &wire.Backups{
		AsOf: s.AsOf, Size: s.Size, Took: s.Took.Seconds(), Dated: s.Dated, FailingSince: s.Failing, Stale: s.Stale,
	}
	if s.Path != "" {
		b.Path = &s.Path
	}
	if s.Failed != "" {
		b.Failed = &s.Failed
	}
	if s.AsOf != 0 {
		age := max(0, c.s.rt.Now().Sub(s.AsOf).Seconds())
		b.Age = &age
	}
	return b
}

func (c *call) database() (*wire.Database, error) {
	size, err := c.s.rt.Store().Size(c.ctx())
	if err != nil {
		return nil, err
	}
	kept, err := c.s.rt.Kept(c.ctx())
	if err != nil {
		return nil, err
	}
	db := &wire.Database{Kept: []wire.Kept{}, Path: size.Path, Size: size.Size, Free: size.Free, Log: size.Log}
	if disk, known := c.s.rt.Disk(); known {
		db.DiskFree, db.DiskTotal, db.DiskLow = disk.Free, disk.Total, disk.Low()
	}
	for _, k := range kept {
		db.Kept = append(db.Kept, wire.Kept{Kind: k.Kind.String(), Bytes: k.Bytes, Most: k.Most})
	}
	return db, nil
}

func getServer(c *call) error {
	server, err := c.server()
	if err != nil {
		return err
	}
	return c.answer(200, server)
}

func drain(c *call) error {
	if err := c.decodeOptional(&wire.Empty{}); err != nil {
		return err
	}
	if err := c.s.rt.Drain(c.ctx(), c.by("")); err != nil {
		return err
	}
	c.s.log.Info("drain", "on", true, "by", c.by("").Actor)
	return getServer(c)
}

func resume(c *call) error {
	var in wire.Resume
	if err := c.decodeOptional(&in); err != nil {
		return err
	}
	cancelled, err := c.s.rt.Resume(c.ctx(), in.CancelWaiting, c.by(""))
	if errors.Is(err, store.ErrClosed) {
		return &problem{kind: probStopping, retryAfter: 5 * time.Second, detail: fmt.Sprintf(
			"it is not resumed, and %d runs were cancelled: call again once it has started", cancelled)}
	}
	if err != nil {
		return err
	}
	c.s.log.Info("drain", "on", false, "by", c.by("").Actor)
	server, err := c.server()
	if err != nil {
		return err
	}
	if in.CancelWaiting {
		server.CancelledRuns = &cancelled
	}
	return c.answer(200, server)
}

// getBackup writes a copy beside the others, which only this answer has, and sends it.
func getBackup(c *call) error {
	h := c.Response().Header()
	h.Set("Content-Type", backupMedia)
	if c.Request().Method == http.MethodHead { // none is made to say how large it would be
		return c.NoContent(200)
	}
	f, copied, err := c.s.rt.Backup(c.ctx())
	if full := (*runtime.NoRoomError)(nil); errors.As(err, &full) {
		return refuse(probFull, "%s", full.Error())
	}
	if err != nil {
		return err
	}
	defer f.Close()
	h.Set("Content-Length", strconv.FormatInt(copied.Size, 10))
	h.Set("Content-Disposition", `attachment; filename="`+runtime.BackupName(copied.AsOf.Std())+`"`)
	h.Set("Nightshift-As-Of", copied.AsOf.String())
	_, err = io.Copy(paced{c}, f)
	return err
}

const backupMedia = "application/vnd.sqlite3"

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
	if c.s.rt.Restored() == nil { // else it was said at the start
		c.s.log.Warn("not ready", "error", err)
	}
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
	if full := (*store.FullError)(nil); errors.As(err, &full) {
		return full.Why
	}
	if known := storeFault(err); known != nil {
		return known.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the database does not answer in time"
	}
	return "the log of the server tells why"
}

// storeFault is what is wrong with the store itself, in its own words; nil: the error is of another sort.
func storeFault(err error) error {
	for _, known := range []error{store.ErrBusy, store.ErrFull, store.ErrUnknown, store.ErrClosed} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
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
