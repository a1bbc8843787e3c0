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
			return listDecoder(t.Elem())
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
	if c := d.peek(); want == "a string" && c != '{' && c != '[' && c != 'n' {
		msg += ": put it in double quotes"
	}
	d.fault(d.pos, msg)
	return d.skip()
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

func pointerDecoder(elem reflect.Type) decodeFunc {
	read := decoderOf(elem)
	return func(d *decoder, v reflect.Value) bool {
		v.Set(reflect.New(elem))
		return read(d, v.Elem())
	}
}

func listDecoder(elem reflect.Type) decodeFunc {
	read := sync.OnceValue(func() decodeFunc { return decoderOf(elem) })
	return func(d *decoder, v reflect.Value) bool {
		if d.peek() != '[' {
			return d.mistyped("a list")
		}
		if !d.open() {
			return false
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		for n := 0; ; n++ {
			if s := d.item(); s != stepValue {
				return s == stepEnd
			}
			v.Grow(1)
			v.SetLen(n + 1)
			d.space()
			if !read()(d, v.Index(n)) {
				return false
			}
		}
	}
}

func mapDecoder(t reflect.Type) decodeFunc {
	read := sync.OnceValue(func() decodeFunc { return decoderOf(t.Elem()) })
	raw := t.Elem() == rawType
	return func(d *decoder, v reflect.Value) bool {
		if d.peek() != '{' {
			return d.mistyped("an object")
		}
		if !d.open() {
			return false
		}
		v.Set(reflect.MakeMap(t))
		for {
			if s := d.member(); s != stepValue {
				return s == stepEnd
			}
			key := string(d.text(d.top().key))
			if !utf8.ValidString(key) {
				d.fault(d.top().at, "want characters in the key, got half of a surrogate pair")
			}
			if !raw && d.null() {
				continue
			}
			item := reflect.New(t.Elem()).Elem()
			if !read()(d, item) {
				return false
			}
			v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), item)
		}
	}
}

// structFields are the fields of a struct by name.
type structFields map[string]*structField

type structField struct {
	field
	read decodeFunc
}

func structDecoder(t reflect.Type) decodeFunc {
	fields := sync.OnceValue(func() structFields {
		m := structFields{}
		for _, f := range fieldsOf(t) {
			m[f.name] = &structField{f, decoderOf(f.typ)}
		}
		return m
	})
	hints := reflect.PointerTo(t).Implements(hinterType)
	return func(d *decoder, v reflect.Value) bool {
		switch c := d.peek(); {
		case c == '"' && d.short[t] != "":
			f := fields()[d.short[t]]
			return f.read(d, f.in(v))
		case c != '{':
			return d.mistyped("an object")
		case !d.open():
			return false
		}
		if !hints {
			return d.members(t, fields(), v)
		}
		d.docs = append(d.docs, openDoc{t, len(d.frames) - 1})
		ok := d.members(t, fields(), v)
		d.docs = d.docs[:len(d.docs)-1]
		return ok
	}
}

// members reads the members of the open object into a struct.
func (d *decoder) members(t reflect.Type, fields structFields, v reflect.Value) bool {
	for {
		if s := d.member(); s != stepValue {
			return s == stepEnd
		}
		f := fields[string(d.text(d.top().key))]
		switch {
		case f == nil:
			if !d.lenient {
				d.unknown(t)
			}
			if !d.skip() {
				return false
			}
		case f.typ != rawType && d.null():
		case !f.read(d, f.in(v)):
			return false
		}
	}
}
