package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// teller is a kind whose job tell is what alerts run; each other job does as its payload says.
type teller struct {
	mu       sync.Mutex
	got      []jobs.Raw                              // payloads that were told, in order
	receiver func(n int) (failure *jobs.Failure)     // of the nth call of tell, from 1; nil: it takes all
	work     func(c *jobs.Call) (fail *jobs.Failure) // of other jobs; nil: payload "fail" does
	calls    int
	last     time.Time
}

func (k *teller) run(_ context.Context, c *jobs.Call) jobs.Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.Job == "tell" {
		k.calls++
		if k.receiver != nil {
			if f := k.receiver(k.calls); f != nil {
				return jobs.Report{ExitCode: -1, Failure: f, HTTPStatus: statusOf(f)}
			}
		}
		k.got, k.last = append(k.got, c.Payload), time.Now()
		return jobs.Report{ExitCode: -1, HTTPStatus: 200}
	}
	work := k.work
	if work == nil {
		work = asTold
	}
	return jobs.Report{ExitCode: -1, Failure: work(c)}
}

func statusOf(f *jobs.Failure) int {
	if f.HTTP != nil {
		return f.HTTP.Status
	}
	return 0
}

func asTold(c *jobs.Call) *jobs.Failure {
	if strings.Contains(string(c.Payload), "fail") {
		return &jobs.Failure{Kind: jobs.FailReported, Type: "Broken", Message: "order 17 is broken"}
	}
	return nil
}

// answered is the failure that a receiver's answer is.
func answered(status int) *jobs.Failure {
	return &jobs.Failure{
		Kind: jobs.FailHTTP, Message: fmt.Sprintf("answered %d", status), HTTP: &jobs.HTTPFailure{Status: status},
	}
}

// told is what was told, in words.
func (k *teller) told() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, text := range k.got {
		m := read(text)
		all = append(all, fmt.Sprintf("%s %d", m.Type, m.Data.Count))
	}
	return strings.Join(all, ", ")
}

// message is what a receiver reads.
type message struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Subject string         `json:"subject"`
	Data    jobs.AlertData `json:"data"`
}

func read(text jobs.Raw) (m message) {
	if err := jobs.DecodeLenient(text, &m); err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	return m
}

const (
	tellJob  = `{"name":"tell","webhook":{"url":"http://127.0.0.1:9/"}}`
	loneJob  = `{"name":"a","script":{"source":"true"},"retry":{"max_attempts":1}}`
	failures = `{"on":["run.failed","run.recovered"],"run":"tell"}`
)

// alerted is a server that tells by these alerts.
func alerted(t testing.TB, k *teller, alerts ...string) *server {
	t.Helper()
	s := newServer(t, k.run)
	s.put(tellJob)
	s.put(loneJob)
	for i, doc := range alerts {
		s.alert(fmt.Sprintf("alert-%d", i), doc)
	}
	s.rt.Start()
	return s
}

func (s *server) alert(name, doc string) {
	s.t.Helper()
	a, err := jobs.ParseAlert([]byte(doc))
	if err != nil {
		s.t.Fatal(err)
	}
	a.Name = name
	_, err = s.rt.Save(context.Background(), runtime.Changes{Alerts: []runtime.PutAlert{{Alert: a}}}, store.By{Actor: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
}

// fails makes a run of job a that fails.
func (s *server) fails() jobs.ID {
	s.t.Helper()
	id := s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(`"fail"`)})
	s.awaitEnd(id)
	return id
}

func (s *server) succeeds() {
	s.t.Helper()
	s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
}

// wantAlerts waits until nothing is under way, and compares what was told.
func (s *server) wantAlerts(k *teller, what, want string) {
	s.t.Helper()
	synctest.Wait()
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	if got := k.told(); got != want {
		s.t.Fatalf("%s: told %q, want %q", what, got, want)
	}
}

func TestNobodyIsToldOfAnAttemptThatIsRetried(t *testing.T) { // case 139
	synctest.Test(t, func(t *testing.T) {
		k := &teller{work: func(c *jobs.Call) *jobs.Failure {
			if c.Number <= 2 || string(c.Payload) == `"dead"` {
				return unreachable()
			}
			return nil
		}}
		s := alerted(t, k, failures)
		defer s.stop()
		s.put(strings.Replace(webhookJob, "webhook", "webhook", 1))
		s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
		s.wantAlerts(k, "a run that succeeds at last", "")
		id := s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(`"dead"`), Labels: map[string]string{"team": "data"}})
		run := s.awaitEnd(id)
		s.wantAlerts(k, "a dead run", "run.failed 1")
		m := read(k.got[0])
		d := m.Data
		if m.Subject != "run/"+id.String() || *d.Job != "a" || d.Run != id || d.Labels["team"] != "data" || *d.Attempts != 4 ||
			d.Error.Kind != jobs.FailConnection || d.FirstAt != run.FinishedAt || d.Test || d.Missing != nil && string(d.Missing) != "null" {
			t.Errorf("the message is %s", k.got[0])
		}
		tells, _, err := s.st.Runs(context.Background(), store.RunFilter{Trigger: "alert"}, store.Page{Limit: 9})
		if err != nil || len(tells) != 1 || tells[0].CorrelationID != run.CorrelationID || tells[0].Labels["alert"] != "alert-0" {
			t.Errorf("runs that tell: %+v %v", tells, err)
		}
	})
}

