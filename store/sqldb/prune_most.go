package sqldb

import (
	"context"
	"errors"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectKept     = `SELECT kind, bytes FROM kept ORDER BY kind`
	selectKeptOf   = `SELECT bytes, at, seq FROM kept WHERE kind = $1`
	updateKeptUpTo = `UPDATE kept SET at = $2, seq = $3 WHERE kind = $1`
	// Of the runs that have ended those whose failure is open are not in the index.
	selectPruneEnded = `
SELECT ` + endedColumns + ` FROM runs
WHERE finished_at IS NOT NULL AND (state IN (6, 8) OR dealt_at IS NOT NULL) AND (finished_at, seq) > ($1, $2)
ORDER BY finished_at, seq LIMIT $3`
	updateLogPruned   = `UPDATE runs SET log_pruned = COALESCE(log_pruned, 0) + $2 WHERE seq = $1`
	selectEventSizes  = `SELECT id, OCTET_LENGTH(data) + 100 FROM events WHERE id <= $1 ORDER BY id LIMIT $2`
	selectAnyAlert    = `SELECT id FROM documents WHERE kind = $1 ORDER BY id LIMIT 1`
	eventsPrunedAhead = 1000 // events that are kept whatever their size: somebody may be reading them
)

// againEvery is how often output is looked for once more that could not go when its turn was.
const againEvery = time.Hour

// mostPruner is how far a round has come with what there is too much of.
type mostPruner struct {
	at, seq   int64 // the last run that was looked at, in the order of their ends
	logs      bool  // is within its bound, or nothing more of it may go
	runs      bool
	events    bool
	again     jobs.Time // when output was last looked for from the first run on
	fromFirst bool      // in this round it is
	over      []store.KeptKind
}

// Kept implements store.Ledger.
func (s *Store) Kept(ctx context.Context) (kept map[store.KeptKind]int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		kept = map[store.KeptKind]int64{}
		return tx.Query(selectKept, func(r Row) error {
			kept[store.KeptKind(r.Int(0))] = r.Int(1)
			return nil
		})
	})
	return kept, err
}

func keptBytes(tx Tx, kind store.KeptKind) (bytes int64, err error) {
	_, err = one(tx, selectKeptOf, func(r Row) { bytes = r.Int(0) }, int(kind))
	return bytes, err
}

// pruneMost deletes the oldest of what there is too much of; done: there is not, or no more of it may go.
func (s *Store) pruneMost(ctx context.Context, p *store.PruneStep) (gone int, done bool, err error) {
	over := false
	for kind := range p.Most {
		err := s.db.Read(ctx, func(tx Tx) error {
			_, more, err := bound(tx, kind, p)
			over = over || more
			return err
		})
		if err != nil {
			return 0, false, err
		}
	}
	if !over {
		return 0, true, nil
	}
	var m mostPruner
	err = s.write(ctx, func(tx Tx) (err error) {
		m, gone = s.most, 0
		switch {
		case !m.logs:
			err = s.pruneMostLogs(tx, &m, p)
		case !m.runs:
			gone, err = s.pruneMostRuns(tx, &m, p)
		case !m.events:
			err = pruneMostEvents(tx, &m, p)
		}
		return err
	})
	if err != nil {
		return 0, false, err
	}
	s.most = m
	return gone, m.logs && m.runs && m.events, nil
}

// begin begins a round.
func (m *mostPruner) begin() { *m = mostPruner{again: m.again} }

// bound is how much of a sort may be kept; false: there is no bound, or no more is kept.
func bound(tx Tx, kind store.KeptKind, p *store.PruneStep) (most int64, over bool, err error) {
	most, bounded := p.Most[kind]
	if !bounded {
		return 0, false, nil
	}
	bytes, err := keptBytes(tx, kind)
	return most, bytes > most, err
}

// pruneMostRuns deletes whole runs, those that ended first before others.
func (s *Store) pruneMostRuns(tx Tx, m *mostPruner, p *store.PruneStep) (gone int, err error) {
	most, over, err := bound(tx, store.KeptRuns, p)
	if m.runs = !over; err != nil || m.runs {
		return 0, err
	}
	list, err := endedAfter(tx, m.at, m.seq, p.Limit)
	if err != nil {
		return 0, err
	}
	newest := int64(0)
	for i := range list {
		if i > 0 && p.Enough() {
			return gone, keepFloorOf(tx, newest)
		}
		e := &list[i]
		m.at, m.seq = int64(e.finished), e.id.Seq()
		if needed, err := neededByGroup(tx, e); err != nil {
			return 0, err
		} else if needed {
			continue
		}
		if err := s.removeRun(tx, *e); err != nil {
			return 0, err
		}
		newest, gone = max(newest, m.seq), gone+1
		bytes, err := keptBytes(tx, store.KeptRuns)
		if err != nil {
			return 0, err
		}
		if m.runs = bytes <= most; m.runs {
			return gone, keepFloorOf(tx, newest)
		}
	}
	if len(list) < p.Limit {
		m.runs, m.over = true, append(m.over, store.KeptRuns)
	}
	return gone, keepFloorOf(tx, newest)
}

