package jobs

import (
	"bytes"
	"slices"
	"strconv"
)

// EventAlertDigest is the type of a message that stands for those past MaxAlertMessages.
const EventAlertDigest = "alert.digest"

// Bounds of a message.
const (
	maxDigestLines = 20
	maxLineText    = 300
	maxEventData   = 32 << 10 // of the data of an event that is told whole
)

// AlertData is the data of what an alert tells: these members, null where the event has nothing of the
// sort, then the other members of the data of the event (of the newest, where it stands for several).
type AlertData struct {
	Job      *string           `json:"job" doc:"Of the run; null: it is about no run"`
	Run      ID                `json:"run"`
	Labels   map[string]string `json:"labels" doc:"Of the run"`
	Error    *EventError       `json:"error" doc:"Of a failed run"`
	Attempts *int              `json:"attempts" doc:"That the run had"`
	Count    int               `json:"count" doc:"How many it stands for: 1, or of a summary or digest all that came since the message before. Of run.recovered the runs that had failed in a row, of schedule.missed the ticks"`
	FirstAt  Time              `json:"first_at" doc:"The first of these"`
	LastAt   Time              `json:"last_at" doc:"The last of these"`
	Missing  Raw               `json:"missing" doc:"Of group.partial: the members without a result"`
	URL      *string           `json:"url" doc:"Where the run can be looked at"`
	Test     bool              `json:"test" doc:"It was made up: nothing has failed"`

	Note   string      `json:"note,omitempty" doc:"What else is to be said, such as that the if of the alert failed"`
	Events []AlertLine `json:"events,omitempty" doc:"Of a digest: what it stands for, the first 20"`
}

// AlertLine is one message of those that a digest stands for.
type AlertLine struct {
	Type    string      `json:"type" doc:"Of the event"`
	Subject string      `json:"subject" doc:"What it is about"`
	Job     *string     `json:"job" doc:"Of the run; null: it is about no run"`
	Run     ID          `json:"run" doc:"The newest; null: it is about no run"`
	Error   *EventError `json:"error" doc:"Of a failed run"`
	Count   int         `json:"count" doc:"Events that it stands for"`
	LastAt  Time        `json:"last_at" doc:"The last of these"`
}

// AlertMessage is something to be told: the payload of a run.
type AlertMessage struct {
	Payload     Raw
	Tells       Tells
	Correlation string
	Event       int64  // the newest that it tells of
	Type        string // its CloudEvent type
}

// alertNote is what a message is made of. It is kept as JSON while it cannot be told.
type alertNote struct {
	ID      int64  `json:"id"` // of the newest event
	At      Time   `json:"at"`
	Type    string `json:"type"`
	Subject string `json:"subject"`
	Job     string `json:"job,omitempty"`
	Run     ID     `json:"run"`
	Data    Raw    `json:"data"`
	Note    string `json:"note,omitempty"`

	Count   int  `json:"count"`
	FirstAt Time `json:"first_at"`
	LastAt  Time `json:"last_at"`

	Events []AlertLine `json:"events,omitempty"` // of a digest
	Others bool        `json:"others,omitempty"` // of a digest: it tells of more than alert.undelivered
}

// noteOf is what is told of one event.
func noteOf(e *AlertEvent, remark string) *alertNote {
	said := e.says()
	n := &alertNote{
		ID: e.ID, At: e.At, Type: e.Type, Subject: e.Subject, Job: e.Job, Run: e.Run, Data: e.Data, Note: remark,
		Count: max(said.Count, 1), FirstAt: e.At, LastAt: e.At,
	}
	if said.FirstAt != 0 {
		n.FirstAt = said.FirstAt
	}
	if said.LastAt != 0 {
		n.LastAt = said.LastAt
	}
	if len(e.Data) > maxEventData {
		n.Data = briefOf(e.Data)
	}
	return n
}

// eventBrief is what of the data of any event has a place in a message.
type eventBrief struct {
	Job         *string           `json:"job"`
	Run         ID                `json:"run"`
	Labels      map[string]string `json:"labels"`
	Error       *EventError       `json:"error"`
	Attempts    *int              `json:"attempts"`
	Missing     Raw               `json:"missing"`
	Test        bool              `json:"test"`
	Correlation string            `json:"correlation_id,omitempty"`
}

func readBrief(data Raw) (b eventBrief) {
	if err := DecodeLenient(data, &b); err != nil {
		return eventBrief{}
	}
	return b
}

