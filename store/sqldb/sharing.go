package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectGates = `
SELECT ` + gateColumns + ` FROM gates WHERE kind = $1 AND job = 0 AND id < $2 ORDER BY id DESC LIMIT $3`
	updateGatePaused = `UPDATE gates SET paused_at = $2, pause_note = $3 WHERE id = $1`

	// Counted up to a bound: a backlog may be long.
	selectWaitingFor = `
SELECT COUNT(*), MIN(due_at) FROM (
    SELECT r.due_at FROM refs f JOIN lanes l ON l.job = f.job JOIN runs r ON r.lane = l.id AND r.state = 2
    WHERE f.kind = 'dependency' AND f.name = $1 AND l.head IS NOT NULL AND l.open = 1 LIMIT $2) w`
	selectWaitingForHost = `
SELECT COUNT(*), MIN(due_at) FROM (
    SELECT r.due_at FROM lanes l JOIN runs r ON r.lane = l.id AND r.state = 2
    WHERE l.host = $1 AND l.host > '' AND l.head IS NOT NULL AND l.open = 1 LIMIT $2) w`
	selectQueuedIn = `
SELECT COUNT(*), MIN(due_at) FROM (
    SELECT r.due_at FROM refs f JOIN lanes l ON l.job = f.job JOIN runs r ON r.lane = l.id AND r.state = 2
    WHERE f.kind = 'queue' AND f.name = $1 LIMIT $2) w`
	// As slots are counted: a group holds only its job's concurrency.
	selectRunningOf = `
SELECT COUNT(*) FROM runs
WHERE state IN (3, 5) AND members IS NULL
  AND ($3 = 1 AND host = $2 OR job IN (SELECT job FROM refs WHERE kind = $1 AND name = $2))`
)

// Gate implements store.Sharing.
func (s *Store) Gate(
	ctx context.Context, kind jobs.GateKind, name string, now jobs.Time,
) (info *store.GateInfo, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		h := s.newHolding(tx, now)
		g, err := h.book.gate(tx, gateKey{kind, 0, name})
		if err != nil {
			return err
		}
		if g == nil {
			return noGate(kind, name)
		}
		info, err = h.info(g)
		return err
	})
	return info, err
}

func noGate(kind jobs.GateKind, name string) error {
	return fmt.Errorf("%s %q: %w", store.GateDocument(kind), name, store.ErrNotFound)
}

// Gates implements store.Sharing.
func (s *Store) Gates(
	ctx context.Context, kind jobs.GateKind, now jobs.Time, p store.Page,
) (list []*store.GateInfo, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		h := s.newHolding(tx, now)
		var rows []*gateRow
		err := tx.Query(selectGates, func(r Row) error {
			rows = append(rows, scanGate(r))
			return nil
		}, int64(kind), before, sizeOf(p)+1)
		if err != nil {
			return err
		}
		if len(rows) > sizeOf(p) {
			rows = rows[:sizeOf(p)]
			next = strconv.FormatInt(rows[len(rows)-1].id, 10)
		}
		for _, g := range rows {
			if err := h.book.keep(tx, g); err != nil {
				return err
			}
			info, err := h.info(g)
			if err != nil {
				return err
			}
			list = append(list, info)
		}
		return nil
	})
	return list, next, err
}

