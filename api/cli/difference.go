package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// signs mark lines of a difference, each with its colour on a terminal.
const (
	signAdded   = '+'
	signRemoved = '-'
	signChanged = '~'
	signSame    = ' '
)

var signColours = map[rune]string{signAdded: "32", signRemoved: "31", signChanged: "33"}

// signed prints a line behind a sign, in its colour.
func (p *printer) signed(indent int, sign rune, text string) {
	text = strings.Repeat(" ", indent) + strings.TrimRight(string(sign)+" "+text, " ")
	if colour := signColours[sign]; colour != "" && p.term {
		text = "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
	p.line("%s", text)
}

// difference prints what an apply would do.
func (p *printer) difference(items []wire.AppliedItem) {
	counts := map[string]int{}
	for i := range items {
		item := &items[i]
		counts[item.Action]++
		sign := signSame
		switch item.Action {
		case "created":
			sign = signAdded
		case "removed":
			sign = signRemoved
		case "changed", "adopted":
			sign = signChanged
		}
		p.signed(0, sign, applied(item))
		p.changes(item.Changes)
	}
	var told []string
	for _, action := range []string{"created", "changed", "adopted", "unchanged", "removed"} {
		if n := counts[action]; n > 0 {
			told = append(told, fmt.Sprintf("%d %s", n, action))
		}
	}
	if told == nil {
		told = []string{"nothing"}
	}
	p.line("A dry run, nothing was changed: %s.", strings.Join(told, ", "))
}

// changes prints fields, those of one object below its name.
func (p *printer) changes(list []jobs.Change) {
	under := ""
	for i := range list {
		indent, name := 4, words.Clean(list[i].Location)
		if first, rest, nested := strings.Cut(name, "."); nested && !strings.Contains(first, "[") {
			if first != under {
				p.line("    %s:", first)
			}
			under, indent, name = first, 6, rest
		} else {
			under = ""
		}
		p.change(indent, name, &list[i])
	}
}

func (p *printer) change(indent int, name string, c *jobs.Change) {
	before, after := string(c.Before), string(c.After)
	switch {
	case before == "":
		p.value1(indent, signAdded, name, after)
	case after == "":
		p.value1(indent, signRemoved, name, before)
	default:
		old, isText := longText(before)
		now, both := longText(after)
		if isText && both && (strings.Contains(old, "\n") || strings.Contains(now, "\n")) {
			p.signed(indent, signChanged, name+":")
			p.lines(indent+4, old, now)
			return
		}
		if len(before)+len(after) <= 80 {
			p.signed(indent, signChanged, name+": "+words.Clean(before)+" → "+words.Clean(after))
			return
		}
		p.signed(indent, signChanged, name+":")
		p.signed(indent+4, signRemoved, words.Clean(before))
		p.signed(indent+4, signAdded, words.Clean(after))
	}
}

// value1 prints a field that came or went.
func (p *printer) value1(indent int, sign rune, name, value string) {
	text, ok := longText(value)
	if !ok || !strings.Contains(text, "\n") {
		p.signed(indent, sign, name+": "+words.Clean(value))
		return
	}
	p.signed(indent, sign, name+":")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		p.signed(indent+4, sign, visible(line))
	}
}

// longText is the text that a JSON string holds.
func longText(value string) (text string, ok bool) {
	return text, json.Unmarshal([]byte(value), &text) == nil
}

// lines prints what changed from line to line, with two lines around it.
func (p *printer) lines(indent int, before, after string) {
	const around = 2
	old := strings.Split(strings.TrimSuffix(before, "\n"), "\n")
	now := strings.Split(strings.TrimSuffix(after, "\n"), "\n")
	edits := diffLines(old, now)
	shown := -1 // the last line that was printed
	for i, e := range edits {
		if !nearChange(edits, i, around) {
			continue
		}
		if i > shown+1 {
			p.signed(indent, signSame, "…")
		}
		p.signed(indent, e.sign, visible(e.text))
		shown = i
	}
	if shown >= 0 && shown < len(edits)-1 {
		p.signed(indent, signSame, "…")
	}
	switch had, has := strings.HasSuffix(before, "\n"), strings.HasSuffix(after, "\n"); {
	case had && !has:
		p.signed(indent, signRemoved, "(the line break at the end)")
	case has && !had:
		p.signed(indent, signAdded, "(a line break at the end)")
	}
}

func nearChange(edits []edit, i, around int) bool {
	for n := max(0, i-around); n <= min(len(edits)-1, i+around); n++ {
		if edits[n].sign != signSame {
			return true
		}
	}
	return false
}

// edit is a line that stays, goes or comes.
type edit struct {
	sign rune
	text string
}

// maxCompared bounds the pairs of lines that are compared; what is larger is shown as replaced.
const maxCompared = 4_000_000

// diffLines turns old into now with the fewest lines that go and come.
func diffLines(old, now []string) []edit {
	var head, tail []edit
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		head = append(head, edit{signSame, old[0]})
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		tail = append(tail, edit{signSame, old[len(old)-1]})
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	edits := append(head, middle(old, now)...)
	for i := len(tail) - 1; i >= 0; i-- {
		edits = append(edits, tail[i])
	}
	return edits
}

func middle(old, now []string) []edit {
	var edits []edit
	i, j := 0, 0
	if len(old)*len(now) <= maxCompared {
		longest := common(old, now)
		for i < len(old) && j < len(now) {
			switch {
			case old[i] == now[j]:
				edits = append(edits, edit{signSame, old[i]})
				i, j = i+1, j+1
			case longest[i+1][j] >= longest[i][j+1]:
				edits = append(edits, edit{signRemoved, old[i]})
				i++
			default:
				edits = append(edits, edit{signAdded, now[j]})
				j++
			}
		}
	}
	for ; i < len(old); i++ {
		edits = append(edits, edit{signRemoved, old[i]})
	}
	for ; j < len(now); j++ {
		edits = append(edits, edit{signAdded, now[j]})
	}
	return edits
}

// common counts the lines that old from i on and now from j on have in common, in their order.
func common(old, now []string) [][]int32 {
	longest := make([][]int32, len(old)+1)
	for i := range longest {
		longest[i] = make([]int32, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	return longest
}

// visible makes a line fit for a terminal and shows what would not be seen.
func visible(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r != '\t' && (unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r)) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
