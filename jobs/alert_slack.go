package jobs

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// What Slack takes: characters of a text block, of a header, and blocks of a message
// (https://api.slack.com/reference/block-kit/blocks). Characters are counted as UTF-16 does, which is never
// fewer than Slack counts, and with the escapes.
const (
	slackText   = 3000
	slackHeader = 150
	slackBlocks = 50
	slackURL    = 2000
)

// slackOf is a notice as the body of a Slack incoming webhook.
func slackOf(n *notice) any {
	title := strings.TrimSpace(n.mark + " " + oneLine(n.title))
	blocks := []any{map[string]any{
		"type": "header",
		"text": map[string]any{"type": "plain_text", "text": slackPlain(title, slackHeader), "emoji": true},
	}}
	var whole slackBuilder // for notifications, and for servers that know no blocks
	whole.escaped(title, slackText)
	section := func(text string) {
		if text == "" || len(blocks) == slackBlocks-1 {
			return
		}
		blocks = append(blocks, slackSection(text))
		if whole.fits("\n"+text, 0) {
			whole.put("\n" + text)
		}
	}
	section(slackFacts(n.facts))
	for i := range n.parts {
		section(slackPart(&n.parts[i]))
	}
	section(slackLink(n.url, "Open the run"))
	if n.foot != "" {
		blocks = append(blocks, map[string]any{
			"type": "context", "elements": []any{slackMarkdown(slackPlain(n.foot, slackText))},
		})
	}
	return map[string]any{"text": whole.String(), "blocks": blocks}
}

func slackSection(text string) any {
	return map[string]any{"type": "section", "text": slackMarkdown(text)}
}

// slackMarkdown is a text in which Slack looks for no names and addresses by itself.
func slackMarkdown(text string) any {
	return map[string]any{"type": "mrkdwn", "text": text, "verbatim": true}
}

// slackFacts are the lines of facts, as many as there is room for.
func slackFacts(facts []noticeFact) string {
	var b slackBuilder
	for i, f := range facts {
		line := ""
		if i > 0 {
			line = "\n"
		}
		name := slackPlain(f.name, 200)
		if !b.fits(line+"*"+name+":* ", 20) {
			break
		}
		b.put(line + "*" + name + ":* ")
		b.escaped(f.value, slackText)
	}
	return b.String()
}

// slackPart is a part as code, or a list; what has no room is left out.
func slackPart(p *noticePart) string {
	var b slackBuilder
	if p.name != "" {
		b.put("*" + slackPlain(p.name, 200) + "*\n")
	}
	if p.text != "" {
		const open, end = "```\n", "\n```"
		b.put(open)
		b.escaped(p.text, slackText-len(end))
		b.put(end)
	}
	left := p.more
	for i, item := range p.list {
		if !b.fits("• ", 60) {
			left += len(p.list) - i
			break
		}
		b.put("• ")
		b.escaped(item, min(slackText-40, b.size+maxNoticeFact))
		b.put("\n")
	}
	if left > 0 {
		b.put("and " + strconv.Itoa(left) + " more")
	}
	return strings.TrimRight(b.String(), "\n")
}

// slackLink is a link, where the address can stand in one.
func slackLink(address, text string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		strings.ContainsFunc(address, func(r rune) bool {
			return r <= ' ' || r > unicode.MaxASCII || r == '|' || r == '<' || r == '>' || r == '"' || r == '`'
		}) || len(address) > slackURL {
		return ""
	}
	return "<" + strings.ReplaceAll(address, "&", "&amp;") + "|" + text + ">"
}

// slackPlain is a text of at most so many characters, escaped, that pings nobody.
func slackPlain(text string, most int) string {
	var b slackBuilder
	b.escaped(text, most)
	return b.String()
}

// slackBuilder makes a text and counts its characters.
type slackBuilder struct {
	strings.Builder
	size int
}

func (b *slackBuilder) put(s string) {
	b.WriteString(s)
	for _, r := range s {
		b.size += utf16.RuneLen(r)
	}
}

// fits reports whether a text and so many characters more have room.
func (b *slackBuilder) fits(s string, more int) bool { return b.size+len(s)+more <= slackText }

// escaped adds a text up to a size of the whole; where it has no room its end is an ellipsis.
func (b *slackBuilder) escaped(text string, most int) { b.take(pingless(text), most) }

// apart is a character without width: it keeps apart what would mean something together.
const apart = "\u200b"

func (b *slackBuilder) take(text string, most int) {
	const mark = "…"
	whole := 0
	for _, r := range text {
		whole += slackLen(r)
	}
	fits := b.size+whole <= most
	if !fits {
		most -= len([]rune(mark))
	}
	for _, r := range text {
		if b.size+slackLen(r) > most {
			break
		}
		switch r {
		case '&':
			b.put("&amp;")
		case '<':
			b.put("&lt;")
		case '>':
			b.put("&gt;")
		default:
			b.put(string(r))
		}
	}
	if !fits && b.size < most+len([]rune(mark)) {
		b.put(mark)
	}
}

// slackLen is how many characters one becomes.
func slackLen(r rune) int {
	switch r {
	case '&':
		return len("&amp;")
	case '<', '>':
		return len("&lt;")
	}
	return max(utf16.RuneLen(r), 1)
}

// pings are the words behind an @ by which Slack would call people.
var pings = []string{"here", "channel", "everyone", "group"}

// pingless is a text without what would call people, end the code that it stands in, or change how what is
// around it reads. <!channel> and the like are escaped with all < anyway.
func pingless(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, cleanText(text))
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		rest := text[i+1:]
		if text[i] == '@' && callsPeople(rest) || text[i] == '`' && strings.HasPrefix(rest, "`") {
			b.WriteString(apart)
		}
	}
	return b.String()
}

func callsPeople(rest string) bool {
	for _, word := range pings {
		if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
			return true
		}
	}
	return false
}

// fnSlack is a payload as the body of a Slack incoming webhook.
func fnSlack(args ...any) (any, error) {
	body := slackOf(noticeOf(plainValue(args[1])))
	return body, args[0].(*meter).spend(slackText)
}
