package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// Each leaves what it lists as it is cancelled, but for groups of which something runs: these are passed over
	// by their number.
	selectCancelWaiting = `SELECT seq, tail FROM runs WHERE state IN (3, 5) AND state = 5 AND seq > $2 ORDER BY seq LIMIT $1`
	selectCancelQueued  = `SELECT seq, tail FROM runs WHERE state = 2 LIMIT $1`
	selectCancelDue     = `SELECT seq, tail FROM runs WHERE state IN (1, 4) LIMIT $1`
)

// CancelWaiting implements store.Copies.
func (s *Store) CancelWaiting(ctx context.Context, after int64, limit int, by store.By) (out store.CancelledSome, err error) {
	err = s.write(ctx, func(tx Tx) error {
		out = store.CancelledSome{Next: after}
		var list []jobs.ID
		for i, query := range []string{selectCancelWaiting, selectCancelQueued, selectCancelDue} {
			args := []any{limit - len(list)}
			if i == 0 {
				args = append(args, after)
			}
			err := tx.Query(query, func(r Row) error {
				id := jobs.IDOf(r.Int(0), r.Int(1))
				if list = append(list, id); i == 0 {
					out.Next = id.Seq()
				}
				return nil
			}, values(args)...)
			if err != nil {
				return err
			}
		}
		out.Done = len(list) < limit
		why := cancelling{by.Now, jobs.ByCancel, "cancelled by the resume of the server"}
		for _, id := range list {
			row, err := s.runRow(tx, id)
			if err != nil {
				return err
			}
			if row.state.Terminal() {
				continue // with its group
			}
			over, stop, err := s.cancelRun(tx, id, row, why)
			if err != nil {
				return fmt.Errorf("cancel run %s: %w", id, err)
			}
			if out.Stop = append(out.Stop, stop...); over {
				out.Runs = append(out.Runs, id)
			}
		}
		return nil
	})
	return out, err
}
