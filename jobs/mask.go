package jobs

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"strings"
)

// masked stands where a secret stood.
const masked = "***"

// Mask replaces secrets in what is kept and shown by ***, in whatever form they stand there: as
// they are, escaped in JSON (twice too, as in a text within a text), in base64 of both alphabets
// and at each alignment (wrapped lines too), and URL-encoded. Forms that overlap become one ***.
// Nothing else changes. A nil Mask knows no secrets. It is safe for concurrent use.
//
// The time it takes grows with the text and hardly with the number of secrets; only a long secret
// that repeats itself, met in a text that repeats it, takes its length for each byte.
type Mask struct {
	forms   []form // sorted by their text
	byKey   map[uint32]span
	keys    [1 << 10]uint64 // a filter of the first four bytes, by their hash
	byFirst [256]span
	views   []*view
	special [256]uint // by byte: the views, as bits, in which it begins something else
	begins  [256]bool // bytes that a form may begin with
}

// form is a secret, or the part of its base64 that depends on nothing around it.
type form struct {
	text    []byte
	base64  bool
	special uint // of all its bytes
}

// NewMask makes a mask of secrets; those shorter than MinSecret are passed over. Nil: there are
// none.
func NewMask(values []string) *Mask { return newMask(values, allViews) }

func newMask(values []string, views []*view) *Mask {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return len(v) < MinSecret })
	if len(values) == 0 {
		return nil
	}
	m := &Mask{}
	for _, v := range values {
		m.add(v)
	}
	m.index(views)
	return m
}

func (m *Mask) add(secret string) {
	m.forms = append(m.forms, form{text: []byte(secret)})
	for before := range 3 {
		padded := append(make([]byte, before, before+len(secret)), secret...)
		// Of the characters that also hold bits of what stands before or behind, none is sure.
		lo, hi := (before*8+5)/6, len(padded)*8/6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := alphabet.AppendEncode(nil, padded)[lo:hi]
			m.forms = append(m.forms, form{text: text, base64: true})
		}
	}
}

// index makes what forms are found by.
func (m *Mask) index(views []*view) {
	slices.SortFunc(m.forms, func(a, b form) int { return bytes.Compare(a.text, b.text) })
	m.forms = slices.CompactFunc(m.forms, func(a, b form) bool {
		return a.base64 == b.base64 && bytes.Equal(a.text, b.text)
	})
	spaces := slices.ContainsFunc(m.forms, func(p form) bool {
		return bytes.IndexByte(p.text, ' ') >= 0
	})
	for _, v := range views {
		if v.spaces && !spaces {
			continue
		}
		m.views = append(m.views, v)
		for _, c := range []byte(v.triggers) {
			m.special[c] |= 1 << (len(m.views) - 1)
			m.begins[c] = true
		}
	}
	m.byKey = make(map[uint32]span, len(m.forms))
	for i := range m.forms {
		f := &m.forms[i]
		for _, c := range f.text {
			f.special |= m.special[c]
		}
		key := binary.LittleEndian.Uint32(f.text)
		at, known := m.byKey[key]
		if !known {
			at.lo = i
		}
		at.hi = i + 1
		m.byKey[key] = at
		word, bit := hashOf(key)
		m.keys[word] |= bit
		first := &m.byFirst[f.text[0]]
		if first.hi == 0 {
			first.lo = i
		}
		first.hi = i + 1
		m.begins[f.text[0]] = true
	}
}

// hashOf is the place of a key in the filter.
func hashOf(key uint32) (word int, bit uint64) {
	h := key * 2654435769 >> 16
	return int(h >> 6), 1 << (h & 63)
}

const keyLen = 4

