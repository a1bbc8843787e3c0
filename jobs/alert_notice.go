package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// notice is what people are told, taken from the payload of an alert's run, whatever that is: an event, or
// anything else. Its texts are as they came; slack and text make them fit.
type notice struct {
	mark  string // an emoji; "": none
	title string
	facts []noticeFact
	parts []noticePart
	url   string
	foot  string
}

// noticeFact is a name and its value, on one line.
type noticeFact struct{ name, value string }

// noticePart is a text of several lines below a name, or a list.
type noticePart struct {
	name string
	text string
	list []string
	more int // of the list, that are left out
}

// Bounds of a notice, in bytes.
const (
	maxNoticeTitle = 200
	maxNoticeFacts = 24
	maxNoticeFact  = 400
	maxNoticeList  = 40
	maxNoticeText  = 32 << 10
)

// Marks of notices.
const (
	markBad  = "🔴"
	markOdd  = "🟠"
	markGood = "🟢"
)

// noticeOf reads what is to be told.
func noticeOf(v any) *notice {
	event, ok := v.(map[string]any)
	if typ := textIn(event, "type"); ok && typ != "" {
		if _, hasData := event["data"].(map[string]any); hasData || textIn(event, "specversion") != "" {
			return noticeOfEvent(event, typ)
		}
	}
	n := &notice{title: "A message of Nightshift"}
	switch x := v.(type) {
	case nil:
		return n
	case string:
		if first, rest, _ := strings.Cut(strings.TrimSpace(cleanText(x)), "\n"); first != "" {
			n.title = first
			if len(first) > maxNoticeTitle {
				rest = x
			}
			n.add("", rest)
		}
		return n
	}
	n.add("", jsonLines(v))
	return n
}

// add adds a text of several lines, where there is one.
func (n *notice) add(name, text string) {
	if text = strings.Trim(cleanText(text), "\n\t "); text != "" {
		n.parts = append(n.parts, noticePart{name: name, text: clipMiddle(text, maxNoticeText)})
	}
}

// fact adds a line, where there is something to say.
func (n *notice) fact(name, value string) {
	if value = oneLine(value); value != "" && len(n.facts) < maxNoticeFacts {
		n.facts = append(n.facts, noticeFact{oneLine(clipEnd(name, 100)), clipEnd(value, maxNoticeFact)})
	}
}

// toldApart are the members of data that are not among the facts of any event.
var toldApart = []string{
	"job", "labels", "error", "attempts", "count", "first_at", "last_at", "missing", "url", "test", "note",
	"events", "keys", "reason", "correlation_id", "in_a_row", "schedule", "fingerprint", "run",
}

func noticeOfEvent(event map[string]any, typ string) *notice {
	data, _ := event["data"].(map[string]any)
	n := &notice{mark: noticeMark(typ), title: noticeTitle(typ, textIn(event, "subject"), data), url: textIn(data, "url")}
	if isTest, _ := data["test"].(bool); isTest {
		n.title = "TEST: " + n.title
		n.fact("test", "this was made up to see that you are told: nothing has failed")
	}
	n.fact("why", textIn(data, "reason"))
	n.fact("job", textIn(data, "job"))
	n.fact("schedule", textIn(data, "schedule"))
	n.eventError(data["error"])
	n.eventCount(typ, data)
	n.fact("attempts", positive(data["attempts"]))
	n.fact("labels", labelsLine(data["labels"]))
	n.missing(data["missing"])
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !slices.Contains(toldApart, name) {
			n.fact(strings.ReplaceAll(name, "_", " "), valueLine(data[name]))
		}
	}
	n.fact("run", textIn(data, "run"))
	n.digest(data)
	n.fact("note", textIn(data, "note"))
	n.foot = footOf(event, typ)
	return n
}

func (n *notice) eventError(v any) {
	e, ok := v.(map[string]any)
	if !ok {
		n.fact("error", valueLine(v))
		return
	}
	kind, typ := textIn(e, "kind"), textIn(e, "type")
	if typ != "" && typ != kind {
		kind = strings.TrimPrefix(kind+", "+typ, ", ")
	}
	n.fact("error", kind)
	n.add("Message", textIn(e, "message"))
	n.add("Stack", textIn(e, "stack"))
}

