package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// cases.md 159: key order and space do not make another payload, numbers do by their text.
func TestEqualJSONComparesValues(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2,3]}`, ` { "b" : [2, 3] ,"a":1 } `, true},
		{`{"a":{"x":1,"y":2},"b":{}}`, `{"b":{},"a":{"y":2,"x":1}}`, true},
		{`{}`, `{ }`, true},
		{`[]`, `{}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[[1],2]`, `[[1,2]]`, false},
		{`{"a":null}`, `{}`, false},
		{`1`, `1.0`, false},
		{`1e2`, `100`, false},
		{`-0`, `0`, false},
		{`1e400`, `1e400`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`"1"`, `1`, false},
		{`"null"`, `null`, false},
		{`true`, `false`, false},
		{`"\u0061\/\n"`, "\"a/\\u000A\"", true},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"\ud800"`, `"\ud801"`, false},
		{`"\uD800"`, `"\ud800"`, true},
		{`"\ud800"`, `"\ufffd"`, false},
		{`{"\u0061":1}`, `{"a":1}`, true},
		{`{"a\"":1}`, `{"a\u0022":1}`, true},
		{`{"a":"b\",\"c\":\"d"}`, `{"a":"b","c":"d"}`, false},
		{`["a,","b"]`, `["a",",b"]`, false},
		{`"\\u0061"`, `"a"`, false},
		{`{"a":1,"a":1}`, `{"a":1,"a":1}`, true}, // not valid: the same bytes
		{`{"a":1,"a":1}`, `{"a":1,"a":1} `, false},
		{`[`, `[ `, false},
		{``, ``, true},
	}
	for _, tt := range tests {
		if got := EqualJSON([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%s and %s: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := EqualJSON([]byte(tt.b), []byte(tt.a)); got != tt.want {
			t.Errorf("%s and %s: got %v, want %v", tt.b, tt.a, got, tt.want)
		}
		if got := HashJSON([]byte(tt.a)) == HashJSON([]byte(tt.b)); got != tt.want {
			t.Errorf("%s and %s: equal hashes %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// A hash that is stored must mean the same in the next version.
func TestHashJSONDoesNotChange(t *testing.T) {
	got := HashJSON([]byte(`{"b": [1.10, "é\u000a\"", null], "a": {"d": true, "c": -1e400}}`))
	want := "48c75350de3130c1aa0ff2f946c1d686"
	if text := hexOf(got[:]); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func hexOf(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteString(string([]byte{hexDigits[c>>4], hexDigits[c&15]}))
	}
	return s.String()
}

// value is a JSON value and two ways to write it.
type value struct {
	kind  byte // o, l, or s for a scalar
	keys  []string
	items []*value
	text  string
}

func drawValue(t *rapid.T, depth int) *value {
	kind := rapid.SampledFrom([]byte("solsol"[:min(6, 1+5*depth)])).Draw(t, "kind")
	v := &value{kind: kind}
	switch kind {
	case 's':
		v.text = rapid.OneOf(rapid.SampledFrom([]string{"1", "1.0", "1e400", "true", "null"}),
			rapid.Map(rapid.StringN(0, 4, -1), strconv.Quote)).Draw(t, "scalar")
		if strings.HasPrefix(v.text, `"`) {
			s, _ := strconv.Unquote(v.text)
			v.text = string(AppendJSONString(nil, s))
		}
	case 'o':
		v.keys = rapid.SliceOfNDistinct(rapid.StringN(0, 3, -1), 0, 20, rapid.ID).Draw(t, "keys")
		for range v.keys {
			v.items = append(v.items, drawValue(t, depth-1))
		}
	case 'l':
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			v.items = append(v.items, drawValue(t, depth-1))
		}
	}
	return v
}

// write gives a text of the value with members, space and escapes as drawn.
func (v *value) write(t *rapid.T, b *bytes.Buffer) {
	space := func() {
		b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t,
			"space"))
	}
	space()
	defer space()
	order := make([]int, len(v.items))
	for i := range order {
		order[i] = i
	}
	open, end := "[", "]"
	switch v.kind {
	case 's':
		b.WriteString(v.text)
		return
	case 'o':
		open, end = "{", "}"
		order = rapid.Permutation(order).Draw(t, "order")
	}
	b.WriteString(open)
	space()
	for n, i := range order {
		if n > 0 {
			b.WriteString(",")
		}
		if v.kind == 'o' {
			space()
			b.WriteString(escapeSome(t, v.keys[i]))
			space()
			b.WriteString(":")
		}
		v.items[i].write(t, b)
	}
	b.WriteString(end)
}

func escapeSome(t *rapid.T, s string) string {
	if !rapid.Bool().Draw(t, "escape") {
		return string(AppendJSONString(nil, s))
	}
	b := []byte{'"'}
	for _, r := range s {
		if r < 0x10000 {
			b = append(b, `\u`...)
			b = append(b, strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16)))...)
			b = strconv.AppendInt(b, int64(r), 16)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}

func TestEqualJSONHoldsHoweverAValueIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		var a, b bytes.Buffer
		v.write(t, &a)
		v.write(t, &b)
		if !EqualJSON(a.Bytes(), b.Bytes()) || HashJSON(a.Bytes()) != HashJSON(b.Bytes()) {
			t.Fatalf("%s is not %s", a.Bytes(), b.Bytes())
		}
	})
}

func TestSortedJSONIsOneTextOfAValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		var a, b bytes.Buffer
		v.write(t, &a)
		v.write(t, &b)
		sorted := sortedJSON(a.Bytes())
		if !bytes.Equal(sorted, sortedJSON(b.Bytes())) || !bytes.Equal(sorted, sortedJSON(sorted)) {
			t.Fatalf("%s and %s are %s and %s", a.Bytes(), b.Bytes(), sorted, sortedJSON(b.Bytes()))
		}
		if err := ValidJSON(sorted); err != nil || !EqualJSON(sorted, a.Bytes()) {
			t.Fatalf("%s is %s: %v", a.Bytes(), sorted, err)
		}
	})
}

// decoded compares by way of encoding/json, numbers by their text.
func decoded(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func sameDecoded(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for k, v := range a {
			if w, ok := other[k]; !ok || !sameDecoded(v, w) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, sameDecoded)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func FuzzEqualJSONAgreesWithHashJSON(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":2}`), []byte(`{"b":2,"a":1}`))
	f.Add([]byte(`["\u0061"]`), []byte(`["a"]`))
	f.Add([]byte(`{"":{"":0}}`), []byte(`[1.0]`))
	f.Add([]byte(`"\ud800"`), []byte(`"\ufffd"`))
	f.Add([]byte(`x`), []byte(``))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		equal := EqualJSON(a, b)
		if hashes := HashJSON(a) == HashJSON(b); hashes != equal {
			t.Fatalf("%q and %q: equal %v, by hash %v", a, b, equal, hashes)
		}
		if !EqualJSON(a, a) || equal != EqualJSON(b, a) {
			t.Fatalf("%q and %q: not an equivalence", a, b)
		}
		if ValidJSON(a) != nil || ValidJSON(b) != nil {
			var syntax *SyntaxError
			if err := ValidJSON(a); errors.As(err, &syntax) && syntax.Offset > len(a) {
				t.Fatalf("%q: offset %d", a, syntax.Offset)
			}
			return
		}
		if bytes.Contains(a, []byte(`\u`)) || bytes.Contains(b, []byte(`\u`)) {
			return // encoding/json cannot tell lone surrogates apart
		}
		va, errA := decoded(a)
		vb, errB := decoded(b)
		if errA != nil || errB != nil || sameDecoded(va, vb) != equal {
			t.Fatalf("%q and %q: got %v (%v, %v)", a, b, equal, errA, errB)
		}
	})
}
