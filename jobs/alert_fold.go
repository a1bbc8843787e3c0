package jobs

import (
	"slices"
	"strings"
	"time"
)

// Bounds of what is kept for an alert.
const (
	maxFoldParts = 16  // of what is alike, by who counts it
	maxToldFolds = 100 // of a failed run in a row
)

// How long failed runs in a row, and that they were told of, are kept where nothing more is heard of them. What
// runs of a job are counted by is bounded, what alerts count them by is not.
const (
	RetainStreaks      = 400 * 24 * time.Hour
	RetainStreaksKeyed = 90 * 24 * time.Hour
)

// AlertKey names something that is kept for an alert.
type AlertKey struct{ Sort, Key string }

// AlertMark is something that is kept for an alert.
type AlertMark struct {
	AlertKey
	At  Time // when there is something to do; zero: nothing
	Doc Raw  // nil: it is not there, or is to go
}

// AlertCase is an event that an alert has something to do with.
type AlertCase struct {
	event  *AlertEvent
	note   string // that its if failed
	fold   string // what it is alike with; "": it is told alone
	told   string // what its failed runs in a row are known by; "": it is none of them
	inARow int
}

// Judge asks an alert about an event; nil: it has nothing to do with it. Whether an alert tells of a
// recovery depends on whether it told of the failure, not on its if.
func (p *AlertPlan) Judge(e *AlertEvent) *AlertCase {
	if e.Type == EventRunRecovered {
		key, n, ok := p.countedBy(e)
		if !ok || !p.On(EventRunFailed) {
			return nil
		}
		return &AlertCase{event: e, told: toldKey(e, key), inARow: n}
	}
	if !p.On(e.Type) {
		return nil
	}
	holds, note := p.Holds(e)
	if !holds {
		return nil
	}
	c := &AlertCase{event: e, note: note}
	if e.says().Test {
		return c
	}
	c.fold = foldKey(e)
	if e.Type == EventRunFailed {
		key, n, _ := p.countedBy(e)
		if n = max(n, 1); n < p.afterOf() {
			return nil
		}
		c.told, c.inARow = toldKey(e, key), n
	}
	return c
}

// foldKey is the same for events that are alike: of a job and fingerprint, else of a type, and a subject
// that is not a run.
func foldKey(e *AlertEvent) string {
	if f := e.says().Fingerprint; f != "" {
		return e.Job + "\n" + f
	}
	if strings.HasPrefix(e.Subject, "run/") {
		return e.Job + "\n" + e.Type
	}
	return e.Job + "\n" + e.Type + "\n" + e.Subject
}

func toldKey(e *AlertEvent, key string) string { return e.Job + "\n" + e.says().Schedule + "\n" + key }

// foldDoc is kept of what is alike while it is throttled: what came since the last message.
type foldDoc struct {
	Parts []foldPart `json:"parts,omitempty"`
}

// foldPart is what came of one row of failed runs, so that its recovery can take it back.
type foldPart struct {
	Of   string     `json:"of,omitempty"`  // toldKey; "": of none, or of several
	All  []string   `json:"all,omitempty"` // these
	Note *alertNote `json:"note"`
}

// owners are those that it is told of for.
func (p *foldPart) owners() []string {
	if p.Of == "" {
		return p.All
	}
	return []string{p.Of}
}

// take gives the part one owner more: no recovery of one takes it back any more.
func (p *foldPart) take(of string) {
	p.All, p.Of = p.owners(), ""
	if of != "" && !slices.Contains(p.All, of) && len(p.All) < maxToldFolds {
		p.All = append(p.All, of)
	}
}

// toldDoc is kept of failed runs in a row that are told of, or are to be.
type toldDoc struct {
	Sent  bool     `json:"sent,omitempty"`  // they were told of
	Folds []string `json:"folds,omitempty"` // that hold some not told of yet
}

// AlertBook works out what one alert tells. It holds what is kept for the alert, as far as it was asked
// for: what Needs names is to be read first. Not safe for concurrent use.
type AlertBook struct {
	plan     *AlertPlan
	source   string
	folds    map[string]*foldRow
	told     map[string]*toldRow
	rate     *rateRow
	messages []AlertMessage
}

type foldRow struct {
	foldDoc
	at             Time
	there, changed bool
}

type toldRow struct {
	toldDoc
	there, changed bool
	at             Time
}