// briefOf is data that is too large to be told whole.
func briefOf(data Raw) Raw {
	b := readBrief(data)
	if len(b.Missing) > maxEventData/2 {
		b.Missing = nil
	}
	if b.Error != nil {
		b.Error = b.Error.clipped(MaxMessage)
	}
	return AppendJSON(nil, &b)
}

func (e *EventError) clipped(most int) *EventError {
	return &EventError{
		FailureKind(clipEnd(string(e.Kind), maxType)), clipEnd(e.Type, maxType), clipEnd(e.Message, most),
	}
}

// add makes one note of two of the same sort; other is the newer one.
func (n *alertNote) add(other *alertNote) *alertNote {
	sum := *other
	sum.Count += n.Count
	sum.FirstAt = earlier(n.FirstAt, other.FirstAt)
	sum.LastAt = max(n.LastAt, other.LastAt)
	if sum.Note == "" {
		sum.Note = n.Note
	}
	return &sum
}

func earlier(a, b Time) Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// collect adds a note to a digest, which may be nil.
func (n *alertNote) collect(alert string, other *alertNote) *alertNote {
	if n == nil {
		n = &alertNote{Type: EventAlertDigest, Subject: AlertSubject(alert)}
	}
	sum := n.add(other)
	sum.ID, sum.At = max(n.ID, other.ID), max(n.At, other.At)
	sum.Type, sum.Subject, sum.Job, sum.Run, sum.Data = n.Type, n.Subject, "", NilID, nil
	sum.Events, sum.Others = n.Events, n.Others || other.Type != EventAlertUndelivered
	if len(n.Events) < maxDigestLines {
		sum.Events = append(slices.Clone(n.Events), other.line())
	}
	return sum
}

func (n *alertNote) line() AlertLine {
	b := readBrief(n.Data)
	line := AlertLine{
		Type: n.Type, Subject: clipEnd(n.Subject, maxLineText), Job: b.Job, Run: b.Run, Count: n.Count, LastAt: n.LastAt,
	}
	if line.Job == nil || *line.Job == "" {
		line.Job = given(n.Job)
	}
	if b.Error != nil {
		line.Error = b.Error.clipped(maxLineText)
	}
	return line
}

// tells says what its run is.
func (n *alertNote) tells() Tells {
	if n.Type == EventAlertUndelivered || n.Type == EventAlertDigest && !n.Others {
		return TellsUndelivered
	}
	return TellsEvent
}

// message is the note as it is told, by a server that is reached at source.
func (n *alertNote) message(source string) AlertMessage {
	b := readBrief(n.Data)
	d := AlertData{
		Job: b.Job, Run: b.Run, Labels: b.Labels, Error: b.Error, Attempts: b.Attempts, Count: n.Count,
		FirstAt: n.FirstAt, LastAt: n.LastAt, Missing: b.Missing, Test: b.Test, Note: n.Note, Events: n.Events,
	}
	if d.Job == nil || *d.Job == "" {
		d.Job = given(n.Job)
	}
	if d.Run.IsNil() {
		d.Run = n.Run
	}
	if !d.Run.IsNil() && source != "" {
		d.URL = given(source + "/runs/" + d.Run.String())
	}
	data := AppendJSON(nil, &d)
	id := strconv.FormatInt(n.ID, 10)
	event := CloudEvent{
		SpecVersion: CloudEventsVersion, ID: id, Source: source, Type: n.Type, Subject: n.Subject, Time: n.At,
		Data: withOthers(data, n.Data),
	}
	m := AlertMessage{
		Payload: AppendJSON(nil, &event), Tells: n.tells(), Correlation: b.Correlation, Event: n.ID, Type: n.Type,
	}
	if CheckPayload(m.Payload) != nil { // members nested deeper than a payload may be, say
		event.Data = data
		m.Payload = AppendJSON(nil, &event)
	}
	if m.Correlation == "" {
		m.Correlation = "event-" + id
	}
	return m
}

// inMessages are the members of the data of an event that have a place of their own in a message, or none.
var inMessages = func() map[string]bool {
	known := map[string]bool{"keys": true}
	for _, name := range membersIn(AlertData{}) {
		known[name] = true
	}
	return known
}()

// withOthers adds to the data of a message the members of an event's data that it has no place for.
func withOthers(data, event Raw) Raw {
	parts, list, ok := partsOf(event)
	if !ok || list || len(event) > maxEventData {
		return data
	}
	data = slices.Clip(bytes.TrimSuffix(data, []byte("}"))) // what was given stays as it is
	for _, p := range parts {
		if inMessages[p.key] {
			continue
		}
		data = AppendJSONString(append(data, ','), p.key)
		data = append(append(data, ':'), p.text...)
	}
	return append(data, '}')
}