// mask appends b to dst, masked, and gives how much of b was done with. The first covered bytes
// belong to a secret whose *** was written before. Unless final, what may be the beginning of a
// form is not done with; of it, the first still bytes belong to a secret already.
func (m *Mask) mask(dst, b []byte, covered int, final bool) (out []byte, done, still int) {
	until := covered // what comes before it is written
	special := -1    // the last place seen that is
	for i := 0; i < min(keyLen-1, len(b)); i++ {
		if m.special[b[i]] != 0 {
			special = i
		}
	}
	for i := 0; ; i++ {
		if i, special = m.seek(b, i, special); i == len(b) {
			return append(dst, b[until:]...), len(b), 0
		}
		end, undecided := m.match(b, i)
		if undecided && !final {
			if i > until {
				return append(dst, b[until:i]...), i, 0
			}
			return dst, i, until - i
		}
		if end <= until {
			continue
		}
		if i >= until {
			dst = append(append(dst, b[until:i]...), masked...)
		}
		until = end
	}
}

// seek gives the first place from i on where a form may begin, len(b) for none. special is the last
// place seen that is, up to those in sight.
func (m *Mask) seek(b []byte, i, special int) (at, seen int) {
	for ; i+keyLen <= len(b); i++ {
		key := binary.LittleEndian.Uint32(b[i:])
		if m.special[byte(key>>24)] != 0 {
			special = i + keyLen - 1
		}
		if m.knows(key) || special >= i && m.begins[byte(key)] {
			return i, special
		}
	}
	for i < len(b) && !m.begins[b[i]] {
		i++
	}
	return i, special
}

func (m *Mask) knows(key uint32) bool {
	word, bit := hashOf(key)
	return m.keys[word]&bit != 0
}

// match gives the end of the longest form that begins at i, 0 for none. undecided: there would be
// one, or a longer one, if the text went on in a certain way.
func (m *Mask) match(b []byte, i int) (end int, undecided bool) {
	at := m.byFirst[b[i]]
	window := b[i:]
	if len(window) >= keyLen {
		window = window[:keyLen]
		at = span{}
		if key := binary.LittleEndian.Uint32(window); m.knows(key) {
			at = m.byKey[key]
		}
	}
	for f := at.lo; f < at.hi; f++ {
		e, more := m.compare(b, i, &m.forms[f])
		end, undecided = max(end, e), undecided || more
	}
	views := uint(0)
	for _, c := range window {
		views |= m.special[c]
	}
	for ; views != 0; views &= views - 1 {
		e, more := m.look(m.views[bits.TrailingZeros(views)], b, i)
		end, undecided = max(end, e), undecided || more
	}
	return end, undecided
}

// compare looks for a form that begins with bytes as they are.
func (m *Mask) compare(b []byte, i int, f *form) (end int, undecided bool) {
	n := commonPrefix(b[i:], f.text)
	var views uint
	switch {
	case n == len(f.text):
		end = i + n
	case i+n == len(b):
		return 0, true
	default:
		views = m.special[b[i+n]]
	}
	for views |= f.special; views != 0; views &= views - 1 {
		e, more := m.views[bits.TrailingZeros(views)].compare(b, i, f)
		end, undecided = max(end, e), undecided || more
	}
	return end, undecided
}

// look looks for forms in a view.
func (m *Mask) look(v *view, b []byte, i int) (end int, undecided bool) {
	var key uint64
	n, at := 0, i
	for n < keyLen {
		text, size, broke := v.layers.next(b, at)
		if size == 0 || broke && n == 0 {
			return 0, false
		}
		if size < 0 {
			break
		}
		key |= uint64(text) << (8 * n)
		if n == 0 && m.byFirst[byte(key)].hi == 0 {
			return 0, false
		}
		n += (bits.Len32(text) + 7) / 8
		at += size
	}
	found := span{hi: len(m.forms)}
	switch {
	case n >= keyLen && !m.knows(uint32(key)):
		return 0, false
	case n >= keyLen:
		found = m.byKey[uint32(key)]
	case n > 0:
		found = m.byFirst[byte(key)]
	}
	for f := found.lo; f < found.hi; f++ {
		e, more := v.compare(b, i, &m.forms[f])
		end, undecided = max(end, e), undecided || more
	}
	return end, undecided
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:])
		if x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Text masks a whole text.
