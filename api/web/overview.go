package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

func overviewPages() []page {
	return []page{
		{pattern: "GET /{$}", handle: overview},
		{pattern: "POST /first", handle: firstJob},
	}
}

// Bounds of the overview.
const (
	groupsShown = 5
	nextShown   = 8
	listRead    = 1000 // of jobs, schedules, queues and dependencies, newest first
	chartsBack  = 24 * time.Hour
	chartsStep  = 30 * time.Minute
)

// overviewed is the data of the overview.
type overviewed struct {
	Server  wire.Server
	Worst   []need // of the server as a whole: before all failures
	Needs   []need
	Groups  []wire.FailureGroup // with open failures, the newest first
	More    bool                // there are more of them
	Stats   wire.Stats
	Ended   int64 // runs
	Charts  []*chart
	Queues  []wire.Queue
	Ticks   []wire.StandingSchedule // that come next
	Told    []told
	New     bool     // there is no job yet
	Example *example // how to make the first
}

// need is something that wants a person.
type need struct {
	Class    string // bad, warn
	Text     string
	To, Link string
}

// example is a first job that somebody may make.
type example struct {
	Name, Source string
	Refused      *client.Problem
}

const (
	firstName   = "hello"
	firstSource = "echo 'Hello from the night shift'\ndate\n"
)

func overview(v *view) error {
	data, err := v.overviewed()
	if err != nil {
		return err
	}
	v.Nav = "/"
	if !data.New { // else somebody may be typing
		v.Watch = "?"
	}
	return v.show("overview", "Overview", data)
}

func (v *view) overviewed() (d overviewed, err error) {
	if d.Server, err = v.API.Server(v.ctx()); err != nil {
		return d, err
	}
	for _, read := range []func(*overviewed) error{v.readOpen, v.readJobs, v.readShared, v.readSchedules, v.readStats, v.readSecrets, v.readTold} {
		if err := read(&d); err != nil {
			return d, err
		}
	}
	whole := v.serverNeeds(&d.Server, d.New)
	d.Worst = slices.DeleteFunc(slices.Clone(whole), func(n need) bool { return n.Class != "bad" })
	d.Needs = append(slices.DeleteFunc(whole, func(n need) bool { return n.Class == "bad" }), d.Needs...)
	slices.SortStableFunc(d.Needs, func(a, b need) int { return cmp.Compare(a.Class, b.Class) })
	return d, nil
}

// serverNeeds is what the server as a whole wants. Where there is no job, nothing can fail silently.
func (v *view) serverNeeds(s *wire.Server, fresh bool) (needs []need) {
	if s.Alerts.Undelivered > 0 {
		needs = append(needs, need{
			"bad", words.CountOf(s.Alerts.Undelivered, "alert") + " could not be delivered: somebody was not told of something.",
			"/alerts", "Alerts",
		})
	}
	if s.Database != nil && s.Database.DiskLow {
		needs = append(needs, need{"bad", "The disk of the database is nearly full: " + words.Bytes(s.Database.DiskFree) + " are free.", "/server", "Server"})
	}
	if s.Restored != nil {
		needs = append(needs, need{
			"bad", "The server is held: " + s.Restored.Reason + ". Nothing starts until it is resumed.", "/server", "Resume",
		})
	}
	if b := s.Backups; b != nil && b.Failed != nil {
		needs = append(needs, need{"bad", "No backup can be made since " + v.At.Clock(b.FailingSince) + ": " + *b.Failed + ".", "/server", "Server"})
	}
	if most := s.MaxUnfinished; most != nil && s.Unfinished >= *most {
		needs = append(needs, need{
			"bad", words.CountOf(s.Unfinished, "run") + " have not ended, as many as there may be: new ones are refused until some have.",
			"/runs", "Runs",
		})
	}
	if s.Draining {
		needs = append(needs, need{"warn", "The server is draining: it starts nothing until it is resumed.", "/server", "Resume"})
	}
	if !s.Alerts.FailuresTold && !fresh {
		needs = append(needs, need{"warn", "Failures are silent: no alert tells anybody of a failed run.", "/alerts", "Set up alerts"})
	}
	return needs
}

func (v *view) readOpen(d *overviewed) error {
	all, next, err := v.lastFailed(url.Values{"status": {"open"}}, "")
	d.More = next != nil || len(all) > groupsShown
	d.Groups = all[:min(len(all), groupsShown)]
	return err
}

