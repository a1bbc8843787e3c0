package jobs

import (
	"reflect"
	"strings"
)

// unknown notes that the struct under way has no field of the key that was read.
func (d *decoder) unknown(t reflect.Type) {
	if len(d.faults) >= MaxFaults {
		d.more++ // a hint takes its time
		return
	}
	name := string(d.text(d.top().key))
	d.fault(d.top().at, unknownField+d.fieldHint(t, name))
}

const unknownField = "unknown field"

// fieldHint says what may have been meant: the same word in another form, the place where the
// field belongs, a word much like it, or what there is.
func (d *decoder) fieldHint(t reflect.Type, name string) string {
	if len(name) > 64 {
		return ""
	}
	fields := fieldsOf(t)
	for _, f := range fields {
		if plainWord(f.name) == plainWord(name) {
			return `: want "` + f.name + `"`
		}
	}
	for i := len(d.docs) - 1; i >= 0; i-- {
		doc := d.docs[i]
		hinter := reflect.New(doc.typ).Interface().(FieldHinter)
		parent := d.location(d.frames[doc.outer : len(d.frames)-1])
		if hint := hinter.FieldHint(parent, name); hint != "" {
			return ": " + hint
		}
	}
	if near := nearest(fields, name); near != "" {
		return `: did you mean "` + near + `"?`
	}
	switch {
	case len(fields) == 0:
		return ": none is known here"
	case len(fields) > 12:
		return ""
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return ": known here are " + strings.Join(names, ", ")
}

// plainWord leaves out what tells maxAttempts, max-attempts and max_attempts apart.
func plainWord(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// nearest is the field whose name takes the fewest changes to get to, if those are few.
func nearest(fields []field, name string) string {
	best, fewest := "", min(2, len(name)/3)+1
	for _, f := range fields {
		if n := editDistance(f.name, strings.ToLower(name)); n < fewest {
			best, fewest = f.name, n
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, change or swap with the next one (optimal
// string alignment).
func editDistance(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}

// belongs looks for a field in a document and says where it has its place: the top level,
// or the field below which it stands. It looks in breadth, so the nearest to the top wins.
func belongs(doc reflect.Type, noun, name string) string {
	type place struct {
		typ  reflect.Type
		path string
	}
	level := []place{{doc, ""}}
	for depth := 0; depth < 4; depth++ {
		var next []place
		for _, p := range level {
			for _, f := range fieldsOf(p.typ) {
				if f.name == name && p.path == "" {
					return "it belongs at the top level of the " + noun
				} else if f.name == name {
					return "it belongs below " + p.path
				}
				t := f.typ
				for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
					t = t.Elem()
				}
				if t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(textType) {
					next = append(next, place{t, memberLocation(p.path, f.name)})
				}
			}
		}
		level = next
	}
	return ""
}
