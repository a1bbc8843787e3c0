package sqldb_test

import (
	"fmt"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

// BenchmarkMemberEnds ends members of groups of several sizes, one a transaction: it must cost the same.
func BenchmarkMemberEnds(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, ids := groupsStore(b)
			var left []store.Lease
			for b.Loop() {
				if len(left) == 0 {
					b.StopTimer()
					_, left = groupOf(b, s, ids, n, jobs.Group{}, 0)
					left = left[1:] // the last makes the merge
					b.StartTimer()
				}
				check1(b, s, memberEnd(left[0], jobs.Succeeded))
				left = left[1:]
			}
		})
	}
}

// BenchmarkGroupOfTenThousand starts and cancels one.
func BenchmarkGroupOfTenThousand(b *testing.B) {
	s, ids := groupsStore(b)
	for b.Loop() {
		id, _ := groupOf(b, s, ids, jobs.MaxMembers, jobs.Group{}, 0)
		if _, err := s.Cancel(b.Context(), id, store.By{Actor: "bench", Now: now}); err != nil {
			b.Fatal(err)
		}
	}
}
