package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Fingerprint is the same for failures that are alike: of one job, of one kind and type, with the same
// message but for numbers and ids. It is 16 hexadecimal digits.
func Fingerprint(job string, f *Failure) string {
	if f == nil {
		f = &Failure{}
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{
		job, string(f.Kind), f.Type, withoutNumbers(f.Message),
	}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// withoutNumbers writes # for each number and id of a text: what differs between failures of one cause.
func withoutNumbers(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n := wordLen(s[i:])
		switch {
		case n == 0:
			b.WriteByte(s[i])
			i++
		case uuidLen(s[i:]) > 0:
			b.WriteByte('#')
			i += uuidLen(s[i:])
		case isIDWord(s[i : i+n]):
			b.WriteByte('#')
			i += n
		case isDigit(s[i+n-1]):
			// A number may go on behind a point, a comma or a colon: 1.5, 10.0.0.7, 12:30.
			for i+n+1 < len(s) && strings.IndexByte(".,:", s[i+n]) >= 0 && isDigit(s[i+n+1]) {
				n += 1 + wordLen(s[i+n+1:])
			}
			writeWord(&b, s[i:i+n])
			i += n
		default:
			writeWord(&b, s[i:i+n])
			i += n
		}
	}
	return b.String()
}

// wordLen is how many letters and digits s begins with.
func wordLen(s string) (n int) {
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
		n++
	}
	return n
}

// uuidLen is the length of the UUID that s begins with; 0: it begins with none.
func uuidLen(s string) int {
	const length = 36
	if len(s) < length || wordLen(s) != 8 || len(s) > length && wordLen(s[length:]) > 0 {
		return 0
	}
	for i := range length {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return 0
			}
		default:
			if !isHexDigit(s[i]) {
				return 0
			}
		}
	}
	return length
}

// isIDWord reports whether a word is an id: hexadecimal of 8 digits or more, an address such as 0x7f3a, or
// long and with digits among its letters.
func isIDWord(word string) bool {
	if len(word) > 2 && word[:2] == "0x" {
		word = "000000" + word[2:]
	}
	hexa, digits := true, 0
	for i := range len(word) {
		hexa = hexa && isHexDigit(word[i])
		if isDigit(word[i]) {
			digits++
		}
	}
	return hexa && len(word) >= 8 || len(word) >= 16 && digits >= 3
}

// writeWord writes a word, # for each number in it.
func writeWord(b *strings.Builder, word string) {
	number := false
	for i := range len(word) {
		switch digit := isDigit(word[i]) || number && strings.IndexByte(".,:", word[i]) >= 0; {
		case digit && !number:
			b.WriteByte('#')
			number = true
		case !digit:
			b.WriteByte(word[i])
			number = false
		}
	}
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
