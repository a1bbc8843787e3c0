package jobs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what documents and runs may hold (contract 2 and 3.1).
const (
	MaxPriority       = 100 // and -100
	MaxGrace          = time.Hour
	MaxSource         = 1 << 20
	MaxDescription    = 4 << 10
	MaxLabels         = 32
	MaxLabelValue     = 255
	MaxCorrelationID  = 255
	MaxIdempotencyKey = 255
)

// TooLargeError is a part of an input over its bound.
type TooLargeError struct {
	Location    string
	Size, Limit int // in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: want at most %d bytes, got %d", e.Location, e.Limit, e.Size)
}

// ParseJob reads a job document as it is sent, strictly, checks it with Check and compiles its
// templates, rules, chains and doors. It gives a *SyntaxError, a *TooLargeError for a payload over MaxPayload, or an
// *InvalidError with all that is wrong. What a document says of the job's state is dropped.
func ParseJob(data []byte) (*Job, error) {
	return parseSent(data, func(j *Job) ([]Fault, error) {
		j.dropState()
		if err := j.tooLarge(); err != nil {
			return nil, err
		}
		return j.faults(), nil
	})
}

// parseSent reads a document as it is sent, strictly. It gives a *SyntaxError, what check refuses it
// with, or an *InvalidError with all that could not be read and all that check finds.
func parseSent[T any](data []byte, check func(*T) ([]Fault, error)) (*T, error) {
	doc := new(T)
	var invalid *InvalidError
	if err := DecodeJSON(data, doc); err != nil && !errors.As(err, &invalid) {
		return nil, err
	}
	found, err := check(doc)
	if err != nil {
		return nil, err
	}
	if invalid != nil {
		found = Besides(invalid.Faults, found)
	}
	if err := Invalid(found); err != nil {
		return nil, err
	}
	return doc, nil
}

// tooLarge refuses a job of which a payload is over its bound.
func (j *Job) tooLarge() error {
	if err := tooLarge("payload", j.Payload); err != nil {
		return err
	}
	for i := range j.Schedules {
		if err := tooLarge(scheduleAt(i)+".payload", j.Schedules[i].Payload); err != nil {
			return err
		}
	}
	return nil
}

// Besides puts what a check found behind what could not be read, but for faults at places that
// could not be read, and of the whole: they follow from that.
func Besides(unread, found []Fault) []Fault {
	if len(unread) == 0 {
		return found
	}
	return append(slices.Clip(unread), slices.DeleteFunc(found, func(f Fault) bool {
		return f.Location == "" || slices.ContainsFunc(unread, func(u Fault) bool {
			return within(f.Location, u.Location) || within(u.Location, f.Location)
		})
	})...)
}

