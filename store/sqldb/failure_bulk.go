package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// Orders to deal with many failures. See Failures in doc.go.

const (
	insertBulk = `
INSERT INTO bulks (id, tail, action, doc, count, done, skipped, skips, succeeded, failed, cancelled, stop_after,
    state, next_at, created_by, created_at, ended_at)
VALUES ($1, $2, $3, $4, $5, 0, $6, $7, 0, 0, 0, $8, $9, $10, $11, $12, $13)`
	insertBulkItems = `INSERT INTO bulk_items (bulk, part, runs) VALUES ($1, $2, $3)`
	itemsOfPart     = 200 // which fill a page of the file
	selectBulk      = `
SELECT tail, doc, count, done, skipped, skips, succeeded, failed, cancelled, state, reason, next_at, created_at, ended_at
FROM bulks WHERE id = $1`
	// Those of which something is to be carried out: 1 is running, 4 called off.
	selectBulksLeft = `
SELECT id, tail FROM bulks WHERE state IN (1, 4) AND ended_at IS NULL ORDER BY state, id LIMIT 10000`
	selectPruneBulks = `SELECT id, ended_at FROM bulks WHERE id > $1 ORDER BY id LIMIT $2`
	deleteBulk       = `DELETE FROM bulks WHERE id = $1`

	retainBulks = 90 * 24 * time.Hour
	// bulkLooks is how many failures are read at a time for an order.
	bulkLooks = 10_000
	maxSkips  = 100 // that are kept of an order
)

// bulkRow is an order as it is kept.
type bulkRow struct {
	store.BulkInfo
	byID  bool   // it is for failures that were named
	actor string // whose order it is
	next  int64  // when its next run is due, microseconds
}

// bulkDoc is the column doc.
type bulkDoc struct {
	store.Bulk
	ByID  bool   `json:"by_id,omitempty"`
	Actor string `json:"actor"`
}

func readBulk(tx Tx, id jobs.ID) (*bulkRow, error) {
	var b *bulkRow
	var bad error
	_, err := one(tx, selectBulk, func(r Row) {
		if r.Int(0) != id.Tail() {
			return
		}
		b = &bulkRow{next: r.Int(11), BulkInfo: store.BulkInfo{
			ID: id, Count: int(r.Int(2)), Done: int(r.Int(3)), Skipped: int(r.Int(4)), Succeeded: int(r.Int(6)),
			Failed: int(r.Int(7)), Cancelled: int(r.Int(8)), State: store.BulkState(r.Int(9)), Reason: r.Text(10),
			CreatedAt: r.Time(12), EndedAt: r.Time(13),
		}}
		var doc bulkDoc
		bad = jobs.DecodeLenient(r.Bytes(1), &doc)
		if b.Bulk, b.byID, b.actor = doc.Bulk, doc.ByID, doc.Actor; bad == nil && !r.Null(5) {
			bad = json.Unmarshal(r.Bytes(5), &b.Skips)
		}
	}, id.Seq())
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("read order %s: %w", id, err)
	}
	if b == nil {
		return nil, fmt.Errorf("order %s: %w", id, store.ErrNotFound)
	}
	return b, nil
}

// skip notes a failure that is left as it was.
func (b *bulkRow) skip(run jobs.ID, reason string) {
	if b.Skipped++; len(b.Skips) < maxSkips {
		b.Skips = append(b.Skips, store.BulkSkip{Run: run, Reason: reason})
	}
}

// skips is the column.
func (b *bulkRow) skips() any {
	if len(b.Skips) == 0 {
		return nil
	}
	return string(jobs.AppendJSON(nil, b.Skips))
}

// takes says why an order leaves a failure as it is; "": it does not.
func (b *bulkRow) takes(l *link, found bool) (skip string) {
	switch {
	case !found:
		return "there is no such run any more"
	case !l.failed:
		return "it is " + l.state.String() + ", and no failure"
	case l.dealt == jobs.FailureRequeued && b.Bulk.Action == store.BulkRequeue:
		return "it has been requeued as run " + l.to.String()
	case b.byID || l.dealt == b.Bulk.Filter.Status:
		return ""
	}
	return "it is " + l.dealt.String() + " now"
}

// StartBulk implements store.Failures.
func (s *Store) StartBulk(ctx context.Context, id jobs.ID, b store.Bulk, by store.By) (int, error) {
	row := &bulkRow{byID: b.IDs != nil, BulkInfo: store.BulkInfo{ID: id, Bulk: b, State: store.BulkRunning}}
	items, err := s.itemsOf(ctx, b.Filter, b.IDs, row)
	if err != nil {
		return 0, err
	}
	count := len(items) + row.Skipped
	ended := any(nil)
	if len(items) == 0 {
		row.State, ended = store.BulkDoneAll, int64(by.Now)
	}
	doc := string(jobs.AppendJSON(nil, &bulkDoc{b, row.byID, by.Actor}))
	by.Note = b.Note
	err = s.write(ctx, func(tx Tx) error {
		_, err := tx.Exec(insertBulk, id.Seq(), id.Tail(), b.Action, doc, count, row.Skipped, row.skips(), b.StopAfter,
			int(row.State), int64(by.Now)*microsPerMilli, noneText(b.Creator), int64(by.Now), ended)
		if err == nil {
			err = keepItems(tx, id.Seq(), items)
		}
		if err != nil {
			return fmt.Errorf("keep the order %s: %w", id, err)
		}
		return s.audit(tx, by, b.Action, "failures", id.String(), append(made([]byte(doc)), changed("count", nil, count))...)
	})
	return count, err
}

