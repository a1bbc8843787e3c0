package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

func jobPages() []page {
	return []page{
		{pattern: "GET /jobs", handle: listJobs},
		{pattern: "GET /jobs/{name}", handle: showJob},
		{pattern: "GET /jobs/{name}/versions", handle: showVersions},
		{pattern: "POST /jobs/{name}/run", handle: runJob},
		{pattern: "POST /jobs/{name}/pause", handle: pauseJob},
		{pattern: "POST /jobs/{name}/resume", handle: resumeJob},
		{pattern: "POST /jobs/{name}/upgrade-runs", handle: upgradeRuns},
	}
}

// Bounds of the page of jobs: it reads as many as it filters by name.
const (
	jobsRead  = 5000
	jobsShown = 50
)

// listedJobs is the data of the page of jobs.
type listedJobs struct {
	Jobs  []listedJob
	Q     string
	Count int  // that fit the filter
	Most  bool // there are more than were read
	Next  string
}

type listedJob struct {
	*jobs.Job
	Work string
	Last *wire.Run // its newest; nil: none
	Next jobs.Time // its next tick; zero: none
	Zone string    // of that schedule
	Open int       // failures of it that nobody has dealt with, as far as they were counted
	More bool      // there are more
}

func listJobs(v *view) error {
	v.Nav, v.Watch = "/jobs", "?"
	data := listedJobs{Q: v.query("q")}
	all, err := v.allJobs(&data.Most)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(j *jobs.Job) bool { return !fits(j, data.Q) })
	slices.SortFunc(all, func(a, b *jobs.Job) int { return strings.Compare(a.Name, b.Name) })
	data.Count = len(all)
	from, _ := strconv.Atoi(v.query("cursor"))
	from = min(max(0, from), len(all))
	shown := all[from:min(from+jobsShown, len(all))]
	if from+jobsShown < len(all) {
		data.Next = strconv.Itoa(from + jobsShown)
	}
	for _, j := range shown {
		row, err := v.listedJob(j)
		if err != nil {
			return err
		}
		data.Jobs = append(data.Jobs, row)
	}
	return v.show("jobs", "Jobs", data)
}

// allJobs reads jobs, up to a bound.
func (v *view) allJobs(most *bool) (all []*jobs.Job, err error) {
	for page := (client.Page{Limit: 1000}); ; {
		list, err := v.API.Jobs(v.ctx(), page)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if list.Next == nil {
			return all, nil
		}
		if len(all) >= jobsRead {
			*most = true
			return all, nil
		}
		page.Cursor = *list.Next
	}
}

// fits reports whether a job's name, description or labels hold a text.
func fits(j *jobs.Job, q string) bool {
	q = strings.ToLower(strings.TrimSpace(q))
	if q == "" || strings.Contains(j.Name, q) || strings.Contains(strings.ToLower(j.Description), q) {
		return true
	}
	for key, value := range j.Labels {
		if strings.Contains(strings.ToLower(key+":"+value), q) {
			return true
		}
	}
	return false
}

func (v *view) listedJob(j *jobs.Job) (listedJob, error) {
	row := listedJob{Job: j, Work: words.Short(firstLine(words.Work(j.Spec())), 90)}
	runs, err := v.API.Runs(v.ctx(), url.Values{"job": {j.Name}}, client.Page{Limit: 1})
	if err != nil {
		return row, err
	}
	if len(runs.Items) > 0 {
		row.Last = &runs.Items[0]
	}
	schedules, err := v.API.Schedules(v.ctx(), j.Name, client.Page{Limit: 20})
	if err != nil {
		return row, err
	}
	for _, s := range schedules.Items {
		if s.Next != 0 && (row.Next == 0 || s.Next < row.Next) {
			row.Next, row.Zone = s.Next, s.Timezone
		}
	}
	return row, nil
}

func firstLine(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(line, "#!") && more != "" {
		return firstLine(more)
	}
	return line
}

// shownJob is the data of the page of a job.
type shownJob struct {
	Job       jobs.Job
	Work      string
	Document  string // its definition, as a job file has it
	Retry     jobs.EffectiveRetry
	Rules     []shownRule
	Schedules []wire.StandingSchedule
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
	d.Document = string(text)
	if d.Retry, err = v.API.Retry(v.ctx(), name); err != nil {
		return nil, err
	}
	d.Rules = shownRules(d.Retry.Rules)
	schedules, err := v.API.Schedules(v.ctx(), name, client.Page{Limit: 50})
	if err != nil {
		return nil, err
	}
	d.Schedules = schedules.Items
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

// shownVersions is the data of the page of a job's versions.
type shownVersions struct {
	Job      string
	Versions []shownVersion
	Next     *string
}

type shownVersion struct {
	jobs.Version
	Work    string
	Text    string        // what it executes, as YAML
	Changes []jobs.Change // from the one before; nil: that is on the next page, or there is none
}

func showVersions(v *view) error {
	name := v.r.PathValue("name")
	v.Nav = "/jobs"
	list, err := v.API.Versions(v.ctx(), name, v.page(20))
	if err != nil {
		return err
	}
	data := shownVersions{Job: name, Next: list.Next}
	for i := range list.Items {
		version := &list.Items[i]
		spec := jobs.AppendJSON(nil, &version.Spec)
		text, err := jobs.ToYAML(spec)
		if err != nil {
			return fmt.Errorf("write version %d of the job %s as YAML: %w", version.Version, name, err)
		}
		shown := shownVersion{Version: *version, Work: words.Work(version.Spec), Text: string(text)}
		if i+1 < len(list.Items) {
			shown.Changes = jobs.Diff(jobs.AppendJSON(nil, &list.Items[i+1].Spec), spec)
		}
		data.Versions = append(data.Versions, shown)
	}
	return v.show("versions", "Versions of "+name, data)
}

// timeoutOf is the deadline of an attempt of a job.
func timeoutOf(j *jobs.Job) string { return words.Roundly(j.TimeoutOf().Round(time.Millisecond)) }