// within reports whether a location is that of a part of another, or the same.
func within(part, whole string) bool {
	rest, ok := strings.CutPrefix(part, whole)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// ParseDocument reads a stored document: fields that this version does not know are passed
// over, and nothing is checked again.
func ParseDocument(data []byte) (*Job, error) {
	var j Job
	if err := DecodeLenient(data, &j); err != nil {
		return nil, fmt.Errorf("read job document: %w", err)
	}
	j.dropState()
	return &j, nil
}

func (j *Job) dropState() {
	j.Version, j.Revision, j.Paused, j.PauseNote, j.Set, j.CreatedAt, j.UpdatedAt = 0, 0, false, "", "", 0, 0
	j.Payload = j.Payload.given()
	if j.Webhook != nil {
		j.Webhook.Body = j.Webhook.Body.given()
	}
	for i := range j.OnSuccess {
		j.OnSuccess[i].Payload = j.OnSuccess[i].Payload.given()
	}
	if j.Group != nil {
		j.Group.DropNulls()
	}
	for i := range j.Schedules {
		j.Schedules[i].dropState()
	}
}

// given is nil for null, which is the same as left out.
func (r Raw) given() Raw {
	if string(r) == "null" {
		return nil
	}
	return r
}

// document is a Job with the tags of what is stored: no state, nothing that is left out. The
// conversion in Document keeps the two alike.
type document struct {
	Name        string            `json:"name,omitempty"`
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Webhook     *Webhook          `json:"webhook,omitempty"`
	Script      *Script           `json:"script,omitempty"`
	Mail        *Mail             `json:"mail,omitempty"`
	Group       *Group            `json:"group,omitempty"`
	Payload     Raw               `json:"payload,omitempty"`
	Timeout     *Duration         `json:"timeout,omitempty"`
	Queue       string            `json:"queue,omitempty"`
	Priority    int               `json:"priority,omitempty"`
	Retry       Retry             `json:"retry,omitzero"`
	Schedules   []Schedule        `json:"schedules,omitempty"`
	Inbound     []Door            `json:"inbound,omitempty"`
	OnSuccess   []Chain           `json:"on_success,omitempty"`

	Concurrency  *Concurrency `json:"concurrency,omitempty"`
	Rate         *Rate        `json:"rate,omitempty"`
	Unique       *Unique      `json:"unique,omitempty"`
	Dependencies []string     `json:"dependencies,omitempty"`

	Checkpoint *Checkpointing `json:"checkpoint,omitempty"`

	LongAfter        *Duration `json:"long_after,omitempty"`
	ResolveOnSuccess bool      `json:"resolve_on_success,omitempty"`

	Retain Retain `json:"retain,omitzero"`

	Version   int    `json:"-"`
	Revision  int64  `json:"-"`
	Paused    bool   `json:"-"`
	PauseNote string `json:"-"`
	Set       string `json:"-"`
	CreatedAt Time   `json:"-"`
	UpdatedAt Time   `json:"-"`
}

// Document is the JSON text of the job without its state: what is stored, exported and compared
// to see whether a document changed. The payload stands in it byte for byte.
func (j *Job) Document() Raw {
	d := document(*j)
	if len(d.Retry.Rules) == 0 { // an empty list says nothing, and so does a retry that has nothing else
		d.Retry.Rules = nil
	}
	return AppendJSON(nil, &d)
}

// Spec is what a version pins of the job.
func (j *Job) Spec() Spec {
	return Spec{Webhook: j.Webhook, Script: j.Script, Mail: j.Mail, Group: j.Group}
}

// SameSpec reports whether two versions execute the same, written out or by default.
func SameSpec(a, b Spec) bool {
	return string(AppendJSON(nil, a.plain())) == string(AppendJSON(nil, b.plain()))
}

// plain fills in defaults.
func (s Spec) plain() Spec {
	if s.Webhook != nil {
		w := *s.Webhook
		if w.Method == "" {
			w.Method = "POST"
		}
		if w.NightshiftHeaders == nil {
			w.NightshiftHeaders = new(true)
		}
		if strings.TrimSpace(w.Success) == DefaultSuccess {
			w.Success = ""
		}
		if w.Completion == CompletionResponse {
			w.Completion = ""
		}
		s.Webhook = &w
	}
	if s.Script != nil {
		p := *s.Script
		if p.Grace == nil {
			p.Grace = new(Duration(DefaultGrace))
		}
		s.Script = &p
	}
	if s.Group != nil {
		s.Group = s.Group.Plain()
	}
	return s
}

// inSchedules are fields of a job that stand below schedules, and what others call those.
const inSchedules = "schedule cron crontab every interval timezone tz time_zone"

// FieldHint says where in a job a field belongs.
func (j *Job) FieldHint(parent, name string) string {
	if hint := sharingHints[name]; parent == "" && hint != "" {
		return hint
	}
	if slices.Contains(strings.Fields(inSchedules), name) && parent == "" {
		return `want "schedules", such as [{"cron": "0 2 * * *", "timezone": "Europe/Berlin"}]`
	}
	if hint := longHints[parent][name]; hint != "" {
		return hint
	}
	if hint := groupHint(parent, name); hint != "" {
		return hint
	}
	if hint := whileHint(parent, name); hint != "" {
		return hint
	}
	return belongs(reflect.TypeFor[Job](), "job", name)
}

// faults collects what is wrong, each with its place.
type faults []Fault

func (f *faults) add(location, format string, args ...any) {
	*f = append(*f, Fault{location, fmt.Sprintf(format, args...)})
}

func (f *faults) check(location string, err error) {
	if err != nil {
		f.add(location, "%s", err)
	}
}

// Check gives all that is wrong with a job, rules and backoff aside. A missing name is left to
// the caller, who may know it from elsewhere.
func (j *Job) Check() []Fault {
	var f faults
	if j.Name != "" {
		f.check("name", CheckName(j.Name))
	}
	if j.Queue != "" {
		f.check("queue", CheckName(j.Queue))
	}
	if len(j.Description) > MaxDescription || strings.ContainsFunc(j.Description, notText) {
		f.add("description", "want text of at most %d bytes", MaxDescription)
	}
	f = append(f, CheckLabels("labels", j.Labels)...)
	f.checkKinds(j)
	j.checkLinks(&f)
	j.checkSharing(&f)
	j.checkSchedules(&f)
	j.checkAsGroup(&f)
	if j.Payload != nil {
		f.check("payload", CheckPayload(j.Payload))
	}
	if t := j.Timeout; t != nil && (*t <= 0 || t.Std() > MaxTimeout) {
		f.add("timeout", "want more than 0s and at most 24h")
	}
	if d := j.LongAfter; d != nil && *d <= 0 {
		f.add("long_after", "want more than 0s; null: nobody is told that a run takes long")
	}
	f.check("priority", CheckPriority(j.Priority))
	if j.Checkpoint != nil {
		j.Checkpoint.check(&f)
	}
	f.checkRetain("retain.succeeded", j.Retain.Succeeded)
	f.checkRetain("retain.cancelled", j.Retain.Cancelled)
	f.checkRetain("retain.failed", j.Retain.Failed)
	return f
}

// checkKinds wants exactly one kind and checks all that are there.
func (f *faults) checkKinds(j *Job) {
	var found []string
	var checks []func(*faults)
	note := func(kind string, there bool, check func(*faults)) {
		if there && len(found) > 0 {
			f.add(kind, "want exactly one of webhook, script, mail, group: %s is there too", found[0])
		}
		if there {
			found, checks = append(found, kind), append(checks, check)
		}
	}
	note(KindWebhook, j.Webhook != nil, j.Webhook.check)
	note(KindScript, j.Script != nil, j.Script.check)
	note(KindMail, j.Mail != nil, j.Mail.check)
	note(KindGroup, j.Group != nil, func(f *faults) { j.Group.check(f, groupAt) })
	if len(found) == 0 {
		f.add("", "want exactly one of webhook, script, mail, group")
	}
	for _, check := range checks {
		check(f)
	}
}

func (f *faults) checkRetain(at string, d *Duration) {
	if d != nil && (*d < 0 || d.Std() > MaxDuration) {
		f.add(at, "want from 0s to 3653d")
	}
}

func notText(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' || r == utf8.RuneError
}

// ValidName reports whether s may name a job, a queue or any other thing but a secret.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || isDigit(c):
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= 100
}

