package sqldb

import (
	"bytes"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectSchedulesOfJob = `
SELECT ` + scheduleColumns + ` FROM schedules s WHERE s.job = $1 AND s.deleted_at IS NULL ORDER BY s.id`
	// Those by themselves may be very many.
	selectSchedulesInJob = `
SELECT ` + scheduleColumns + ` FROM schedules s
WHERE s.job = $1 AND s.in_job = 1 AND s.deleted_at IS NULL ORDER BY s.id`
	insertSchedule = `
INSERT INTO schedules (name, job, in_job, doc, stamp, anchor, cursor, due_at, at_start, created_at, updated_at)
VALUES ($1, $2, $3, $4, 1, $5, $5, $6, $7, $5, $5)`
	updateSchedule = `
UPDATE schedules
SET job = $2, doc = $3, cursor = $4, due_at = $5, at_start = $6, updated_at = $7, stamp = stamp + 1
WHERE id = $1`
	// Made again, a schedule goes on with its ledger, but not paused.
	updateScheduleAnew = `
UPDATE schedules SET deleted_at = NULL, anchor = $2, created_at = $2, paused_at = NULL, pause_note = NULL
WHERE id = $1`
	updateRevision        = `UPDATE documents SET revision = $3 WHERE kind = $1 AND name = $2`
	updateScheduleDeleted = `
UPDATE schedules SET deleted_at = $2, due_at = NULL, at_start = 0, backlog = NULL, stamp = stamp + 1
WHERE name = $1 AND deleted_at IS NULL`
)

// keepSchedules makes the schedules of a job what its document says. Those by themselves are left alone.
func (v *saving) keepSchedules(job int64, j *jobs.Job) error {
	var rows []*scheduleRow
	err := v.tx.Query(selectSchedulesInJob, func(r Row) error {
		row, err := scanSchedule(r)
		rows = append(rows, row)
		return err
	}, job)
	if err != nil {
		return err
	}
	said := map[string]bool{}
	for i := range j.Schedules {
		name := jobs.ScheduleName(j.Name, j.Schedules[i].Name)
		said[name] = true
		if err := v.keepSchedule(job, name, true, j.Schedules[i]); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if said[row.name] {
			continue
		}
		v.demandDecided(row)
		if err := deleteScheduleRow(v.tx, row.name, v.by); err != nil {
			return err
		}
	}
	return nil
}

// keepSchedule makes one what its document says. What it has to decide by the old text refuses the save.
func (v *saving) keepSchedule(job int64, name string, inJob bool, sched jobs.Schedule) error {
	sched.Name, sched.Job = "", ""
	doc := jobs.AppendJSON(nil, &sched)
	row, err := scheduleRowOf(v.tx, name)
	if err != nil {
		return err
	}
	now, anchor, cursor := v.by.Now, v.by.Now, v.by.Now
	if row != nil && !row.deleted {
		if row.job == job && bytes.Equal(row.doc, doc) {
			return nil
		}
		v.demandDecided(row)
		anchor, cursor = row.anchor, max(row.cursor, now)
	}
	t, err := sched.Timetable(anchor)
	if err != nil {
		return err
	}
	due := t.Next(cursor)
	if row != nil && !row.deleted && row.paused != 0 {
		due = 0
	}
	if row == nil {
		_, err = v.tx.Exec(insertSchedule, name, job, inJob, string(doc), int64(now), none(due), t.AtStart())
		return err
	}
	err = must(v.tx.Exec(updateSchedule, row.id, job, string(doc), int64(cursor), none(due), t.AtStart(),
		int64(now)))
	if err == nil && row.deleted {
		err = v.makeAnew(row, job, t)
	}
	if err == nil {
		err = v.releaseNext(v.tx, name) // they may overlap now
	}
	return err
}

