package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectBulkItems = `SELECT part, runs FROM bulk_items WHERE bulk = $1 ORDER BY part LIMIT 1`
	updateBulkItems = `UPDATE bulk_items SET runs = $3 WHERE bulk = $1 AND part = $2`
	deleteBulkItems = `DELETE FROM bulk_items WHERE bulk = $1 AND part = $2`
	selectItemsLeft = `SELECT 1 FROM bulk_items WHERE bulk = $1 LIMIT 1`
	deleteItemsOf   = `DELETE FROM bulk_items WHERE bulk = $1`
	updateBulk      = `
UPDATE bulks SET done = $2, skipped = $3, skips = $4, next_at = $5, state = $6, ended_at = $7 WHERE id = $1`

	stepBytes = 4 << 20 // of payloads that one step holds, but for the last
)

// BulkStep implements store.Failures.
func (s *Store) BulkStep(
	ctx context.Context, id jobs.ID, limit int, runs func(*store.Bulk, []*jobs.Run) []store.BulkRun, now jobs.Time,
) (done store.BulkDone, more bool, err error) {
	step := &bulkStep{Store: s, limit: limit, now: now}
	if err := s.db.Read(ctx, func(tx Tx) error { return step.read(tx, id) }); err != nil {
		return done, false, err
	}
	switch {
	case step.bulk.State == store.BulkStopped:
		done.Cancelled, more, err = s.cancelStopped(ctx, step.bulk, limit, now)
		return done, more, err
	case step.bulk.State != store.BulkRunning:
		return done, false, nil
	case len(step.runs) > 0:
		step.make = runs(&step.bulk.Bulk, step.runs)
	}
	err = s.write(ctx, func(tx Tx) (err error) {
		done.Made, more, err = step.write(tx)
		done.Full = step.full
		return err
	})
	if err != nil {
		return store.BulkDone{}, false, fmt.Errorf("carry out order %s: %w", id, err)
	}
	return done, more, nil
}

// bulkStep deals with the next few failures of an order.
type bulkStep struct {
	*Store
	limit int
	now   jobs.Time
	bulk  *bulkRow
	part  int             // of those that are left
	left  []jobs.ID       // of the part
	items []jobs.ID       // that are dealt with now: the first of left
	runs  []*jobs.Run     // of these, those that are to be requeued
	make  []store.BulkRun // the requeues, in the order of runs
	full  bool            // there are as many unfinished runs as there may be
}

// read finds them, and the runs that are to be requeued with their payloads.
func (b *bulkStep) read(tx Tx, id jobs.ID) (err error) {
	b.items, b.runs = nil, nil
	if b.bulk, err = readBulk(tx, id); err != nil || b.bulk.State != store.BulkRunning {
		return err
	}
	if b.part, b.left, err = bulkItems(tx, id); err != nil {
		return err
	}
	if b.items = b.left[:min(b.limit, len(b.left))]; b.bulk.Bulk.Action != store.BulkRequeue {
		return nil
	}
	size := 0
	for i, item := range b.items {
		if size >= stepBytes {
			b.items = b.items[:i]
			return nil
		}
		l, found, err := readLink(tx, item)
		if err != nil {
			return err
		}
		if b.bulk.takes(&l, found) != "" {
			continue
		}
		var run *jobs.Run
		var bad error
		_, err = one(tx, selectHistory, func(r Row) {
			run, bad = scanListed(r)
			run.Payload = payloadOf(r, listedCount)
		}, item.Seq())
		if err = errors.Join(err, bad); err != nil {
			return err
		}
		size += len(run.Payload)
		b.runs = append(b.runs, run)
	}
	return nil
}

// bulkItems are the failures of the first part that is left of an order.
func bulkItems(tx Tx, bulk jobs.ID) (part int, items []jobs.ID, err error) {
	_, err = one(tx, selectBulkItems, func(r Row) { part, items = int(r.Int(0)), unpackIDs(r.Bytes(1)) }, bulk.Seq())
	return part, items, err
}