func TestRecoveryIsToldWhereTheFailureWas(t *testing.T) { // case 140
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k, `{"on":["run.failed","run.recovered"],"run":"tell","after":3}`)
		defer s.stop()
		s.fails()
		s.fails()
		s.succeeds()
		s.wantAlerts(k, "two failures and a success", "")
		for range 4 {
			s.fails()
		}
		s.wantAlerts(k, "four failures", "run.failed 1")
		s.succeeds()
		time.Sleep(time.Hour)
		s.wantAlerts(k, "four failures and a success", "run.failed 1, run.recovered 4")
	})
}

func TestAThousandFailuresAreTwoMessages(t *testing.T) { // case 141
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k, failures)
		defer s.stop()
		for range 20 {
			reqs := make([]jobs.Request, 50)
			for i := range reqs {
				reqs[i] = jobs.Request{Job: "a", Payload: jobs.Raw(`"fail"`)}
			}
			if _, err := s.rt.Submit(context.Background(), false, reqs); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		s.wantAlerts(k, "within the minute", "run.failed 1")
		time.Sleep(10 * time.Minute)
		s.wantAlerts(k, "when the throttle is over", "run.failed 1, run.failed 999")
	})
}

func TestFailureAfterARequeueIsToldToo(t *testing.T) { // case 147
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k, failures)
		defer s.stop()
		id := s.fails()
		s.wantAlerts(k, "the first", "run.failed 1")
		time.Sleep(time.Hour)
		again, err := s.rt.Requeue(context.Background(), store.Requeue{Of: id, By: store.By{Actor: "test"}, Trigger: jobs.TriggerRequeue})
		if err != nil {
			t.Fatal(err)
		}
		s.awaitEnd(again.ID)
		s.wantAlerts(k, "the second", "run.failed 1, run.failed 1")
	})
}

// A receiver that fails for a while gets the message once it takes it; one that refuses it is what
// alert.undelivered tells of, and nothing tells of itself.
// unraced leaves out what takes long under the race detector: scripts/check tests it without.
func unraced(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("it takes too long under the race detector")
	}
}

func TestReceiverThatFailsForAWhileIsToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		failure func() *jobs.Failure
		until   time.Duration // it fails
	}{
		"busy":                   {func() *jobs.Failure { return answered(429) }, 90 * time.Second},
		"broken":                 {func() *jobs.Failure { return answered(503) }, time.Minute},
		"hangs":                  {func() *jobs.Failure { return &jobs.Failure{Kind: jobs.FailTimeout, Message: "not done within 5m"} }, time.Minute},
		"down for ten minutes":   {unreachable, 10 * time.Minute},
		"down for a day, nearly": {unreachable, 23 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			if c.until > time.Hour {
				unraced(t)
			}
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				k := &teller{receiver: func(int) *jobs.Failure {
					if time.Since(begun) < c.until {
						return c.failure()
					}
					return nil
				}}
				s := alerted(t, k, failures, `{"on":["alert.undelivered"],"run":"tell"}`)
				defer s.stop()
				s.fails()
				time.Sleep(c.until + 2*time.Hour)
				s.wantAlerts(k, "when it is back", "run.failed 1")
			})
		})
	}
}

func TestAlertThatCannotBeToldRaisesOneEventAndThatNone(t *testing.T) {
	for _, status := range []int{400, 404} {
		synctest.Test(t, func(t *testing.T) {
			k := &teller{receiver: func(int) *jobs.Failure { return answered(status) }}
			all := strings.Join(jobs.EventTypes, `","`)
			s := alerted(t, k, `{"on":["`+all+`"],"run":"tell"}`)
			defer s.stop()
			s.fails()
			time.Sleep(time.Hour)
			s.wantAlerts(k, "by a receiver that refuses", "")
			events, err := s.st.Events(context.Background(), 0, 99)
			var types []string
			for _, e := range events {
				types = append(types, e.Type)
			}
			if got := strings.Join(types, " "); err != nil || got != "run.failed alert.undelivered" || k.calls != 2 {
				t.Errorf("%d: events %s, %d calls, %v", status, got, k.calls, err)
			}
			if !strings.Contains(string(events[1].Data), `"alert":"alert-0","job":"tell"`) {
				t.Errorf("the event is %s", events[1].Data)
			}
			n, newest, err := s.rt.Undelivered(context.Background())
			if err != nil || n != 2 || s.run(newest).Tells != jobs.TellsUndelivered {
				t.Errorf("%d are undelivered, the newest %s, %v", n, newest, err)
			}
			if err := s.rt.Health(context.Background()); err != nil {
				t.Errorf("it is not well for that: %v", err)
			}
		})
	}
}

