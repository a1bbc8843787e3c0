package sqldb

import (
	"sync/atomic"

	"nightshift/store"
)

// workers are how many there are of each pool, as the last claim has told. They are of the process
// and stand in no row, so nothing undoes them; readers look at them too.
type workers [store.Pools]atomic.Int64

func (w *workers) of(pool store.Pool) int { return int(w[pool].Load()) }

// set reports whether there were others before.
func (w *workers) set(told [store.Pools]int) (changed bool) {
	for pool, n := range told {
		changed = w[pool].Swap(int64(n)) != int64(n) || changed
	}
	return changed
}

// setWorkers takes in how many workers there are: how many of them may catch up goes by that.
func (s *Store) setWorkers(c *store.Claim) {
	if s.workers.set(c.Workers) {
		s.forgetGates()
		s.lookAgain()
	}
}
