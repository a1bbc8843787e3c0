package runtime

import (
	"bytes"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

// What an attempt that goes on has printed itself is not what earlier ones leave less room for.
func TestOutputThatGoesOnKeepsItsHeadThoughItsRunHasPrintedAllThatMayBeKept(t *testing.T) {
	t.Parallel()
	l := &store.Lease{Run: &jobs.Run{Slices: 1, Counts: jobs.Counts{Number: 9}}, LogBytes: maxRunLog}
	for i := range headPieces + tailPieces {
		l.Log = append(l.Log, store.LogPiece{
			Attempt: 9, Piece: i, Offset: int64(i) * pieceSize, Data: bytes.Repeat([]byte{'a' + byte(i)}, pieceSize),
		})
	}
	o := newOutput(l)
	_, _ = o.Write([]byte("more"))
	head, next, _, _ := o.read(0)
	if next != headPieces*pieceSize || head[0] != 'a' || head[len(head)-1] != 'a'+headPieces-1 {
		t.Errorf("its head goes to %d, want %d", next, headPieces*pieceSize)
	}
	if tail := o.tail(); tail[len(tail)-5:] != "pmore" {
		t.Errorf("it ends in %q", tail[len(tail)-5:])
	}
}
