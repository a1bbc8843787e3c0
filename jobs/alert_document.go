package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// alertState are the fields that an answer has besides the document of an alert: they are passed over
// when one is sent back, whatever they hold.
var alertState = []string{"revision", "messages", "last"}

// isState implements stateful.
func (*Alert) isState(name string) bool { return slices.Contains(alertState, name) }

// ParseAlert reads the document of an alert as it is sent, strictly, and checks it. It gives a
// *SyntaxError, or an *InvalidError with all that is wrong. What a document says of the alert's state is
// dropped. A missing name is left to the caller, who may know it from elsewhere.
func ParseAlert(data []byte) (*Alert, error) {
	return parseSent(data, func(a *Alert) ([]Fault, error) {
		a.dropState()
		return a.Check(), nil
	})
}

// ParseAlertDocument reads a stored document: fields that this version does not know are passed over,
// and nothing is checked again.
func ParseAlertDocument(name string, data Raw) (*Alert, error) {
	var a Alert
	if err := DecodeLenient(data, &a); err != nil {
		return nil, fmt.Errorf("read the document of alert %s: %w", name, err)
	}
	a.dropState()
	a.Name = name
	return &a, nil
}

func (a *Alert) dropState() { a.Revision, a.Set, a.CreatedAt, a.UpdatedAt = 0, "", 0, 0 }

// Document is the JSON text of the alert without its state: what is stored, exported and compared to see
// whether a document changed.
func (a *Alert) Document() Raw {
	plain := *a
	plain.dropState()
	return AppendJSON(nil, &plain)
}

// FieldHint says what is meant by a field that an alert does not have.
func (*Alert) FieldHint(parent, name string) string {
	switch {
	case parent != "":
		return ""
	case name == "job":
		return `want "run", the job that tells; which jobs' failures are told says if: job == "NAME"`
	case name == "events" || name == "event" || name == "when" || name == "types":
		return `want "on"`
	case name == "every" || name == "interval":
		return `want "throttle"`
	case name == "webhook" || name == "mail" || name == "script" || name == "slack":
		return "an alert runs a job, which has it: name that job in run"
	}
	return belongs(reflect.TypeFor[Alert](), "alert", name)
}

// Check gives all that is wrong with an alert by itself. A missing name is left to the caller.
func (a *Alert) Check() []Fault {
	var f faults
	if a.Name != "" {
		f.check("name", CheckName(a.Name))
	}
	a.checkOn(&f)
	if a.Run == "" {
		f.add("run", "is missing: want the name of the job that tells people")
	} else {
		f.check("run", CheckName(a.Run))
	}
	if d := a.Throttle; d != nil && (*d < 0 || d.Std() > MaxThrottle) {
		f.add("throttle", "is %s: want a duration from 0s to 7d; with 0s each one is told, up to %d a minute", d,
			MaxAlertMessages)
	}
	if a.After < 0 || a.After > MaxAfter {
		f.add("after", "is %d: want a whole number from 1 to %d; left out: 1, the first failure is told", a.After, MaxAfter)
	}
	a.checkCounting(&f)
	_, err := CompileAlert(a)
	return append(f, faultsOf(err)...)
}

func (a *Alert) checkOn(f *faults) {
	if len(a.On) == 0 {
		f.add("on", "is missing: want a list of the events that are told, such as [%s, %s]", EventRunFailed, EventRunRecovered)
	}
	for i, typ := range a.On {
		at := "on[" + strconv.Itoa(i) + "]"
		switch {
		case !slices.Contains(EventTypes, typ):
			f.add(at, "%q is no event%s", clip(typ, 40), eventHint(typ))
		case slices.Index(a.On, typ) < i:
			f.add(at, "%s stands there twice", typ)
		case typ == EventRunRecovered && !slices.Contains(a.On, EventRunFailed):
			f.add(at, "%s is told only where the failure was: want %s beside it", typ, EventRunFailed)
		}
	}
}

// checkCounting refuses what would count nothing.
func (a *Alert) checkCounting(f *faults) {
	if len(a.On) == 0 || slices.Contains(a.On, EventRunFailed) {
		return
	}
	if a.After > 1 {
		f.add("after", "counts failed runs in a row, and on does not have %s", EventRunFailed)
	}
	if a.Key != "" {
		f.add("key", "says which failed runs in a row are counted together, and on does not have %s", EventRunFailed)
	}
}

// eventHint says which type of event may have been meant, or which there are.
func eventHint(typ string) string {
	plain := func(s string) string {
		return strings.NewReplacer(".", "", "_", "", "-", "", " ", "", "/", "", ":", "").Replace(strings.ToLower(s))
	}
	best, fewest := "", min(3, len(typ)/3)+1
	if word := plain(typ); len(typ) <= 64 && word != "" {
		for _, known := range EventTypes {
			n := editDistance(plain(known), word)
			_, last, _ := strings.Cut(known, ".")
			if last == word {
				n = min(n, 1)
			}
			if n < fewest {
				best, fewest = known, n
			}
		}
	}
	if best != "" {
		return `: did you mean "` + best + `"?`
	}
	return ": want one of " + strings.Join(EventTypes, ", ")
}
