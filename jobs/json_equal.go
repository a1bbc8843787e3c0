package jobs

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// EqualJSON reports whether two JSON texts are the same value: the order of keys, white space and
// the way in which strings are escaped do not count; numbers count by their text, so that 1.0 is
// not 1. What ValidJSON refuses is equal to the same bytes only.
func EqualJSON(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(canonicalJSON(a), canonicalJSON(b))
}

// HashJSON is the same for texts that EqualJSON takes for the same value: the first half of
// the SHA-256 of a canonical form.
func HashJSON(b []byte) (hash [16]byte) {
	sum := sha256.Sum256(canonicalJSON(b))
	copy(hash[:], sum[:])
	return hash
}

// canonicalJSON is one form for all texts of one value; what is not valid is itself behind a byte
// that no valid form begins with.
func canonicalJSON(b []byte) []byte {
	d := newDecoder(b, decodeOptions{})
	defer d.release()
	c := canonical{decoder: d, dst: make([]byte, 0, len(b)), members: make([]span, 0, 32)}
	if faults, err := d.whole(c.value); err != nil || len(faults) > 0 {
		return append([]byte{0xff}, b...)
	}
	return c.dst
}

// sortedJSON is the text of a valid value without white space, the members of its objects in the
// order of their keys. Numbers keep their text.
func sortedJSON(b []byte) []byte {
	d := newRereader(b)
	defer d.release()
	c := canonical{decoder: d, dst: make([]byte, 0, len(b)), json: true}
	c.value()
	return c.dst
}

// canonical writes what a decoder reads.
type canonical struct {
	*decoder
	json    bool // as JSON text
	dst     []byte
	members []span // of the open objects, in dst
	sorted  []byte
}

func (c *canonical) value() bool {
	switch first := c.peek(); {
	case first == '{':
		return c.object()
	case first == '[':
		return c.list()
	case first == '"':
		s, escaped, ok := c.scanString()
		if ok {
			c.string(s, escaped)
		}
		return ok
	case first == '-' || isDigit(first):
		text, ok := c.scanNumber()
		c.dst = append(c.dst, text...)
		return ok
	}
	start := c.pos
	ok := c.scanWord()
	c.dst = append(c.dst, c.data[start:c.pos]...)
	return ok
}

func (c *canonical) list() bool {
	if !c.open() {
		return false
	}
	c.dst = append(c.dst, '[')
	start := len(c.dst)
	for {
		if s := c.item(); s != stepValue {
			c.end(start, ']')
			return s == stepEnd
		}
		if !c.value() {
			return false
		}
		c.dst = append(c.dst, ',')
	}
}

// object writes each member with a comma behind it, then puts them in the order of their bytes,
// which depends on nothing but what they are.
func (c *canonical) object() bool {
	if !c.open() {
		return false
	}
	c.dst = append(c.dst, '{')
	start, outer := len(c.dst), len(c.members)
	for {
		if s := c.member(); s != stepValue {
			c.sort(start, c.members[outer:])
			c.members = c.members[:outer]
			c.end(start, '}')
			return s == stepEnd
		}
		lo := len(c.dst)
		c.string(c.top().key, false)
		c.dst = append(c.dst, ':')
		if !c.value() {
			return false
		}
		c.dst = append(c.dst, ',')
		c.members = append(c.members, span{lo: lo, hi: len(c.dst)})
	}
}

// end closes what began at start. Behind the last part is a comma, which JSON does not have.
func (c *canonical) end(start int, with byte) {
	if c.json && len(c.dst) > start {
		c.dst = c.dst[:len(c.dst)-1]
	}
	c.dst = append(c.dst, with)
}

func (c *canonical) sort(start int, members []span) {
	order := func(a, b span) int { return bytes.Compare(c.dst[a.lo:a.hi], c.dst[b.lo:b.hi]) }
	if slices.IsSortedFunc(members, order) {
		return
	}
	slices.SortFunc(members, order)
	c.sorted = c.sorted[:0]
	for _, m := range members {
		c.sorted = append(c.sorted, c.dst[m.lo:m.hi]...)
	}
	copy(c.dst[start:], c.sorted)
}

// string writes the characters of a string between quotes, with nothing escaped but what
// would end it early.
func (c *canonical) string(s span, escaped bool) {
	arena := len(c.arena)
	if escaped {
		s = c.unescape(s)
	}
	if c.json {
		c.dst = AppendJSONString(c.dst, string(c.text(s)))
		c.arena = c.arena[:arena]
		return
	}
	c.dst = append(c.dst, '"')
	for rest := c.text(s); len(rest) > 0; {
		i := bytes.IndexAny(rest, `"\`)
		if i < 0 {
			c.dst = append(c.dst, rest...)
			break
		}
		c.dst = append(c.dst, rest[:i]...)
		c.dst = append(c.dst, '\\', rest[i])
		rest = rest[i+1:]
	}
	c.dst = append(c.dst, '"')
	c.arena = c.arena[:arena]
}
