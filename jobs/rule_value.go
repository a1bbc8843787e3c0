package jobs

import (
	"errors"
	"strconv"
)

var errNotJSON = errors.New("not one JSON value")

// maxValueDepth is how deep JSON may be that expressions look at. What comes from others may be
// deeper than documents.
const maxValueDepth = 10_000

// decodeValue reads JSON with integers exact within int64: they become int, other numbers
// float64 (an infinity where they are too large). Of a key that stands twice the last one counts.
func decodeValue(text []byte) (any, error) {
	if len(text) == 0 {
		return nil, errNotJSON
	}
	d := newDecoder(text, decodeOptions{})
	defer d.release()
	d.base = maxValueDepth - MaxDepth
	var v any
	whole := false
	_, syntax := d.whole(func() bool {
		v, whole = d.any()
		return whole
	})
	if syntax != nil || !whole {
		return nil, errNotJSON
	}
	return v, nil
}

// any reads a value of any kind as expressions see it.
func (d *decoder) any() (v any, ok bool) {
	switch c := d.peek(); {
	case c == '{':
		return d.anyObject()
	case c == '[':
		return d.anyList()
	case c == '"':
		s, escaped, ok := d.scanString()
		if !ok {
			return nil, false
		}
		if !escaped {
			return string(d.text(s)), true
		}
		s = d.unescape(s)
		text := characters(string(d.text(s)))
		d.arena = d.arena[:s.lo]
		return text, true
	case c == '-' || isDigit(c):
		text, ok := d.scanNumber()
		if !ok {
			return nil, false
		}
		if n, err := strconv.Atoi(string(text)); err == nil {
			return n, true
		}
		f, _ := strconv.ParseFloat(string(text), 64)
		return f, true
	case c == 't' || c == 'f':
		return c == 't', d.scanWord()
	}
	return nil, d.scanWord()
}

func (d *decoder) anyObject() (any, bool) {
	if !d.open() {
		return nil, false
	}
	object := map[string]any{}
	for {
		if s := d.member(); s != stepValue {
			return object, s == stepEnd
		}
		key := characters(string(d.text(d.top().key)))
		v, ok := d.any()
		if !ok {
			return nil, false
		}
		object[key] = v
	}
}

func (d *decoder) anyList() (any, bool) {
	if !d.open() {
		return nil, false
	}
	list := []any{}
	for {
		if s := d.item(); s != stepValue {
			return list, s == stepEnd
		}
		v, ok := d.any()
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
}
