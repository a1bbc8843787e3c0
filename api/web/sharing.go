package web

import (
	"net/http"
	"net/url"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

func sharingPages() []page {
	return []page{
		{pattern: "GET /dependencies", handle: listDependencies},
		{pattern: "GET /dependencies/{name}", handle: showDependency},
		{pattern: "POST /dependencies/{name}/{change}", handle: changeDependency},
		{pattern: "GET /queues", handle: listQueues},
		{pattern: "POST /queues/{name}/{change}", handle: changeQueue},
	}
}

// sharedShown is how many dependencies or queues a page shows.
const sharedShown = 50

// listedDependencies is the data of the page of dependencies.
type listedDependencies struct {
	Items []shownDependency
	Next  *string
}

// shownDependency is a dependency with what its state means.
type shownDependency struct {
	wire.Dependency
	Ill  bool   // nothing, or not all, gets through
	Says string // how it stands, in a sentence
}

func (v *view) shownDependency(d wire.Dependency) shownDependency {
	out := shownDependency{Dependency: d, Ill: true}
	reason := ""
	if d.Reason != nil && *d.Reason != "" {
		reason = ": " + *d.Reason
	}
	switch {
	case d.Paused:
		out.Says = "Paused by hand: nothing that uses it starts."
		if d.PauseNote != "" {
			out.Says = "Paused by hand: " + d.PauseNote
		}
	case d.State == "open":
		out.Says = "Its breaker is open" + reason + ". Runs are held, and use up no attempt."
	case d.State == "probing":
		out.Says = "Its breaker is open" + reason + ". One run probes it now."
	case d.HeldUntil > jobs.TimeOf(v.At.Now):
		out.Says = "It asked to be left alone (Retry-After)."
	default:
		out.Ill = false
		out.Says = "Calls flow."
		if d.ErrorsInRow > 0 && d.Breaker != nil {
			out.Says = "Calls flow; its last ones failed: " + number(d.ErrorsInRow) + " in a row."
		}
	}
	return out
}

func listDependencies(v *view) error {
	v.Nav, v.Watch = "/dependencies", "?"
	list, err := v.API.Dependencies(v.ctx(), v.page(sharedShown))
	if err != nil {
		return err
	}
	data := listedDependencies{Next: list.Next}
	var well []shownDependency
	for _, d := range list.Items { // those that hold runs first
		if shown := v.shownDependency(d); shown.Ill {
			data.Items = append(data.Items, shown)
		} else {
			well = append(well, shown)
		}
	}
	data.Items = append(data.Items, well...)
	return v.show("dependencies", "Dependencies", data)
}

// oneDependency is the data of the page of a dependency.
type oneDependency struct {
	shownDependency
	Document string // its limits, as a file has them
	Now      jobs.Time
	Held     []wire.Run // some of the runs that wait for it
	Refused  *client.Problem
}

func showDependency(v *view) error { return v.dependency(http.StatusOK, nil) }

func (v *view) dependency(status int, refused *client.Problem) error {
	name := v.r.PathValue("name")
	d, _, err := v.API.Dependency(v.ctx(), name)
	if err != nil {
		return err
	}
	v.Nav, v.Watch = "/dependencies", "?"
	data := oneDependency{shownDependency: v.shownDependency(d), Now: jobs.TimeOf(v.At.Now), Refused: refused}
	text, err := jobs.ToYAML(jobs.AppendJSON(nil, map[string]any{"dependencies": map[string]any{name: map[string]any{
		"concurrency": d.Concurrency, "rate": d.Rate, "breaker": d.Breaker,
	}}}))
	if err != nil {
		return err
	}
	data.Document = string(text)
	if d.Waiting > 0 {
		if data.Held, err = v.heldBy(name, d.Jobs); err != nil {
			return err
		}
	}
	return v.showAs(status, "dependency", name, data)
}

// heldShown bounds the runs that are shown of those that a dependency holds, and the jobs that are looked at.
const heldShown = 10

// heldBy are some of the queued runs of jobs that a dependency holds.
func (v *view) heldBy(name string, of []string) (held []wire.Run, err error) {
	for _, job := range of[:min(len(of), heldShown)] {
		runs, err := v.API.Runs(v.ctx(), url.Values{"job": {job}, "state": {"queued"}}, client.Page{Limit: heldShown})
		if err != nil {
			return nil, err
		}
		for i := range runs.Items {
			if h := runs.Items[i].HeldBy; h != nil && h.Name == name && len(held) < heldShown {
				held = append(held, runs.Items[i])
			}
		}
	}
	return held, nil
}

func changeDependency(v *view) error {
	name, note := v.r.PathValue("name"), v.form("note")
	var err error
	var said string
	switch v.r.PathValue("change") {
	case "pause":
		_, err = v.API.PauseDependency(v.ctx(), name, note)
		said = "It is paused: nothing that uses it starts until it is resumed."
	case "resume":
		_, err = v.API.ResumeDependency(v.ctx(), name, note)
		said = "It goes on."
	case "reset":
		_, err = v.API.ResetDependency(v.ctx(), name, note)
		said = "Its breaker is closed: what it held starts, slowly at first."
	case "trip":
		trip := wire.Trip{Note: note}
		if text := v.form("for"); text != "" {
			d, bad := jobs.ParseDuration(text)
			if bad != nil {
				return v.dependency(http.StatusUnprocessableEntity, &client.Problem{Problem: wire.Problem{
					Title: "The duration is none", Status: http.StatusUnprocessableEntity, Detail: "Want one such as 10m or 2h.",
				}})
			}
			trip.For = &d
		}
		_, err = v.API.TripDependency(v.ctx(), name, trip)
		said = "Its breaker is open: what uses it is held."
	default:
		return &notFound{}
	}
	if err != nil {
		return err
	}
	return v.done("/dependencies/"+url.PathEscape(name), said)
}

// listedQueues is the data of the page of queues.
type listedQueues struct {
	Items []wire.Queue
	Next  *string
}

func listQueues(v *view) error {
	v.Nav, v.Watch = "/queues", "?"
	list, err := v.API.Queues(v.ctx(), v.page(sharedShown))
	if err != nil {
		return err
	}
	return v.show("queues", "Queues", listedQueues{Items: list.Items, Next: list.Next})
}

func changeQueue(v *view) error {
	name, note := v.r.PathValue("name"), v.form("note")
	var err error
	said := "The queue " + name + " goes on."
	switch v.r.PathValue("change") {
	case "pause":
		_, err = v.API.PauseQueue(v.ctx(), name, note)
		said = "The queue " + name + " is paused: nothing of it starts until it is resumed."
	case "resume":
		_, err = v.API.ResumeQueue(v.ctx(), name, note)
	default:
		return &notFound{}
	}
	if err != nil {
		return err
	}
	return v.done("/queues", said)
}
