package sqldb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	updateLongAt   = `UPDATE runs SET long_at = $2 WHERE seq = $1`
	selectNextLong = `
SELECT long_at FROM runs WHERE long_at IS NOT NULL ORDER BY long_at LIMIT 1`
	selectLong = `
SELECT seq, tail FROM runs
WHERE long_at <= $1 AND long_at IS NOT NULL ORDER BY long_at, seq LIMIT $2`
	updateLongShifted = `UPDATE runs SET long_at = long_at + $1 WHERE long_at > 0`
	// Those that have their turn, of which the first run may be due by rank $2. There may be very many.
	selectWaitingLanes = `
SELECT id, rank, job, host, ckey, rkey, catch_up, slice FROM lanes
WHERE pool = $1 AND open = 1 AND head IS NOT NULL AND gate IS NULL AND rank <= $2 ORDER BY head, id`
	selectFirstQueued = `
SELECT seq, tail, due_at FROM runs WHERE lane = $1 AND state = 2 ORDER BY rank, seq LIMIT 1`

	// maxRankLead is by how much the rank of a run may lie behind its due time.
	maxRankLead = 100 * rankPerPriority
	// maxWaitLanes is at how many lanes of a pool one look for what waits looks closely.
	maxWaitLanes = 1000

	// metaTold and a type of events are a list of subjects: what was told and stands.
	metaTold = "told "
)

// long is a run that will have taken long.
type long struct {
	run int64
	at  jobs.Time
}

// watch has it told when a run that starts for the first time takes long. Of the runs of alerts nothing is
// told but that they could not be delivered.
func (t *taking) watch(jobID int64, run *jobs.Run) error {
	if run.StartedAt != 0 || run.Tells != jobs.TellsNothing {
		return nil
	}
	job, err := t.jobByID(t.tx, jobID)
	if err != nil || job.longAfter == 0 {
		return err
	}
	at := t.now.Add(job.longAfter)
	if t.long = append(t.long, long{run.ID.Seq(), at}); t.longAt == 0 || at < t.longAt {
		t.longAt = at
	}
	return nil
}

// noteLong notes when the runs that were made running will have taken long.
func (t *taking) noteLong() error {
	list := t.long
	t.long = t.long[:0]
	for _, l := range list {
		if err := must(t.tx.Exec(updateLongAt, l.run, int64(l.at))); err != nil {
			return err
		}
	}
	return nil
}

// TellLong implements store.Watching.
func (s *Store) TellLong(ctx context.Context, now jobs.Time, limit int) (told int, next jobs.Time, err error) {
	read := func(tx Tx) error {
		next = 0
		_, err := one(tx, selectNextLong, func(r Row) { next = r.Time(0) })
		return err
	}
	if err = s.db.Read(ctx, read); err != nil || next == 0 || next > now {
		return 0, next, err
	}
	err = s.write(ctx, func(tx Tx) (err error) {
		if told, err = s.tellLong(tx, now, limit); err != nil {
			return err
		}
		return read(tx)
	})
	return told, next, err
}

func (s *Store) tellLong(tx Tx, now jobs.Time, limit int) (told int, err error) {
	var list []jobs.ID
	err = tx.Query(selectLong, func(r Row) error {
		list = append(list, jobs.IDOf(r.Int(0), r.Int(1)))
		return nil
	}, int64(now), limit)
	for i := 0; err == nil && i < len(list); i++ {
		var asked bool
		if asked, err = s.tellOneLong(tx, list[i], now); asked {
			told++
		}
	}
	return told, err
}

// tellOneLong keeps that a run has taken long. asked: somebody asks for that still.
func (s *Store) tellOneLong(tx Tx, id jobs.ID, now jobs.Time) (asked bool, err error) {
	if err := must(tx.Exec(updateLongAt, id.Seq(), nil)); err != nil {
		return false, err
	}
	run, err := listedRun(tx, id)
	if err != nil {
		return false, err
	}
	job, err := s.jobRow(tx, run.Job)
	if err != nil || run.State.Terminal() || run.StartedAt == 0 || job.longAfter == 0 {
		return false, err
	}
	return true, s.keepEvent(tx, store.Event{
		At: now, Type: jobs.EventRunLong, Subject: jobs.RunSubject(id), Job: run.Job, Run: id,
		Data: (&jobs.RunLong{
			Job: run.Job, Run: id, Labels: run.Labels, Correlation: run.CorrelationID, Schedule: textOrNull(run.Schedule),
			Attempts: run.Counts.Number, State: run.State, StartedAt: run.StartedAt, LongAfter: jobs.Duration(job.longAfter),
		}).Data(),
	})
}

