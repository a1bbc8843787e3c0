package jobs

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	errNoText    = errors.New(`gives nil, which has no text: add ?? "" where there may be nothing`)
	errListed    = errors.New("gives a list or an object: want a text, a number, true or false here")
	errNotNumber = errors.New("gives a number that JSON cannot hold")
	errLiteral   = errors.New("gives a literal list, which has no JSON form")
)

// textFunctions are those of the templates: what expressions have, and forms of texts.
var textFunctions = func() map[string]function {
	all := maps.Clone(functions)
	all["json"] = function{1, 1, new(func(any) string), fnJSON}
	all["urlencode"] = function{1, 1, new(func(any) string), onPlainText("urlencode", urlEncode)}
	all["base64"] = function{1, 1, new(func(any) string), onPlainText("base64", base64Encode)}
	return all
}()

// messageFunctions are those of what an attempt sends: forms of texts, and messages for people.
var messageFunctions = func() map[string]function {
	all := maps.Clone(textFunctions)
	all["slack"] = function{1, 1, new(func(any) any), fnSlack}
	all["text"] = function{1, 2, new(func(...any) string), fnText}
	return all
}()

// fnJSON is the JSON text of a value.
func fnJSON(args ...any) (any, error) {
	text, err := appendValue(nil, args[1])
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("the text is too long: at most %d bytes", maxText)
	}
	if err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	return string(text), args[0].(*meter).spend(len(text) / 2)
}

// opJSON is json of what a path leads to: the text that stands there.
func opJSON(args ...any) (any, error) {
	m := args[0].(*meter)
	raw, err := m.evidence.follow(args[1].(*factPath))
	if raw == nil {
		return "null", err
	}
	return string(raw), m.spend(len(raw) / 8)
}

// onPlainText makes the function that changes the text of a single value.
func onPlainText(name string, change func(string) string) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if args[1] == nil {
			return nil, nil
		}
		s, err := textOf(args[1], false)
		if err != nil {
			return nil, fmt.Errorf("%s wants a text, not %s", name, kindName(args[1]))
		}
		if len(s) > maxText/3 {
			return nil, fmt.Errorf("%s: the text is too long: at most %d bytes", name, maxText/3)
		}
		return change(s), args[0].(*meter).spend(len(s) / 8)
	}
}

func base64Encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// urlEncode leaves the unreserved characters of RFC 3986 as they are.
func urlEncode(s string) string { return string(appendURLEncoded(nil, s)) }

func appendURLEncoded(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if isLetter(c) || isDigit(c) || strings.IndexByte("-._~", c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&0xf])
		}
	}
	return dst
}

const upperHex = "0123456789ABCDEF"

// textOf is the text of a value; lists and objects have their JSON text where that is wanted.
func textOf(v any, lists bool) (string, error) {
	switch x := v.(type) {
	case nil:
		return "", errNoText
	case string:
		return characters(x), nil
	case bool:
		return strconv.FormatBool(x), nil
	case int:
		return strconv.Itoa(x), nil
	case time.Duration:
		return Duration(x).String(), nil
	case float64:
	default:
		if !lists {
			return "", errListed
		}
	}
	text, err := appendValue(nil, v)
	return string(text), err
}

// characters is a text with U+FFFD for what is none.
func characters(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// textOfRaw is the text of a value that is there as JSON.
func textOfRaw(raw Raw, lists bool) (string, error) {
	switch raw[0] {
	case '"':
		return rawText(raw), nil
	case '{', '[':
		if !lists {
			return "", errListed
		}
	}
	return string(raw), nil
}

// rawText are the characters of a JSON string.
func rawText(raw Raw) string { return characters(unquoted(raw)) }

// unquoted is what a JSON string holds: of halves of surrogate pairs, bytes that are no characters.
func unquoted(raw Raw) string {
	d := newDecoder(raw, decodeOptions{})
	defer d.release()
	s, escaped, _ := d.scanString()
	if escaped {
		s = d.unescape(s)
	}
	return string(d.text(s))
}

// appendValue writes the JSON text of what an expression gave.
func appendValue(dst []byte, v any) ([]byte, error) {
	var err error
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, x), nil
	case int:
		return strconv.AppendInt(dst, int64(x), 10), nil
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, errNotNumber
		}
		return appendFloat(dst, x, 64), nil
	case string:
		return AppendJSONString(dst, x), nil
	case time.Duration:
		return AppendJSONString(dst, Duration(x).String()), nil
	case []any:
		dst = append(dst, '[')
		for i, item := range x {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(x)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONString(dst, key), ':')
			if dst, err = appendValue(dst, x[key]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case map[string]string:
		return AppendJSON(dst, x), nil
	case headers:
		return AppendJSON(dst, map[string]string(x)), nil
	}
	return nil, errLiteral
}