// eventCount says how many events it stands for, and from when to when.
func (n *notice) eventCount(typ string, data map[string]any) {
	count, _ := toFloat(data["count"])
	inARow, _ := toFloat(data["in_a_row"])
	first, last := moment(textIn(data, "first_at")), moment(textIn(data, "last_at"))
	span := ""
	if first != "" && last != "" && first != last {
		span = ", from " + first + " to " + last
	}
	switch {
	case typ == EventRunRecovered && count > 1:
		n.fact("before", "failed "+plainNumber(count)+" times in a row"+span)
	case typ == EventRunRecovered && first != "":
		n.fact("before", "failed at "+first)
	case count > 1:
		n.fact("count", plainNumber(count)+" since the message before"+span)
	}
	if typ == EventRunFailed && inARow > 1 {
		n.fact("in a row", plainNumber(inARow))
	}
}

// missing names the members of a group without a result.
func (n *notice) missing(v any) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return
	}
	part := noticePart{name: "Missing"}
	for i, item := range list {
		if i == maxNoticeList {
			part.more = len(list) - i
			break
		}
		name := valueLine(item)
		if m, ok := item.(map[string]any); ok && textIn(m, "name") != "" {
			name = textIn(m, "name")
			if e, ok := m["error"].(map[string]any); ok && textIn(e, "message") != "" {
				name += ": " + textIn(e, "message")
			}
		}
		part.list = append(part.list, clipEnd(oneLine(name), maxNoticeFact))
	}
	n.parts = append(n.parts, part)
}

// digest lists what a digest stands for.
func (n *notice) digest(data map[string]any) {
	list, ok := data["events"].([]any)
	if !ok || len(list) == 0 {
		return
	}
	part, told := noticePart{name: "Among them"}, 0.0
	for i, item := range list {
		if i == maxNoticeList {
			break
		}
		part.list = append(part.list, clipEnd(digestLine(item), maxNoticeFact))
		if m, ok := item.(map[string]any); ok {
			count, _ := toFloat(m["count"])
			told += max(count, 1)
		}
	}
	if total, _ := toFloat(data["count"]); total > told && total < 1e15 {
		part.more = int(total - told)
	}
	n.parts = append(n.parts, part)
}

func digestLine(item any) string {
	m, ok := item.(map[string]any)
	if !ok {
		return oneLine(valueLine(item))
	}
	data := m
	if inner, ok := m["data"].(map[string]any); ok {
		data = inner
	}
	line := noticeTitle(textIn(m, "type"), textIn(m, "subject"), data)
	if e, ok := data["error"].(map[string]any); ok && textIn(e, "message") != "" {
		line += ": " + textIn(e, "message")
	}
	return oneLine(line)
}

// footOf says which event it was.
func footOf(event map[string]any, typ string) string {
	var parts []string
	for _, part := range []string{
		textIn(event, "source"), typ, textIn(event, "subject"), moment(textIn(event, "time")),
	} {
		if part != "" {
			parts = append(parts, clipEnd(oneLine(part), maxNoticeFact))
		}
	}
	if id := textIn(event, "id"); id != "" {
		parts = append(parts, "event "+clipEnd(oneLine(id), 60))
	}
	return strings.Join(parts, " · ")
}

// textIn is a member that is a text; "": there is none.
func textIn(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// positive is a number greater than none.
func positive(v any) string {
	if n, ok := toFloat(v); ok && n > 0 {
		return plainNumber(n)
	}
	return ""
}

func plainNumber(n float64) string {
	if n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// moment is an instant as people read it; what is none is as it was.
func moment(text string) string {
	t, err := ParseTime(text)
	if err != nil {
		return text
	}
	return t.Std().UTC().Format("2006-01-02 15:04:05") + " UTC"
}

func labelsLine(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return valueLine(v)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, name+"="+valueLine(m[name]))
	}
	return strings.Join(parts, ", ")
}

// valueLine is any value in one line; nil: "".
func valueLine(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		if t, err := ParseTime(x); err == nil {
			return moment(t.String())
		}
		return x
	case []any:
		if len(x) == 0 {
			return ""
		}
	case map[string]any:
		if len(x) == 0 {
			return ""
		}
	}
	text, err := textOf(v, true)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text
}

// jsonLines is the JSON text of a value, indented.
func jsonLines(v any) string {
	text, err := appendValue(nil, v)
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return ""
	}
	return out.String()
}
