package jobs

import (
	"bytes"
	"hash/maphash"
	"unicode/utf16"
	"unicode/utf8"
)

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

// ordinary are the bytes of a string that need no thought.
var ordinary = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// scanString reads a string and gives what is between its quotes.
func (d *decoder) scanString() (s span, escaped, ok bool) {
	data, i := d.data, d.pos+1
	for {
		for i < len(data) && ordinary[data[i]] {
			i++
		}
		switch {
		case i == len(data):
			return s, false, d.fail(i, `want " at the end of a string`)
		case data[i] == '"':
			s = span{lo: d.pos + 1, hi: i}
			d.pos = i + 1
			return s, escaped, true
		case data[i] == '\\':
			n := escapeLen(data[i:])
			if n == 0 {
				return s, false, d.fail(i, `want one of \" \\ \/ \b \f \n \r \t \uXXXX`)
			}
			escaped = true
			i += n
		default:
			return s, false, d.fail(i, `want control characters in a string as \uXXXX`)
		}
	}
}

// escapeLen is the length of the escape that begins here, 0 for none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unescape decodes a string into the arena. A lone surrogate becomes the three bytes that
// UTF-8 would give it (WTF-8), so that different strings stay different; such text is not
// valid UTF-8.
func (d *decoder) unescape(s span) span {
	lo := len(d.arena)
	src := d.data[s.lo:s.hi]
	for len(src) > 0 {
		i := bytes.IndexByte(src, '\\')
		if i < 0 {
			d.arena = append(d.arena, src...)
			break
		}
		d.arena = append(d.arena, src[:i]...)
		src = src[i:]
		if src[1] != 'u' {
			d.arena = append(d.arena, plainEscape(src[1]))
			src = src[2:]
			continue
		}
		r, _ := hex4(src[2:])
		src = src[6:]
		if utf16.IsSurrogate(r) {
			if len(src) >= 6 && src[0] == '\\' && src[1] == 'u' {
				low, _ := hex4(src[2:])
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					d.arena = utf8.AppendRune(d.arena, pair)
					src = src[6:]
					continue
				}
			}
			d.arena = append(d.arena, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
			continue
		}
		d.arena = utf8.AppendRune(d.arena, r)
	}
	return span{lo: lo, hi: len(d.arena), arena: true}
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

const fewKeys = 16 // up to here a search beats a hash table

var keySeed = maphash.MakeSeed()

// addKey notes a key of an object; false where the object has it already. Objects with many
// keys get a table, so that the whole stays linear.
func (d *decoder) addKey(f *frame, key span) bool {
	text, seen := d.text(key), d.keys[f.keys:]
	if len(seen) < fewKeys {
		for _, k := range seen {
			if k.hi-k.lo == len(text) && bytes.Equal(d.text(k), text) {
				return false
			}
		}
		d.keys = append(d.keys, key)
		return true
	}
	if 2*len(seen) >= f.size {
		d.growTable(f)
	}
	slot := d.slot(f, text)
	if *slot != 0 {
		return false
	}
	d.keys = append(d.keys, key)
	*slot = int32(len(seen) + 1)
	return true
}

// slot is where the table has a key, or would.
func (d *decoder) slot(f *frame, text []byte) *int32 {
	table := d.table[f.table:]
	for i := int(maphash.Bytes(keySeed, text)); ; i++ {
		slot := &table[i&(f.size-1)]
		if *slot == 0 || bytes.Equal(d.text(d.keys[f.keys+int(*slot)-1]), text) {
			return slot
		}
	}
}

// growTable doubles the table of the innermost object: there is none above it.
func (d *decoder) growTable(f *frame) {
	f.size = max(4*fewKeys, 2*f.size)
	d.table = append(d.table[:f.table], make([]int32, f.size)...)
	for i, k := range d.keys[f.keys:] {
		*d.slot(f, d.text(k)) = int32(i + 1)
	}
}

const valueWanted = "want a value: an object, a list, a string, a number, true, false or null"