// write deals with them, unless the order was called off, or another has dealt with them.
func (b *bulkStep) write(tx Tx) (made []store.Submitted, more bool, err error) {
	bulk, err := readBulk(tx, b.bulk.ID)
	if err != nil {
		return nil, false, err
	}
	part, left, err := bulkItems(tx, bulk.ID)
	if err != nil || bulk.State != store.BulkRunning || part != b.part || !slices.Equal(left, b.left) {
		return nil, true, err
	}
	b.bulk, b.full = bulk, false
	requeues := b.make
	for i, item := range b.items {
		var rq *store.BulkRun
		if len(requeues) > 0 && requeues[0].Of == item {
			rq, requeues = &requeues[0], requeues[1:]
		}
		out, err := b.deal(tx, item, rq)
		var full *store.TooManyError
		if errors.As(err, &full) { // it wrote nothing: this one and the rest come later
			b.full, b.items = true, b.items[:i]
			break
		}
		if err != nil {
			return nil, false, fmt.Errorf("run %s: %w", item, err)
		}
		if out != nil {
			made = append(made, *out)
		}
	}
	if b.full && len(b.items) == 0 {
		return nil, true, nil
	}
	more, err = b.keep(tx)
	return made, more, err
}

// keep notes how far the order has come.
func (b *bulkStep) keep(tx Tx) (more bool, err error) {
	bulk := b.bulk
	if more, err = b.dropItems(tx); err != nil {
		return false, err
	}
	ended := any(nil)
	if !more {
		bulk.State = store.BulkMade
		if bulk.Bulk.Action != store.BulkRequeue || bulk.Succeeded+bulk.Failed+bulk.Cancelled == bulk.Done {
			bulk.State, ended = store.BulkDoneAll, int64(b.now)
		}
	}
	return more, must(tx.Exec(updateBulk, bulk.ID.Seq(), bulk.Done, bulk.Skipped, bulk.skips(), bulk.next,
		int(bulk.State), ended))
}

// dropItems takes away those that were dealt with. more: some are left.
func (b *bulkStep) dropItems(tx Tx) (more bool, err error) {
	bulk := b.bulk.ID.Seq()
	if rest := b.left[len(b.items):]; len(rest) > 0 {
		return true, must(tx.Exec(updateBulkItems, bulk, b.part, packIDs(rest)))
	}
	if _, err := tx.Exec(deleteBulkItems, bulk, b.part); err != nil {
		return false, err
	}
	return one(tx, selectItemsLeft, func(Row) {}, bulk)
}

// deal deals with one failure, as it stands now: it is requeued, resolved or ignored, or left as it is.
func (b *bulkStep) deal(tx Tx, item jobs.ID, rq *store.BulkRun) (made *store.Submitted, err error) {
	bulk := b.bulk
	l, found, err := readLink(tx, item)
	if err != nil {
		return nil, err
	}
	skip := bulk.takes(&l, found)
	switch {
	case skip != "":
	case bulk.Bulk.Action == store.BulkRequeue && rq == nil:
		skip = "it changed while it was looked at"
	case bulk.Bulk.Action == store.BulkRequeue:
		if skip = rq.Skip; skip == "" {
			made, skip, err = b.requeue(tx, rq.Requeue)
		}
	default:
		_, err = b.Store.deal(tx, &l, bulk.settling(b.now))
	}
	switch {
	case err != nil:
		return nil, err
	case skip != "":
		bulk.skip(item, skip)
	default:
		bulk.Done++
	}
	return made, nil
}

// settling is how an order deals with failures that it does not requeue.
func (b *bulkRow) settling(now jobs.Time) *settling {
	how := &settling{status: jobs.FailureResolved, by: b.actor, note: b.Bulk.Note, now: now}
	if b.Bulk.Action == store.BulkIgnore {
		how.status, how.until = jobs.FailureIgnored, b.Bulk.Until
	}
	return how
}

// requeue makes the run of a failure, due when the order's rate says. skip: why it could not.
func (b *bulkStep) requeue(tx Tx, rq store.Requeue) (made *store.Submitted, skip string, err error) {
	bulk := b.bulk
	at := max(bulk.next, int64(b.now)*microsPerMilli)
	rq.Bulk, rq.RunAt = bulk.ID, jobs.Time(at/microsPerMilli)
	out, err := b.Store.requeue(tx, &rq)
	switch {
	case isEntryFault(err) || errors.Is(err, store.ErrState):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	case out.Duplicate:
		return nil, "run " + out.ID.String() + ", a requeue of it, has not ended", nil
	}
	bulk.next = at + bulk.Bulk.Every.Std().Microseconds()
	return &out, "", nil
}
