package runtime_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// between is a store that calls a function when a claim has committed and is not yet answered, and
// tells when a cancel has.
type between struct {
	store.Store
	claimed   func(store.Claimed)
	cancelled chan struct{}
}

func (b *between) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	got, err := b.Store.Claim(ctx, c)
	if err == nil && len(got.Leases) > 0 {
		b.claimed(got)
	}
	return got, err
}

func (b *between) Cancel(ctx context.Context, id jobs.ID, by store.By) (store.Cancelled, error) {
	defer close(b.cancelled)
	return b.Store.Cancel(ctx, id, by)
}

func TestCancelReachesAnAttemptThatIsJustBeingStarted(t *testing.T) {
	s := newServer(t, untilStopped)
	st := &between{Store: s.st, cancelled: make(chan struct{})}
	s.revive(st)
	defer s.stop()
	over := make(chan error, 1)
	st.claimed = func(got store.Claimed) {
		go func() {
			state, err := s.rt.Cancel(
				context.Background(),
				got.Leases[0].Run.ID,
				store.By{Actor: "test"},
			)
			if err == nil && state != jobs.Running {
				err = fmt.Errorf("cancel says %s", state)
			}
			over <- err
		}()
		<-st.cancelled
		select { // it must not give up before the attempt is known
		case err := <-over:
			over <- err
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	if run := s.awaitEnd(id); run.State != jobs.Cancelled {
		t.Errorf("it is %s", run.State)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestLastOutputIsKeptWhereTheJobIsDeletedMeanwhile(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		<-release
		fmt.Fprint(c.Log, "last words\n")
		return jobs.Report{ExitCode: -1, Failure: unreachable()}
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitState(id, jobs.Running)
	if _, err := s.rt.DeleteJob(context.Background(), "a", nil, store.By{}); err != nil {
		t.Fatal(err)
	}
	close(release)
	s.awaitEnd(id)
	if got := s.log(id); got != "last words\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestOutputIsKeptWhileTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		speak, said, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			<-speak
			fmt.Fprint(c.Log, "stopping\n")
			close(said)
			<-release
			return jobs.Report{ExitCode: -1}
		})
		s.put(webhookJob)
		s.rt.Start()
		id := s.submit(jobs.Request{Job: "a"})
		s.awaitState(id, jobs.Running)
		stopped := make(chan error, 1)
		go func() { stopped <- s.rt.Stop(nil) }()
		time.Sleep(time.Second)
		close(speak)
		<-said
		time.Sleep(2 * time.Second)
		kept := ""
		err := s.st.Log(context.Background(), id, func(p store.LogPiece) error {
			kept += string(p.Data)
			return nil
		})
		if err != nil || kept != "stopping\n" {
			t.Errorf("two seconds later %q is kept: %v", kept, err)
		}
		close(release)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		s.close()
	})
}

// slowLog is a store that cannot take output, and says so late.
type slowLog struct {
	store.Store
	asked chan struct{}
	fail  chan struct{}
}

func (s *slowLog) AppendLog(context.Context, []store.LogPiece) error {
	close(s.asked)
	<-s.fail
	return store.ErrBusy
}

func TestOutputThatCouldNotBeKeptAtOnceIsKeptWithTheEnd(t *testing.T) {
	st := &slowLog{asked: make(chan struct{}), fail: make(chan struct{})}
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		fmt.Fprint(c.Log, "important\n")
		<-st.asked
		return jobs.Report{ExitCode: -1}
	})
	st.Store = s.st
	s.revive(st)
	defer s.stop()
	defer close(st.fail)
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitEnd(id)
	if got := s.log(id); got != "important\n" {
		t.Errorf("the log is %q", got)
	}
}

// unreadable is a store whose jobs cannot be read for a while.
type unreadable struct {
	store.Store
	fails atomic.Int64
}

func (u *unreadable) Job(ctx context.Context, name string) (*jobs.Job, error) {
	if u.fails.Add(-1) >= 0 {
		return nil, context.DeadlineExceeded
	}
	return u.Store.Job(ctx, name)
}

func TestJobThatCannotBeReadCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const doc = `{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},` +
			`"retry":{"rules":[{"if":"true","then":"retry"}],"backoff":{"kind":"fixed"`
		st, ends := &unreadable{}, 0
		var s *server
		s = newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			if ends++; ends > 1 {
				return jobs.Report{ExitCode: -1}
			}
			s.put(doc + `,"base":"2ms"}}}`) // it is read anew for the decision
			st.fails.Store(3)
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		})
		st.Store = s.st
		s.put(doc + `}}}`)
		id := s.submit(jobs.Request{Job: "a"})
		s.revive(st)
		st.fails.Store(3)
		s.rt.Start()
		run := s.awaitEnd(id)
		if run.State != jobs.Succeeded || len(run.Attempts) != 2 ||
			run.Attempts[0].Decision.By != "job rule 1" ||
			st.fails.Load() >= 0 {
			t.Errorf("%s, attempts %+v", run.State, run.Attempts)
		}
		s.stop()
	})
}

func TestStopIsOverWhereTheStoreFailsMeanwhile(t *testing.T) {
	forever := make(chan struct{})
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		if string(c.Payload) == `"stuck"` {
			<-forever
		}
		return jobs.Report{ExitCode: -1}
	})
	bad := &flaky{Store: s.st}
	s.revive(bad)
	defer s.close()
	defer close(forever)
	s.put(webhookJob)
	s.rt.Start()
	s.awaitState(s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(`"stuck"`)}), jobs.Running)
	bad.fails.Store(1 << 30)
	bad.err.Store(store.ErrUnknown)
	if err := s.rt.Stop(nil); err == nil {
		t.Error("an attempt that nothing is known of is no error")
	}
}
