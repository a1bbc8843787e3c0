package sqldb

import (
	"nightshift/jobs"
	"nightshift/store"
)

// tellReopened keeps that failures are open which came while those alike were ignored: one event, of the
// newest.
func (s *Store) tellReopened(tx Tx, g *ignoredGroup, newest jobs.ID, now jobs.Time) error {
	s.told++
	return s.keepEvent(tx, store.Event{
		At: now, Type: jobs.EventRunFailed, Subject: "run/" + newest.String(), Job: g.job, Run: newest,
		Data: jobs.AppendJSON(nil, &struct {
			Job         string  `json:"job"`
			Run         jobs.ID `json:"run"`
			Fingerprint string  `json:"fingerprint"`
			Count       int     `json:"count"`
		}{g.job, newest, g.fingerprint, g.more}),
	})
}
