package jobs

import "reflect"

// optional is a field in which null is not the same as left out.
type optional[T any] struct {
	here  bool
	value *T // nil: null, where it is here
}

// takesNull implements nullTaker.
func (optional[T]) takesNull() {}

// decodeJSON reads null or a value.
func (g *optional[T]) decodeJSON(d *decoder) bool {
	g.here, g.value = true, nil
	if d.null() {
		return true
	}
	g.value = new(T)
	return decoderOf(reflect.TypeFor[T]())(d, reflect.ValueOf(g.value).Elem())
}

// MarshalJSON writes null or the value.
func (g optional[T]) MarshalJSON() ([]byte, error) { return AppendJSON(nil, g.value), nil }

// nullTaker is a type that null is a value of.
type nullTaker interface{ takesNull() }

// stateful is a document that may bring fields which are not part of it.
type stateful interface{ isState(name string) bool }

var (
	nullTakerType = reflect.TypeFor[nullTaker]()
	statefulType  = reflect.TypeFor[stateful]()
)

// bringsState reports whether a field that a struct does not have is to be passed over.
func bringsState(t reflect.Type, name string) bool {
	return reflect.PointerTo(t).Implements(statefulType) &&
		reflect.New(t).Interface().(stateful).isState(name)
}
