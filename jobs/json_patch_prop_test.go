package jobs

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

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
		text, err := MergePatch(before, change)
		var got any
		if err != nil || json.Unmarshal(text, &got) != nil {
			t.Fatalf("%s with %s: %s: %v", before, change, text, err)
		}
		if want := plainMerge(value, patch); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s with %s: %s", before, change, text)
		}
	})
}
