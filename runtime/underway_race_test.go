package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// turned is a store that calls a function when a claim has committed that has a run wait, and is not yet
// answered.
type turned struct {
	store.Store
	waiting func(jobs.ID)
}

func (s *turned) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	for i, f := range c.Finished {
		if err == nil && got.Results[i].Err == nil && f.Transition.State == jobs.Waiting {
			s.waiting(f.Run)
		}
	}
	return got, err
}

func TestACancelOfARunThatJustBeginsToWaitEndsIt(t *testing.T) {
	s := newServer(t, accept)
	st := &turned{Store: s.st}
	s.revive(st)
	defer s.stop()
	cancelled := make(chan error, 1)
	st.waiting = func(id jobs.ID) {
		committed := make(chan struct{})
		go func() {
			_, err := s.rt.Cancel(context.Background(), id, store.By{Actor: "test"})
			cancelled <- err
		}()
		go func() { // it is on disk before the dispatcher knows that the run waits
			defer close(committed)
			for {
				if run, err := s.st.Run(context.Background(), id); err != nil || run.State == jobs.Cancelled {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		<-committed
	}
	s.put(silentJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	if err := <-cancelled; err != nil {
		t.Fatal(err)
	}
	s.over(store.Fence{Run: id, Number: 1}, store.OverError{State: jobs.Cancelled})
}

// acks is what was acknowledged of a run.
type acks struct {
	cancelled bool
	results   map[int]string // by attempt
	failed    map[int]bool
}

// racer speaks for one run, until that has ended, with everything that may be said.
type racer struct {
	*server
	random *rand.Rand
	run    jobs.ID
	acks   acks
}

func (r *racer) race() error {
	ctx := context.Background()
	for n := range 400 {
		run, err := r.rt.Run(ctx, r.run)
		if err != nil {
			return err
		}
		if run.State.Terminal() {
			return nil
		}
		f := store.Fence{Run: r.run, Number: max(1, run.Counts.Number-r.random.IntN(2))}
		switch r.random.IntN(24) {
		case 0:
			result := fmt.Sprint(n)
			if err = r.rt.Complete(ctx, f, jobs.Raw(result)); err == nil && r.acks.results[f.Number] == "" {
				r.acks.results[f.Number] = result
			}
		case 1:
			if err = r.rt.Fail(ctx, f, &jobs.SaidError{Message: "said"}); err == nil {
				r.acks.failed[f.Number] = true
			}
		case 2:
			if n > 20 {
				if _, err = r.rt.Cancel(ctx, r.run, store.By{Actor: "test"}); err == nil {
					r.acks.cancelled = true
				}
			}
		case 3:
			_, err = r.rt.Checkpoint(ctx, f)
		case 4, 5, 6:
			err = r.rt.SaveCheckpoint(ctx, f, jobs.Raw(fmt.Sprint(n)))
		case 7, 8, 9:
			err = r.rt.Progress(ctx, f, jobs.Progress{Done: float64(n)})
		case 10, 11, 12:
			err = r.rt.AppendLog(ctx, f, []byte(fmt.Sprint("line ", n)))
		default:
			time.Sleep(time.Duration(r.random.IntN(int(time.Millisecond))))
			err = r.rt.Heartbeat(ctx, f)
		}
		if err != nil && !errors.Is(err, store.ErrLease) && !errors.Is(err, store.ErrState) {
			return err
		}
	}
	_, err := r.rt.Cancel(ctx, r.run, store.By{Actor: "test"})
	if r.acks.cancelled = r.acks.cancelled || err == nil; errors.Is(err, store.ErrState) {
		err = nil
	}
	return err
}

// check compares what became of the run with what was acknowledged.
func (r *racer) check(t *testing.T) {
	run := r.awaitEnd(r.run)
	if r.acks.cancelled {
		if run.State != jobs.Cancelled {
			t.Errorf("run %s is %s though its cancel was acknowledged", run.ID, run.State)
		}
		return
	}
	for number, result := range r.acks.results {
		if run.State != jobs.Succeeded || run.Counts.Number != number || string(run.Result) != result {
			t.Errorf("run %s is %s after attempt %d with result %s, though complete of attempt %d with %s was acknowledged",
				run.ID, run.State, run.Counts.Number, run.Result, number, result)
		}
	}
	for number := range r.acks.failed {
		if a := run.Attempts[number-1]; a.Outcome != jobs.OutcomeFailed || a.Error.Kind != jobs.FailReported {
			t.Errorf("attempt %d of run %s is %+v though its fail was acknowledged", number, run.ID, a)
		}
	}
}

func TestWhatWasAcknowledgedHoldsWhateverRaces(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	answers := rand.New(rand.NewPCG(seed, 0))
	s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		mu.Lock()
		answer, wait := answers.IntN(10), time.Duration(answers.IntN(int(3*time.Millisecond)))
		mu.Unlock()
		time.Sleep(wait)
		switch answer {
		case 0:
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		case 1, 2:
			return slice(fmt.Sprintf(`"slice %d"`, c.Continues))
		}
		return accept(ctx, c)
	})
	defer s.stop()
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/","completion":"callback","heartbeat_timeout":"15ms"},"timeout":"1h",` +
		`"retry":{"max_attempts":4,"otherwise":"retry","rules":[{"if":"true","then":"retry","after":"0s"}]}}`)
	s.rt.Start()
	for round := range uint64(3) {
		var wg sync.WaitGroup
		racers := make([]*racer, 12)
		for i := range racers {
			rq := jobs.Request{Job: "a"}
			if i%2 == 1 {
				rq.Timeout = new(jobs.Duration(20 * time.Millisecond))
			}
			r := &racer{server: s, run: s.submit(rq), random: rand.New(rand.NewPCG(seed, round<<8+uint64(i)+1))}
			r.acks = acks{results: map[int]string{}, failed: map[int]bool{}}
			racers[i] = r
			wg.Go(func() {
				if err := r.race(); err != nil {
					t.Errorf("run %s: %v", r.run, err)
				}
			})
		}
		wg.Wait()
		for _, r := range racers {
			r.check(t)
		}
	}
}