func (m *Mask) Text(s string) string {
	if m == nil || s == "" {
		return s
	}
	b := []byte(s)
	if out := m.Bytes(b); !bytes.Equal(out, b) {
		return string(out)
	}
	return s
}

// Bytes masks a whole text. The answer is another one, or b itself.
func (m *Mask) Bytes(b []byte) []byte {
	if m == nil || len(b) == 0 {
		return b
	}
	out, _, _ := m.mask(make([]byte, 0, len(b)), b, 0, true)
	return out
}

// JSON masks a JSON text. Where masking leaves none, such as of a number, it becomes a JSON string
// of the masked text.
func (m *Mask) JSON(raw Raw) Raw {
	out := m.Bytes(raw)
	if bytes.Equal(out, raw) {
		return raw
	}
	if ValidJSON(out) == nil {
		return out
	}
	return AppendJSONString(nil, strings.ToValidUTF8(string(out), "\uFFFD"))
}

// Failure masks all texts of a failure, in place. It must come before Bound, which cuts.
func (m *Mask) Failure(f *Failure) {
	if m == nil || f == nil {
		return
	}
	f.Type, f.Message, f.Stack = m.Text(f.Type), m.Text(f.Message), m.Text(f.Stack)
	if f.HTTP == nil {
		return
	}
	answer := *f.HTTP
	answer.Body = m.Text(answer.Body)
	if answer.Headers != nil {
		answer.Headers = make(map[string]string, len(f.HTTP.Headers))
		for name, value := range f.HTTP.Headers {
			answer.Headers[m.Text(name)] = m.Text(value)
		}
	}
	f.HTTP = &answer
}

// Writer masks what is written to it on its way to w.
func (m *Mask) Writer(w io.Writer) *MaskWriter { return &MaskWriter{mask: m, w: w} }

// MaskWriter masks a text that comes in pieces. It holds back what may be the beginning of a
// secret, and that alone, until the next write or Flush. It is not safe for concurrent use.
type MaskWriter struct {
	mask    *Mask
	w       io.Writer
	held    []byte
	covered int    // so many bytes of what is held belong to a secret whose *** is written
	out     []byte // used again

	asides  []func() // to be called behind the first asideAt bytes of what is held
	asideAt int
}

// Write takes in all of p.
func (w *MaskWriter) Write(p []byte) (int, error) {
	if w.mask == nil {
		return w.w.Write(p)
	}
	return len(p), w.pass(p, false)
}

// Flush writes what was held back: no more comes that would make it a secret.
func (w *MaskWriter) Flush() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.pass(nil, true)
}

// Aside calls put, which writes to w's own writer, behind what was written so far, as soon as it is
// known what that is: between the pieces of a secret it would part them, and they were kept.
func (w *MaskWriter) Aside(put func()) {
	if len(w.held) == 0 {
		put()
		return
	}
	w.asides, w.asideAt = append(w.asides, put), len(w.held)
}

func (w *MaskWriter) pass(p []byte, final bool) error {
	text := p
	if len(w.held) > 0 {
		w.held = append(w.held, p...)
		text = w.held
	}
	done := 0
	w.out, done, w.covered = w.mask.mask(w.out[:0], text, w.covered, final)
	out := w.out
	if w.asides != nil {
		out = w.putAsides(text, done)
	}
	w.held = append(w.held[:0], text[done:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

// putAsides calls what waits for its place in a text that so much is done with now, and gives what is
// still to be written.
func (w *MaskWriter) putAsides(text []byte, done int) (rest []byte) {
	if w.asideAt > done {
		w.asideAt -= done
		return w.out
	}
	at := len(w.out) // behind the secret that it would have parted
	if bytes.HasPrefix(w.out, text[:w.asideAt]) {
		at = w.asideAt
	}
	if at > 0 {
		_, _ = w.w.Write(w.out[:at])
	}
	for _, put := range w.asides {
		put()
	}
	w.asides = nil
	return w.out[at:]
}
