package web

import (
	"net/http"
	"net/url"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

func alertPages() []page {
	return []page{
		{pattern: "GET /alerts", handle: listAlerts},
		{pattern: "GET /alerts/{name}", handle: showAlert},
		{pattern: "POST /alerts/test", handle: testAlerts},
		{pattern: "POST /alerts/{name}/delete", handle: deleteAlert},
	}
}

const alertsShown = 50

// listedAlerts is the data of the page of alerts.
type listedAlerts struct {
	State   *wire.AlertState // nil: the token does not see it
	Items   []shownAlert
	Next    *string
	Tested  string     // the correlation id of a made failure that is followed
	Told    []wire.Run // the runs that tell of it
	Job     string     // of the form that makes a failure
	Refused *client.Problem
}

// shownAlert is an alert with the newest run of its job.
type shownAlert struct {
	*jobs.Alert
	Last *wire.Run // by which it told of something last, as far as alerts share no job; nil: none
}

func listAlerts(v *view) error {
	data, err := v.listedAlerts()
	if err != nil {
		return err
	}
	return v.show("alerts", "Alerts", data)
}

func (v *view) listedAlerts() (data listedAlerts, err error) {
	v.Nav, v.Watch = "/alerts", "?"
	list, err := v.API.Alerts(v.ctx(), v.page(alertsShown))
	if err != nil {
		return data, err
	}
	data.Next = list.Next
	if server, err := v.API.Server(v.ctx()); err == nil {
		data.State = &server.Alerts
	} else if problem(err) == nil {
		return data, err
	}
	for _, a := range list.Items {
		shown := shownAlert{Alert: a}
		runs, err := v.toldBy(a.Run, 1)
		if err != nil {
			return data, err
		}
		if len(runs) > 0 {
			shown.Last = &runs[0]
		}
		data.Items = append(data.Items, shown)
	}
	if data.Tested = v.query("tested"); data.Tested != "" {
		runs, err := v.API.Runs(v.ctx(), url.Values{"correlation_id": {data.Tested}}, client.Page{Limit: 20})
		if err != nil {
			return data, err
		}
		data.Told = runs.Items
	}
	return data, nil
}

// toldBy are the newest runs of a job that alerts made.
func (v *view) toldBy(job string, n int) ([]wire.Run, error) {
	list, err := v.API.Runs(v.ctx(), url.Values{"job": {job}, "trigger": {"alert"}}, client.Page{Limit: n})
	return list.Items, err
}

// testAlerts makes a failure, and goes on to what becomes of it.
func testAlerts(v *view) error {
	out, err := v.API.TestAlerts(v.ctx(), strings.TrimSpace(v.form("job")))
	if refused := problem(err); refused != nil {
		data, err := v.listedAlerts()
		if err != nil {
			return err
		}
		data.Refused, data.Job = refused, v.form("job")
		return v.showAs(http.StatusUnprocessableEntity, "alerts", "Alerts", data)
	}
	if err != nil {
		return err
	}
	if len(out.Alerts) == 0 {
		return v.done("/alerts", "A failure was made up, and no alert tells of it.")
	}
	return v.done("/alerts?"+url.Values{"tested": {out.CorrelationID}}.Encode(),
		"A failure was made up. Told by: "+strings.Join(out.Alerts, ", ")+".")
}

// oneAlert is the data of the page of an alert.
type oneAlert struct {
	Alert    *jobs.Alert
	Document string
	Runs     []wire.Run
}

func showAlert(v *view) error {
	a, _, err := v.API.Alert(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	v.Nav, v.Watch = "/alerts", "?"
	data := oneAlert{Alert: &a}
	text, err := jobs.ToYAML(a.Document())
	if err != nil {
		return err
	}
	data.Document = string(text)
	if data.Runs, err = v.toldBy(a.Run, 20); err != nil {
		return err
	}
	return v.show("alert", a.Name, data)
}

func deleteAlert(v *view) error {
	name := v.r.PathValue("name")
	if err := v.API.DeleteAlert(v.ctx(), name, ""); err != nil {
		return err
	}
	return v.done("/alerts", "The alert "+name+" is deleted: it tells of nothing any more.")
}
