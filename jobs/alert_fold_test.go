package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk is one alert whose marks are kept as a store would keep them: each step reads them anew.
type desk struct {
	t     *testing.T
	plan  *AlertPlan
	marks map[AlertKey]AlertMark
	now   Time
	last  int64 // event
	rows  map[string]*RunFailed
	sent  []told
}

// told is a message as its receiver reads it.
type told struct {
	at    Time
	tells Tells
	event struct {
		ID      string    `json:"id"`
		Type    string    `json:"type"`
		Subject string    `json:"subject"`
		Data    AlertData `json:"data"`
	}
	payload Raw
}

func (m *told) String() string { return fmt.Sprintf("%s %d", m.event.Type, m.event.Data.Count) }

func newDesk(t *testing.T, a Alert) *desk {
	t.Helper()
	a.Name = "night"
	if a.On == nil {
		a.On = []string{EventRunFailed, EventRunRecovered}
	}
	p, err := CompileAlert(&a)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, plan: p, marks: map[AlertKey]AlertMark{}, now: 1_770_000_000_000, rows: map[string]*RunFailed{}}
}

func (d *desk) read(b *AlertBook, needs func() []AlertKey) {
	for keys := needs(); len(keys) > 0; keys = needs() {
		for _, k := range keys {
			m := d.marks[k]
			m.AlertKey = k
			b.Read(m)
		}
	}
}

func (d *desk) keep(b *AlertBook) {
	for _, m := range b.Changed() {
		if m.Doc == nil {
			delete(d.marks, m.AlertKey)
			continue
		}
		d.marks[m.AlertKey] = m
	}
	for _, m := range b.Messages() {
		if err := CheckPayload(m.Payload); err != nil {
			d.t.Fatalf("%v: %s", err, m.Payload)
		}
		got := told{at: d.now, tells: m.Tells, payload: m.Payload}
		if err := DecodeLenient(m.Payload, &got.event); err != nil {
			d.t.Fatalf("%v: %s", err, m.Payload)
		}
		d.sent = append(d.sent, got)
	}
}

// happen lets events happen at once, in one step.
func (d *desk) happen(events ...*AlertEvent) {
	b := NewAlertBook(d.plan, "https://jobs.example.com")
	for _, e := range events {
		d.last++
		e.ID, e.At = d.last, d.now
		c := d.plan.Judge(e)
		if c == nil {
			continue
		}
		d.read(b, func() []AlertKey { return b.Needs(c) })
		b.Take(c, d.now)
	}
	d.keep(b)
}

// pass lets time pass, with what is due in between.
func (d *desk) pass(dur time.Duration) {
	for end := d.now.Add(dur); ; {
		var due *AlertMark
		for _, m := range d.marks {
			if m.At != 0 && m.At <= end && (due == nil || m.At < due.At) {
				due = &m
			}
		}
		if due == nil {
			d.now = end
			return
		}
		d.now = max(d.now, due.At)
		b := NewAlertBook(d.plan, "https://jobs.example.com")
		d.read(b, func() []AlertKey { return b.NeedsDue(due.AlertKey) })
		b.Due(due.AlertKey, d.now)
		d.keep(b)
	}
}

// fail is a failed run; which tells causes apart.
func (d *desk) fail(job, which string, labels ...string) *AlertEvent {
	f := d.rows[job]
	if f == nil {
		f = &RunFailed{Job: job, Labels: map[string]string{}}
		d.rows[job] = f
	}
	f.Labels = map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		f.Labels[labels[i]] = labels[i+1]
	}
	f.Error = &EventError{FailExit, "exit", which}
	f.Fingerprint, f.Attempts = which, 3
	f.InARow++
	e := &AlertEvent{Type: EventRunFailed, Subject: "run/" + job, Job: job}
	e.Data = AppendJSON(nil, f)
	if key := d.plan.Counts(e); key != "" {
		if f.Keys == nil {
			f.Keys = map[string]int{}
		}
		f.Keys[key]++
		one := *f
		one.Keys = map[string]int{key: f.Keys[key]}
		e.Data = AppendJSON(nil, &one)
	}
	return &AlertEvent{Type: e.Type, Subject: e.Subject, Job: job, Data: e.Data}
}

// succeed is a success that follows.
func (d *desk) succeed(job string, labels ...string) *AlertEvent {
	f := d.rows[job]
	r := &RunRecovered{Job: job, Labels: map[string]string{}, InARow: f.InARow, FirstAt: d.now - 5, LastAt: d.now - 1}
	for i := 0; i < len(labels); i += 2 {
		r.Labels[labels[i]] = labels[i+1]
	}
	f.InARow = 0
	e := &AlertEvent{Type: EventRunRecovered, Subject: "run/" + job, Job: job, Data: AppendJSON(nil, r)}
	if key := d.plan.Counts(e); f.Keys[key] > 0 {
		r.Keys = map[string]int{key: f.Keys[key]}
		delete(f.Keys, key)
	}
	return &AlertEvent{Type: e.Type, Subject: e.Subject, Job: job, Data: AppendJSON(nil, r)}
}

