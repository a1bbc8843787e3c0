package jobs

import (
	"cmp"
	"encoding"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// AppendJSON writes a value by its json tags, as encoding/json does, but for this: Raw is written
// byte for byte, nil as null; Time is null where it is zero, ID where it is NilID; & < > are not
// escaped; NaN and infinities are null, and so is what fails to marshal itself.
//
// It panics where v holds a type that has no JSON form.
func AppendJSON(dst []byte, v any) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	value := reflect.ValueOf(v)
	return encoderOf(value.Type())(dst, value)
}

// encodeFunc writes a value.
type encodeFunc func(dst []byte, v reflect.Value) []byte

var (
	textMapType       = reflect.TypeFor[map[string]string]()
	idType            = reflect.TypeFor[ID]()
	jsonMarshalerType = reflect.TypeFor[jsonMarshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

type jsonMarshaler interface{ MarshalJSON() ([]byte, error) }

var encoderCache sync.Map // reflect.Type → encodeFunc

func encoderOf(t reflect.Type) encodeFunc {
	if cached, ok := encoderCache.Load(t); ok {
		return cached.(encodeFunc)
	}
	cached, _ := encoderCache.LoadOrStore(t, makeEncoder(t))
	return cached.(encodeFunc)
}

func makeEncoder(t reflect.Type) encodeFunc {
	switch t {
	case rawType:
		return encodeRaw
	case timeType:
		return func(dst []byte, v reflect.Value) []byte { return appendTime(dst, Time(v.Int())) }
	case durationType:
		return func(dst []byte, v reflect.Value) []byte {
			return AppendJSONString(dst, Duration(v.Int()).String())
		}
	case idType:
		return encodeID
	case textMapType:
		return encodeTextMap
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return pointerEncoder(t.Elem())
	case t.Kind() == reflect.Interface:
		return encodeInterface
	case t.Implements(jsonMarshalerType):
		return encodeMarshaler
	case t.Implements(textMarshalerType):
		return encodeTextMarshaler
	}
	switch t.Kind() {
	case reflect.String:
		return func(dst []byte, v reflect.Value) []byte { return AppendJSONString(dst, v.String()) }
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) []byte { return strconv.AppendBool(dst, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) []byte {
			return strconv.AppendInt(dst, v.Int(), 10)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(dst []byte, v reflect.Value) []byte {
			return strconv.AppendUint(dst, v.Uint(), 10)
		}
	case reflect.Float32, reflect.Float64:
		bits := t.Bits()
		return func(dst []byte, v reflect.Value) []byte { return appendFloat(dst, v.Float(), bits) }
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return encodeBytes
		}
		return listEncoder(t.Elem())
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapEncoder(t)
		}
	case reflect.Struct:
		return structEncoder(t)
	}
	panic(fmt.Sprintf("jobs: a %s has no JSON form", t))
}

func encodeRaw(dst []byte, v reflect.Value) []byte {
	if v.Len() == 0 {
		return append(dst, "null"...)
	}
	return append(dst, v.Bytes()...)
}

func encodeID(dst []byte, v reflect.Value) []byte {
	if v.CanAddr() {
		return appendID(dst, *v.Addr().Interface().(*ID))
	}
	return appendID(dst, v.Interface().(ID))
}

func encodeInterface(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	return encoderOf(v.Elem().Type())(dst, v.Elem())
}

func encodeMarshaler(dst []byte, v reflect.Value) []byte {
	text, err := v.Interface().(jsonMarshaler).MarshalJSON()
	if err != nil || len(text) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

func encodeTextMarshaler(dst []byte, v reflect.Value) []byte {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return append(dst, "null"...)
	}
	return AppendJSONString(dst, string(text))
}

// encodeBytes writes base64, as encoding/json does.
func encodeBytes(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes())
	return append(dst, '"')
}

func pointerEncoder(elem reflect.Type) encodeFunc {
	write := sync.OnceValue(func() encodeFunc { return encoderOf(elem) })
	return func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		return write()(dst, v.Elem())
	}
}

func listEncoder(elem reflect.Type) encodeFunc {
	write := sync.OnceValue(func() encodeFunc { return encoderOf(elem) })
	return func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = write()(dst, v.Index(i))
		}
		return append(dst, ']')
	}
}

// encodeTextMap is mapEncoder for labels, headers and the like.
func encodeTextMap(dst []byte, v reflect.Value) []byte {
	m := v.Interface().(map[string]string)
	if m == nil {
		return append(dst, "null"...)
	}
	keys := slices.AppendSeq(make([]string, 0, 8), maps.Keys(m))
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendJSONString(dst, key), ':')
		dst = AppendJSONString(dst, m[key])
	}
	return append(dst, '}')
}

func mapEncoder(t reflect.Type) encodeFunc {
	write := sync.OnceValue(func() encodeFunc { return encoderOf(t.Elem()) })
	return func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return cmp.Compare(a.String(), b.String())
		})
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONString(dst, key.String()), ':')
			dst = write()(dst, v.MapIndex(key))
		}
		return append(dst, '}')
	}
}

func structEncoder(t reflect.Type) encodeFunc {
	type member struct {
		field
		key   string // "name": with the comma before it
		write encodeFunc
	}
	members := sync.OnceValue(func() []member {
		var list []member
		for _, f := range fieldsOf(t) {
			key := string(AppendJSONString([]byte{','}, f.name)) + ":"
			list = append(list, member{f, key, encoderOf(f.typ)})
		}
		return list
	})
	return func(dst []byte, v reflect.Value) []byte {
		dst = append(dst, '{')
		start := len(dst)
		for i, list := 0, members(); i < len(list); i++ {
			m := &list[i]
			value := m.in(v)
			if m.omitEmpty && isEmpty(value) || m.omitZero && value.IsZero() {
				continue
			}
			key := m.key
			if len(dst) == start {
				key = key[1:]
			}
			dst = m.write(append(dst, key...), value)
		}
		return append(dst, '}')
	}
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
