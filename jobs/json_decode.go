package jobs

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"
)

// decodeFunc reads the value that begins here into v.
type decodeFunc func(d *decoder, v reflect.Value) bool

var (
	rawType      = reflect.TypeFor[Raw]()
	timeType     = reflect.TypeFor[Time]()
	durationType = reflect.TypeFor[Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	hinterType   = reflect.TypeFor[FieldHinter]()
	selfType     = reflect.TypeFor[selfDecoder]()
)

// selfDecoder is a type with more than one form.
type selfDecoder interface{ decodeJSON(d *decoder) bool }

var decoderCache sync.Map // reflect.Type → decodeFunc

func decoderOf(t reflect.Type) decodeFunc {
	if cached, ok := decoderCache.Load(t); ok {
		return cached.(decodeFunc)
	}
	cached, _ := decoderCache.LoadOrStore(t, makeDecoder(t))
	return cached.(decodeFunc)
}

func makeDecoder(t reflect.Type) decodeFunc {
	if reflect.PointerTo(t).Implements(selfType) {
		return func(d *decoder, v reflect.Value) bool {
			return v.Addr().Interface().(selfDecoder).decodeJSON(d)
		}
	}
	switch t {
	case rawType:
		return decodeRaw
	case timeType:
		return decodeTime
	case durationType:
		return decodeDuration
	}
	if reflect.PointerTo(t).Implements(textType) && t.Kind() != reflect.Pointer {
		return decodeText
	}
	switch t.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt
	case reflect.Float32, reflect.Float64:
		return decodeFloat
	case reflect.Pointer:
		return pointerDecoder(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return listDecoder(t.Elem(), 0)
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapDecoder(t)
		}
	case reflect.Struct:
		return structDecoder(t)
	}
	panic(fmt.Sprintf("jobs: cannot read JSON into a %s", t))
}

// mistyped notes that the value here is of the wrong type, and skips it.
func (d *decoder) mistyped(want string) bool {
	msg := "want " + want + ", got "
	switch c := d.peek(); {
	case c == '{':
		msg += "an object"
	case c == '[':
		msg += "a list"
	case c == '"':
		msg += "a string"
	case c == 'n':
		msg += "null"
	case c == 't' || c == 'f':
		msg += "true or false"
	default:
		msg += "a number"
	}
	d.fault(d.pos, msg+d.otherForm(want))
	return d.skip()
}

// otherForm says how the value here becomes what is wanted, where that is plain.
func (d *decoder) otherForm(want string) string {
	c := d.peek()
	switch {
	case want == "a string" && c != '{' && c != '[' && c != 'n':
		return ": put it in double quotes"
	case want == "a list" && c == '"':
		return ": put it in [ ]"
	case (want == "a whole number" || want == "a number") && c == '"' && d.quotesNumber():
		return ": leave the quotes out"
	}
	return ""
}

// quotesNumber reports whether the string here begins as a number does.
func (d *decoder) quotesNumber() bool {
	next := d.pos + 1
	return next < len(d.data) && (d.data[next] == '-' || isDigit(d.data[next]))
}

// stringText reads a string and gives its characters, which are good until the next read.
func (d *decoder) stringText(want string) (text []byte, good, ok bool) {
	if d.peek() != '"' {
		return nil, false, d.mistyped(want)
	}
	at := d.pos
	s, escaped, ok := d.scanString()
	if !ok || !escaped {
		return d.text(s), ok, ok
	}
	s = d.unescape(s)
	text, d.arena = d.arena[s.lo:s.hi], d.arena[:s.lo]
	if !utf8.Valid(text) {
		d.fault(at, "want characters, got half of a surrogate pair")
		return nil, false, true
	}
	return text, true, true
}

func decodeString(d *decoder, v reflect.Value) bool {
	text, good, ok := d.stringText("a string")
	if good {
		v.SetString(string(text))
	}
	return ok
}

func decodeText(d *decoder, v reflect.Value) bool {
	d.space()
	at := d.pos
	text, good, ok := d.stringText("a string")
	if good {
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
			d.fault(at, err.Error())
		}
	}
	return ok
}

func decodeTime(d *decoder, v reflect.Value) bool {
	d.space()
	at := d.pos
	text, good, ok := d.stringText("a time such as 2026-11-29T02:00:00Z")
	if good {
		t, err := ParseTime(string(text))
		if err != nil {
			d.fault(at, err.Error())
		}
		v.SetInt(int64(t))
	}
	return ok
}

func decodeDuration(d *decoder, v reflect.Value) bool {
	d.space()
	at := d.pos
	text, good, ok := d.stringText(durationForm)
	if good {
		t, err := ParseDuration(string(text))
		if err != nil {
			d.fault(at, err.Error())
		}
		v.SetInt(int64(t))
	}
	return ok
}

func decodeBool(d *decoder, v reflect.Value) bool {
	c := d.peek()
	if c != 't' && c != 'f' {
		return d.mistyped("true or false")
	}
	v.SetBool(c == 't')
	return d.scanWord()
}

func decodeInt(d *decoder, v reflect.Value) bool {
	if c := d.peek(); c != '-' && !isDigit(c) {
		return d.mistyped("a whole number")
	}
	at := d.pos
	text, ok := d.scanNumber()
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		var whole bool
		if n, whole, err = wholeNumber(string(text)); !whole {
			d.fault(at, "want a whole number, got a fraction")
			return true
		}
	}
	if err != nil || v.OverflowInt(n) {
		least := int64(-1) << (v.Type().Bits() - 1)
		d.fault(at, fmt.Sprintf("want a whole number from %d to %d", least, -(least+1)))
		return true
	}
	v.SetInt(n)
	return true
}

func decodeFloat(d *decoder, v reflect.Value) bool {
	if c := d.peek(); c != '-' && !isDigit(c) {
		return d.mistyped("a number")
	}
	at := d.pos
	text, ok := d.scanNumber()
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(string(text), v.Type().Bits())
	if err != nil {
		d.fault(at, "want a number that a 64-bit float can hold")
		return true
	}
	v.SetFloat(f)
	return true
}

// decodeRaw takes any value as it was written.
func decodeRaw(d *decoder, v reflect.Value) bool {
	d.space()
	start, outer := d.pos, d.base
	d.base = len(d.frames)
	ok := d.skip()
	d.base = outer
	if ok {
		v.SetBytes(append(make([]byte, 0, d.pos-start), d.data[start:d.pos]...))
	}
	return ok
}
