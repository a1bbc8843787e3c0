package api

import (
	"errors"
	"strconv"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func listAlerts(c *call) error {
	var all []*jobs.Alert
	err := store.Each(func(p store.Page) ([]*jobs.Alert, string, error) {
		return c.s.rt.Alerts(c.ctx(), p)
	}, func(a *jobs.Alert) {
		if c.who.reaches(a.Run) {
			all = append(all, a)
		}
	})
	if err != nil {
		return err
	}
	items, next, err := cut(c, all, func(a *jobs.Alert) rank { return rank{a.CreatedAt, a.Name} }, jobs.CheckName)
	if err != nil {
		return err
	}
	if items == nil {
		items = []*jobs.Alert{}
	}
	return c.answer(200, &wire.Alerts{Items: items, Next: next, Limit: c.page().Limit})
}

func (c *call) answerAlert(status int, a *jobs.Alert) error {
	c.Response().Header().Set("ETag", etag(a.Revision))
	return c.answer(status, a)
}

func noAlert() error {
	return refuse(probNotFound, "there is no such alert, or the token does not reach the job that it runs")
}

// standingAlert is the alert named in the path.
func (c *call) standingAlert() (*jobs.Alert, error) {
	name := c.Param("name")
	if !jobs.ValidName(name) {
		return nil, noAlert()
	}
	a, err := c.s.rt.Alert(c.ctx(), name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !c.who.reaches(a.Run) {
		return nil, noAlert()
	}
	return a, err
}

func getAlert(c *call) error {
	a, err := c.standingAlert()
	if err != nil {
		return err
	}
	if c.unchanged(etag(a.Revision)) {
		return c.NoContent(304)
	}
	return c.answerAlert(200, a)
}

func postAlert(c *call) error {
	a, err := readDocument(c, jobs.ParseAlert, func(name string) []jobs.Fault {
		if name == "" {
			return []jobs.Fault{{Location: "name", Message: "is missing: want the alert's name"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.saveAlert(runtime.PutAlert{Alert: a, Create: true})
}

func putAlert(c *call) error {
	name := c.Param("name")
	if err := jobs.CheckName(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	a, err := readDocument(c, jobs.ParseAlert, func(written string) []jobs.Fault {
		return otherName("alert", written, name)
	})
	if err != nil {
		return err
	}
	a.Name = name
	put := runtime.PutAlert{Alert: a, Create: c.condition("If-None-Match").any}
	if match := c.condition("If-Match"); match.given {
		stands, err := c.s.rt.Alert(c.ctx(), name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err != nil || !match.holds(true, stands.Revision) {
			return store.ErrStale
		}
		put.IfMatch = &stands.Revision
	}
	err = c.saveAlert(put)
	if errors.Is(err, store.ErrExists) {
		return store.ErrStale // If-None-Match: *
	}
	return err
}

func (c *call) saveAlert(put runtime.PutAlert) error {
	saved, err := c.s.rt.Save(c.ctx(), runtime.Changes{Alerts: []runtime.PutAlert{put}}, c.by(""))
	if err != nil {
		return saveError(err, inBody)
	}
	a := &saved.Alerts[0]
	return c.answerAlert(c.saved(a.Created, "alerts", a.Alert.Name), a.Alert)
}

func deleteAlert(c *call) error {
	a, err := c.standingAlert()
	if err != nil {
		return err
	}
	match := c.condition("If-Match")
	if match.fails(true, a.Revision) {
		return store.ErrStale
	}
	var revision *int64
	if match.given {
		revision = &a.Revision
	}
	err = c.s.rt.DeleteAlert(c.ctx(), a.Name, revision, c.by(""))
	if errors.Is(err, store.ErrNotFound) {
		return noAlert()
	}
	if err != nil {
		return err
	}
	return c.NoContent(204)
}

// testAlerts makes a failure up and has it told. The path of a route wins over a parameter, so no alert of
// the name test can be put by POST; GET, PUT and DELETE reach one.
func testAlerts(c *call) error {
	var body wire.AlertTest
	err := c.decodeOptional(&body, func() []jobs.Fault {
		if err := jobs.CheckName(body.Job); body.Job != "" && err != nil {
			return []jobs.Fault{{Location: "job", Message: err.Error()}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	event, alerts, err := c.s.rt.TestAlerts(c.ctx(), body.Job, c.by(""))
	if errors.Is(err, store.ErrNotFound) {
		return fault("body.job", "there is no job %s", body.Job)
	}
	if err != nil {
		return err
	}
	if alerts == nil {
		alerts = []string{}
	}
	id := strconv.FormatInt(event, 10)
	return c.answer(202, &wire.AlertTested{Event: id, CorrelationID: "event-" + id, Alerts: alerts})
}

// alertState is how it stands with those who are told.
func (c *call) alertState() (wire.AlertState, error) {
	told, err := c.s.rt.FailuresTold(c.ctx())
	if err != nil {
		return wire.AlertState{}, err
	}
	n, _, err := c.s.rt.Store().Undelivered(c.ctx())
	return wire.AlertState{FailuresTold: told, Undelivered: n}, err
}
