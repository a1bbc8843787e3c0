package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

func failurePages() []page {
	return []page{
		{pattern: "GET /failures", handle: listFailures},
		{pattern: "GET /failures/{id}", handle: onRun(showFailure)},
		{pattern: "POST /failures/{id}/requeue", handle: onRun(requeueFailure)},
		{pattern: "POST /failures/{id}/resolve", handle: onRun(resolveFailure)},
		{pattern: "POST /failures/{id}/ignore", handle: onRun(ignoreFailure)},
		{pattern: "GET /failures/groups", handle: listFailureGroups},
		{pattern: "GET /failures/groups/{fingerprint}", handle: showFailureGroup},
		{pattern: "POST /failures/act", handle: actOnFailures},
		{pattern: "GET /failures/orders/{id}", handle: onRun(showOrder)},
		{pattern: "POST /failures/orders/{id}/stop", handle: onRun(stopOrder)},
	}
}

// failureFilters are the parameters of the page of failures that say which they are.
var failureFilters = []string{"job", "error_kind", "error_type", "fingerprint", "since", "until", "q"}

// failureStates are those by which failures are listed.
var failureStates = []string{"open", "will_retry", "requeued", "resolved", "ignored"}

// listedFailures is the data of the pages of failures: of all, and of those of one group.
type listedFailures struct {
	Failures []wire.FailureRow
	Next     *string
	Wrong    []jobs.Fault
	Status   string
	States   []string
	Query    url.Values // without the status
	Group    *wire.FailureGroup
	More     bool // it is filtered by what is rarely asked for
	Acts     bool // those that are listed can be dealt with
}

func listFailures(v *view) error {
	data, err := v.readFailures(v.filter(failureFilters), cmp.Or(v.query("status"), "open"))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if data.Wrong != nil {
		status = http.StatusUnprocessableEntity
	}
	return v.showAs(status, "failures", "Failures", data)
}

// filter is those of the address's parameters.
func (v *view) filter(names []string) url.Values {
	filter := url.Values{}
	for _, name := range names {
		if values := v.Query()[name]; len(values) > 0 {
			filter[name] = values
		}
	}
	return filter
}

func (v *view) readFailures(filter url.Values, status string) (*listedFailures, error) {
	v.Nav, v.Watch = "/failures", "?"
	d := &listedFailures{Status: status, States: failureStates, Query: filter}
	d.Acts = v.May("operate") && status != "will_retry"
	for name := range filter {
		d.More = d.More || name != "job" && name != "q"
	}
	asked, wrong := v.timesOf(filter)
	if d.Wrong = wrong; wrong != nil {
		return d, nil
	}
	asked.Set("status", status)
	list, err := v.API.Failures(v.ctx(), asked, v.page(50))
	if p := problem(err); p != nil && p.Status == http.StatusUnprocessableEntity {
		d.Wrong = p.Errors
		return d, nil
	}
	d.Failures, d.Next = list.Items, list.Next
	return d, err
}

func showFailureGroup(v *view) error {
	fingerprint := v.r.PathValue("fingerprint")
	groups, err := v.API.FailureGroups(v.ctx(), url.Values{"fingerprint": {fingerprint}}, client.Page{Limit: 1})
	if p := problem(err); p != nil && p.Status == http.StatusUnprocessableEntity || err == nil && len(groups.Items) == 0 {
		return &notFound{}
	}
	if err != nil {
		return err
	}
	status := cmp.Or(v.query("status"), "open")
	data, err := v.readFailures(url.Values{"fingerprint": {fingerprint}}, status)
	if err != nil {
		return err
	}
	data.Group = &groups.Items[0]
	return v.show("failures", "Failures that are alike", data)
}

// listedGroups is the data of the page of failure groups.
type listedGroups struct {
	Groups []wire.FailureGroup
	Next   string
	Status string
	Job    string
}

func listFailureGroups(v *view) error {
	v.Nav, v.Watch = "/failures", "?"
	data := listedGroups{Status: cmp.Or(v.query("status"), "open"), Job: v.query("job")}
	filter := url.Values{"status": {data.Status}}
	if data.Job != "" {
		filter.Set("job", data.Job)
	}
	part, skip, _ := strings.Cut(v.query("cursor"), ".")
	all, next, err := v.lastFailed(filter, part)
	if err != nil {
		return err
	}
	from := startOf(skip, len(all), groupsOnPage)
	to := min(from+groupsOnPage, len(all))
	data.Groups = all[from:to]
	switch {
	case to < len(all):
		data.Next = part + "." + strconv.Itoa(to)
	case next != nil:
		data.Next = *next + ".0"
	}
	return v.show("failure-groups", "Failures by what went wrong", data)
}

