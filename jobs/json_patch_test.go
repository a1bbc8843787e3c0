package jobs

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// The examples of RFC 7396, appendix A, and those that show what stays as it was.
func TestAMergePatchChangesWhatItNamesAndNothingElse(t *testing.T) {
	for _, c := range []struct{ value, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a": "c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a": "b", "b": "c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b": "c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a": "c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a": ["b"]}`},
		{`{"a": {"b": "c"}}`, `{"a": {"b": "d", "c": null}}`, `{"a": {"b": "d"}}`},
		{`{"a": [{"b":"c"}]}`, `{"a": [1]}`, `{"a": [1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e": null, "a": 1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a": "b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a": {"bb": {}}}`},

		{``, `{"a": 1}`, `{"a": 1}`},
		{``, `{}`, `{}`},
		{"{ \"a\" :\t1.50 ,\n\"b\":[ ] }", `{}`, "{ \"a\" :\t1.50 ,\n\"b\":[ ] }"},
		{"{ \"a\" :\t1.50 ,\n\"b\":[ ] }", `{"c": null, "a": 1.50}`, "{ \"a\" :\t1.50 ,\n\"b\":[ ] }"},
		{"{ \"a\" :\t1.50 ,\n\"b\":[ 1 ,2 ] , \"d\": 1e3}", `{"d": 2, "b": null}`, `{"a": 1.50, "d": 2}`},
		{`{"big": 12345678901234567890.10, "\u00e4": "\u0061", "\ud800": 1, "x": {"y": 1E2 , "z":0}}`, `{"x": {"z": 1}}`,
			`{"big": 12345678901234567890.10, "\u00e4": "\u0061", "\ud800": 1, "x": {"y": 1E2, "z": 1}}`},
		{`{"ä": 1}`, `{"\u00e4": 2}`, `{"ä": 2}`},
		{`{",:{": 1, "": 2}`, `{"": 3}`, `{",:{": 1, "": 3}`},
	} {
		if got := string(MergePatch(Raw(c.value), Raw(c.patch))); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.value, c.patch, got, c.want)
		}
	}
}

// plainMerge is the algorithm of RFC 7396, section 2, as it is written there.
func plainMerge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = plainMerge(object[name], value)
		}
	}
	return object
}

func TestAMergePatchDoesWhatTheStandardSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var of func(depth int) any
		of = func(depth int) any {
			most := 2
			if depth < 3 {
				most = 4
			}
			switch rapid.IntRange(0, most).Draw(t, "kind") {
			case 0:
				return nil
			case 1:
				return rapid.SampledFrom([]any{"x", 1.5, true, []any{nil, "y"}}).Draw(t, "plain")
			case 2:
				return map[string]any{}
			}
			m := map[string]any{}
			for range rapid.IntRange(1, 3).Draw(t, "members") {
				m[rapid.SampledFrom([]string{"a", "b", "ä", ""}).Draw(t, "name")] = of(depth + 1)
			}
			return m
		}
		value, patch := of(0), of(0)
		before, _ := json.Marshal(value)
		change, _ := json.Marshal(patch)
		var got any
		text := MergePatch(before, change)
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s with %s: %s: %v", before, change, text, err)
		}
		if want := plainMerge(value, patch); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s with %s: %s", before, change, text)
		}
	})
}