func TestAlertIsTriedForADayWhateverMaxAttemptsSays(t *testing.T) {
	unraced(t)
	synctest.Test(t, func(t *testing.T) {
		k := &teller{receiver: func(int) *jobs.Failure { return unreachable() }}
		s := newServer(t, k.run)
		s.put(`{"name":"tell","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":1,"backoff":{"jitter":0}}}`)
		s.put(loneJob)
		s.alert("x", failures)
		s.rt.Start()
		defer s.stop()
		begun := time.Now()
		s.fails()
		synctest.Wait()
		time.Sleep(30 * time.Hour)
		runs, _, err := s.st.Runs(context.Background(), store.RunFilter{Trigger: "alert"}, store.Page{Limit: 9})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		run := s.run(runs[0].ID)
		took := run.FinishedAt.Std().Sub(begun)
		if run.State != jobs.Failed || took < 22*time.Hour || took > jobs.AlertPatience+time.Hour || k.calls < 40 {
			t.Errorf("%s after %s and %d calls", run.State, took, k.calls)
		}
		last := run.Attempts[len(run.Attempts)-1].Decision
		if last.By != jobs.ByMaxElapsed || !strings.Contains(last.Reason, "later than 1d after") {
			t.Errorf("the last decision is %+v", last)
		}
	})
}

func TestNewAlertTellsOfNothingBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k)
		defer s.stop()
		if told, err := s.rt.FailuresTold(context.Background()); err != nil || told {
			t.Errorf("failures are told without an alert: %v", err)
		}
		s.fails()
		s.alert("late", failures)
		if told, err := s.rt.FailuresTold(context.Background()); err != nil || !told {
			t.Errorf("failures are not told: %v", err)
		}
		s.wantAlerts(k, "of what was before", "")
		s.fails()
		s.wantAlerts(k, "of what comes", "run.failed 1")
		if err := s.rt.DeleteAlert(context.Background(), "late", nil, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		s.fails()
		time.Sleep(time.Hour)
		s.wantAlerts(k, "by an alert that is gone", "run.failed 1")
	})
}

func TestTestOfAlertsGoesTheWholeWayAndIsCountedNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k, `{"on":["run.failed"],"run":"tell","after":5,"if":"labels.team == \"data\""}`,
			`{"on":["disk.low"],"run":"tell"}`, failures)
		defer s.stop()
		s.put(`{"name":"b","labels":{"team":"data"},"script":{"source":"true"}}`)
		for range 2 {
			_, names, err := s.rt.TestAlerts(context.Background(), "b", store.By{Actor: "test"})
			if err != nil || !slices.Equal(names, []string{"alert-0", "alert-2"}) {
				t.Fatalf("told by %v, %v", names, err)
			}
		}
		if _, names, err := s.rt.TestAlerts(context.Background(), "", store.By{Actor: "test"}); err != nil || !slices.Equal(names, []string{"alert-2"}) {
			t.Fatalf("of no job: told by %v, %v", names, err)
		}
		if _, _, err := s.rt.TestAlerts(context.Background(), "nobody", store.By{Actor: "test"}); err == nil {
			t.Error("a job that does not stand is tested")
		}
		s.wantAlerts(k, "tests", strings.TrimSuffix(strings.Repeat("run.failed 1, ", 5), ", "))
		for _, text := range k.got {
			if !read(text).Data.Test {
				t.Errorf("not marked: %s", text)
			}
		}
		s.fails()
		s.wantAlerts(k, "a failure after them", strings.Repeat("run.failed 1, ", 5)+"run.failed 1")
	})
}

func TestAlertWithAKeyCountsByIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k, `{"on":["run.failed","run.recovered"],"run":"tell","after":2,"key":"labels.customer"}`)
		defer s.stop()
		end := func(customer, payload string) {
			s.awaitEnd(s.submit(jobs.Request{
				Job: "a", Payload: jobs.Raw(payload), Labels: map[string]string{"customer": customer},
			}))
		}
		end("acme", `"fail"`)
		end("other", `"fail"`)
		end("other", `{}`)
		s.wantAlerts(k, "one each", "")
		end("acme", `"fail"`)
		s.wantAlerts(k, "two of one", "run.failed 1")
		end("other", `{}`)
		end("acme", `{}`)
		s.wantAlerts(k, "its recovery", "run.failed 1, run.recovered 2")
	})
}

func TestSuccessIsToldWhereAnAlertAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &teller{}
		s := alerted(t, k, `{"on":["run.succeeded"],"run":"tell","if":"job == \"a\""}`)
		defer s.stop()
		s.succeeds()
		s.succeeds()
		time.Sleep(10 * time.Minute)
		s.wantAlerts(k, "successes", "run.succeeded 1, run.succeeded 1")
	})
}