// tellInterrupted tells of a run whose attempts the server keeps ending, unless it is an alert's.
func (s *Store) tellInterrupted(tx Tx, f *store.Finish) error {
	t := &f.Transition
	if t.Outcome != jobs.OutcomeInterrupted || t.Counts.Interrupts != jobs.InterruptsTold ||
		f.Links.Tells != jobs.TellsNothing {
		return nil
	}
	run, err := listedRun(tx, f.Run)
	if err != nil {
		return err
	}
	return s.keepEvent(tx, store.Event{
		At: f.Now, Type: jobs.EventRunInterrupted, Subject: jobs.RunSubject(f.Run), Job: f.Job, Run: f.Run,
		Data: (&jobs.RunInterrupted{
			Job: f.Job, Run: f.Run, Labels: run.Labels, Correlation: run.CorrelationID, Schedule: textOrNull(run.Schedule),
			Attempts: f.Number, Interrupts: t.Counts.Interrupts, State: t.State, Error: jobs.EventErrorOf(t.Error),
		}).Data(),
	})
}

// waitingLane is a lane that has its turn.
type waitingLane struct {
	laneKey
	id, rank int64
}

// WorkerWaits implements store.Watching. A lane may have its turn and wait for a gate too: where no worker
// is free nobody has looked.
func (s *Store) WorkerWaits(ctx context.Context, before, now jobs.Time) (waits []store.WorkerWait, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		first := map[string]store.WorkerWait{}
		h := s.newHolding(tx, now)
		for pool := range store.Pool(store.Pools) {
			if err := h.waitsIn(pool, before, first); err != nil {
				return err
			}
		}
		waits = waits[:0]
		for _, w := range first {
			waits = append(waits, w)
		}
		slices.SortFunc(waits, func(a, b store.WorkerWait) int { return cmp.Compare(a.Queue, b.Queue) })
		return nil
	})
	return waits, err
}

// waitsIn adds the first run of each queue that waits for a worker of a pool. Of two pools that which
// waits longer counts.
func (h *holding) waitsIn(pool store.Pool, before jobs.Time, first map[string]store.WorkerWait) error {
	var lanes []waitingLane
	err := h.tx.Query(selectWaitingLanes, func(r Row) error {
		lanes = append(lanes, waitingLane{laneKey{
			job: r.Int(2), pool: pool, host: r.Text(3), ckey: r.Text(4), rkey: r.Text(5), catchUp: r.Int(6) == 1,
			slice: r.Int(7) == 1,
		}, r.Int(0), r.Int(1)})
		return nil
	}, int64(pool), int64(before)+maxRankLead)
	if err != nil {
		return err
	}
	slices.SortFunc(lanes, func(a, b waitingLane) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.id, b.id))
	})
	found := map[string]bool{}
	for i := range lanes[:min(len(lanes), maxWaitLanes)] {
		l := &lanes[i]
		job, err := h.jobOf(l.job)
		if err != nil {
			return err
		}
		if found[job.queue] {
			continue
		}
		if held, err := h.heldIn(job, l.laneKey); err != nil {
			return err
		} else if held != nil {
			continue
		}
		w := store.WorkerWait{Queue: job.queue, Pool: pool, Job: job.name}
		if _, err := one(h.tx, selectFirstQueued, func(r Row) {
			w.Run, w.DueAt = jobs.IDOf(r.Int(0), r.Int(1)), r.Time(2)
		}, l.id); err != nil {
			return err
		}
		found[job.queue] = true
		if w.Run.IsNil() || w.DueAt > before {
			continue
		}
		if known, ok := first[job.queue]; !ok || w.DueAt < known.DueAt {
			first[job.queue] = w
		}
	}
	return nil
}

// TellStanding implements store.Watching.
func (s *Store) TellStanding(ctx context.Context, kind string, list []store.Standing) (told int, err error) {
	var changed bool
	err = s.db.Read(ctx, func(tx Tx) error {
		known, err := toldOf(tx, kind)
		_, _, changed = stands(known, list)
		return err
	})
	if err != nil || !changed {
		return 0, err
	}
	err = s.write(ctx, func(tx Tx) error {
		known, err := toldOf(tx, kind)
		if err != nil {
			return err
		}
		events, subjects, _ := stands(known, list)
		for _, e := range events {
			if err := s.keepEvent(tx, e); err != nil {
				return err
			}
		}
		told = len(events)
		return must(tx.Exec(upsertMeta, metaTold+kind, string(jobs.AppendJSON(nil, subjects))))
	})
	return told, err
}

// stands says which events are to be told, and what was told and stands from then on.
func stands(known []string, list []store.Standing) (events []store.Event, subjects []string, changed bool) {
	subjects = []string{}
	for _, st := range list {
		if slices.Contains(known, st.Event.Subject) {
			subjects = append(subjects, st.Event.Subject)
		} else if !st.Fades {
			subjects = append(subjects, st.Event.Subject)
			events = append(events, st.Event)
		}
	}
	return events, subjects, len(events) > 0 || len(subjects) < len(known)
}

// toldOf are the subjects of what was told of a type and stands.
func toldOf(tx Tx, kind string) (subjects []string, err error) {
	var bad error
	_, err = one(tx, selectMeta, func(r Row) { bad = json.Unmarshal(r.Bytes(0), &subjects) }, metaTold+kind)
	if bad != nil {
		bad = fmt.Errorf("read what was told of %s: %w", kind, bad)
	}
	return subjects, errors.Join(err, bad)
}