// keepItems keeps for which failures an order is, in the order of their ids. Everybody's writes wait for
// it: rows hold many.
func keepItems(tx Tx, bulk int64, items []jobs.ID) error {
	part := 0
	for some := range slices.Chunk(items, itemsOfPart) {
		if _, err := tx.Exec(insertBulkItems, bulk, part, packIDs(some)); err != nil {
			return err
		}
		part++
	}
	return nil
}

// packIDs is the column runs of bulk_items.
func packIDs(ids []jobs.ID) []byte {
	packed := make([]byte, 0, len(ids)*len(jobs.ID{}))
	for _, id := range ids {
		packed = append(packed, id[:]...)
	}
	return packed
}

// unpackIDs reads what packIDs gives.
func unpackIDs(packed []byte) (ids []jobs.ID) {
	for one := range slices.Chunk(packed, len(jobs.ID{})) {
		ids = append(ids, jobs.ID(one))
	}
	return ids
}

// itemsOf are the failures that an order is for, oldest first. Those that were named and that it leaves as
// they are are noted at once.
func (s *Store) itemsOf(ctx context.Context, f store.FailureFilter, ids []jobs.ID, b *bulkRow) ([]jobs.ID, error) {
	if ids != nil {
		return s.namedItems(ctx, f, ids, b)
	}
	if f.Status == jobs.FailureWillRetry {
		return nil, jobs.Invalid([]jobs.Fault{{
			Location: "filter.status", Message: "runs that retry are not dealt with: cancel them, or wait until they have ended",
		}})
	}
	if err := checkQ(f.Q); err != nil {
		return nil, err
	}
	l := planFailures(f, bulkLooks)
	var items []jobs.ID
	for before := int64(math.MaxInt64); ; {
		var page []jobs.ID
		next := int64(0)
		err := s.db.Read(ctx, func(tx Tx) (err error) {
			page, next, err = l.ids(tx, before)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("find the failures of an order: %w", err)
		}
		items = append(items, page...)
		if before = next; next == 0 {
			break
		}
	}
	slices.Reverse(items)
	return items, nil
}

func (s *Store) namedItems(ctx context.Context, f store.FailureFilter, ids []jobs.ID, b *bulkRow) (items []jobs.ID, err error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b jobs.ID) int { return slices.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	err = s.db.Read(ctx, func(tx Tx) error {
		items, b.Skipped, b.Skips = nil, 0, nil
		for _, id := range ids {
			row, err := s.runRow(tx, id)
			if errors.Is(err, store.ErrNotFound) || err == nil && f.Allowed != nil && !allowed(f.Allowed, row.jobName) {
				b.skip(id, "there is no such run")
				continue
			}
			if err != nil {
				return err
			}
			l, found, err := readLink(tx, id)
			if err != nil {
				return err
			}
			if skip := b.takes(&l, found); skip != "" {
				b.skip(id, skip)
				continue
			}
			items = append(items, id)
		}
		return nil
	})
	return items, err
}

// SampleBulk implements store.Failures.
func (s *Store) SampleBulk(
	ctx context.Context, f store.FailureFilter, ids []jobs.ID, samples int,
) (int, []*store.Failure, error) {
	b := &bulkRow{byID: ids != nil, BulkInfo: store.BulkInfo{Bulk: store.Bulk{Filter: f}}}
	items, err := s.itemsOf(ctx, f, ids, b)
	if err != nil {
		return 0, nil, err
	}
	var list []*store.Failure
	for _, id := range items[:min(samples, len(items))] {
		one, err := s.Failure(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		list = append(list, one)
	}
	return len(items) + b.Skipped, list, nil
}

// Bulk implements store.Failures.
func (s *Store) Bulk(ctx context.Context, id jobs.ID) (info *store.BulkInfo, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		b, err := readBulk(tx, id)
		if err == nil {
			info = &b.BulkInfo
		}
		return err
	})
	return info, err
}

// BulksLeft implements store.Failures.
func (s *Store) BulksLeft(ctx context.Context) (ids []jobs.ID, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		ids = nil
		return tx.Query(selectBulksLeft, func(r Row) error {
			ids = append(ids, jobs.IDOf(r.Int(0), r.Int(1)))
			return nil
		})
	})
	return ids, err
}

// pruneFailures looks at up to limit groups of failures and orders for those past their time.
func pruneFailures(tx Tx, at *pruneCursor, now jobs.Time, limit int) (looked int, err error) {
	if looked, err = pruneGroups(tx, at, now, limit); err != nil || looked == limit {
		return looked, err
	}
	var gone []int64
	err = tx.Query(selectPruneBulks, func(r Row) error {
		looked, at.bulk = looked+1, r.Int(0)
		if ended := r.Time(1); ended != 0 && ended <= now.Add(-retainBulks) {
			gone = append(gone, at.bulk)
		}
		return nil
	}, at.bulk, limit-looked)
	for i := 0; err == nil && i < len(gone); i++ {
		_, err = tx.Exec(deleteBulk, gone[i])
	}
	return looked, err
}
