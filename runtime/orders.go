package runtime

import (
	"context"
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// orderStep is how many failures one transaction deals with. It takes some milliseconds, and as long
	// again belongs to others.
	orderStep = 100
	// orderLook is how often orders are looked for that nobody has told of.
	orderLook = time.Minute
	// orderRoom is how soon one is looked at again that waits for runs to end, for there are too many.
	orderRoom = 5 * time.Second
)

// orders wakes the worker that carries out what many failures are to be dealt with by.
type orders struct{ wake chan struct{} }

func (o *orders) init() { o.wake = make(chan struct{}, 1) }

// poke tells that there may be something to carry out.
func (o *orders) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// carryOut carries orders out, those of a process that died too, until the runtime stops. What is on disk
// says how far each has come: nothing else is remembered.
func (r *Runtime) carryOut() {
	look := time.NewTicker(orderLook)
	defer look.Stop()
	for failing := false; ; {
		full, err := r.carryOutAll()
		wait := look.C
		if full {
			wait = time.After(orderRoom)
		}
		if err != nil && r.stopping.Err() == nil {
			if !failing {
				r.log.Error("orders for failures cannot be carried out: tried until they can", "error", err)
			}
			wait = time.After(retryWrite)
		}
		failing = err != nil
		select {
		case <-r.stopping.Done():
			return
		case <-r.orders.wake:
		case <-wait:
		}
	}
}

// carryOutAll does a step of each order in turn until nothing is left to do, or nothing can be done now: full, for
// too many runs have not ended.
func (r *Runtime) carryOutAll() (full bool, err error) {
	for {
		left, err := r.store.BulksLeft(r.stopping)
		if err != nil {
			return false, err
		}
		more := false
		full = false
		for _, id := range left {
			again, waits, err := r.stepOrder(id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return false, err
			}
			more, full = more || again, full || waits
		}
		if !more {
			return full, nil
		}
	}
}

// stepOrder deals with the next few failures of an order, and then lets others write for as long as that
// took. full: the rest waits until fewer runs are unfinished.
func (r *Runtime) stepOrder(id jobs.ID) (more, full bool, err error) {
	begun, by := time.Now(), store.By{Actor: "server", Now: r.Now()}
	done, more, err := r.store.BulkStep(r.stopping, id, orderStep, func(b *store.Bulk, runs []*jobs.Run) []store.BulkRun {
		list := make([]store.BulkRun, 0, len(runs))
		for _, run := range runs {
			list = append(list, r.orderedRequeue(r.stopping, b, run, by))
		}
		return list
	}, by.Now)
	if r.wrote(err) != nil {
		return false, false, err
	}
	for _, made := range done.Made {
		r.hub.changed(made.ID)
	}
	for _, run := range done.Cancelled {
		r.hub.changed(run)
	}
	if more && !done.Full {
		r.rest(time.Since(begun))
	}
	return more && !done.Full, done.Full, nil
}

// rest waits a while, or until the runtime stops.
func (r *Runtime) rest(d time.Duration) {
	ctx, cancel := context.WithTimeout(r.stopping, d)
	defer cancel()
	<-ctx.Done()
}

// orderEnded has the worker look at what a run's order says of its failure.
func (r *Runtime) orderEnded(f *store.Finish) {
	if !f.Links.Bulk.IsNil() && f.Transition.State == jobs.Failed {
		r.orders.poke()
	}
}
