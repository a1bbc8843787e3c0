package jobs

import (
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"
)

func pointerDecoder(elem reflect.Type) decodeFunc {
	read := decoderOf(elem)
	return func(d *decoder, v reflect.Value) bool {
		if v.IsNil() { // else it is read over a default
			v.Set(reflect.New(elem))
		}
		return read(d, v.Elem())
	}
}

// listDecoder reads a list of at most so many items; 0: of any number.
func listDecoder(elem reflect.Type, most int) decodeFunc {
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
			if most > 0 && n >= most {
				return d.tooMany(most)
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

// tooMany notes that the open list has too many items, and skips those that are left.
func (d *decoder) tooMany(most int) bool {
	d.space()
	d.fault(d.pos, "want at most "+strconv.Itoa(most)+" of them")
	for {
		if !d.skip() {
			return false
		}
		if s := d.item(); s != stepValue {
			return s == stepEnd
		}
	}
}

func mapDecoder(t reflect.Type) decodeFunc {
	read := sync.OnceValue(func() decodeFunc { return decoderOf(t.Elem()) })
	raw, plain := t.Elem() == rawType, t.Key() == reflect.TypeFor[string]()
	return func(d *decoder, v reflect.Value) bool {
		if d.peek() != '{' {
			return d.mistyped("an object")
		}
		if !d.open() {
			return false
		}
		if v.IsNil() { // else it is read over a default
			v.Set(reflect.MakeMap(t))
		}
		item := reflect.New(t.Elem()).Elem()
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
			item.SetZero()
			if !read()(d, item) {
				return false
			}
			name := reflect.ValueOf(key)
			if !plain {
				name = name.Convert(t.Key())
			}
			v.SetMapIndex(name, item)
		}
	}
}

// structFields are the fields of a struct by name.
type structFields map[string]*structField

type structField struct {
	field
	read      decodeFunc
	takesNull bool
}

func structDecoder(t reflect.Type) decodeFunc {
	fields := sync.OnceValue(func() structFields {
		m := structFields{}
		for _, f := range fieldsOf(t) {
			m[f.name] = &structField{field: f, takesNull: f.typ.Implements(nullTakerType)}
			if f.max > 0 && f.typ.Kind() == reflect.Slice {
				m[f.name].read = listDecoder(f.typ.Elem(), f.max)
			} else {
				m[f.name].read = decoderOf(f.typ)
			}
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
			return d.mistyped(objectForm(t))
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

// objectForms are objects in whose place people write a number or a text.
var objectForms = map[reflect.Type]string{
	reflect.TypeFor[Concurrency]():    `{"limit": 1}`,
	reflect.TypeFor[Rate]():           `{"limit": 100, "per": "1m"}`,
	reflect.TypeFor[dependencyRate](): `{"limit": 100, "per": "1m"}`,
	reflect.TypeFor[Unique]():         `{"key": "payload.order_id", "while": "active"}`,
	reflect.TypeFor[Schedule]():       `{"cron": "0 2 * * *", "timezone": "Europe/Berlin"}`,
	reflect.TypeFor[Progress]():       `{"done": 40, "total": 100}`,
	reflect.TypeFor[Checkpointing]():  `{"ttl": "24h", "key": "payload.batch"}`,
	reflect.TypeFor[CatchUp]():        `{"mode": "all", "window": "24h"}`,
	reflect.TypeFor[breakerDoc]():     `{"failures": 5}, or null for none`,
	reflect.TypeFor[dependencyDoc]():  `{"name": "stripe", "concurrency": 5}`,
	reflect.TypeFor[Group]():          `{"members": [{"name": "a", "job": "fetch-a"}], "merge": {"job": "merge-results"}}`,
	reflect.TypeFor[Member]():         `{"name": "a", "job": "fetch-a"}`,
	reflect.TypeFor[Merge]():          `{"job": "merge-results"}`,
	reflect.TypeFor[queueDoc]():       `{"name": "reports", "concurrency": 2}`,
}

func objectForm(t reflect.Type) string {
	if form := objectForms[t]; form != "" {
		return "an object such as " + form
	}
	return "an object"
}

// nullLeavesOut: null is as good as nothing, but where any value is kept as it is. A default
// stands against null there too.
func (f *structField) nullLeavesOut(v reflect.Value) bool {
	if f.typ == rawType {
		return f.in(v).Len() > 0
	}
	return !f.takesNull
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
			if !d.lenient && !bringsState(t, string(d.text(d.top().key))) {
				d.unknown(t)
			}
			if !d.skip() {
				return false
			}
		case f.nullLeavesOut(v) && d.null():
		case !f.read(d, f.in(v)):
			return false
		}
	}
}
