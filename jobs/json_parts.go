package jobs

import "bytes"

// jsonItem is a member of an object or an item of a list.
type jsonItem struct {
	key  string
	name Raw // the key as it is written, with its quotes
	text Raw // as it stands, without white space around it
}

// partsOf takes an object or a list apart; ok is false for any other value. The text has been
// judged valid.
func partsOf(text []byte) (parts []jsonItem, list, ok bool) {
	d := newRereader(text)
	defer d.release()
	next := d.item
	switch d.peek() {
	case '[':
		list = true
	case '{':
		next = d.member
	default:
		return nil, false, false
	}
	d.open()
	for next() == stepValue {
		p := jsonItem{}
		if !list {
			p.key = string(d.text(d.top().key))
			p.name = bytes.TrimRight(text[d.top().at:d.pos-1], " \t\r\n")
		}
		d.space()
		start := d.pos
		if !d.skip() {
			return nil, list, false
		}
		p.text = text[start:d.pos]
		parts = append(parts, p)
	}
	return parts, list, d.syntax == nil
}

// jsonText is the string that a JSON text is; ok is false where it is none, or one with half of a
// surrogate pair.
func jsonText(text []byte) (s string, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return "", false
	}
	err := DecodeJSON(text, &s)
	return s, err == nil
}
