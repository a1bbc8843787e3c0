package sqldb

import (
	"nightshift/jobs"
	"nightshift/store"
)

// tellReopened keeps that failures are open which came while those alike were ignored: one event, of the
// newest.
func (s *Store) tellReopened(tx Tx, g *ignoredGroup, newest jobs.ID, now jobs.Time) error {
	run, err := listedRun(tx, newest)
	if err != nil {
		return err
	}
	if run.Tells != jobs.TellsNothing {
		return nil // nothing alerts about itself
	}
	return s.keepEvent(tx, store.Event{
		At: now, Type: jobs.EventRunFailed, Subject: jobs.RunSubject(newest), Job: g.job, Run: newest,
		Data: jobs.AppendJSON(nil, &jobs.RunFailed{
			Job: g.job, Run: newest, Labels: run.Labels, Error: jobs.EventErrorOf(run.Error), Attempts: run.Counts.Number,
			Correlation: run.CorrelationID, Schedule: textOrNull(run.Schedule), Group: run.Group, Fingerprint: g.fingerprint, InARow: g.more,
			Count: g.more,
		}),
	})
}