// readShared reads what holds runs: queues and dependencies.
func (v *view) readShared(d *overviewed) error {
	queues, err := v.API.Queues(v.ctx(), client.Page{Limit: listRead})
	if err != nil {
		return err
	}
	for _, q := range queues.Items {
		if q.Paused {
			d.Needs = append(d.Needs, need{"warn", "The queue " + q.Name + " is paused" + because(q.PauseNote) + ".", "/queues", "Queues"})
		}
	}
	d.Queues = slices.DeleteFunc(queues.Items, func(q wire.Queue) bool { return q.Running+q.Queued == 0 && !q.Paused })
	slices.SortFunc(d.Queues, func(a, b wire.Queue) int {
		return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Name, b.Name))
	})
	d.Queues = d.Queues[:min(len(d.Queues), nextShown)]
	dependencies, err := v.API.Dependencies(v.ctx(), client.Page{Limit: listRead})
	if err != nil {
		return err
	}
	for _, dep := range dependencies.Items {
		to := "/dependencies/" + url.PathEscape(dep.Name)
		switch {
		case dep.State != "closed":
			text := "The dependency " + dep.Name + " is " + dep.State + because(textOf(dep.Reason)) + "."
			if dep.Waiting > 0 {
				text += " " + words.CountOf(dep.Waiting, "run") + " waiting for it."
			}
			d.Needs = append(d.Needs, need{"bad", text, to, "Dependency"})
		case dep.Paused:
			d.Needs = append(d.Needs, need{"warn", "The dependency " + dep.Name + " is paused" + because(dep.PauseNote) + ".", to, "Dependency"})
		}
	}
	return nil
}

func because(note string) string {
	if note == "" {
		return ""
	}
	return ": " + words.Short(words.Clean(note), 160)
}

func (v *view) readSchedules(d *overviewed) error {
	list, err := v.API.Schedules(v.ctx(), "", client.Page{Limit: listRead})
	if err != nil {
		return err
	}
	for _, s := range list.Items {
		to := "/schedules/" + url.PathEscape(s.Name)
		switch {
		case s.Backlog > 0:
			d.Needs = append(d.Needs, need{"warn", "The schedule " + s.Name + " has " + words.CountOf(s.Backlog, "missed tick") + " to catch up.", to, "Schedule"})
		case s.Paused:
			d.Needs = append(d.Needs, need{"warn", "The schedule " + s.Name + " is paused" + because(s.PauseNote) + ".", to, "Schedule"})
		}
		if s.Next != 0 {
			d.Ticks = append(d.Ticks, s)
		}
	}
	slices.SortStableFunc(d.Ticks, func(a, b wire.StandingSchedule) int { return cmp.Compare(a.Next, b.Next) })
	d.Ticks = d.Ticks[:min(len(d.Ticks), nextShown)]
	return nil
}

// readSecrets finds those that runs wait for, and those that no key of the server opens: runs that need them are
// held.
func (v *view) readSecrets(d *overviewed) error {
	wanted := d.Stats.MissingSecrets
	for _, name := range wanted {
		d.Needs = append(d.Needs, need{"bad", "Runs wait for the secret " + name + ": it is not set, or cannot be read.", "/secrets", "Secrets"})
	}
	if !v.May("admin") || !v.Whole() {
		return nil
	}
	list, err := v.API.Secrets(v.ctx(), client.Page{Limit: listRead})
	if err != nil {
		return err
	}
	for _, s := range list.Items {
		if !s.Readable && !slices.Contains(wanted, s.Name) {
			d.Needs = append(d.Needs, need{"bad", "The secret " + s.Name + " cannot be read: runs that need it are held.", "/secrets", "Secrets"})
		}
	}
	return nil
}

func (v *view) readStats(d *overviewed) (err error) {
	d.Stats, d.Charts, err = v.charts("")
	d.Ended = d.Stats.Totals.Succeeded + d.Stats.Totals.Failed + d.Stats.Totals.Cancelled
	return err
}

func (v *view) readJobs(d *overviewed) error {
	list, err := v.API.Jobs(v.ctx(), client.Page{Limit: listRead})
	if err != nil {
		return err
	}
	paused := slices.DeleteFunc(slices.Clone(list.Items), func(j *jobs.Job) bool { return !j.Paused })
	if len(paused) > groupsShown {
		d.Needs = append(d.Needs, need{"warn", words.CountOf(len(paused), "job") + " are paused.", "/jobs?only=paused", "Jobs"})
		paused = nil
	}
	for _, j := range paused {
		to := "/jobs/" + url.PathEscape(j.Name)
		d.Needs = append(d.Needs, need{"warn", "The job " + j.Name + " is paused" + because(j.PauseNote) + ".", to, "Job"})
	}
	// A page may hold none of those that a narrowed token reaches, and others follow.
	if d.New = len(list.Items) == 0 && list.Next == nil; d.New {
		d.Example = &example{Name: firstName, Source: firstSource}
	}
	return nil
}

// firstJob registers the first job, a script, and runs it.
func firstJob(v *view) error {
	v.Nav = "/"
	ex := example{Name: strings.TrimSpace(v.form("name")), Source: v.form("source")}
	job := jobs.Raw(jobs.AppendJSON(nil, map[string]any{"name": ex.Name, "script": map[string]any{"source": ex.Source}}))
	_, err := v.API.CreateJob(v.ctx(), job)
	if err == nil {
		run, err := v.API.Enqueue(v.ctx(), ex.Name, client.Request{}, 0)
		if err != nil {
			return err
		}
		return v.done("/runs/"+run.ID.String(), fmt.Sprintf("The job %s is registered, and this is its first run.", ex.Name))
	}
	if ex.Refused = problem(err); ex.Refused == nil || ex.Refused.Status < 400 || ex.Refused.Status == http.StatusForbidden {
		return err
	}
	data, err := v.overviewed()
	if err != nil {
		return err
	}
	data.New, data.Example = true, &ex
	return v.showAs(ex.Refused.Status, "overview", "Overview", data)
}
