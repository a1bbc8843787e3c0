package jobs

import (
	"errors"
	"strconv"
	"strings"
)

// textOfNotice is a notice as plain text, for a mail. Its first line says it all.
func textOfNotice(n *notice) string {
	var b strings.Builder
	b.WriteString(clipEnd(oneLine(n.title), maxNoticeTitle) + "\n")
	if len(n.facts) > 0 {
		b.WriteString("\n")
	}
	for _, f := range n.facts {
		b.WriteString(f.name + ": " + f.value + "\n")
	}
	for _, p := range n.parts {
		b.WriteString("\n")
		indent := ""
		if p.name != "" {
			b.WriteString(p.name + ":\n")
			indent = "  "
		}
		if p.text != "" {
			for line := range strings.SplitSeq(p.text, "\n") {
				b.WriteString(strings.TrimRight(indent+line, " \t") + "\n")
			}
		}
		for _, item := range p.list {
			b.WriteString(indent + "- " + item + "\n")
		}
		if p.more > 0 {
			b.WriteString(indent + "and " + strconv.Itoa(p.more) + " more\n")
		}
	}
	if url := clipEnd(oneLine(n.url), 2000); url != "" {
		b.WriteString("\n" + url + "\n")
	}
	if n.foot != "" {
		b.WriteString("\n" + n.foot + "\n")
	}
	return b.String()
}

// fnText is a payload as text for people; with a number only so many lines of it, such as the first for the
// subject of a mail.
func fnText(args ...any) (any, error) {
	text := textOfNotice(noticeOf(plainValue(args[1])))
	if len(args) > 2 {
		lines, ok := args[2].(int)
		if !ok || lines < 1 {
			return nil, errors.New("text: want a whole number of lines from 1 on")
		}
		text = firstLines(text, lines)
	}
	return text, args[0].(*meter).spend(len(text) / 2)
}

func firstLines(text string, n int) string {
	for i := range len(text) {
		if text[i] == '\n' {
			if n--; n == 0 {
				return text[:i]
			}
		}
	}
	return text
}

// plainValue is a value of an expression as decodeValue would have read it.
func plainValue(v any) any {
	switch v.(type) {
	case nil, string, bool, int, float64, []any, map[string]any:
		return v
	}
	text, err := appendValue(nil, v)
	if err != nil {
		return nil
	}
	return payloadValue(text)
}
