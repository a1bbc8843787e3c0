package jobs

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostileText is a text that no bound may cut within a character.
var hostileText = strings.Repeat("💥`<!channel>&<@U1>\u202e\x1b[31m\x00 ", 1500)

func TestMessageIsBoundedWhateverTheEventHolds(t *testing.T) { // case 143
	labels := map[string]string{}
	for i := range MaxLabels {
		labels[fmt.Sprintf("label-%d", i)] = strings.Repeat("ä", MaxLabelValue/2)
	}
	failure := (&Failure{Kind: FailReported, Type: hostileText, Message: hostileText, Stack: hostileText}).Bound()
	for name, data := range map[string]Raw{
		"a failure": AppendJSON(nil, &RunFailed{
			Job: "sync", Labels: labels, Error: EventErrorOf(failure), Fingerprint: "f", InARow: 1,
		}),
		"an error that nobody has bounded": AppendJSON(nil, &RunFailed{
			Job: "sync", Labels: labels, Error: &EventError{FailReported, hostileText, hostileText}, Fingerprint: "f", InARow: 1,
		}),
		"members that no type has": Raw(`{"job":"sync","more":"` + strings.Repeat("x", 2*MaxPayload) + `"}`),
		"members that are missing": Raw(`{"job":"sync","missing":["` + strings.Repeat("x", 2*MaxPayload) + `"]}`),
		"nesting":                  Raw(`{"job":"sync","more":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`),
		"no object":                Raw(`[1,2]`),
		"nothing":                  nil,
	} {
		d := newDesk(t, Alert{Throttle: new(Duration(time.Minute))})
		e := AlertEvent{Type: EventRunFailed, Subject: "run/" + hostileText, Job: "sync", Data: data}
		for range 3 * MaxAlertMessages {
			again := e
			d.happen(&again)
			d.pass(100 * time.Millisecond)
		}
		d.pass(time.Hour)
		if len(d.sent) == 0 {
			t.Errorf("%s: nothing is told", name)
		}
		for i := range d.sent {
			m := &d.sent[i]
			if len(m.payload) > MaxPayload || !utf8.Valid(m.payload) || *m.event.Data.Job != "sync" {
				t.Errorf("%s: message of %d bytes: %.300s", name, len(m.payload), m.payload)
			}
		}
	}
}

func TestMessageHoldsWhatTheEventSaysBesides(t *testing.T) {
	d := newDesk(t, Alert{On: []string{EventGroupPartial}, If: "missing + 1 == 2"})
	run := NewIDs(0, func() uint64 { return 1 }).Next(time.Unix(1_770_000_000, 0))
	data := GroupPartial{Job: "nightly", Run: run, Labels: map[string]string{"team": "data"}, Members: 3, Succeeded: 2, Need: 1}
	data.Miss("crm")
	d.happen(&AlertEvent{Type: EventGroupPartial, Subject: RunSubject(run), Job: "nightly", Run: run, Data: data.Data()})
	m := d.sent[0]
	url := "https://jobs.example.com/runs/" + run.String()
	if got := m.event.Data; string(got.Missing) != `["crm"]` || got.Run != run || *got.URL != url || got.Count != 1 ||
		!strings.Contains(got.Note, "counts as true") {
		t.Errorf("the message is %s", m.payload)
	}
	for _, part := range []string{
		`"specversion":"1.0","id":"1","source":"https://jobs.example.com","type":"group.partial","subject":"run/` + run.String(),
		`"labels":{"team":"data"},"error":null,"attempts":null,"count":1,`, `"test":false`, `"members":3,"succeeded":2`,
	} {
		if !strings.Contains(string(m.payload), part) {
			t.Errorf("%s is missing in %s", part, m.payload)
		}
	}
}

func TestAMessageOfATestThatIsOfNoJobSaysSo(t *testing.T) {
	d := newDesk(t, Alert{On: []string{EventRunFailed}})
	d.happen(&AlertEvent{Type: EventRunFailed, Subject: "test", Data: AppendJSON(nil, &RunFailed{Test: true})})
	if m := d.sent[0]; !strings.Contains(string(m.payload), `"job":null,"run":null,`) {
		t.Errorf("the message is %s", m.payload)
	}
}

// 50 alerts are asked about 10,000 failures, as the loop does: 200 at a time.
func BenchmarkAlertsOverEvents(b *testing.B) {
	var plans []*AlertPlan
	for i := range 50 {
		cond := fmt.Sprintf(`labels.team == "team-%d" && error.kind in ["timeout", "http"] || attempts > 100`, i)
		p, err := CompileAlert(&Alert{
			Name: fmt.Sprintf("a%d", i), On: []string{EventRunFailed, EventRunRecovered}, If: cond, Run: "tell",
		})
		if err != nil {
			b.Fatal(err)
		}
		plans = append(plans, p)
	}
	for b.Loop() {
		messages := 0
		marks := map[string]map[AlertKey]AlertMark{}
		for from := 0; from < 10_000; from += 200 {
			books := map[string]*AlertBook{}
			now := Time(1_770_000_000_000 + int64(from))
			for i := from; i < from+200; i++ {
				e := &AlertEvent{
					ID: int64(i), At: now, Type: EventRunFailed, Subject: "run/x", Job: "sync",
					Data: AppendJSON(nil, &RunFailed{
						Job: "sync", Labels: map[string]string{"team": fmt.Sprintf("team-%d", i%100)},
						Error: &EventError{FailHTTP, "http", "answered 500"}, Fingerprint: fmt.Sprint(i % 7), InARow: i + 1,
					}),
				}
				for _, p := range plans {
					c := p.Judge(e)
					if c == nil {
						continue
					}
					name := p.Alert.Name
					if books[name] == nil {
						books[name] = NewAlertBook(p, "https://jobs.example.com")
					}
					for keys := books[name].Needs(c); len(keys) > 0; keys = books[name].Needs(c) {
						for _, k := range keys {
							m := marks[name][k]
							m.AlertKey = k
							books[name].Read(m)
						}
					}
					books[name].Take(c, now)
				}
			}
			for name, book := range books {
				if marks[name] == nil {
					marks[name] = map[AlertKey]AlertMark{}
				}
				for _, m := range book.Changed() {
					marks[name][m.AlertKey] = m
				}
				messages += len(book.Messages())
			}
		}
		if messages != 50*7 {
			b.Fatalf("%d messages", messages)
		}
	}
}
