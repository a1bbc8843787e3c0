package sqldb

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// keyUnique is the sort of the keys that make a run one of its kind. Their row names the run that
// got the key last; whether it stands is judged by what the job says when the next one comes.
const keyUnique = 3

const (
	deleteUniqueKey = `DELETE FROM keys WHERE sort = 3 AND run = $1`
	updateFolded    = `UPDATE runs SET folded = $2 WHERE seq = $1`
	upsertPayload   = `
INSERT INTO payloads (run, body) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET body = excluded.body`
	updateReplaced = `UPDATE runs SET lane = $2, host = $3, ckey = $4, rkey = $5, bkey = $6 WHERE seq = $1`
)

// fold answers for a run that is not made because another one stands; ok: one does.
func (s *Store) fold(
	tx Tx, job *jobRow, sub *store.Submission,
) (out store.Submitted, ok bool, err error) {
	u, now := sub.Unique, sub.Run.CreatedAt
	if u == nil || sub.Run.State.Terminal() {
		return out, false, nil
	}
	by, until, err := s.uniqueHolder(tx, job, u, now)
	if err != nil || by == nil {
		return out, false, err
	}
	if until > by.kept { // as the job stood when that run was made: what is told now must hold
		err = must(tx.Exec(upsertKey, job.id, keyUnique, u.Key, by.ID[:], []byte{}, int64(until)))
	}
	switch {
	case err != nil:
	case sub.Quiet:
		err = noteFolded(tx, by, sub)
	case u.Conflict == jobs.ConflictReject:
		err = uniqueConflict(job, by, u, until)
	case u.Conflict == jobs.ConflictReplace:
		err = s.replacePayload(tx, job, by, sub.Run)
	}
	out = by.Submitted
	out.Unique, out.UniqueUntil = true, until
	out.Replaced = !sub.Quiet && u.Conflict == jobs.ConflictReplace
	return out, true, err
}

func uniqueConflict(job *jobRow, by *standingRun, u *jobs.UniqueRun, until jobs.Time) error {
	return &store.UniqueConflict{Job: job.name, Run: by.ID, Until: until, While: u.While}
}

// uniqueHolder is the run that stands by a unique key, and until when; nil: the key is free.
func (s *Store) uniqueHolder(
	tx Tx, job *jobRow, u *jobs.UniqueRun, now jobs.Time,
) (*standingRun, jobs.Time, error) {
	var id jobs.ID
	var kept jobs.Time
	found, err := one(tx, selectKey, func(r Row) { id, kept = r.ID(0), r.Time(2) }, job.id,
		keyUnique, u.Key)
	if err != nil || !found {
		return nil, 0, err
	}
	by, err := s.readStanding(tx, id, job.name)
	if err != nil {
		return nil, 0, err
	}
	by.kept = kept
	until, stands := by.standsFor(u, now)
	if !stands {
		return nil, 0, nil
	}
	return &by, until, nil
}

// freeToRequeue refuses a requeue where another run stands by the unique key. The run that is
// requeued may stand itself: its window is not over. The new one takes the key over from it.
func (s *Store) freeToRequeue(tx Tx, job *jobRow, rq *store.Requeue) error {
	if rq.Unique == nil {
		return nil
	}
	by, until, err := s.uniqueHolder(tx, job, rq.Unique, rq.By.Now)
	if err != nil || by == nil || by.ID == rq.Of {
		return err
	}
	return uniqueConflict(job, by, rq.Unique, until)
}

// nameEntries tells the conflicts with a run that an earlier entry of the same call would have made:
// nobody will find that run.
func nameEntries(subs []store.Submission, faults []error) {
	var index map[jobs.ID]int
	for _, err := range faults {
		run, entry := store.ConflictOf(err)
		if entry == nil {
			continue
		}
		if index == nil {
			index = make(map[jobs.ID]int, len(subs))
			for i := range subs {
				index[subs[i].Run.ID] = i
			}
		}
		if i, ours := index[run]; ours {
			*entry = &i
		}
	}
}

