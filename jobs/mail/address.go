package mail

import (
	"encoding/base64"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a message. A mail server need not take more recipients at a time (RFC 5321,
// 4.5.3.1.8), nor a longer address (4.5.3.1).
const (
	maxRecipients  = 100
	maxAddress     = 254
	maxLocalPart   = 64
	maxAddressText = 1 << 10 // with a display name
	maxSubject     = 8 << 10
	maxBody        = 1 << 20
)

var (
	errAddress = errors.New("want one address such as ops@example.com or Ops <ops@example.com>")
	errLocal   = errors.New("want only letters, digits and .!#$%&'*+-/=?^_`{|}~ before the @: others " +
		"are not sent to")
	errDomain = errors.New("want a domain of letters, digits, - and _ behind the @: one with other " +
		"letters in its xn-- form")
	errControl = errors.New("want one line of text without control characters")
)

func tooMany(n int) error {
	return fmt.Errorf("want at most %d recipients, to and cc together, got %d", maxRecipients, n)
}

// checkAddress says what is wrong with an address.
func checkAddress(text string) error {
	_, err := parseAddress(text)
	return err
}

// parseAddress reads one address. Only plain ones pass: without quotes, comments and letters
// beyond ASCII before and behind the @, so that each program on the way reads the same. Errors
// never quote it.
func parseAddress(text string) (*netmail.Address, error) {
	if len(text) > maxAddressText {
		return nil, fmt.Errorf("want at most %d bytes", maxAddressText)
	}
	if hasControl(text) {
		return nil, errControl
	}
	a, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, errAddress
	}
	at := strings.LastIndexByte(a.Address, '@')
	if at < 0 {
		return nil, errAddress
	}
	local, domain := a.Address[:at], a.Address[at+1:]
	switch {
	case !validLocal(local):
		return nil, errLocal
	case !validDomain(domain):
		return nil, errDomain
	case len(local) > maxLocalPart || len(a.Address) > maxAddress:
		return nil, fmt.Errorf("want at most %d characters before the @ and %d in all",
			maxLocalPart, maxAddress)
	case hasControl(a.Name): // it may have come encoded: =?utf-8?q?=0A?=
		return nil, errControl
	}
	return a, nil
}

// validLocal is a dot-atom of RFC 5322, 3.2.3. It does not begin with a hyphen: sendmail would
// take it for an option.
func validLocal(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c == '.' && i > 0 && i < len(s)-1 && s[i-1] != '.':
		case c == '-' && i > 0, strings.IndexByte("!#$%&'*+/=?^_`{|}~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

func validDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
				c != '-' && c != '_' {
				return false
			}
		}
	}
	return len(s) <= 253
}

// domainOf is what stands behind the @, in lower case.
func domainOf(address string) string {
	return strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
}

// normal is the form by which recipients are told apart: the domain in lower case. Case before
// the @ is the mail server's business.
func normal(address string) string {
	return address[:strings.LastIndexByte(address, '@')+1] + domainOf(address)
}

func checkSubject(s string) error {
	switch {
	case len(s) > maxSubject:
		return fmt.Errorf("want at most %d bytes, got %d", maxSubject, len(s))
	case hasControl(s):
		return errControl
	}
	return nil
}

func checkBody(s string) error {
	switch {
	case len(s) > maxBody:
		return fmt.Errorf("want at most %d bytes, got %d", maxBody, len(s))
	case strings.Contains(s, "\x00") || !utf8.ValidString(s):
		return errors.New("want UTF-8 without NUL")
	}
	return nil
}

// hasControl reports whether a text would not stay on its line, or not read as it is written:
// controls, separators of lines, characters that turn the direction of text, and bytes that are
// no UTF-8.
func hasControl(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
}

// isPlain reports whether a text may stand in a header as it is: no reader takes a part of it for
// an encoded word, and folding it makes no line of spaces alone.
func isPlain(s string) bool {
	for word := range strings.SplitSeq(s, " ") {
		if word == "" || len(word) > 60 || strings.Contains(word, "=?") ||
			strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return s == ""
		}
	}
	return true
}

// headerText is a text as a header holds it: plain, or in encoded words (RFC 2047).
func headerText(s string) string {
	if isPlain(s) {
		return s
	}
	return encodedWords(s)
}

// encodedWords encodes a text whole, also where go-mail would see no need.
func encodedWords(s string) string {
	const most = 36 // bytes: 48 of base64, 60 with what stands around it, behind the header's name
	var words []string
	for s != "" {
		cut := min(most, len(s))
		for cut < len(s) && !utf8.RuneStart(s[cut]) {
			cut--
		}
		words = append(words, "=?UTF-8?B?"+base64.StdEncoding.EncodeToString([]byte(s[:cut]))+"?=")
		s = s[cut:]
	}
	return strings.Join(words, " ")
}

// headerAddress is an address as a header holds it.
func headerAddress(a *netmail.Address) string {
	switch {
	case a.Name == "":
		return "<" + a.Address + ">"
	case isPlain(a.Name):
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a.Name)
		return `"` + quoted + `" <` + a.Address + ">"
	}
	return encodedWords(a.Name) + " <" + a.Address + ">"
}
