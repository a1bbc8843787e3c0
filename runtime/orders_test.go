package runtime_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// failsOnce fails for good at its first failure.
const failsOnce = `{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":1}}`

// billing fails until it is well, and notes what it got then.
type billing struct {
	mu    sync.Mutex
	well  bool
	calls []string
	at    []time.Time
}

func (r *billing) run(_ context.Context, c *jobs.Call) jobs.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.well {
		return jobs.Report{ExitCode: -1, Failure: &jobs.Failure{Kind: jobs.FailReported, Type: "Refused", Message: "no order 7"}}
	}
	r.calls, r.at = append(r.calls, string(c.Payload)), append(r.at, time.Now())
	return jobs.Report{ExitCode: -1}
}

func (r *billing) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.well = true
}

// failures makes n failures whose payloads are {"n":1} and on.
func (s *server) failures(n int) (ids []jobs.ID) {
	s.t.Helper()
	for i := range n {
		ids = append(ids, s.submit(jobs.Request{Job: "a", Payload: jobs.AppendJSON(nil, map[string]int{"n": i})}))
	}
	for _, id := range ids {
		if run := s.awaitEnd(id); run.State != jobs.Failed {
			s.t.Fatalf("run is %s, want failed", run.State)
		}
	}
	return ids
}

func (s *server) order(b store.Bulk) jobs.ID {
	s.t.Helper()
	id, _, err := s.rt.StartBulk(context.Background(), b, store.By{Actor: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *server) bulk(id jobs.ID) *store.BulkInfo {
	s.t.Helper()
	info, err := s.st.Bulk(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return info
}

// awaitOver waits until nothing of an order is left, in a bubble.
func (s *server) awaitOver(id jobs.ID) *store.BulkInfo {
	s.t.Helper()
	for range 10_000 {
		if info := s.bulk(id); info.EndedAt != 0 {
			return info
		}
		time.Sleep(time.Second)
	}
	s.t.Fatalf("the order is not over: %+v", s.bulk(id))
	return nil
}

func (s *server) withStatus(status jobs.FailureStatus) int {
	s.t.Helper()
	list, _, err := s.st.Failures(context.Background(), store.FailureFilter{Status: status}, store.Page{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list)
}

func TestOrderDripsItsRunsAndGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &billing{}
		s := newServer(t, r.run)
		s.put(failsOnce)
		s.rt.Start()
		s.failures(12)
		r.heal()
		id := s.order(store.Bulk{
			Action: store.BulkRequeue, Patch: jobs.Raw(`{"fixed":1.0}`), Every: jobs.Duration(10 * time.Second),
		})
		time.Sleep(35 * time.Second)
		s.stop()
		s.open()
		s.rt.Start()
		defer s.stop()
		info := s.awaitOver(id)
		if info.State != store.BulkDoneAll || info.Done != 12 || info.Succeeded != 12 || info.Skipped != 0 {
			t.Fatalf("%+v", info)
		}
		for i, at := range r.at[1:] {
			if d := at.Sub(r.at[i]); d < 9*time.Second || d > 12*time.Second {
				t.Errorf("run %d started %s after the one before, want 10s", i+1, d)
			}
		}
		slices.Sort(r.calls)
		if got := slices.Compact(slices.Clone(r.calls)); len(got) != 12 || len(r.calls) != 12 || got[0] != `{"n":0,"fixed":1.0}` {
			t.Errorf("calls %q", r.calls)
		}
		if n := s.withStatus(jobs.FailureResolved); n != 12 {
			t.Errorf("%d are resolved, want 12", n)
		}
	})
}

func TestOrderOfFailuresThatFailAgainIsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &billing{}
		s := newServer(t, r.run)
		s.put(failsOnce)
		s.rt.Start()
		defer s.stop()
		s.failures(300)
		id := s.order(store.Bulk{
			Action: store.BulkRequeue, Every: jobs.Duration(time.Second), StopAfter: 3,
		})
		info := s.awaitOver(id)
		if info.State != store.BulkStopped || info.Failed != 3 || info.Reason != "3 of its runs have failed" {
			t.Fatalf("%+v", info)
		}
		if info.Cancelled != info.Done-3 {
			t.Errorf("of %d runs %d were cancelled", info.Done, info.Cancelled)
		}
		if open, requeued := s.withStatus(jobs.FailureOpen), s.withStatus(jobs.FailureRequeued); open != 300 || requeued != 3 {
			t.Errorf("%d are open and %d requeued, want 300 and 3", open, requeued)
		}
	})
}

