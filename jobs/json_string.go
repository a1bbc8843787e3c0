package jobs

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

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
