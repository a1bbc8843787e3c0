package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// field is a field of a struct as JSON knows it. The tags are those of encoding/json, and
// max:"10000" at lists.
type field struct {
	name      string
	index     []int // through embedded structs
	typ       reflect.Type
	omitEmpty bool
	omitZero  bool
	max       int // items that a list is read up to; 0: any number
}

var fieldCache sync.Map // reflect.Type → []field

// fieldsOf lists the fields of a struct in order, those of embedded structs in their place. A field
// hides those of the same name in structs embedded beside it.
func fieldsOf(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	all := collectFields(t, nil)
	var kept []field
	for i, f := range all {
		hidden := slices.ContainsFunc(all[:i], func(g field) bool {
			return g.name == f.name && len(g.index) <= len(f.index)
		}) || slices.ContainsFunc(all[i+1:], func(g field) bool {
			return g.name == f.name && len(g.index) < len(f.index)
		})
		if !hidden {
			kept = append(kept, f)
		}
	}
	cached, _ := fieldCache.LoadOrStore(t, kept)
	return cached.([]field)
}

func collectFields(t reflect.Type, outer []int) []field {
	var list []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		index := append(slices.Clone(outer), i)
		embedded := sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct
		switch {
		case sf.Tag.Get("json") == "-":
		case embedded:
			list = append(list, collectFields(sf.Type, index)...)
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Pointer:
			panic(fmt.Sprintf("jobs: %s embeds a pointer: want a struct", t))
		case !sf.IsExported():
		case strings.Contains(options, "string"):
			panic(fmt.Sprintf("jobs: %s.%s: the tag option string has no meaning here", t, sf.Name))
		default:
			if name == "" {
				name = sf.Name
			}
			most, _ := strconv.Atoi(sf.Tag.Get("max"))
			list = append(list, field{
				name: name, index: index, typ: sf.Type, max: most,
				omitEmpty: strings.Contains(options, "omitempty"),
				omitZero:  strings.Contains(options, "omitzero"),
			})
		}
	}
	return list
}

// in gives the field of a struct value.
func (f *field) in(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}