// want fails the test unless these were told since it was asked before.
func (d *desk) want(what string, all ...string) {
	d.t.Helper()
	var got []string
	for i := range d.sent {
		got = append(got, d.sent[i].String())
	}
	if !slices.Equal(got, all) {
		d.t.Fatalf("%s: told %q, want %q", what, got, all)
	}
	d.sent = nil
}

func TestFailuresThatAreAlikeAreToldOnceAndThenSummed(t *testing.T) {
	d := newDesk(t, Alert{})
	d.happen(d.fail("sync", "full"))
	d.want("the first", "run.failed 1")
	d.pass(time.Minute)
	for range 999 {
		d.happen(d.fail("sync", "full"))
	}
	d.want("those that follow")
	d.happen(d.fail("sync", "other"))
	d.want("another cause", "run.failed 1")
	d.pass(9 * time.Minute)
	first, last := d.now.Add(-9*time.Minute), d.now.Add(-9*time.Minute)
	if e := d.sent[0].event.Data; e.FirstAt != first || e.LastAt != last || d.sent[0].event.ID != "1000" {
		t.Errorf("the summary is %s", d.sent[0].payload)
	}
	d.want("when the throttle ends", "run.failed 999")
	d.happen(d.fail("sync", "full"))
	d.want("within the next throttle")
	d.pass(10 * time.Minute)
	d.want("when that ends", "run.failed 1")
	d.pass(20 * time.Minute)
	d.want("later")
	d.happen(d.fail("sync", "full"))
	d.want("after a quiet throttle", "run.failed 1")
}

func TestAlertAfterNIsSilentBelowAndToldFromThereOn(t *testing.T) {
	d := newDesk(t, Alert{After: 3})
	d.happen(d.fail("sync", "x"))
	d.happen(d.fail("sync", "x"))
	d.happen(d.succeed("sync"))
	d.pass(time.Hour)
	d.want("two and a success")
	for range 4 {
		d.happen(d.fail("sync", "x"))
	}
	d.happen(d.succeed("sync"))
	d.want("four and a success", "run.failed 1", "run.recovered 4")
	d.pass(time.Hour)
	d.want("what came after the third, dropped by the recovery")
}

func TestFailureAfterARequeueIsToldAgain(t *testing.T) {
	d := newDesk(t, Alert{})
	d.happen(d.fail("sync", "x"))
	d.pass(5 * time.Minute)
	d.happen(d.fail("sync", "x")) // the requeue
	d.pass(5 * time.Minute)
	d.want("both", "run.failed 1", "run.failed 1")
}

func TestRecoveryIsToldOnlyWhereTheFailureWas(t *testing.T) {
	d := newDesk(t, Alert{If: `labels.team == "data"`})
	d.happen(d.fail("sync", "x", "team", "web"))
	d.happen(d.succeed("sync"))
	d.want("of another team")
	d.happen(d.fail("sync", "x", "team", "data"), d.succeed("sync"))
	d.want("in one step", "run.failed 1", "run.recovered 1")
	d.happen(d.fail("sync", "x", "team", "data"), d.succeed("sync"))
	d.pass(time.Hour)
	d.want("within the throttle: neither")

	d = newDesk(t, Alert{On: []string{EventRunFailed}})
	d.happen(d.fail("sync", "x"), d.fail("sync", "x"), d.succeed("sync"))
	d.pass(time.Hour)
	d.want("where recoveries are not asked for, they drop the summary all the same", "run.failed 1")
	if len(d.marks) != 0 {
		t.Errorf("left are %v", d.marks)
	}
}

func TestFailureThatASummaryToldIsRecovered(t *testing.T) {
	d := newDesk(t, Alert{Key: "labels.customer"})
	d.happen(d.fail("sync", "x", "customer", "a"), d.fail("sync", "x", "customer", "b"), d.fail("sync", "x", "customer", "c"))
	d.want("the first", "run.failed 1")
	d.happen(d.succeed("sync", "customer", "c"))
	d.want("one that was not told")
	d.pass(10 * time.Minute)
	d.want("the summary holds it no more", "run.failed 1")
	d.happen(d.succeed("sync", "customer", "b"))
	d.want("one that the summary told", "run.recovered 1")
	d.happen(d.succeed("sync", "customer", "a"))
	d.want("the first", "run.recovered 1")
}

func TestManyWhoCountOneCauseAreAllRecovered(t *testing.T) {
	d := newDesk(t, Alert{Key: "labels.customer"})
	const n = 40
	for i := range n {
		d.happen(d.fail("sync", "x", "customer", fmt.Sprint(i)))
	}
	d.pass(time.Hour)
	d.want("the failures", "run.failed 1", fmt.Sprintf("run.failed %d", n-1))
	var all []string
	for i := range n {
		if i%9 == 0 {
			d.pass(2 * time.Minute)
		}
		d.happen(d.succeed("sync", "customer", fmt.Sprint(i)))
		all = append(all, "run.recovered 1")
	}
	d.want("the recoveries", all...)
}

