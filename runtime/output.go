package runtime

import (
	"slices"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// What is kept of an attempt's output: its head and its tail, in pieces.
const (
	pieceSize  = 64 << 10
	headPieces = 8
	tailPieces = 8
	maxRunLog  = 16 << 20 // of all attempts of a run
	flushEvery = time.Second
)

// output keeps the head and the tail of what an attempt prints, in memory bounded by 1 MiB, and
// hands what is new to the store. Followers read it here.
type output struct {
	run     jobs.ID
	number  int
	earlier int64 // bytes that earlier attempts keep

	mu     sync.Mutex
	total  int64
	pieces []*piece // in order; between head and tail some may be gone
	gone   []int    // numbers of pieces that are stored and were dropped
	more   chan struct{}
	over   bool
}

type piece struct {
	number int
	data   []byte
	stored int  // so many bytes are in the store
	known  bool // the store may have a row of it
}

func newOutput(l store.Lease) *output {
	return &output{run: l.Run.ID, number: l.Run.Counts.Number, earlier: l.LogBytes}
}

// Write takes in what the attempt printed. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		last := o.open()
		k := min(len(p), pieceSize-len(last.data))
		last.data = append(last.data, p[:k]...)
		o.total += int64(k)
		p = p[k:]
	}
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return n, nil
}

// open is the piece that has room; the oldest of the tail goes when there are too many.
func (o *output) open() *piece {
	if n := len(o.pieces); n > 0 && len(o.pieces[n-1].data) < pieceSize {
		return o.pieces[n-1]
	}
	next := &piece{number: int(o.total / pieceSize)}
	o.pieces = append(o.pieces, next)
	if head, tail := o.bounds(); len(o.pieces) > head+tail {
		old := o.pieces[head]
		if old.known {
			o.gone = append(o.gone, old.number)
		}
		next.data = old.data[:0] // a flood makes no garbage
		o.pieces = append(o.pieces[:head], o.pieces[head+1:]...)
	}
	return next
}

// bounds are how many pieces are kept; fewer when earlier attempts fill what a run may keep.
func (o *output) bounds() (head, tail int) {
	left := int((maxRunLog - o.earlier) / pieceSize / 2)
	return max(0, min(headPieces, left)), max(1, min(tailPieces, left))
}

// fresh gives what is not known to be in the store.
func (o *output) fresh() []store.LogPiece {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []store.LogPiece
	for _, p := range o.pieces {
		if p.stored == len(p.data) {
			continue
		}
		list = append(list, store.LogPiece{
			Run: o.run, Attempt: o.number, Piece: p.number, Offset: int64(p.number) * pieceSize,
			Data: append([]byte(nil), p.data...),
		})
		p.known = true
	}
	for _, n := range o.gone {
		list = append(list, store.LogPiece{Run: o.run, Attempt: o.number, Piece: n, Drop: true})
	}
	return list
}

// kept is told of a piece of fresh that the store has taken.
func (o *output) kept(lp store.LogPiece) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if lp.Drop {
		o.gone = slices.DeleteFunc(o.gone, func(n int) bool { return n == lp.Piece })
		return
	}
	for _, p := range o.pieces {
		if p.number == lp.Piece {
			p.stored = max(p.stored, len(lp.Data))
		}
	}
}

// close wakes followers for the last time.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
}

// read gives what is kept from an offset on, up to a gap, and the offset after it. more is closed
// when there is something new; over: there will be none.
func (o *output) read(from int64) (data []byte, next int64, more <-chan struct{}, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pieces {
		start := int64(p.number) * pieceSize
		end := start + int64(len(p.data))
		if end <= from {
			continue
		}
		if start > from {
			if data != nil {
				break // what follows the gap comes with the next read
			}
			from = start
		}
		data = append(data, p.data[from-start:]...)
		from = end
	}
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return data, from, o.more, o.over
}

// flushLogs keeps the output of running attempts, at least every 2 s, also while the server stops.
func (r *Runtime) flushLogs() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.over.Done():
			return
		case <-tick.C:
		}
		var pieces []store.LogPiece
		for _, a := range r.active.all() {
			pieces = append(pieces, a.output.fresh()...)
		}
		if len(pieces) == 0 {
			continue
		}
		if err := r.wrote(r.store.AppendLog(r.base, pieces)); err != nil {
			r.log.Warn("output could not be kept yet", "error", err)
			continue
		}
		for _, lp := range pieces {
			if a := r.active.get(lp.Run); a != nil && a.output.number == lp.Attempt {
				a.output.kept(lp)
			}
		}
	}
}
