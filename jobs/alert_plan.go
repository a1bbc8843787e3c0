package jobs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// AlertPlan is an alert, its expressions compiled. It is never changed: safe for concurrent use.
type AlertPlan struct {
	Alert     *Alert
	cond, key *program // nil: it has none
}

// CompileAlert compiles the expressions of an alert. The error is an *InvalidError with every fault.
func CompileAlert(a *Alert) (*AlertPlan, error) {
	c := &templating{}
	p := &AlertPlan{Alert: a, cond: c.condition("if", a.If, inAlerts)}
	if a.Key != "" && strings.TrimSpace(a.Key) == "" {
		c.add("key", "want an expression such as labels.customer, or no key")
	} else if a.Key != "" {
		prog, err := c.expr("key", a.Key, inAlerts)
		if err != nil {
			c.add("key", "%s", err)
		}
		p.key = prog
	}
	if err := Invalid(c.found()); err != nil {
		return nil, err
	}
	return p, nil
}

// inAlerts knows the type and subject of events and the members of their data, whichever type has them.
var inAlerts = newAlertEnvironment()

// alertNames are the names that alerts know, in the order of the fields of the struct that their
// expressions are run on; the meter is the last.
var alertNames = func() []string {
	names := []string{"type", "subject"}
	known := map[string]bool{"type": true, "subject": true, "note": true, "events": true, "keys": true}
	for _, data := range append([]any{AlertData{}}, EventData...) {
		for _, name := range membersIn(data) {
			if !known[name] {
				known[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}()

// membersIn are the members that a value has in JSON.
func membersIn(v any) (names []string) {
	for _, f := range fieldsOf(reflect.TypeOf(v)) {
		names = append(names, f.name)
	}
	return names
}

var alertFactsType = func() reflect.Type {
	var fields []reflect.StructField
	field := func(name string, t reflect.Type) {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", len(fields)), Type: t, Tag: reflect.StructTag(`expr:"` + name + `"`),
		})
	}
	for _, name := range alertNames {
		field(name, anyType)
	}
	field("$meter", meterType)
	return reflect.StructOf(fields)
}()

func newAlertEnvironment() *environment {
	env := &environment{
		place: "alerts", functions: functions, functionNames: listed(functions), hints: alertHints,
		known: membersOf(alertFactsType), facts: reflect.New(alertFactsType).Elem().Interface(),
	}
	env.names = listed(env.known)
	return env
}

// alertHints are for names that are known elsewhere.
var alertHints = map[string]string{
	"data":    "; the members of data stand by themselves: labels.team",
	"payload": "; an alert sees what has happened, not the payload of a run",
	"http":    "; an alert sees error.kind, error.type and error.message of an error",
	"secrets": noSecrets["secrets"],
}

// AlertEvent is an event as alerts are asked about it. Not safe for concurrent use.
type AlertEvent struct {
	ID      int64
	At      Time
	Type    string
	Subject string
	Job     string // "": of none
	Run     ID
	Data    Raw

	facts   reflect.Value // of alertFactsType; the zero value: not read yet
	machine machine
	meter   meter
	said    eventSaid
	read    bool // said is
}

// eventSaid is what of the data of an event matters to how it is told.
type eventSaid struct {
	Schedule    string         `json:"schedule"`
	Fingerprint string         `json:"fingerprint"`
	Correlation string         `json:"correlation_id"`
	InARow      int            `json:"in_a_row"`
	Keys        map[string]int `json:"keys"`
	Count       int            `json:"count"`
	FirstAt     Time           `json:"first_at"`
	LastAt      Time           `json:"last_at"`
	Test        bool           `json:"test"`
}

// says reads what matters of the data. What cannot be read counts as left out.
func (e *AlertEvent) says() *eventSaid {
	if !e.read {
		e.read = true
		if err := DecodeLenient(e.Data, &e.said); err != nil {
			e.said = eventSaid{}
		}
	}
	return &e.said
}

// env is what expressions are run on.
func (e *AlertEvent) env() reflect.Value {
	if e.facts.IsValid() {
		return e.facts
	}
	e.facts = reflect.New(alertFactsType)
	data, _ := payloadValue(e.Data).(map[string]any)
	for i, name := range alertNames {
		var v any
		switch name {
		case "type":
			v = e.Type
		case "subject":
			v = e.Subject
		default:
			v = data[name]
		}
		if v != nil {
			e.facts.Elem().Field(i).Set(reflect.ValueOf(v))
		}
	}
	e.facts.Elem().Field(len(alertNames)).Set(reflect.ValueOf(&e.meter))
	return e.facts
}

func (e *AlertEvent) run(p *program) (any, error) {
	env := e.env()
	e.meter.left = evalBudget
	e.machine.MemoryBudget = vmMemoryBudget
	value, err := e.machine.Run(p.code, env.Interface())
	if err != nil {
		return nil, exprErrorOf(p.code.Source().String(), err)
	}
	return value, nil
}

// On reports whether the alert tells of events of a type.
func (p *AlertPlan) On(typ string) bool {
	return slices.Contains(p.Alert.On, typ)
}

// Holds reports whether the alert's if holds. One that fails counts as true, and the note says so.
func (p *AlertPlan) Holds(e *AlertEvent) (ok bool, note string) {
	if p.cond == nil {
		return true, ""
	}
	value, err := e.run(p.cond)
	holds, isBool := value.(bool)
	if err == nil && !isBool && value != nil {
		err = fmt.Errorf("gave %s, not true or false", kindName(value))
	}
	if err != nil {
		return true, clip(fmt.Sprintf("the if of the alert %s failed and counts as true (%s)", p.Alert.Name, err), maxReason)
	}
	return holds, ""
}

// Counts is what failed runs in a row are counted by for the alert, besides job and schedule: its name
// and its key, "" where it has no key. A key that is nil, or fails, is one of its own.
func (p *AlertPlan) Counts(e *AlertEvent) string {
	if p.key == nil {
		return ""
	}
	value, err := e.run(p.key)
	if err != nil || value == nil {
		return p.Alert.Name
	}
	text, err := textOf(value, true)
	if err != nil {
		return p.Alert.Name
	}
	return p.Alert.Name + "=" + boundKey(text)
}

// HasKey reports whether the alert counts by a key.
func (p *AlertPlan) HasKey() bool { return p.key != nil }

// countedBy is what the event was counted by for the alert when it happened, and how many there were in a
// row; ok is false where none were. Where the alert has a key that it did not have then, it is what all of
// the job and schedule are counted by.
func (p *AlertPlan) countedBy(e *AlertEvent) (key string, inARow int, ok bool) {
	said := e.says()
	if p.key != nil {
		for k, n := range said.Keys {
			if name, _, _ := strings.Cut(k, "="); name == p.Alert.Name {
				return k, n, true
			}
		}
		if e.Type == EventRunRecovered {
			return "", 0, false
		}
	}
	return "", max(said.InARow, said.Count), said.InARow > 0 || said.Count > 0
}

// throttled is until when what is alike is not told of again.
func (p *AlertPlan) throttled(now Time) Time { return now.Add(max(p.Alert.ThrottleOf(), 0)) }

// afterOf is from which failed run in a row on the alert tells.
func (p *AlertPlan) afterOf() int { return cmp.Or(p.Alert.After, 1) }