// keepFloorOf is keepFloor where any run was deleted.
func keepFloorOf(tx Tx, newest int64) error {
	if newest == 0 {
		return nil
	}
	return keepFloor(tx, newest)
}

// endedAfter are runs that have ended and may go, in the order of their ends.
func endedAfter(tx Tx, at, seq int64, limit int) (list []endedRun, err error) {
	err = tx.Query(selectPruneEnded, func(r Row) error {
		list = append(list, endedRun{})
		list[len(list)-1].read(r)
		return nil
	}, at, seq, limit)
	return list, err
}

// pruneMostLogs deletes the output of runs, of those that ended first before others. It goes on in the next round, and
// after a start, where it has come to: each run is looked at once, but for what could not go then.
func (s *Store) pruneMostLogs(tx Tx, m *mostPruner, p *store.PruneStep) error {
	most, over, err := bound(tx, store.KeptLogs, p)
	if m.logs = !over; err != nil || m.logs {
		return err
	}
	var at, seq, bytes int64
	if _, err := one(tx, selectKeptOf, func(r Row) { bytes, at, seq = r.Int(0), r.Int(1), r.Int(2) }, int(store.KeptLogs)); err != nil {
		return err
	}
	m.fromFirst = m.fromFirst || at == 0
	list, err := endedAfter(tx, at, seq, p.Limit)
	if err != nil {
		return err
	}
	all := len(list) < p.Limit
	for i := range list {
		if i > 0 && p.Enough() || bytes <= most {
			all = false
			break
		}
		e := &list[i]
		at, seq = int64(e.finished), e.id.Seq()
		if needed, err := neededByGroup(tx, e); err != nil {
			return err
		} else if needed {
			continue
		}
		if err := dropLog(tx, seq); err != nil {
			return err
		}
		if bytes, err = keptBytes(tx, store.KeptLogs); err != nil {
			return err
		}
	}
	if m.logs = bytes <= most; all && !m.logs {
		switch since := p.Now.Sub(m.again); {
		case m.fromFirst: // all of them were looked at in this round
			m.logs, m.over, m.again = true, append(m.over, store.KeptLogs), p.Now
		case m.again == 0 || since < 0 || since >= againEvery:
			at, seq = 0, 0
		default:
			m.logs = true
		}
	}
	_, err = tx.Exec(updateKeptUpTo, int(store.KeptLogs), at, seq)
	return err
}

// dropLog deletes the output of a run, and notes how much it was.
func dropLog(tx Tx, seq int64) error {
	size := int64(0)
	if _, err := one(tx, selectLogBytes, func(r Row) { size = r.Int(0) }, seq); err != nil || size == 0 {
		return err
	}
	if _, err := tx.Exec(deleteLogs, seq); err != nil {
		return err
	}
	return must(tx.Exec(updateLogPruned, seq, size))
}

// pruneMostEvents deletes the oldest events, but those that alerts have not been asked about, and the newest.
func pruneMostEvents(tx Tx, m *mostPruner, p *store.PruneStep) error {
	most, over, err := bound(tx, store.KeptEvents, p)
	if m.events = !over; err != nil || m.events {
		return err
	}
	before, err := newestEvent(tx)
	if err != nil {
		return err
	}
	before -= eventsPrunedAhead
	alerts, err := one(tx, selectAnyAlert, func(Row) {}, store.KindAlert)
	if err != nil {
		return err
	}
	if alerts {
		asked, err := metaNumber(tx, metaAlerts)
		if err != nil {
			return err
		}
		before = min(before, asked)
	}
	bytes, err := keptBytes(tx, store.KeptEvents)
	if err != nil {
		return err
	}
	last := int64(0)
	err = tx.Query(selectEventSizes, func(r Row) error {
		if bytes <= most {
			return errEnough
		}
		last, bytes = r.Int(0), bytes-r.Int(1)
		return nil
	}, before, p.Limit)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if last == 0 {
		m.events, m.over = true, append(m.over, store.KeptEvents)
		return nil
	}
	if _, err := tx.Exec(deleteEvents, last); err != nil {
		return err
	}
	_, err = tx.Exec(upsertMeta, metaPruned, strconv.FormatInt(last, 10))
	return err
}
