package store

import "nightshift/jobs"

// Links are what the end of a run matters to besides itself.
type Links struct {
	Group        jobs.ID // the group's run that it is a member of, or merges
	Place        int     // there; -1: it merges
	RequeuedFrom jobs.ID
	Bulk         jobs.ID
	Tells        jobs.Tells
}

// LinksOf are those of a run.
func LinksOf(run *jobs.Run) Links {
	return Links{run.Group, run.Place, run.RequeuedFrom, run.Bulk, run.Tells}
}
