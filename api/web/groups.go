package web

import (
	"net/http"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

func groupPages() []page {
	return []page{
		{pattern: "GET /groups", handle: listGroups},
		{pattern: "GET /groups/{id}", handle: onRun(showGroup)},
		{pattern: "POST /groups/{id}/remerge", handle: onRun(remergeGroup)},
	}
}

// listedGroupRuns is the data of the page of groups.
type listedGroupRuns struct {
	Groups []listedGroup
	Next   *string
	State  string
	Job    string
}

type listedGroup struct {
	wire.Run
	Counts wire.GroupCounts
	Known  bool // how its members stand: not before it has started
}

func listGroups(v *view) error {
	v.Nav, v.Watch = "/groups", "?"
	data := listedGroupRuns{State: v.query("state"), Job: v.query("job")}
	list, err := v.API.Groups(v.ctx(), v.filter([]string{"state", "job"}), v.page(25))
	if err != nil {
		return err
	}
	data.Next = list.Next
	for _, run := range list.Items {
		g := listedGroup{Run: run}
		members, err := v.API.Members(v.ctx(), run.ID, client.Page{Limit: 1})
		if p := problem(err); err != nil && (p == nil || p.Status != http.StatusNotFound) {
			return err
		}
		g.Counts, g.Known = members.Counts, err == nil
		data.Groups = append(data.Groups, g)
	}
	return v.show("groups", "Groups", data)
}

// shownGroup is the data of the page of a group.
type shownGroup struct {
	words.Group
	Why   string
	Ended bool
	Good  int // of the members, for the bar
	Zone  string
}

func showGroup(v *view, id jobs.ID) error {
	run, err := v.API.Run(v.ctx(), id, 0)
	if err != nil {
		return err
	}
	v.Nav, v.Watch = "/groups", "?run="+id.String()
	d := shownGroup{Group: words.Group{Run: run}, Ended: words.Ended(&run)}
	if d.Members, err = v.API.Members(v.ctx(), id, v.page(100)); err != nil {
		return err
	}
	for _, of := range d.Members.Merges {
		merge, err := v.API.Run(v.ctx(), of, 0)
		if p := problem(err); p != nil && p.Status == http.StatusNotFound {
			continue // it is not kept any more
		}
		if err != nil {
			return err
		}
		d.Merges = append(d.Merges, merge)
	}
	// The sentence names members that are not good, wherever in the list they are.
	said := d.Group
	if v.query("cursor") != "" {
		first, err := v.API.Members(v.ctx(), id, client.Page{Limit: 100})
		if err != nil {
			return err
		}
		said.Members = first
	}
	d.Why = v.At.WhyGroup(&said)
	return v.show("group", "Group of "+run.Job, d)
}

func remergeGroup(v *view, id jobs.ID) error {
	made, err := v.API.Remerge(v.ctx(), id, v.form("note"))
	if err != nil {
		return err
	}
	return v.done("/groups/"+id.String(), "Its members are merged once more, by run "+made.ID.String()+".")
}
