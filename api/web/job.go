package web

import (
	"fmt"
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

// shownJob is the data of the page of a job.
type shownJob struct {
	Job       jobs.Job
	Work      string
	Document  string // its definition, as a job file has it
	JSON      string // the same, as the API has it
	Gates     []gate
	Went      wentBy
	Day       wire.StatTotals // what ended in 24 hours
	Ended     int64           // runs of that
	Charts    []*chart        // of that
	Retry     jobs.EffectiveRetry
	Rules     []shownRule // in the order they are tried
	Common    []shownRule // after them, those of the policy default
	Schedules []shownSchedule
	Runs      []wire.Run
	Open      int // failures that nobody has dealt with, as far as they were counted
	MoreOpen  bool
	Run       asked
	Refused   *client.Problem // of a run that was asked for
}

// asked is the form that asks for a run.
type asked struct {
	Payload string
	Key     string
	Delay   string
}

type shownRule struct {
	By, If, Then, After, Max, Reason string
}

func showJob(v *view) error {
	data, err := v.readJob()
	if err != nil {
		return err
	}
	data.Run.Payload = "{}"
	if data.Job.Payload != nil {
		data.Run.Payload = indented(data.Job.Payload)
	}
	if id, err := jobs.ParseID(v.query("like")); err == nil { // with the payload of an earlier run
		if run, err := v.API.Run(v.ctx(), id, 0); err == nil && run.Job == data.Job.Name {
			data.Run.Payload = indented(run.Payload)
		}
	}
	return v.show("job", data.Job.Name, data)
}

func (v *view) readJob() (*shownJob, error) {
	name := v.r.PathValue("name")
	j, _, err := v.API.Job(v.ctx(), name)
	if err != nil {
		return nil, err
	}
	v.Nav, v.Watch = "/jobs", "?"+url.Values{"job": {name}}.Encode()
	d := &shownJob{Job: j, Work: words.Work(j.Spec())}
	text, err := jobs.ToYAML(j.Document())
	if err != nil {
		return nil, fmt.Errorf("write the job %s as YAML: %w", name, err)
	}
	d.Document, d.JSON, d.Gates = string(text), indented(j.Document()), gatesOf(&j)
	if d.Retry, err = v.API.Retry(v.ctx(), name); err != nil {
		return nil, err
	}
	d.Rules = shownRules(d.Retry.Rules)
	if n := slices.IndexFunc(d.Rules, isCommon); n >= 0 {
		d.Rules, d.Common = d.Rules[:n], d.Rules[n:]
	}
	if d.Schedules, err = v.schedulesOf(name); err != nil {
		return nil, err
	}
	if d.Went, err = v.wentOf(name); err != nil {
		return nil, err
	}
	day, charts, err := v.charts(name)
	if err != nil {
		return nil, err
	}
	d.Charts, d.Day, d.Ended = charts, day.Totals, day.Totals.Succeeded+day.Totals.Failed+day.Totals.Cancelled
	runs, err := v.API.Runs(v.ctx(), url.Values{"job": {name}}, client.Page{Limit: 10})
	if err != nil {
		return nil, err
	}
	d.Runs = runs.Items
	failures, err := v.API.Failures(v.ctx(), url.Values{"job": {name}}, client.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	d.Open, d.MoreOpen = len(failures.Items), failures.Next != nil
	return d, nil
}

func isCommon(r shownRule) bool { return strings.HasPrefix(r.By, "policy default ") }

func shownRules(rules []jobs.EffectiveRule) []shownRule {
	list := make([]shownRule, len(rules))
	for i := range rules {
		r := &rules[i]
		list[i] = shownRule{By: r.By, If: r.If, Then: r.Then, After: r.After, Reason: r.Reason}
		if r.MaxAttempts != nil {
			list[i].Max = strconv.Itoa(*r.MaxAttempts)
		}
		if r.By == jobs.ByReported {
			list[i].If, list[i].Then = "the job says of its error whether it is retryable", "as it says"
		}
	}
	return list
}

// runJob makes a run.
func runJob(v *view) error {
	name, form := v.r.PathValue("name"), asked{Payload: v.form("payload"), Key: v.form("key"), Delay: v.form("delay")}
	request, refused := form.request()
	if refused == nil {
		run, err := v.API.Enqueue(v.ctx(), name, request, 0)
		if err == nil {
			return v.done("/runs/"+run.ID.String(), madeAs(&run))
		}
		if refused = problem(err); refused == nil {
			return err
		}
	}
	data, err := v.readJob()
	if err != nil {
		return err
	}
	data.Run, data.Refused = form, refused
	return v.showAs(refused.Status, "job", data.Job.Name, data)
}

func madeAs(run *wire.Run) string {
	if run.Duplicate != nil && *run.Duplicate {
		return "An earlier run stands for it: this one. No other was made."
	}
	return "The run is made."
}

func (a *asked) request() (r client.Request, refused *client.Problem) {
	if strings.TrimSpace(a.Payload) != "" {
		if refused = notJSON("payload", a.Payload); refused != nil {
			return r, refused
		}
		r.Payload = jobs.Raw(a.Payload)
	}
	if a.Delay != "" {
		d, err := jobs.ParseDuration(a.Delay)
		if err != nil {
			return r, &client.Problem{Problem: wire.Problem{
				Title: "The delay is none", Status: http.StatusUnprocessableEntity, Detail: "Want a duration such as 90s or 2h.",
			}}
		}
		r.Delay = &d
	}
	r.IdempotencyKey = a.Key
	return r, nil
}

func pauseJob(v *view) error {
	name := v.r.PathValue("name")
	if _, err := v.API.PauseJob(v.ctx(), name, v.form("note")); err != nil {
		return err
	}
	return v.done("/jobs/"+url.PathEscape(name), "The job is paused: nothing of it starts until it is resumed.")
}

func resumeJob(v *view) error {
	name := v.r.PathValue("name")
	if _, err := v.API.ResumeJob(v.ctx(), name, v.form("note")); err != nil {
		return err
	}
	return v.done("/jobs/"+url.PathEscape(name), "The job goes on.")
}

func upgradeRuns(v *view) error {
	name := v.r.PathValue("name")
	n, err := v.API.UpgradeRuns(v.ctx(), name)
	if err != nil {
		return err
	}
	return v.done("/jobs/"+url.PathEscape(name), "Moved to the newest version: "+words.CountOf(n, "run")+".")
}
