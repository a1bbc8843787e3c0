package jobs

import "unicode/utf8"

// CompactASCII is a JSON text without white space between its parts, in printable ASCII, so that it
// can stand in a header: other characters are written as \uXXXX, those past U+FFFF as two of them.
// Numbers, escapes and the order of keys stay as they were written.
func CompactASCII(raw Raw) []byte {
	dst := make([]byte, 0, len(raw)+len(raw)/8)
	for i, quoted := 0, false; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
			dst = append(dst, c)
		case c == '\\' && i+1 < len(raw):
			i++ // a quote behind it is none
			dst = append(dst, c, raw[i])
		case ' ' < c && c < 0x7f, c == ' ' && quoted:
			dst = append(dst, c)
		case quoted:
			r, n := utf8.DecodeRune(raw[i:])
			dst = appendUnicode(dst, r)
			i += n - 1
		}
	}
	return dst
}

// appendUnicode writes a character as \uXXXX, or as the two halves of its surrogate pair.
func appendUnicode(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		dst = appendUnicode(dst, 0xd800|r>>10)
		r = 0xdc00 | r&0x3ff
	}
	return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf],
		hexDigits[r&0xf])
}