func TestOrderIsCalledOffAndWhatItHasNotBegunIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &billing{}
		s := newServer(t, r.run)
		s.put(failsOnce)
		s.rt.Start()
		defer s.stop()
		s.failures(20)
		r.heal()
		id := s.order(store.Bulk{Action: store.BulkRequeue, Every: jobs.Duration(time.Hour)})
		time.Sleep(150 * time.Minute)
		if _, err := s.rt.StopBulk(context.Background(), id, store.By{Actor: "token ops", Note: "enough"}); err != nil {
			t.Fatal(err)
		}
		info := s.awaitOver(id)
		if info.Succeeded != 3 || info.Cancelled != 17 || info.Reason != "called off by token ops: enough" {
			t.Fatalf("%+v", info)
		}
		if open, resolved := s.withStatus(jobs.FailureOpen), s.withStatus(jobs.FailureResolved); open != 17 || resolved != 3 {
			t.Errorf("%d are open and %d resolved, want 17 and 3", open, resolved)
		}
	})
}

func TestSampleShowsWhatAnOrderWouldDo(t *testing.T) {
	r := &billing{}
	s := newServer(t, r.run)
	s.put(failsOnce)
	s.rt.Start()
	defer s.stop()
	s.failures(7)
	large := jobs.Raw(`{"x":"` + strings.Repeat("x", jobs.MaxPayload) + `"}`)
	for _, c := range []struct {
		patch       jobs.Raw
		after, skip string
	}{
		{nil, `{"n":0}`, ""},
		{jobs.Raw(`{"n":null,"m":2.50}`), `{"m":2.50}`, ""},
		{large, `{"n":0}`, "payload: want at most 262144 bytes"},
	} {
		n, list, err := s.rt.SampleBulk(context.Background(), store.Bulk{Action: store.BulkRequeue, Patch: c.patch})
		if err != nil || n != 7 || len(list) != 5 {
			t.Fatal(n, len(list), err)
		}
		if got := string(list[0].After); got != c.after || !strings.HasPrefix(list[0].Skip, c.skip) || (c.skip == "") != (list[0].Skip == "") {
			t.Errorf("patch %.20s: %s, skip %q", c.patch, got, list[0].Skip)
		}
	}
	if n := s.withStatus(jobs.FailureOpen); n != 7 {
		t.Errorf("%d are open, want 7", n)
	}
}

func TestOrderLeavesWhatItCannotRequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &billing{}
		s := newServer(t, r.run)
		s.put(failsOnce)
		s.rt.Start()
		defer s.stop()
		ids := s.failures(3)
		s.put(strings.Replace(failsOnce, `{"name"`, `{"concurrency":{"limit":1,"key":"payload.n + 1"},"name"`, 1))
		r.heal()
		id := s.order(store.Bulk{Action: store.BulkRequeue, IDs: ids[:2], Patch: jobs.Raw(`{"n":"no number"}`)})
		info := s.awaitOver(id)
		if info.Skipped != 2 || len(info.Skips) != 2 || !strings.Contains(info.Skips[0].Reason, "concurrency.key") {
			t.Fatalf("%+v", info)
		}
		if n := s.withStatus(jobs.FailureOpen); n != 3 {
			t.Errorf("%d are open, want 3", n)
		}
	})
}

func TestSuccessResolvesEarlierFailuresWhereTheJobSaysSo(t *testing.T) {
	for _, says := range []bool{true, false} {
		r := &billing{}
		s := newServer(t, r.run)
		doc := failsOnce
		if says {
			doc = strings.Replace(doc, `{"name"`, `{"resolve_on_success":true,"name"`, 1)
		}
		s.put(doc)
		s.rt.Start()
		id := s.failures(1)[0]
		r.heal()
		ok := s.submit(jobs.Request{Job: "a"})
		s.awaitEnd(ok)
		f, err := s.st.Failure(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if (f.Status == jobs.FailureResolved) != says || says && f.By != "run "+ok.String() {
			t.Errorf("resolve_on_success %v: the failure is %s, by %q", says, f.Status, f.By)
		}
		s.stop()
	}
}

func TestIgnoredFailuresThatCameAreOpenOnceTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &billing{}
		s := newServer(t, r.run)
		s.put(failsOnce)
		s.rt.Start()
		defer s.stop()
		id := s.failures(1)[0]
		d := store.Dealing{Status: jobs.FailureIgnored, Until: s.rt.Now().Add(10 * time.Minute)}
		if err := s.rt.Deal(context.Background(), id, d, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		s.failures(2)
		if n := s.withStatus(jobs.FailureOpen); n != 0 {
			t.Fatalf("%d are open while they are ignored", n)
		}
		time.Sleep(12 * time.Minute)
		if n := s.withStatus(jobs.FailureOpen); n != 2 {
			t.Errorf("%d are open, want 2", n)
		}
	})
}
