package sqldb

import (
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	gateColumns    = `id, kind, job, name, paused_at, pause_note, state, wake_at, created_at`
	selectGate     = `SELECT ` + gateColumns + ` FROM gates WHERE kind = $1 AND job = $2 AND name = $3`
	selectGateByID = `SELECT ` + gateColumns + ` FROM gates WHERE id = $1`
	selectSlots    = `SELECT run, gate FROM slots`
	selectStarts   = `
SELECT id, first_at, last_at, count FROM rates WHERE gate = $1 ORDER BY id LIMIT 1000`
)

// gateBook holds gates as they stand in a transaction, read as they are asked for.
type gateBook struct {
	jobs    func(tx Tx, id int64) (*jobRow, error)
	workers *workers
	byKey   map[gateKey]*gateRow
	byID    map[int64]*gateRow
	held    map[int64][]int64 // slots by run; nil: not read yet
	used    map[int64]int     // how many there are, by gate
}

func newGateBook(jobOf func(tx Tx, id int64) (*jobRow, error), w *workers) *gateBook {
	return &gateBook{jobs: jobOf, workers: w, byKey: map[gateKey]*gateRow{}, byID: map[int64]*gateRow{}}
}

// gate is the gate of that name; nil where nobody has made it.
func (b *gateBook) gate(tx Tx, key gateKey) (*gateRow, error) {
	if g := b.byKey[key]; g != nil {
		return g, nil
	}
	return b.read(tx, selectGate, int64(key.kind), key.job, key.name)
}

func (b *gateBook) gateByID(tx Tx, id int64) (*gateRow, error) {
	if g := b.byID[id]; g != nil {
		return g, nil
	}
	return b.read(tx, selectGateByID, id)
}

func (b *gateBook) read(tx Tx, query string, args ...any) (*gateRow, error) {
	var g *gateRow
	_, err := one(tx, query, func(r Row) { g = scanGate(r) }, values(args)...)
	if err != nil || g == nil {
		return nil, err
	}
	return g, b.keep(tx, g)
}

// keep fills in what the gate allows and what it remembers, and keeps it.
func (b *gateBook) keep(tx Tx, g *gateRow) error {
	if err := b.allow(tx, g); err != nil {
		return err
	}
	if err := b.readSlots(tx); err != nil {
		return err
	}
	g.Used = b.used[g.id]
	if g.Rate != nil {
		if err := readStarts(tx, g); err != nil {
			return err
		}
	}
	b.byKey[g.gateKey], b.byID[g.id] = g, g
	return nil
}

func scanGate(r Row) *gateRow {
	g := &gateRow{
		id:      r.Int(0),
		gateKey: gateKey{jobs.GateKind(r.Int(1)), r.Int(2), r.Text(3)},
		wakeAt:  r.Time(7), created: r.Time(8), parked: true,
	}
	g.PausedAt, g.Note = r.Time(4), r.Text(5)
	g.stored = jobs.ReadBreakerState(r.Bytes(6))
	g.State = g.stored
	return g
}

// allow reads what the gate allows: from its document, from the job as it stands, or from what the
// last claim has told of workers.
func (b *gateBook) allow(tx Tx, g *gateRow) error {
	keep := g.Gate
	switch g.kind {
	case jobs.GateQueue:
		doc, err := documentText(tx, store.KindQueue, g.name)
		if err != nil {
			return err
		}
		q, err := jobs.ParseQueueDocument(g.name, doc)
		if err != nil {
			return err
		}
		g.Gate = q.Gate()
	case jobs.GateDependency:
		doc, err := documentText(tx, store.KindDependency, g.name)
		if err != nil {
			return err
		}
		d, err := jobs.ParseDependencyDocument(g.name, doc)
		if err != nil {
			return err
		}
		g.Gate = d.Gate()
	case jobs.GateCatchUp:
		g.Gate = jobs.CatchUpGate(g.name, b.workers.of(store.PoolOf(g.name)))
	default:
		job, err := b.jobs(tx, g.job)
		if err != nil {
			return err
		}
		g.Gate = jobs.Gate{Kind: g.kind, Name: job.name, Key: keyOf(g.name)}
		if g.kind == jobs.GateConcurrency && job.concurrency != nil {
			g.Limit = job.concurrency.Limit
		}
		if g.kind == jobs.GateRate {
			g.Rate = job.rate
		}
	}
	g.PausedAt, g.Note, g.State = keep.PausedAt, keep.Note, keep.State
	return nil
}

func documentText(tx Tx, kind, name string) (jobs.Raw, error) {
	d, err := storedDocument(tx, kind, name)
	if err != nil || d == nil {
		return nil, err
	}
	return d.Doc, nil
}

// readSlots reads them once.
func (b *gateBook) readSlots(tx Tx) error {
	if b.held != nil {
		return nil
	}
	held, used := map[int64][]int64{}, map[int64]int{}
	err := tx.Query(selectSlots, func(r Row) error {
		run, gate := r.Int(0), r.Int(1)
		held[run] = append(held[run], gate)
		used[gate]++
		return nil
	})
	if err == nil {
		b.held, b.used = held, used
	}
	return err
}

func readStarts(tx Tx, g *gateRow) error {
	g.Starts = nil
	return tx.Query(selectStarts, func(r Row) error {
		g.Starts = append(g.Starts, jobs.Starts{
			ID: r.Int(0), First: r.Time(1), Last: r.Time(2), Count: int(r.Int(3)),
		})
		return nil
	}, g.id)
}

// hold notes a slot that was taken.
func (b *gateBook) hold(run, gate int64) {
	b.held[run] = append(b.held[run], gate)
	b.setUsed(gate, b.used[gate]+1)
}

// free notes that a run has given all its slots back, and tells of which gates.
func (b *gateBook) free(run int64) (gates []int64) {
	gates = b.held[run]
	delete(b.held, run)
	for _, id := range gates {
		b.setUsed(id, b.used[id]-1)
	}
	return gates
}

// freeOne notes that a run has given one slot back.
func (b *gateBook) freeOne(run, gate int64) {
	b.held[run] = slices.DeleteFunc(b.held[run], func(id int64) bool { return id == gate })
	if len(b.held[run]) == 0 {
		delete(b.held, run)
	}
	b.setUsed(gate, b.used[gate]-1)
}

func (b *gateBook) setUsed(id int64, n int) {
	if b.used[id] = n; n == 0 {
		delete(b.used, id)
	}
	if g := b.byID[id]; g != nil {
		g.Used = n
	}
}