// makeAnew has a schedule that was deleted go on. The clock may have been set back meanwhile.
func (v *saving) makeAnew(row *scheduleRow, job int64, t *jobs.Timetable) error {
	if err := must(v.tx.Exec(updateScheduleAnew, row.id, int64(v.by.Now))); err != nil {
		return err
	}
	row.job = job
	return cutMissed(v.tx, row, t, v.by.Now)
}

// demandDecided notes a schedule that must not change yet.
func (v *saving) demandDecided(row *scheduleRow) {
	if !v.c.DryRun && row.undecided(v.by.Now) {
		v.undecided = append(v.undecided, row.name)
	}
}

// putSchedule saves a schedule that stands by itself.
func (v *saving) putSchedule(p *store.PutDocument) (store.SavedDocument, error) {
	var sched jobs.Schedule
	if err := jobs.DecodeLenient(p.Doc, &sched); err != nil {
		return store.SavedDocument{}, err
	}
	job, err := storedJobRow(v.tx, sched.Job)
	if err != nil {
		return store.SavedDocument{}, err
	}
	if job == nil || job.deleted {
		return store.SavedDocument{}, &store.MissingRef{Location: "job", Kind: store.KindJob, Name: sched.Job}
	}
	out, err := v.putDocument(p)
	if err == nil && out.Created {
		err = v.goOnRevision(out.Document)
	}
	if err == nil && out.Changed {
		err = v.keepSchedule(job.id, p.Name, false, sched)
	}
	return out, err
}

// goOnRevision gives the document of a schedule that is made again a revision that none had before it was
// deleted: who read that one must not change this one, which may be of another job.
func (v *saving) goOnRevision(d *store.Document) error {
	row, err := scheduleRowOf(v.tx, d.Name)
	if err != nil || row == nil {
		return err
	}
	d.Revision = row.stamp + 1 // a stamp grows with each revision, and with the deletion
	return must(v.tx.Exec(updateRevision, d.Kind, d.Name, d.Revision))
}

// checkScheduleJobs demands that the jobs of given schedules stand still, after what prune took.
func (v *saving) checkScheduleJobs() error {
	if len(v.out.Removed) == 0 {
		return nil
	}
	for i := range v.c.Documents {
		p := &v.c.Documents[i]
		if p.Kind != store.KindSchedule {
			continue
		}
		row, err := scheduleRowOf(v.tx, p.Name)
		if err != nil {
			return err
		}
		if row == nil || !row.deleted {
			continue
		}
		var sched jobs.Schedule
		if err := jobs.DecodeLenient(p.Doc, &sched); err != nil {
			return err
		}
		v.faults = append(v.faults, &store.EntryError{Index: i, Kind: p.Kind, Err: &store.MissingRef{
			Location: "job", Kind: store.KindJob, Name: sched.Job,
		}})
	}
	return nil
}

// deleteScheduleRow deletes the row of a schedule whose document goes, or says it no more.
func deleteScheduleRow(tx Tx, name string, by store.By) error {
	return must(tx.Exec(updateScheduleDeleted, name, int64(by.Now)))
}

// removeSchedules deletes all schedules of a job, and tells which of them stood by themselves.
func (s *Store) removeSchedules(tx Tx, job int64, by store.By) (alone []string, err error) {
	var rows []*scheduleRow
	err = tx.Query(selectSchedulesOfJob, func(r Row) error {
		row, err := scanStanding(r)
		rows = append(rows, row)
		return err
	}, job)
	for i := 0; err == nil && i < len(rows); i++ {
		if name := rows[i].name; rows[i].inJob {
			err = deleteScheduleRow(tx, name, by)
		} else {
			alone = append(alone, name)
			err = s.removeDocument(tx, named{store.KindSchedule, name}, by)
		}
	}
	return alone, err
}

// undecidedOne refuses to delete a schedule by itself while it has ticks to decide.
func undecidedOne(tx Tx, name string, now jobs.Time) error {
	row, err := liveScheduleRow(tx, name)
	if err != nil {
		return err
	}
	return row.refuseUndecided(now)
}
