package web

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/words"
	"nightshift/jobs"
)

// told is an event of late, or several that say the same.
type told struct {
	At    jobs.Time // of the newest
	Text  string
	To    string
	Count int
}

// toldRead is how many events are read: those that say the same are one.
const toldRead = 200

// tellsOf are the events that somebody may have to look after, besides failures, which are listed by themselves.
var tellsOf = []string{
	jobs.EventScheduleLate, jobs.EventScheduleMissed, jobs.EventQueueStuck, jobs.EventDiskLow, jobs.EventRunLong, jobs.EventRunInterrupted,
	jobs.EventGroupPartial, jobs.EventKeepExceeded, jobs.EventBackupFailed, jobs.EventBackupStale,
}

// urgentFor is how long such an event wants a person; it is in the list of the day from then on.
const urgentFor = time.Hour

func (v *view) readTold(d *overviewed) error {
	list, err := v.API.Events(v.ctx(), client.EventFilter{Types: tellsOf}, client.Page{Limit: toldRead})
	if err != nil {
		return err
	}
	now := jobs.TimeOf(v.At.Now)
	for _, e := range list.Items {
		age := now.Sub(e.Time)
		if age > chartsBack {
			break
		}
		t := told{At: e.Time, Text: toldText(&e), To: pageOf(e.Subject), Count: 1}
		if age < urgentFor && (e.Type == jobs.EventDiskLow || e.Type == jobs.EventQueueStuck || e.Type == jobs.EventBackupFailed) {
			text := t.Text + " (" + ago(age) + ")."
			d.Needs = append(d.Needs, need{"bad", text, cmp.Or(t.To, "/server"), "Look"})
			continue
		}
		same := slices.IndexFunc(d.Told, func(o told) bool { return o.Text == t.Text })
		switch {
		case same >= 0:
			d.Told[same].Count++
		case len(d.Told) < nextShown:
			d.Told = append(d.Told, t)
		}
	}
	return nil
}

// toldText says what an event is about by name, where it has one, and why.
func toldText(e *jobs.CloudEvent) string {
	var data struct {
		Job    string   `json:"job"`
		Reason string   `json:"reason"`
		Failed []string `json:"failed"`
		Absent []string `json:"missing"`
	}
	_ = json.Unmarshal(e.Data, &data) // what it does not know is left out
	kind, name, _ := strings.Cut(e.Subject, "/")
	if kind == "run" && data.Job != "" {
		name = data.Job
	}
	text := strings.ReplaceAll(e.Type, ".", " ") + ": " + cmp.Or(name, e.Subject)
	switch {
	case e.Type == jobs.EventScheduleLate: // its reason is a pair of times
	case data.Reason != "":
		text += ", " + data.Reason
	case e.Type == jobs.EventGroupPartial:
		text += ", without " + strings.Join(slices.Concat(data.Failed, data.Absent), ", ")
	}
	return words.Short(words.Clean(text), 240)
}

// pageOf is the page of what an event is about; "": it has none.
func pageOf(subject string) string {
	kind, name, _ := strings.Cut(subject, "/")
	switch kind {
	case "run":
		return "/runs/" + url.PathEscape(name)
	case "schedule":
		return "/schedules/" + url.PathEscape(name)
	case "dependency":
		return "/dependencies/" + url.PathEscape(name)
	case "alert":
		return "/alerts/" + url.PathEscape(name)
	case "queue":
		return "/queues"
	}
	return ""
}
