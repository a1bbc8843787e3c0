package runtime

import (
	"bytes"
	"slices"
	"strings"
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

// newOutput goes on from what is kept of the attempt already.
func newOutput(l *store.Lease) *output {
	o := &output{run: l.Run.ID, number: l.Run.Counts.Number, earlier: l.LogBytes}
	for _, p := range l.Log {
		o.pieces = append(o.pieces, &piece{number: p.Piece, data: p.Data, stored: len(p.Data), known: true})
		o.total = p.Offset + int64(len(p.Data))
		o.earlier -= int64(len(p.Data))
	}
	return o
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

// tail is the end of what was printed, as it is kept with an attempt.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var end []byte
	for i := len(o.pieces) - 1; i >= 0 && len(end) < jobs.MaxOutput; i-- {
		end = append(bytes.Clone(o.pieces[i].data), end...)
	}
	end = end[max(0, len(end)-jobs.MaxOutput):]
	return strings.ToValidUTF8(string(end[leadingContinuation(end):]), "\uFFFD")
}

// allKept reports whether the store has all of it.
func (o *output) allKept() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.gone) == 0 && !slices.ContainsFunc(o.pieces, func(p *piece) bool { return p.stored < len(p.data) })
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

// idleRest is how long the memory of an attempt that no worker has outlives its last use.
const idleRest = 5 * time.Second

// flushLogs keeps the output of attempts under way, at least every 2 s, also while the server stops, and
// at its end.
func (r *Runtime) flushLogs() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.over.Done():
			r.active.close()
			r.flushOutputs()
			return
		case <-tick.C:
		}
		r.flushOutputs()
		now := r.clock.ran()
		r.active.dropWhere(func(u *underway) bool { return u.idleFor(idleRest, now) })
	}
}

func (r *Runtime) flushOutputs() {
	var pieces []store.LogPiece
	var of []*output // each of pieces
	for _, o := range r.active.outputs() {
		for _, lp := range o.fresh() {
			pieces, of = append(pieces, lp), append(of, o)
		}
	}
	if len(pieces) == 0 {
		return
	}
	if err := r.wrote(r.store.AppendLog(r.base, pieces)); err != nil {
		r.log.Warn("output could not be kept yet", "error", err)
		return
	}
	for i, lp := range pieces {
		of[i].kept(lp)
	}
	r.active.forgetRest()
}
