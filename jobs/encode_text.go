package jobs

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// verbatim are the bytes that stand in a JSON string as they are.
var verbatim = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// AppendJSONString writes a string with its quotes. What is not UTF-8 becomes U+FFFD; U+2028 and
// U+2029, which end a line in JavaScript, are escaped.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !verbatim[c] {
				dst = appendEscape(append(dst, s[done:i]...), c)
				done = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[done:i]...), `\ufffd`...)
			done = i + n
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[done:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			done = i + n
		}
		i += n
	}
	return append(append(dst, s[done:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// appendFloat writes the shortest text that reads back as f, in the form of ECMAScript as
// encoding/json does.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs, form := math.Abs(f), byte('f')
	small, large := abs < 1e-6, abs >= 1e21
	if bits == 32 {
		small, large = float32(abs) < 1e-6, float32(abs) >= 1e21
	}
	if abs != 0 && (small || large) {
		form = 'e'
	}
	dst = strconv.AppendFloat(dst, f, form, -1, bits)
	if n := len(dst); form == 'e' && n >= 4 && string(dst[n-4:n-1]) == "e-0" {
		dst[n-2] = dst[n-1] // e-09 is e-9
		dst = dst[:n-1]
	}
	return dst
}

// appendTime writes an instant as a string, null for none. Years of four digits, which
// is all that ParseTime gives, are written without a detour through a layout.
func appendTime(dst []byte, t Time) []byte {
	if t == 0 {
		return append(dst, "null"...)
	}
	at := t.Std()
	year, month, day := at.Date()
	if year < 0 || year > 9999 {
		return AppendJSONString(dst, t.String())
	}
	hour, minute, second := at.Clock()
	dst = append(dst, '"')
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), int(month), 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), hour, 2)
	dst = appendDigits(append(dst, ':'), minute, 2)
	dst = appendDigits(append(dst, ':'), second, 2)
	dst = appendDigits(append(dst, '.'), at.Nanosecond()/1e6, 3)
	return append(dst, 'Z', '"')
}

func appendDigits(dst []byte, n, width int) []byte {
	for unit := pow10[width-1]; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}

var pow10 = [...]int{1, 10, 100, 1000}

// appendID writes an id as a string, null for none.
func appendID(dst []byte, id ID) []byte {
	if id.IsNil() {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	n := len(dst)
	dst = append(dst, "00000000-0000-0000-0000-000000000000"...)
	id.encode(dst[n:])
	return append(dst, '"')
}
