package sqldb

import (
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const selectAlerts = `SELECT name, doc FROM documents WHERE kind = 'alert' ORDER BY id LIMIT 1000000`

// standingAlerts are the alerts that there are.
func standingAlerts(tx Tx) (list []*jobs.Alert, err error) {
	err = tx.Query(selectAlerts, func(r Row) error {
		a, err := jobs.ParseAlertDocument(r.Text(0), r.Bytes(1))
		list = append(list, a)
		return err
	})
	return list, err
}

// alertsRunning are the names of the alerts that run a job, sorted.
func alertsRunning(list []*jobs.Alert, job string) (names []string) {
	for _, a := range list {
		if a.Run == job {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return names
}

// checkAlerts demands that the job which an alert runs stands, and that it makes no runs of others.
func (v *saving) checkAlerts() error {
	mayDiffer := func(kind string) bool {
		return slices.ContainsFunc(v.c.Documents, func(p store.PutDocument) bool { return p.Kind == kind })
	}
	if !mayDiffer(store.KindAlert) && len(v.c.Jobs) == 0 && len(v.out.Removed) == 0 {
		return nil
	}
	alerts, err := standingAlerts(v.tx)
	if err != nil {
		return err
	}
	for _, a := range alerts {
		if err := v.checkAlert(a); err != nil {
			return err
		}
	}
	return v.checkRemovedOf(alerts)
}

// checkAlert looks at an alert that it or its job is part of the change.
func (v *saving) checkAlert(a *jobs.Alert) error {
	at, given := v.given[named{store.KindAlert, a.Name}]
	jobAt, jobGiven := v.given[named{store.KindJob, a.Run}]
	if !given && !jobGiven {
		return nil
	}
	row, err := storedJobRow(v.tx, a.Run)
	if err != nil {
		return err
	}
	stands := row != nil && !row.deleted
	if !stands && given {
		missing := &store.MissingRef{Location: "run", Kind: store.KindJob, Name: a.Run}
		v.faults = append(v.faults, &store.EntryError{Index: at, Kind: store.KindAlert, Err: missing})
	}
	if !stands {
		return nil // one that is given and refused has its own fault
	}
	field := makesOthers(row.job)
	if field == "" {
		return nil
	}
	fault := &store.EntryError{
		Index: at, Kind: store.KindAlert,
		Err: &store.TellsError{Location: "run", Alert: a.Name, Job: a.Run, Field: field},
	}
	if !given {
		fault.Index, fault.Kind = jobAt, store.KindJob
		fault.Err = &store.TellsError{Location: field, Alert: a.Name, Job: a.Run, Field: field}
	}
	v.faults = append(v.faults, fault)
	return nil
}

// makesOthers is the field by which a job makes runs of others; "": it does not.
func makesOthers(j *jobs.Job) string {
	switch {
	case j.Group != nil:
		return jobs.KindGroup
	case len(j.OnSuccess) > 0:
		return "on_success"
	}
	return ""
}

// checkRemovedOf refuses the removal of jobs that alerts run. Alerts that are given have their fault already.
func (v *saving) checkRemovedOf(alerts []*jobs.Alert) error {
	for _, gone := range v.out.Removed {
		if gone.Kind != store.KindJob {
			continue
		}
		others := slices.DeleteFunc(alertsRunning(alerts, gone.Name), func(name string) bool {
			_, given := v.given[named{store.KindAlert, name}]
			return given
		})
		if len(others) > 0 {
			v.faults = append(v.faults, &store.NamedError{Kind: gone.Kind, Name: gone.Name, Alerts: others})
		}
	}
	return nil
}
