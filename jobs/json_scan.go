package jobs

import "bytes"

// span is a piece of the text, or of the arena.
type span struct {
	lo, hi int
	arena  bool
}

func (d *decoder) text(s span) []byte {
	if s.arena {
		return d.arena[s.lo:s.hi]
	}
	return d.data[s.lo:s.hi]
}

// frame is an open object or list.
type frame struct {
	list bool
	n    int // members or items begun

	// Of an object.
	key         span // of the member under way
	at          int  // its offset
	keys, arena int  // where its keys begin
	table, size int  // its hash table; size 0: it has none
}

// step is what comes next in an object or list.
type step int

const (
	stepValue step = iota // a value; for objects its key is in the frame
	stepEnd
	stepFailed
)

func (d *decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek goes to the next token and gives its first character, 0 at the end.
func (d *decoder) peek() byte {
	d.space()
	if d.pos == len(d.data) {
		return 0
	}
	return d.data[d.pos]
}

// open enters the object or list that begins here.
func (d *decoder) open() bool {
	if len(d.frames)-d.base >= MaxDepth {
		d.fault(d.pos, "nested too deep: want at most 64 levels")
		return false
	}
	d.frames = append(d.frames, frame{
		list: d.data[d.pos] == '[', keys: len(d.keys), arena: len(d.arena), table: len(d.table),
	})
	d.pos++
	return true
}

func (d *decoder) close() step {
	f := &d.frames[len(d.frames)-1]
	d.keys, d.arena, d.table = d.keys[:f.keys], d.arena[:f.arena], d.table[:f.table]
	d.frames = d.frames[:len(d.frames)-1]
	d.pos++
	return stepEnd
}

func (d *decoder) top() *frame { return &d.frames[len(d.frames)-1] }

// item goes to the next item of the open list.
func (d *decoder) item() step {
	f, c := d.top(), d.peek()
	switch {
	case c == ']':
		return d.close()
	case f.n == 0:
	case c != ',':
		return d.failed("want , or ] after an item of a list")
	default:
		d.pos++
		if d.peek() == ']' {
			return d.failed("want another item after the comma")
		}
	}
	f.n++
	return stepValue
}

// member goes to the value of the next member of the open object.
func (d *decoder) member() step {
	f, c := d.top(), d.peek()
	switch {
	case c == '}':
		return d.close()
	case f.n == 0:
	case c != ',':
		return d.failed("want , or } after a member of an object")
	default:
		d.pos++
		c = d.peek()
	}
	if c != '"' {
		return d.failed("want a key in double quotes")
	}
	f.n++
	f.at = d.pos
	key, escaped, ok := d.scanString()
	if !ok {
		return stepFailed
	}
	if escaped {
		key = d.unescape(key)
	}
	f.key = key
	if d.peek() != ':' {
		return d.failed("want : after the key")
	}
	d.pos++
	if !d.addKey(f, key) {
		d.fault(f.at, "this key stands twice in the same object")
	}
	return stepValue
}

func (d *decoder) failed(msg string) step {
	d.fail(d.pos, msg)
	return stepFailed
}

// skip reads a value of any kind.
func (d *decoder) skip() bool {
	switch c := d.peek(); {
	case c == '{':
		if !d.open() {
			return false
		}
		for {
			if s := d.member(); s != stepValue {
				return s == stepEnd
			}
			if !d.skip() {
				return false
			}
		}
	case c == '[':
		if !d.open() {
			return false
		}
		for {
			if s := d.item(); s != stepValue {
				return s == stepEnd
			}
			if !d.skip() {
				return false
			}
		}
	case c == '"':
		_, _, ok := d.scanString()
		return ok
	case c == '-' || isDigit(c):
		_, ok := d.scanNumber()
		return ok
	default:
		return d.scanWord()
	}
}

// scanWord reads true, false or null.
func (d *decoder) scanWord() bool {
	rest := d.data[d.pos:]
	for _, word := range [...]string{"null", "true", "false"} {
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			d.pos += len(word)
			return true
		}
	}
	if len(rest) == 0 {
		return d.fail(d.pos, "want a value, got the end")
	}
	return d.fail(d.pos, valueWanted)
}

// null reads null where it stands here.
func (d *decoder) null() bool {
	if d.peek() == 'n' && bytes.HasPrefix(d.data[d.pos:], []byte("null")) {
		d.pos += len("null")
		return true
	}
	return false
}

// scanNumber reads a number and gives its text.
func (d *decoder) scanNumber() (text []byte, ok bool) {
	data, start, i := d.data, d.pos, d.pos
	digits := func() bool {
		from := i
		for i < len(data) && isDigit(data[i]) {
			i++
		}
		return i > from
	}
	if data[i] == '-' {
		i++
	}
	first := i
	if !digits() {
		return nil, d.fail(i, "want a digit")
	}
	if data[first] == '0' && i > first+1 {
		return nil, d.fail(first, "want a number without a leading 0")
	}
	if i < len(data) && data[i] == '.' {
		if i++; !digits() {
			return nil, d.fail(i, "want a digit after the point")
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			return nil, d.fail(i, "want a digit in the exponent")
		}
	}
	d.pos = i
	return data[start:i], true
}

const valueWanted = "want a value: an object, a list, a string, a number, true, false or null"