// NewAlertBook is empty. source is where the server is reached.
func NewAlertBook(p *AlertPlan, source string) *AlertBook {
	return &AlertBook{plan: p, source: source, folds: map[string]*foldRow{}, told: map[string]*toldRow{}}
}

// Needs are the keys of what has to be read before the case can be taken. Ask again once they were: what
// was read may name others.
func (b *AlertBook) Needs(c *AlertCase) []AlertKey {
	n := needed{book: b}
	if c.fold == "" && c.told == "" {
		return nil
	}
	n.rate()
	n.told(c.told)
	if c.fold != "" {
		n.fold(c.fold)
	}
	if t := b.told[c.told]; t != nil && c.fold == "" {
		for _, key := range t.Folds {
			n.fold(key)
		}
	}
	return n.keys
}

// NeedsDue is Needs of a mark that is due.
func (b *AlertBook) NeedsDue(key AlertKey) []AlertKey {
	n := needed{book: b}
	if key.Sort != AlertTold {
		n.rate()
	}
	if key.Sort == AlertFold {
		n.fold(key.Key)
	}
	return n.keys
}

// needed gathers what was not read yet.
type needed struct {
	book *AlertBook
	keys []AlertKey
}

func (n *needed) rate() {
	if n.book.rate == nil {
		n.keys = append(n.keys, AlertKey{AlertRate, ""})
	}
}

func (n *needed) told(key string) {
	if key != "" && n.book.told[key] == nil {
		n.keys = append(n.keys, AlertKey{AlertTold, key})
	}
}

func (n *needed) fold(key string) {
	f := n.book.folds[key]
	if f == nil {
		n.keys = append(n.keys, AlertKey{AlertFold, key})
		return
	}
	for _, p := range f.Parts { // which are told of when it is
		for _, of := range p.owners() {
			n.told(of)
		}
	}
}

// Read takes in what is kept under a key. What cannot be read counts as if it were not there: then more
// is told, not less.
func (b *AlertBook) Read(m AlertMark) {
	there := m.Doc != nil
	switch m.Sort {
	case AlertFold:
		f := &foldRow{at: m.At}
		f.there = there && DecodeLenient(m.Doc, &f.foldDoc) == nil
		f.Parts = slices.DeleteFunc(f.Parts, func(p foldPart) bool { return p.Note == nil })
		b.folds[m.Key] = f
	case AlertTold:
		t := &toldRow{at: m.At}
		t.there = there && DecodeLenient(m.Doc, &t.toldDoc) == nil
		b.told[m.Key] = t
	case AlertRate:
		b.rate = &rateRow{there: there}
		var d rateDoc
		if !there || DecodeLenient(m.Doc, &d) != nil {
			return
		}
		b.rate.digest = d.Digest
		for _, age := range d.Ages {
			b.rate.sent = append(b.rate.sent, m.At-Time(age))
		}
	}
}

// Take tells of the event, now or later.
func (b *AlertBook) Take(c *AlertCase, now Time) {
	n := noteOf(c.event, c.note)
	switch {
	case c.event.Type == EventRunRecovered:
		b.recovered(c, n, now)
	case c.fold == "": // a test: it is counted nowhere
		b.emit(n)
	default:
		b.happened(c, n, now)
	}
}

// happened tells of something at once, if nothing alike was told within the throttle.
func (b *AlertBook) happened(c *AlertCase, n *alertNote, now Time) {
	f, until := b.folds[c.fold], b.plan.throttled(now)
	if t := b.told[c.told]; t != nil && c.inARow == 1 { // what went before has ended without a word
		t.Sent = false
	}
	if !f.there {
		b.send(n, now)
		b.tell(c.told, c.fold, now)
		b.open(f, until, now)
		return
	}
	f.add(c.told, n)
	f.changed = true
	b.hold(c.told, c.fold, now)
	if f.at = min(f.at, until); f.at <= now {
		b.sum(c.fold, now)
	}
}

// open begins a throttle.
func (b *AlertBook) open(f *foldRow, until, now Time) {
	f.Parts, f.at, f.changed, f.there = nil, until, true, until > now // no throttle: nothing to be kept
}