var errName = errors.New(
	`want 1 to 100 of a-z, 0-9, ".", "_" and "-", beginning with a letter or a digit`)

// CheckName says what is wrong with a name. The name is not quoted.
func CheckName(s string) error {
	if !ValidName(s) {
		return errName
	}
	return nil
}

// CheckPriority says what is wrong with a priority.
func CheckPriority(n int) error {
	if n < -MaxPriority || n > MaxPriority {
		return fmt.Errorf("want from %d to %d", -MaxPriority, MaxPriority)
	}
	return nil
}

// CheckPayload says what is wrong with a payload: its size, its JSON.
func CheckPayload(p Raw) error {
	if len(p) > MaxPayload {
		return fmt.Errorf("want at most %d bytes, got %d", MaxPayload, len(p))
	}
	return ValidJSON(p)
}

// CheckLabels gives what is wrong with the labels at a location: their number, keys, values.
func CheckLabels(location string, labels map[string]string) []Fault {
	var f faults
	if len(labels) > MaxLabels {
		f.add(location, "want at most %d labels, got %d", MaxLabels, len(labels))
		return f
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := memberLocation(location, key)
		if !validLabelKey(key) {
			f.add(at, `want a key of 1 to 63 letters, digits, ".", "_", "/" and "-", `+
				`beginning with a letter or a digit`)
		}
		if value := labels[key]; len(value) > MaxLabelValue || !printable(value) {
			f.add(at, "want at most %d bytes of printable text", MaxLabelValue)
		}
	}
	return f
}

func validLabelKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && !isDigit(c) && (i == 0 || !strings.ContainsRune("._/-", rune(c))) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

// printable reports whether s is UTF-8 of letters, marks, numbers, signs and spaces.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r)
	})
}

// CheckCorrelationID says what is wrong with a correlation id; "" is none.
func CheckCorrelationID(s string) error {
	if len(s) > MaxCorrelationID || !printable(s) {
		return fmt.Errorf("want at most %d bytes of printable text", MaxCorrelationID)
	}
	return nil
}

// CheckIdempotencyKey says what is wrong with an idempotency key.
func CheckIdempotencyKey(s string) error {
	bad := func(r rune) bool { return r < ' ' || r > '~' }
	if s == "" || len(s) > MaxIdempotencyKey || strings.ContainsFunc(s, bad) {
		return fmt.Errorf("want 1 to %d printable ASCII characters", MaxIdempotencyKey)
	}
	return nil
}
