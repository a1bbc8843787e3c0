package web

import (
	"fmt"
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
	Only  string // paused: those alone
	Count int    // that fit the filter
	Most  bool   // there are more than were read
	Next  string
}

type listedJob struct {
	*jobs.Job
	Work string
	Last *wire.Run // its newest; nil: none
	Went outcomes  // its newest runs
	Next jobs.Time // its next tick; zero: none
	Zone string    // of that schedule
}

func listJobs(v *view) error {
	v.Nav, v.Watch = "/jobs", "?"
	data := listedJobs{Q: v.query("q"), Only: v.query("only")}
	all, err := v.allJobs(&data.Most)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(j *jobs.Job) bool { return !fits(j, data.Q) || data.Only == "paused" && !j.Paused })
	slices.SortFunc(all, func(a, b *jobs.Job) int { return strings.Compare(a.Name, b.Name) })
	data.Count = len(all)
	from := startOf(v.query("cursor"), len(all), jobsShown)
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

// startOf is where a page of a list begins: where the list has become shorter than that, its last page does.
func startOf(cursor string, n, onPage int) int {
	from, _ := strconv.Atoi(cursor)
	return min(max(0, from), max(0, n-1)/onPage*onPage)
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
	runs, err := v.API.Runs(v.ctx(), url.Values{"job": {j.Name}}, client.Page{Limit: recentRuns})
	if err != nil {
		return row, err
	}
	if len(runs.Items) > 0 {
		row.Last = &runs.Items[0]
	}
	row.Went = outcomesOf(runs.Items)
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

// recentRuns is how many runs of each job the list of jobs looks at.
const recentRuns = 12

// outcomes are how runs went, the oldest first, as marks.
type outcomes struct {
	Width int
	Marks []mark
	Label string
}

// mark is one run.
type mark struct {
	bar
	X int
}

// Height fits marks into a line of text.
func (m mark) Height() int { return 18 - m.Y() }

// Y is where it begins: a failure is low.
func (m mark) Y() int { return m.bar.Y() * 2 / 3 }

func outcomesOf(runs []wire.Run) outcomes {
	o := outcomes{Width: 9 * len(runs)}
	n := map[string]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		class := runs[i].State
		n[class]++
		switch class {
		case "scheduled", "queued", "retrying", "waiting":
			class = "wait"
		}
		o.Marks = append(o.Marks, mark{bar{Class: class}, 9 * len(o.Marks)})
	}
	var said []string
	for s := jobs.Scheduled; s <= jobs.Cancelled; s++ {
		if count := n[s.String()]; count > 0 {
			said = append(said, strconv.Itoa(count)+" "+s.String())
		}
	}
	o.Label = "the last " + words.CountOf(len(runs), "run") + ": " + strings.Join(said, ", ")
	return o
}

func firstLine(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(line, "#!") && more != "" {
		return firstLine(more)
	}
	return line
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
