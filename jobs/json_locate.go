package jobs

import (
	"strconv"
	"strings"
)

// locate gives the offset of the value at a location in a valid text; where there is no such value,
// of the one around it.
func locate(text []byte, location string) int {
	at, _ := seek(text, location)
	return at
}

// seek is locate that also tells whether the value is there. A part of what was written in a short
// form counts as being there.
func seek(text []byte, location string) (at int, found bool) {
	d := newRereader(text)
	defer d.release()
	d.space()
	at = d.pos
	for location != "" {
		first := d.peek()
		key, index, rest := cutLocation(location)
		if !d.find(key, index) {
			return at, rest == "" && first == '"' && isShort(key)
		}
		d.space()
		at, location = d.pos, rest
	}
	return at, true
}

// cutLocation takes the first step off a location: a key, or an index (else -1).
func cutLocation(location string) (key string, index int, rest string) {
	location = strings.TrimPrefix(location, ".")
	if inside, ok := strings.CutPrefix(location, "["); ok {
		if quoted, err := strconv.QuotedPrefix(inside); err == nil {
			key, _ = strconv.Unquote(quoted)
			return key, -1, strings.TrimPrefix(inside[len(quoted):], "]")
		}
		digits, rest, _ := strings.Cut(inside, "]")
		if n, err := strconv.Atoi(digits); err == nil {
			return "", n, rest
		}
		return "", -1, ""
	}
	if i := strings.IndexAny(location, ".["); i >= 0 {
		return location[:i], -1, location[i:]
	}
	return location, -1, ""
}

// find goes to the value of a member or to an item of the value that begins here.
func (d *decoder) find(key string, index int) bool {
	next, open := d.member, byte('{')
	if index >= 0 {
		next, open = d.item, '['
	}
	if d.peek() != open || !d.open() {
		return false
	}
	for next() == stepValue {
		if index >= 0 && d.top().n-1 == index || index < 0 && isKey(d.text(d.top().key), key) {
			return true
		}
		if !d.skip() {
			return false
		}
	}
	return false
}

// isKey reports whether a key is the one that a location names, which may have been clipped.
func isKey(key []byte, name string) bool {
	if start, clipped := strings.CutSuffix(name, "…"); clipped && strings.HasPrefix(string(key),
		start) {
		return true
	}
	return string(key) == name
}

// positions tells where the offsets of a text are. It counts in steps, so that many questions
// about a long text, or a long line, cost little.
type positions struct {
	data  []byte
	steps []lineColumn // of each positionStep bytes
}

// lineColumn is a place from 1; columns count characters.
type lineColumn struct{ line, column int }

const positionStep = 1 << 14

func newPositions(data []byte) *positions { return &positions{data: data} }

func (p *positions) at(offset int) (line, column int) {
	offset = min(offset, len(p.data))
	for len(p.steps) <= offset/positionStep {
		place := lineColumn{1, 1}
		if n := len(p.steps); n > 0 {
			place = p.steps[n-1].after(p.data[(n-1)*positionStep : n*positionStep])
		}
		p.steps = append(p.steps, place)
	}
	step := offset / positionStep
	place := p.steps[step].after(p.data[step*positionStep : offset])
	return place.line, place.column
}

// after is the place behind some bytes, which may begin and end within a character: its
// first byte counts for it.
func (c lineColumn) after(data []byte) lineColumn {
	for _, b := range data {
		switch {
		case b == '\n':
			c.line, c.column = c.line+1, 1
		case b&0xc0 != 0x80:
			c.column++
		}
	}
	return c
}
