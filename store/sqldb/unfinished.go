package sqldb

import (
	"context"
	"fmt"
	"sync/atomic"

	"nightshift/store"
)

// selectUnfinished counts them through the three indexes that hold no ended ones.
const selectUnfinished = `
SELECT (SELECT COUNT(*) FROM runs WHERE state = 2) + (SELECT COUNT(*) FROM runs WHERE state IN (1, 4)) +
    (SELECT COUNT(*) FROM runs WHERE state IN (3, 5))`

// unfinished is how many runs have not ended. The rows are counted once, by the first call that writes; from then on
// the number goes along with what is written and undone. All but seen belongs to the writer's turn.
type unfinished struct {
	known bool
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
	_, err := one(tx, selectUnfinished, func(r Row) { u.n = r.Int(0) })
	if err != nil {
		return fmt.Errorf("count the runs that have not ended: %w", err)
	}
	u.known = true
	return nil
}

// keep is the end of a call that went through.
func (u *unfinished) keep() { u.n, u.since, u.call = u.n+u.call, u.since+u.call, 0 }

// undo takes back what the calls of a transaction have changed that was rolled back whole.
func (u *unfinished) undo() { u.n, u.since, u.call = u.n-u.since, 0, 0 }

// commit is the end of a transaction.
func (u *unfinished) commit() {
	if u.since = 0; u.known {
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
		_, err := one(tx, selectUnfinished, func(r Row) { n = int(r.Int(0)) })
		return err
	})
	return n, err
}
