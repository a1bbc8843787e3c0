package sqldb

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

const updateSchedulePaused = `
UPDATE schedules SET paused_at = $2, pause_note = $3, due_at = $4, stamp = stamp + 1 WHERE id = $1`

// PauseSchedule implements store.Schedules.
func (s *Store) PauseSchedule(
	ctx context.Context, name string, paused bool, note string, by store.By,
) (out *store.Schedule, err error) {
	by.Note = note
	err = s.write(ctx, func(tx Tx) error {
		row, err := liveScheduleRow(tx, name)
		if err != nil {
			return err
		}
		if (row.paused != 0) != paused || paused && row.note != note {
			if err := s.pauseSchedule(tx, row, paused, by); err != nil {
				return err
			}
		}
		out, err = s.readSchedule(tx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Store) pauseSchedule(tx Tx, row *scheduleRow, paused bool, by store.By) error {
	if err := row.refuseUndecided(by.Now); err != nil {
		return err
	}
	at, note, action := any(nil), any(nil), "resume"
	due := jobs.Time(0)
	if paused {
		at, note, action = int64(by.Now), by.Note, "pause"
	} else {
		t, err := row.timetable()
		if err != nil {
			return err
		}
		due = t.Next(row.cursor)
	}
	if err := must(tx.Exec(updateSchedulePaused, row.id, at, note, none(due))); err != nil {
		return err
	}
	after := ""
	if paused {
		after = by.Note
	}
	return s.audit(tx, by, action, store.KindSchedule, row.name, pausedChange(row.paused != 0, row.note, paused, after)...)
}