// Groups of failures are listed by when they failed first, and shown by when they failed last: so many are sorted.
const (
	groupsRead   = 500
	groupsOnPage = 50
)

// lastFailed reads groups, those that failed last first; next is where there are more, nil: there are none.
func (v *view) lastFailed(filter url.Values, cursor string) (all []wire.FailureGroup, next *string, err error) {
	list, err := v.API.FailureGroups(v.ctx(), filter, client.Page{Limit: groupsRead, Cursor: cursor})
	slices.SortStableFunc(list.Items, func(a, b wire.FailureGroup) int { return cmp.Compare(b.LastAt, a.LastAt) })
	return list.Items, list.Next, err
}

// shownFailure is the data of the page of a failure.
type shownFailure struct {
	wire.FailureDetail
	Stands  string
	InPlace *wire.Run // the run that stands in its place; nil: none does
	Form    again
	For     string
	Refused *client.Problem
}

func showFailure(v *view, id jobs.ID) error {
	data, err := v.readFailure(id)
	if err != nil {
		return err
	}
	data.Form.Payload = indented(data.Payload)
	return v.show("failure", "Failure of "+data.JobType, data)
}

func (v *view) readFailure(id jobs.ID) (*shownFailure, error) {
	f, err := v.API.Failure(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	v.Nav, v.Watch = "/failures", "?"+url.Values{"job": {f.JobType}}.Encode()
	said := f
	said.ErrorMessage = words.Short(f.ErrorMessage, inSentence) // it stands below, as long as it is
	return &shownFailure{FailureDetail: f, Stands: v.At.FailureStands(&said), InPlace: words.InItsPlace(&f)}, nil
}

// refusedFailure shows the page of a failure again with what was refused.
func (v *view) refusedFailure(id jobs.ID, form again, length string, refused *client.Problem) error {
	data, err := v.readFailure(id)
	if err != nil {
		return err
	}
	if form.Payload == "" {
		form.Payload = indented(data.Payload)
	}
	data.Form, data.For, data.Refused = form, length, refused
	return v.showAs(refused.Status, "failure", "Failure of "+data.JobType, data)
}

func requeueFailure(v *view, id jobs.ID) error {
	form := again{Payload: v.form("payload"), Reset: v.form("reset") != "", Note: v.form("note")}
	request, refused, err := v.requeueOf(id, form)
	if err != nil {
		return err
	}
	if refused == nil {
		made, err := v.API.RequeueFailure(v.ctx(), id, wire.RequeueFailure{Payload: request.Payload, Reset: request.Reset, Note: request.Note})
		if err == nil {
			return v.done("/runs/"+made.ID.String(), requeuedAs(&made))
		}
		if refused = problem(err); refused == nil {
			return err
		}
	}
	return v.refusedFailure(id, form, "", refused)
}

func resolveFailure(v *view, id jobs.ID) error {
	_, err := v.API.ResolveFailure(v.ctx(), id, v.form("note"))
	if p := problem(err); p != nil && p.Status != http.StatusNotFound {
		return v.refusedFailure(id, again{Note: v.form("note")}, "", p)
	}
	if err != nil {
		return err
	}
	return v.done("/failures", "The failure is resolved.")
}

func ignoreFailure(v *view, id jobs.ID) error {
	in := wire.Ignore{Note: v.form("note")}
	until, refused := v.untilOf(v.form("for"))
	if refused == nil {
		in.Until = until
		_, err := v.API.IgnoreFailure(v.ctx(), id, in)
		if err == nil {
			return v.done("/failures", "The failure is ignored.")
		}
		if refused = problem(err); refused == nil || refused.Status == http.StatusNotFound {
			return err
		}
	}
	return v.refusedFailure(id, again{Note: in.Note}, v.form("for"), refused)
}

// untilOf is when a length of time that somebody has typed will be over; zero: they have typed none.
func (v *view) untilOf(length string) (jobs.Time, *client.Problem) {
	if length == "" {
		return 0, nil
	}
	d, err := jobs.ParseDuration(length)
	if err != nil || d <= 0 {
		return 0, &client.Problem{Problem: wire.Problem{
			Title: "The length of time is none", Status: http.StatusUnprocessableEntity, Detail: "Want one such as 7d or 12h.",
		}}
	}
	return jobs.TimeOf(v.At.Now.Add(d.Std())), nil
}
