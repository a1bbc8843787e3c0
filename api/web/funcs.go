package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"nightshift/api/words"
	"nightshift/jobs"
)

// funcs are what templates call besides the methods of the view.
var funcs = template.FuncMap{
	"list":     func(items ...any) []any { return items },
	"dict":     dict,
	"text":     textOf,
	"short":    func(n int, s string) string { return words.Short(s, n) },
	"clean":    words.Clean,
	"error":    words.Error,
	"failure":  words.FailureText,
	"failedat": words.FailedAt,
	"age":      words.Age,
	"decision": words.Decision,
	"held":     words.Held,
	"progress": words.Progress,
	"took":     words.Took,
	"next":     func(n int) int { return n + 1 },
	"timeout":  timeoutOf,
	"count":    words.CountOf,
	"add":      func(a, b int) int { return a + b },
	"counts":   words.Counts,
	"number":   number,
	"bytes":    words.Bytes,
	"percent":  percent,
	"indent":   indented,
	"value":    value,
	"plain":    func(s string) string { var p plainer; return p.plain(s) },
	"lines":    func(s string) int { return min(30, max(3, strings.Count(s, "\n")+2)) },
	"shortid":  shortID,
	"amount":   amount,
	"tickwhy":  tickWhy,
	"span":     words.Roundly,
}

// dict makes a map of pairs of a key and a value, for templates that take more than one thing.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: want pairs, got %d values", len(pairs))
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: want a text as key, got %T", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}

// textOf is a text that may be missing.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// number writes a count with spaces between thousands.
func number(n any) string {
	text := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return sign + text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return sign + text
}

// percent is a share of a whole: 97.5 %; "" of nothing.
func percent(part, whole any) string {
	p, w := asFloat(part), asFloat(whole)
	if w <= 0 {
		return ""
	}
	share := 100 * p / w
	if share > 99.9 && share < 100 { // 100 % means all
		share = 99.9
	}
	if share == math.Trunc(share) {
		return fmt.Sprintf("%.0f %%", share)
	}
	return fmt.Sprintf("%.1f %%", share)
}

func asFloat(n any) float64 {
	f, _ := strconv.ParseFloat(fmt.Sprint(n), 64)
	return f
}

// indented is JSON for people: indented, its text else as it is. What is no JSON stays as it is.
func indented(raw jobs.Raw) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// value shows a value of a document: a text of several lines, such as a script, as these lines.
func value(raw jobs.Raw) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && strings.Contains(text, "\n") {
		var p plainer
		return p.plain(text)
	}
	return indented(raw)
}

// shortID is enough of an id to tell it from others: its start, which is when, and its end.
func shortID(id jobs.ID) string {
	text := id.String()
	return text[:8] + "…" + text[len(text)-6:]
}
