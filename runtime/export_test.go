package runtime

import "time"

// SetWall has the wall clock show another time than that of the test, by what is given each time. It
// is to be called before Start.
func (r *Runtime) SetWall(by func() time.Duration) {
	r.clock.wallOf = func(now time.Time) time.Time { return wallOf(now).Add(by()) }
}

// SetHeartbeat lets the dispatcher sleep that long while nothing is due, and the ticker and the upkeep
// longer in proportion. It is to be called before Start.
func (r *Runtime) SetHeartbeat(d time.Duration) { r.heartbeat, r.houseEvery = d, 12*d }

// Bury ends the workers of a runtime that was stopped after its store had failed, as the end of the process
// does.
func (r *Runtime) Bury() {
	if !r.stranded() {
		return
	}
	for _, ch := range r.leases {
		close(ch)
	}
	r.workers.Wait()
}
