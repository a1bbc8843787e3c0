package jobs

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// layer is one way of writing a text within another.
type layer byte

const (
	layerJSON layer = iota // \n, \", \/, \u0041
	layerPath              // %41
	layerForm              // %41, and + for a space
	layerWrap              // line breaks that mean nothing, as in base64
)

// layers are ways around each other, the outermost first.
type layers []layer

// view is a way in which secrets are looked for besides their plain form.
type view struct {
	layers   layers
	triggers string // one of these bytes stands in whatever differs from the plain form
	base64   bool   // for base64 alone
	spaces   bool   // for secrets that hold a space
}

var allViews = []*view{
	{layers: layers{layerJSON}, triggers: `\`},
	{layers: layers{layerJSON, layerJSON}, triggers: `\`},
	{layers: layers{layerPath}, triggers: `%`},
	{layers: layers{layerPath, layerPath}, triggers: `%`},
	{layers: layers{layerPath, layerJSON}, triggers: `%`},
	{layers: layers{layerForm}, triggers: `%+`, spaces: true},
	{layers: layers{layerPath, layerForm}, triggers: `%+`, spaces: true},
	{layers: layers{layerForm, layerJSON}, triggers: `%+`, spaces: true},
	{layers: layers{layerWrap}, triggers: "\r\n", base64: true},
	{layers: layers{layerJSON, layerWrap}, triggers: `\`, base64: true},
}

// compare looks for a form at i. end is 0 where there is none; undecided: the text ends before
// that is clear.
func (v *view) compare(b []byte, i int, f *form) (end int, undecided bool) {
	if v.base64 && !f.base64 {
		return 0, false
	}
	for n := 0; n < len(f.text); {
		text, size, broke := v.layers.next(b, i)
		if size == 0 || broke && n == 0 { // what a form begins with is no line break
			return 0, false
		}
		if size < 0 {
			return 0, true
		}
		for ; text != 0; text >>= 8 {
			if n == len(f.text) || f.text[n] != byte(text) {
				return 0, false
			}
			n++
		}
		i += size
	}
	return i, false
}

// Sizes of what is no token.
const (
	noToken  = 0  // not of this layer
	cutToken = -1 // the text ends within it
)

// next reads the token at i: the bytes it stands for, the first one lowest, and how many it takes
// in the text. broke: a line break comes first. NUL is none, as secrets have none.
func (ls layers) next(b []byte, i int) (text uint32, size int, broke bool) {
	if len(ls) == 0 {
		if i >= len(b) {
			return 0, cutToken, false
		}
		if b[i] == 0 {
			return 0, noToken, false
		}
		return uint32(b[i]), 1, false
	}
	outer := ls[:len(ls)-1]
	text, size, broke = outer.next(b, i)
	if size <= 0 {
		return text, size, broke
	}
	switch layer := ls[len(ls)-1]; {
	case layer == layerJSON && text == '\\':
		text, size = outer.escape(b, i, size)
	case layer == layerForm && text == '+':
		text = ' '
	case (layer == layerForm || layer == layerPath) && text == '%':
		text, size = outer.percent(b, i, size)
	case layer == layerWrap && (text == '\n' || text == '\r'):
		text, size = outer.broken(b, i, size, text)
		broke = true
	}
	return text, size, broke
}

// escape reads what follows a backslash of n bytes.
func (ls layers) escape(b []byte, i, n int) (text uint32, size int) {
	text, size, _ = ls.next(b, i+n)
	if size <= 0 {
		return 0, size
	}
	switch text {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return uint32(plainEscape(byte(text))), n + size
	case 'u':
		return ls.unicode(b, i, n+size)
	}
	return 0, noToken
}

// unicode reads what follows \u, of n bytes: four digits, or a pair of surrogates.
func (ls layers) unicode(b []byte, i, n int) (text uint32, size int) {
	r, size := ls.hex(b, i+n, 4)
	if size <= 0 {
		return 0, size
	}
	n += size
	if utf16.IsSurrogate(r) {
		for _, want := range []byte{'\\', 'u'} {
			if text, size, _ = ls.next(b, i+n); size <= 0 {
				return 0, size
			}
			if text != uint32(want) {
				return 0, noToken
			}
			n += size
		}
		low, size := ls.hex(b, i+n, 4)
		if size <= 0 {
			return 0, size
		}
		n += size
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return 0, noToken
		}
	}
	if r == 0 {
		return 0, noToken
	}
	var buf [utf8.UTFMax]byte
	utf8.EncodeRune(buf[:], r)
	return binary.LittleEndian.Uint32(buf[:]), n
}

// percent reads the two digits behind a % of n bytes.
func (ls layers) percent(b []byte, i, n int) (text uint32, size int) {
	r, size := ls.hex(b, i+n, 2)
	if size <= 0 {
		return 0, size
	}
	if r == 0 {
		return 0, noToken
	}
	return uint32(r), n + size
}

func (ls layers) hex(b []byte, i, digits int) (r rune, size int) {
	for range digits {
		text, n, _ := ls.next(b, i+size)
		if n <= 0 {
			return 0, n
		}
		switch {
		case '0' <= text && text <= '9':
			r = r<<4 | rune(text-'0')
		case 'a' <= text|0x20 && text|0x20 <= 'f':
			r = r<<4 | rune(text|0x20-'a'+10)
		default:
			return 0, noToken
		}
		size += n
	}
	return r, size
}

// broken reads what follows a line break, whose first byte is text and takes n.
func (ls layers) broken(b []byte, i, n int, text uint32) (uint32, int) {
	var size int
	if text == '\r' {
		if text, size, _ = ls.next(b, i+n); size <= 0 {
			return 0, size
		}
		if text != '\n' {
			return 0, noToken
		}
		n += size
	}
	if text, size, _ = ls.next(b, i+n); size <= 0 {
		return 0, size
	}
	if text == '\n' || text == '\r' {
		return 0, noToken
	}
	return text, n + size
}