// sum tells of all that came within the throttle in one message, and begins the next.
func (b *AlertBook) sum(key string, now Time) {
	f := b.folds[key]
	n := f.Parts[0].Note
	for _, p := range f.Parts[1:] {
		if p.Note.ID < n.ID {
			n = p.Note.add(n)
		} else {
			n = n.add(p.Note)
		}
	}
	b.send(n, now)
	for _, p := range f.Parts {
		for _, of := range p.owners() {
			b.tell(of, key, now)
		}
	}
	b.open(f, b.plan.throttled(now), now)
}

// tell notes that failed runs in a row were told of: a fold holds none of them any more.
func (b *AlertBook) tell(told, fold string, now Time) {
	if told == "" {
		return
	}
	t := b.told[told]
	t.Sent = true
	t.Folds = slices.DeleteFunc(t.Folds, func(key string) bool { return key == fold })
	t.touch(told, now)
}

// hold notes that a fold holds failed runs in a row that are to be told of.
func (b *AlertBook) hold(told, fold string, now Time) {
	if told == "" {
		return
	}
	t := b.told[told]
	if !slices.Contains(t.Folds, fold) && len(t.Folds) < maxToldFolds {
		t.Folds = append(t.Folds, fold)
	}
	t.touch(told, now)
}

func (t *toldRow) touch(key string, now Time) {
	t.there, t.changed, t.at = true, true, now.Add(RetainStreaks)
	if !strings.HasSuffix(key, "\n") {
		t.at = now.Add(RetainStreaksKeyed)
	}
}

// recovered drops what was not told yet of failed runs in a row, and tells of the recovery where some
// were.
func (b *AlertBook) recovered(c *AlertCase, n *alertNote, now Time) {
	t := b.told[c.told]
	if !t.there {
		return
	}
	for _, key := range t.Folds {
		f := b.folds[key]
		f.Parts = slices.DeleteFunc(f.Parts, func(p foldPart) bool { return p.Of == c.told })
		f.changed = true
	}
	sent := t.Sent
	*t = toldRow{changed: true}
	if sent && b.plan.On(EventRunRecovered) {
		n.Count = max(c.inARow, 1)
		b.send(n, now)
	}
}

// add counts a note among those that are to be told of.
func (f *foldRow) add(of string, n *alertNote) {
	i := slices.IndexFunc(f.Parts, func(p foldPart) bool { return p.Of == of || slices.Contains(p.All, of) })
	if i < 0 && len(f.Parts) >= maxFoldParts {
		i = len(f.Parts) - 1
		f.Parts[i].take(of)
	}
	if i < 0 {
		f.Parts = append(f.Parts, foldPart{Of: of, Note: n})
		return
	}
	f.Parts[i].Note = f.Parts[i].Note.add(n)
}

// Due does what is to be done about a mark by now.
func (b *AlertBook) Due(key AlertKey, now Time) {
	switch key.Sort {
	case AlertFold:
		switch f := b.folds[key.Key]; {
		case !f.there || f.at > now:
		case len(f.Parts) == 0:
			f.there, f.changed = false, true
		default:
			b.sum(key.Key, now)
		}
	case AlertTold:
		if t := b.told[key.Key]; t == nil {
			b.told[key.Key] = &toldRow{changed: true}
		}
	case AlertRate:
		b.rate.forget(now)
		b.flush(now)
	}
}

// Messages are those to be sent, in order.
func (b *AlertBook) Messages() []AlertMessage { return b.messages }

// Changed is what is to be kept, in the order of the keys.
func (b *AlertBook) Changed() (list []AlertMark) {
	for key, f := range b.folds {
		if !f.changed {
			continue
		}
		m := AlertMark{AlertKey: AlertKey{AlertFold, key}}
		if f.there {
			m.At, m.Doc = f.at, AppendJSON(nil, &f.foldDoc)
		}
		list = append(list, m)
	}
	for key, t := range b.told {
		if !t.changed {
			continue
		}
		m := AlertMark{AlertKey: AlertKey{AlertTold, key}}
		if t.there {
			m.At, m.Doc = t.at, AppendJSON(nil, &t.toldDoc)
		}
		list = append(list, m)
	}
	if b.rate != nil && b.rate.changed {
		list = append(list, b.rate.mark())
	}
	slices.SortFunc(list, func(x, y AlertMark) int {
		return strings.Compare(x.Sort+"\n"+x.Key, y.Sort+"\n"+y.Key)
	})
	return list
}
