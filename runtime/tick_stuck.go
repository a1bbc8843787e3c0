package runtime

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// stuckness remembers what waited for a worker at the look before. A run that was held, or whose server
// was down, has waited for a worker from when that ended: nobody notes when, but it turns up then, older
// than what had waited before.
type stuckness struct {
	seen  bool
	at    jobs.Time            // of the look before
	basis time.Duration        // of the clock then
	due   map[string]jobs.Time // of what waited then, by queue
	floor map[string]jobs.Time // by queue: nothing counts that was before
	from  jobs.Time            // the first look
}

// forget makes the next look the first.
func (s *stuckness) forget() { *s = stuckness{} }

// look takes in which runs wait, those that have been due for long, and says since when each waits for
// nothing but a worker.
func (s *stuckness) look(now jobs.Time, basis time.Duration, waits []store.WorkerWait) (since []jobs.Time) {
	if !s.seen || s.basis != basis { // the wall clock was set: what was due then says nothing
		*s = stuckness{seen: true, basis: basis, from: now, floor: map[string]jobs.Time{}}
	}
	due := make(map[string]jobs.Time, len(waits))
	for _, w := range waits {
		earlier, waited := s.due[w.Queue]
		if !waited {
			earlier = s.at.Add(-jobs.StuckAfter) // else it would have been seen
		}
		if s.due != nil && w.DueAt < earlier {
			s.floor[w.Queue] = now
		}
		due[w.Queue] = w.DueAt
		since = append(since, max(w.DueAt, s.floor[w.Queue], s.from))
	}
	for queue := range s.floor {
		if _, waits := due[queue]; !waits {
			delete(s.floor, queue)
		}
	}
	s.at, s.due = now, due
	return since
}

// stuckData is the data of the event that a queue is stuck.
func (t *ticker) stuckData(w *store.WorkerWait, since, now jobs.Time) jobs.Raw {
	workers := t.cfg.Workers[w.Pool]
	reason := fmt.Sprintf("run %s of job %s is due and has waited %s for nothing but one of %d %s workers",
		w.Run, w.Job, jobs.Duration(now.Sub(since).Truncate(time.Second)), workers, w.Pool)
	if late := t.lateTurn(); late > 0 {
		reason += fmt.Sprintf("; nothing has been given out for %s: the dispatcher stands still", late)
	}
	return jobs.AppendJSON(nil, &jobs.QueueStuck{
		Queue: w.Queue, Kind: w.Pool.String(), Workers: workers, Job: w.Job, Run: w.Run, DueAt: w.DueAt,
		Since: since, Reason: reason,
	})
}