// info is what there is to say about a queue or dependency.
func (h *holding) info(g *gateRow) (*store.GateInfo, error) {
	kind := store.GateDocument(g.kind)
	info := &store.GateInfo{Gate: g.Gate, CreatedAt: g.created, UpdatedAt: g.created}
	d, err := storedDocument(h.tx, kind, g.name)
	if err != nil {
		return nil, err
	}
	if d != nil {
		info.Doc, info.Set, info.Revision = d.Doc, d.Set, d.Revision
		info.CreatedAt, info.UpdatedAt = d.CreatedAt, d.UpdatedAt
	}
	counted := func(r Row) { info.Waiting, info.OldestAt = int(r.Int(0)), r.Time(1) }
	switch {
	case g.kind == jobs.GateQueue:
		_, err = one(h.tx, selectQueuedIn, counted, g.name, store.MaxWaiting)
	case g.Room(h.now) > 0: // it holds nothing
	case g.Host:
		_, err = one(h.tx, selectWaitingForHost, counted, g.name, store.MaxWaiting)
	default:
		_, err = one(h.tx, selectWaitingFor, counted, g.name, store.MaxWaiting)
	}
	if err != nil {
		return nil, err
	}
	if info.Running = g.Used; g.Limit == 0 {
		_, err = one(h.tx, selectRunningOf, func(r Row) { info.Running = int(r.Int(0)) }, kind, g.name,
			g.Host)
		if err != nil {
			return nil, err
		}
	}
	err = h.tx.Query(selectNamers, func(r Row) error {
		info.Jobs = append(info.Jobs, r.Text(0))
		return nil
	}, kind, g.name)
	slices.Sort(info.Jobs)
	return info, err
}

// changeGate changes a queue or dependency that stands, and has its lanes looked at.
func (s *Store) changeGate(
	ctx context.Context, key gateKey, by store.By, change func(tx Tx, g *gateRow) (bool, error),
) error {
	return s.write(ctx, func(tx Tx) error {
		g, err := s.gates.gate(tx, key)
		if err != nil {
			return err
		}
		if g == nil {
			return noGate(key.kind, key.name)
		}
		changed, err := change(tx, g)
		if err != nil || !changed {
			return err
		}
		s.stir(g)
		tx.Wake()
		return keepGate(tx, g, by.Now)
	})
}

// PauseGate implements store.Sharing.
func (s *Store) PauseGate(
	ctx context.Context, kind jobs.GateKind, name string, paused bool, note string, by store.By,
) error {
	by.Note = note
	key := gateKey{kind, 0, name}
	return s.changeGate(ctx, key, by, func(tx Tx, g *gateRow) (bool, error) {
		if paused == (g.PausedAt != 0) && (!paused || g.Note == note) {
			return false, nil
		}
		at, kept, action := any(nil), any(nil), "resume"
		was, said := g.PausedAt != 0, g.Note
		g.PausedAt, g.Note = 0, ""
		if paused {
			at, kept, action = int64(by.Now), note, "pause"
			g.PausedAt, g.Note = by.Now, note
		}
		if err := must(tx.Exec(updateGatePaused, g.id, at, kept)); err != nil {
			return false, err
		}
		return true, s.audit(tx, by, action, store.GateDocument(kind), name, pausedChange(was, said, paused, g.Note)...)
	})
}

// Trip implements store.Sharing.
func (s *Store) Trip(ctx context.Context, name string, length time.Duration, by store.By) error {
	key := gateKey{jobs.GateDependency, 0, name}
	return s.changeGate(ctx, key, by, func(tx Tx, g *gateRow) (bool, error) {
		if g.Breaker == nil {
			return false, fmt.Errorf("dependency %q has no breaker: %w", name, store.ErrState)
		}
		before := g.State
		if event := g.Trip(by.Now, by.Note, length); event != "" {
			err := s.tellDependency(tx, by.Now, &jobs.DependencyEvent{Type: event, Gate: &g.Gate, Was: before})
			if err != nil {
				return false, err
			}
		}
		return true, s.audit(tx, by, "trip", store.KindDependency, name, breakerChanges(before, g.State)...)
	})
}

// Reset implements store.Sharing.
func (s *Store) Reset(ctx context.Context, name string, by store.By) error {
	key := gateKey{jobs.GateDependency, 0, name}
	return s.changeGate(ctx, key, by, func(tx Tx, g *gateRow) (bool, error) {
		before := g.State
		event := g.Reset(by.Now)
		if g.State == before {
			return false, nil
		}
		if event != "" {
			err := s.tellDependency(tx, by.Now, &jobs.DependencyEvent{
				Type: event, Gate: &g.Gate, Was: before, Note: by.Note,
			})
			if err != nil {
				return false, err
			}
		}
		return true, s.audit(tx, by, "reset", store.KindDependency, name, breakerChanges(before, g.State)...)
	})
}
