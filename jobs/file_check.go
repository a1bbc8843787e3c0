package jobs

import (
	"slices"
	"strings"
)

// unreadOf gives, for each document of a list that could not be read whole, what could not be,
// located within it. Nothing is given for one of which too much is wrong to check the rest.
func unreadOf[T any](l *fileList[T], placed []placed) map[*T][]Fault {
	unread := map[*T][]Fault{}
	for i, v := range l.list {
		if !l.broken[v] {
			continue
		}
		unread[v] = nil
		at := l.places[i].location
		for _, p := range placed {
			if rest, ok := strings.CutPrefix(p.Location, at+"."); ok {
				unread[v] = append(unread[v], Fault{Location: rest})
			} else if p.Location == at {
				unread[v] = nil // it is no document
				break
			}
		}
	}
	return unread
}

// take takes what the file holds, and notes what is wrong with it.
func (f *File) take(doc *fileDocument, placed []placed) {
	f.places = map[string][]place{
		RefPolicy: doc.Policies.places, RefQueue: doc.Queues.places,
		RefDependency: doc.Dependencies.places, RefJob: doc.Jobs.places,
		RefSchedule: doc.Schedules.places, RefAlert: doc.Alerts.places,
	}
	empty := doc.Policies.list == nil && doc.Queues.list == nil && doc.Dependencies.list == nil &&
		doc.Jobs.list == nil && doc.Schedules.list == nil && doc.Alerts.list == nil
	if empty && len(placed) == 0 {
		f.fault(0, 0, "", "holds nothing to apply: want jobs, schedules, policies, queues, dependencies or alerts, each a "+
			"list, or a map by name")
	}
	doc.zone()
	checkAll(f, policySort, &doc.Policies.fileList, placed)
	checkAll(f, queueSort, &doc.Queues.fileList, placed)
	checkAll(f, dependencySort, &doc.Dependencies.fileList, placed)
	checkAll(f, jobSort, &doc.Jobs.fileList, placed)
	checkAll(f, scheduleSort, &doc.Schedules.fileList, placed)
	checkAll(f, alertSort, &doc.Alerts.fileList, placed)
	if len(f.found) > 0 {
		return
	}
	f.Policies, f.Jobs, f.Schedules = doc.Policies.list, doc.Jobs.list, doc.Schedules.list
	f.Alerts = doc.Alerts.list
	for _, q := range doc.Queues.list {
		f.Queues = append(f.Queues, q.queue())
	}
	for _, d := range doc.Dependencies.list {
		f.Dependencies = append(f.Dependencies, d.dependency())
	}
}

// checkAll notes what is wrong with the documents of a list, one by one and together.
func checkAll[T any](f *File, sort fileSort[T], l *fileList[T], placed []placed) {
	broken := unreadOf(l, placed)
	first := map[string]int{}
	for i, v := range l.list {
		unread, isBroken := broken[v]
		if isBroken && unread == nil {
			continue
		}
		list := f.checkName(faults(sort.check(v)), *sort.name(v), first, i, l.places)
		list = Besides(unread, list)[len(unread):]
		if len(f.found) >= maxFileFaults {
			f.more += len(list)
			continue
		}
		f.note(f.PlaceFaults(sort.kind, i, list))
	}
}

// checkName wants a name that no other item of the list has.
func (f *File) checkName(
	list faults, name string, first map[string]int, i int, places []place,
) faults {
	if other, twice := first[name]; twice && name != "" {
		line, _ := f.at(places[other].offset)
		list.add("name", "this name stands at %s too, on line %d", places[other].location, line)
	} else if name == "" {
		list.add("", "want a name")
	} else {
		first[name] = i
	}
	return list
}

func (f *File) note(placed []FileFault) {
	for _, p := range placed {
		if fromDefaults(p.Location) {
			if f.seen[p] || slices.ContainsFunc(f.unread, func(location string) bool {
				return within(p.Location, location) || within(location, p.Location)
			}) {
				continue
			}
			if f.seen == nil {
				f.seen = map[FileFault]bool{}
			}
			f.seen[p] = true
		}
		f.fault(p.Line, p.Column, p.Location, p.Message)
	}
}
