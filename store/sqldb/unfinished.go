package sqldb

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"nightshift/store"
)

// selectUnfinished counts them through the three indexes that hold no ended ones: a second for some millions.
const selectUnfinished = `
SELECT (SELECT COUNT(*) FROM runs WHERE state = 2) + (SELECT COUNT(*) FROM runs WHERE state IN (1, 4)) +
    (SELECT COUNT(*) FROM runs WHERE state IN (3, 5))`

const metaUnfinished = "unfinished-runs"

// unfinished is how many runs have not ended. The number is a row of the file, written in each transaction that
// changes it, just before its commit; the rows are counted in a file alone that does not have it yet. In between it goes
// along with what is written and undone. All but seen belongs to the writer's turn.
type unfinished struct {
	known bool
	kept  bool         // the file has it; else it is to be written whatever changed
	n     int64        // as the calls of the transaction under way leave it that went through
	since int64        // by how much these have changed it
	call  int64        // by how much the call under way has
	seen  atomic.Int64 // as of the last commit; -1: not known yet
}

// begin is the start of a call.
func (u *unfinished) begin(tx Tx) error {
	u.call = 0
	if u.known {
		return nil
	}
	n, kept, err := readUnfinished(tx)
	if err != nil {
		return err
	}
	u.known, u.kept, u.n = true, kept, n
	return nil
}

// readUnfinished gives the number; kept: it is that of the file.
func readUnfinished(tx Tx) (n int64, kept bool, err error) {
	text, err := readMeta(tx, metaUnfinished)
	if err == nil && text != "" {
		n, err = strconv.ParseInt(text, 10, 64)
		kept = true
	} else if err == nil {
		_, err = one(tx, selectUnfinished, func(r Row) { n = r.Int(0) })
	}
	if err != nil {
		return 0, false, fmt.Errorf("count the runs that have not ended: %w", err)
	}
	return n, kept, nil
}

// save writes the number, where it is another one than the file has.
func (u *unfinished) save(tx Tx) error {
	if !u.known || u.kept && u.since == 0 {
		return nil
	}
	if _, err := tx.Exec(upsertMeta, metaUnfinished, strconv.FormatInt(u.n, 10)); err != nil {
		return fmt.Errorf("count the runs that have not ended: %w", err)
	}
	return nil
}

// keep is the end of a call that went through.
func (u *unfinished) keep() { u.n, u.since, u.call = u.n+u.call, u.since+u.call, 0 }

// undo takes back what the calls of a transaction have changed that was rolled back whole.
func (u *unfinished) undo() { u.n, u.since, u.call = u.n-u.since, 0, 0 }

// commit is the end of a transaction.
func (u *unfinished) commit() {
	if u.since = 0; u.known {
		u.kept = true
		u.seen.Store(u.n)
	}
}

// room refuses one more run where there are as many as there may be; 0: any number.
func (s *Store) room(most int) error {
	if n := s.unfinished.n + s.unfinished.call; most > 0 && n >= int64(most) {
		return &store.TooManyError{Unfinished: int(n), Limit: most}
	}
	return nil
}

// Unfinished implements store.Statistics.
func (s *Store) Unfinished(ctx context.Context) (n int, err error) {
	if n := s.unfinished.seen.Load(); n >= 0 {
		return int(n), nil
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		kept, _, err := readUnfinished(tx)
		n = int(kept)
		return err
	})
	return n, err
}