func TestMessagesPastTenAMinuteAreOneDigest(t *testing.T) {
	d := newDesk(t, Alert{})
	begun := d.now
	total := 0
	for i := range 200 { // in three minutes
		d.happen(d.fail(fmt.Sprintf("job-%d", i), "x"))
		d.pass(900 * time.Millisecond)
	}
	d.pass(10 * time.Minute)
	digests := 0
	for i := range d.sent {
		m := &d.sent[i]
		total += m.event.Data.Count
		within := 0
		for j := range d.sent[:i+1] {
			if m.at.Sub(d.sent[j].at) < time.Minute {
				within++
			}
		}
		if within > MaxAlertMessages {
			t.Fatalf("message %d is the %dth within a minute", i, within)
		}
		if m.event.Type == EventAlertDigest {
			digests++
			if e := m.event.Data.Events; len(e) == 0 || len(e) > maxDigestLines || *e[0].Job == "" || e[0].Error.Message != "x" {
				t.Errorf("the digest is %s", m.payload)
			}
			if m.event.Subject != "alert/night" || m.tells != TellsEvent {
				t.Errorf("the digest is %s, %v", m.payload, m.tells)
			}
		}
	}
	if total != 200 || digests == 0 || len(d.sent) > 40 || d.sent[9].at.Sub(begun) > time.Minute {
		t.Errorf("%d messages with %d digests tell of %d failures", len(d.sent), digests, total)
	}
	if len(d.marks) > 200 { // what was told, to be recovered
		t.Errorf("%d marks are left", len(d.marks))
	}
}

func TestThrottleGoesOnAsTheClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		d := newDesk(t, Alert{})
		for i := range MaxAlertMessages + 1 {
			d.happen(d.fail(fmt.Sprintf("job-%d", i), "x"))
		}
		d.happen(d.fail("job-0", "x"))
		d.pass(30 * time.Second)
		d.sent = nil
		d.now = d.now.Add(step) // and what is kept is moved along
		for k, m := range d.marks {
			if m.At != 0 {
				m.At = m.At.Add(step)
				d.marks[k] = m
			}
		}
		d.pass(29 * time.Second)
		d.want("59 s after")
		d.pass(time.Second)
		d.want("a minute after", "alert.digest 1")
		d.pass(8*time.Minute + 59*time.Second)
		d.want("within the throttle")
		d.pass(time.Second)
		d.want("at its end", "run.failed 1")
	}
}

func TestAlertWithoutAThrottleTellsOfEach(t *testing.T) {
	d := newDesk(t, Alert{Throttle: new(Duration(0))})
	d.happen(d.fail("sync", "x"), d.fail("sync", "x"))
	d.happen(d.fail("sync", "x"))
	d.want("all", "run.failed 1", "run.failed 1", "run.failed 1")
}

func TestTestEventIsToldWholeAndCountedNowhere(t *testing.T) {
	d := newDesk(t, Alert{After: 5})
	e := &AlertEvent{
		Type: EventRunFailed, Subject: "test", Job: "sync",
		Data: AppendJSON(nil, &RunFailed{Job: "sync", Test: true, Error: &EventError{FailReported, "test", "made up"}}),
	}
	for range 12 {
		again := *e
		d.happen(&again)
	}
	if len(d.sent) != 12 || len(d.marks) != 0 || !d.sent[0].event.Data.Test {
		t.Errorf("%d messages, %d marks: %s", len(d.sent), len(d.marks), d.sent[0].payload)
	}
}

func TestOtherEventsAreFoldedByWhatTheyAreAbout(t *testing.T) {
	d := newDesk(t, Alert{On: []string{EventDependencyOpened, EventRunSucceeded, EventAlertUndelivered}})
	opened := func(name string) *AlertEvent {
		return &AlertEvent{
			Type: EventDependencyOpened, Subject: "dependency/" + name,
			Data: AppendJSON(nil, &DependencyOpened{Name: name, Reason: "5 errors"}),
		}
	}
	d.happen(opened("stripe"), opened("stripe"), opened("mail"))
	d.want("two dependencies", "dependency.opened 1", "dependency.opened 1")
	if d.pass(10 * time.Minute); !strings.Contains(string(d.sent[0].payload), `"name":"stripe","reason":"5 errors"`) {
		t.Errorf("the message is %s", d.sent[0].payload)
	}
	d.want("the summary", "dependency.opened 1")
	success := func(id string) *AlertEvent {
		return &AlertEvent{Type: EventRunSucceeded, Subject: "run/" + id, Job: "a", Data: Raw(`{"job":"a"}`)}
	}
	d.happen(success("1"), success("2"), success("3"))
	d.pass(10 * time.Minute)
	d.want("successes", "run.succeeded 1", "run.succeeded 2")
	d.happen(&AlertEvent{Type: EventAlertUndelivered, Subject: "alert/x", Job: "tell", Data: Raw(`{"alert":"x"}`)})
	if d.sent[0].tells != TellsUndelivered {
		t.Errorf("what tells of an alert that was not told is %d", d.sent[0].tells)
	}
}
