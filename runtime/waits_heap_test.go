package runtime

import (
	goruntime "runtime"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func fenceNumber(n int) store.Fence {
	return store.Fence{Run: jobs.ID{byte(n >> 16), byte(n >> 8), byte(n)}, Number: 1}
}

func TestWhatWaitsExpiresInOrderUnlessItIsHeardOf(t *testing.T) {
	var s waits
	s.init()
	for i, until := range []time.Duration{50, 10, 40, 30, 20} {
		s.add(&wait{Fence: fenceNumber(i), job: "a", until: until * time.Second})
	}
	s.add(&wait{Fence: fenceNumber(9), job: "b", until: time.Hour, silence: 15 * time.Second})
	for i, want := range []struct {
		now, next time.Duration
		n         int // -1: none
		silent    bool
	}{
		{now: 9 * time.Second, next: time.Second, n: -1},
		{now: 10 * time.Second, n: 1},
		{now: 14 * time.Second, next: time.Second, n: -1}, // looked at each second: one has heartbeats
		{now: 15 * time.Second, n: -1, next: time.Second},
		{now: 26 * time.Second, n: 4},
		{now: 29 * time.Second, n: 9, silent: true},
		{now: 29 * time.Second, n: -1, next: time.Second},
		{now: 30 * time.Second, n: 3},
		{now: 60 * time.Second, n: 0},
		{now: 60 * time.Second, n: -1, next: time.Second},
	} {
		if i == 2 {
			for f, want := range map[store.Fence]bool{
				fenceNumber(9): true, {Run: fenceNumber(9).Run, Number: 2}: false, fenceNumber(77): false,
			} {
				if waits, sure := s.beat(f, 14*time.Second); waits != want || sure != want {
					t.Errorf("%+v: it waits %t, surely %t", f, waits, sure)
				}
			}
		}
		if i == 7 {
			s.drop(fenceNumber(2))
		}
		w, silent, next := s.due(want.now)
		if want.n < 0 {
			if w != nil || next != want.next {
				t.Errorf("step %d: %+v expired, next in %s, want in %s", i, w, next, want.next)
			}
		} else if w == nil || w.Fence != fenceNumber(want.n) || silent != want.silent {
			t.Errorf("step %d: %+v expired, silent %t: want %d", i, w, silent, want.n)
		}
	}
	// Those that have expired are there until their end is on disk.
	if !s.has(fenceNumber(9)) || s.has(fenceNumber(2)) {
		t.Error("what is being ended is forgotten, or what was dropped is not")
	}
	s.again(s.of(fenceNumber(9)), 70*time.Second)
	if w, _, next := s.due(69 * time.Second); w != nil || next != time.Second {
		t.Errorf("%+v, next in %s", w, next)
	}
	if w, _, _ := s.due(70 * time.Second); w == nil || w.Fence != fenceNumber(9) {
		t.Errorf("%+v is tried again", w)
	}
	s.dropJobs([]string{"b"})
	s.again(&wait{Fence: fenceNumber(9), index: -1}, 0)
	if w, _, next := s.due(time.Hour); w != nil || next != time.Hour || s.beats != 0 {
		t.Errorf("%+v, next in %s, %d with heartbeats", w, next, s.beats)
	}
}

func TestAHundredThousandThatWaitAreCheap(t *testing.T) {
	const n = 100_000
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	var s waits
	s.init()
	for i := range n {
		s.add(&wait{Fence: fenceNumber(i), until: time.Hour + time.Duration(i), silence: time.Minute})
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	if size := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; size > 300 {
		t.Errorf("%d bytes each", size)
	}
	for i := range n { // all are alive
		s.beat(fenceNumber(i), 30*time.Second)
	}
	begin := time.Now()
	if w, _, _ := s.due(61 * time.Second); w != nil {
		t.Errorf("%+v has expired", w)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("looking for what has expired took %s", took)
	}
	s.beatAll(200 * time.Second)
	if w, _, _ := s.due(259 * time.Second); w != nil {
		t.Errorf("%+v has expired, though nothing could be heard", w)
	}
	goruntime.KeepAlive(&s)
}