// standsFor reports whether the run stands, and until when; zero: until it starts or ends. Of a run
// that has been pruned only its id and its key are left.
func (r *standingRun) standsFor(u *jobs.UniqueRun, now jobs.Time) (jobs.Time, bool) {
	until := r.created.Add(u.For.Std())
	switch {
	case u.While == jobs.WhileQueued:
		waits := r.State == jobs.Scheduled || r.State == jobs.Queued
		return 0, waits && r.started == 0
	case u.While == jobs.WhileActive:
		return 0, r.State != 0 && !r.State.Terminal()
	case r.State == 0:
		until = min(r.kept, r.ID.Time().Add(u.For.Std()))
	}
	return until, now < until
}

// keepUnique gives a new run the key.
func keepUnique(tx Tx, job *jobRow, u *jobs.UniqueRun, run *jobs.Run) error {
	if u == nil || run.State.Terminal() {
		return nil
	}
	until := run.CreatedAt
	if u.While == "" {
		until = until.Add(u.For.Std())
	}
	return must(tx.Exec(upsertKey, job.id, keyUnique, u.Key, run.ID[:], []byte{}, int64(until)))
}

// noteFolded tells a run of one that was not made because it stands. Of one that has been pruned
// nothing is left to note it at.
func noteFolded(tx Tx, by *standingRun, sub *store.Submission) error {
	if by.State == 0 {
		return nil
	}
	folded, err := parseFolded(by.folded)
	if err != nil {
		return fmt.Errorf("read what was folded into run %s: %w", by.ID, err)
	}
	count := 1
	if folded != nil {
		count += folded.Count
	}
	note := jobs.Folded{
		Count: count, Trigger: sub.Run.Trigger, By: sub.By, At: sub.Run.CreatedAt,
	}
	return must(tx.Exec(updateFolded, by.ID.Seq(), string(jobs.AppendJSON(nil, &note))))
}

// parseFolded reads the column; nil: nothing was folded.
func parseFolded(text []byte) (*jobs.Folded, error) {
	if text == nil {
		return nil, nil
	}
	folded := &jobs.Folded{}
	return folded, jobs.DecodeLenient(text, folded)
}

// replacePayload gives a run that has not started the payload of another, and the host and the keys
// that go by it: it waits where these put it.
func (s *Store) replacePayload(tx Tx, job *jobRow, of *standingRun, by *jobs.Run) error {
	h, err := s.hostsAt(tx, job, of.Version)
	if err != nil {
		return err
	}
	run := &jobs.Run{
		ID: of.ID, Version: of.Version, DueAt: of.DueAt, Priority: of.priority, Keys: by.Keys,
		Host: h.of(by.Payload), Trigger: of.trigger,
	}
	if err := must(tx.Exec(upsertPayload, run.ID.Seq(), string(by.Payload))); err != nil {
		return err
	}
	row, err := s.runRow(tx, run.ID)
	if err != nil {
		return err
	}
	if row.bkey != keyText(run.Keys.Checkpoint) {
		return s.changeBatch(tx, job, run, row)
	}
	if of.State == jobs.Queued {
		return s.moveQueued(tx, job, of.lane, run, row.line)
	}
	return replaced(tx, run, of.lane) // it finds its lane when it is due
}

// moveQueued moves a run to the lane of its keys and its host, in a line or none.
func (s *Store) moveQueued(tx Tx, job *jobRow, lane int64, run *jobs.Run, line string) error {
	from, err := s.laneOf(tx, lane)
	if err != nil {
		return err
	}
	s.dropAhead(from) // it may hold the run as it was
	if line == "" && !isLine(from.held) {
		line = from.held // it waits for that secret still
	}
	to, err := s.lane(tx, job, run)
	if err == nil && line != "" {
		key := to.laneKey
		key.held = line
		to, err = s.laneAt(tx, key, false)
	}
	if err == nil {
		err = replaced(tx, run, to.id)
	}
	if err != nil || to == from {
		return err
	}
	if from.held == "" {
		err = s.refreshLane(tx, from)
	}
	if err != nil || to.held != "" {
		return err
	}
	return s.joinLane(tx, to, run.DueAt, run.Priority)
}

func replaced(tx Tx, run *jobs.Run, lane int64) error {
	return must(tx.Exec(updateReplaced, run.ID.Seq(), lane, noneText(run.Host),
		noneText(keyText(run.Keys.Concurrency)), noneText(keyText(run.Keys.Rate)),
		noneText(keyText(run.Keys.Checkpoint))))
}
