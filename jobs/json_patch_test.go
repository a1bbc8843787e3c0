package jobs

import (
	"errors"
	"strings"
	"testing"
)

func TestMergePatchIsThatOfRFC7396(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{
		// The examples of its appendix A.
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// What this one keeps besides.
		{`{"n": 1.50, "m": 10e2,  "big": 12345678901234567890}`, `{"m":2.0}`, `{"n":1.50,"m":2.0,"big":12345678901234567890}`},
		{`{"z":1,"a":{"y": [1,  2]},"k":3}`, `{"k":4,"b":5}`, `{"z":1,"a":{"y": [1,  2]},"k":4,"b":5}`},
		{`{"a\u0062":1,"c":2}`, `{"ab":3}`, `{"a\u0062":3,"c":2}`},
		{`{"\u0061" : 1}`, `{"c":2}`, `{"\u0061":1,"c":2}`},
		{` {"a": 1 } `, `{}`, ` {"a": 1 } `},
		{`{"a":{"b": 1 }}`, `{"a":{}}`, `{"a":{"b": 1 }}`},
		{`7`, `{}`, `{}`},
	} {
		got, err := MergePatch(Raw(c.target), Raw(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%s with %s is %s, %v, want %s", c.target, c.patch, got, err, c.want)
		}
	}
}

func TestMergePatchThatGivesNoPayloadSaysWhy(t *testing.T) {
	large := Raw(`{"a":"` + strings.Repeat("x", MaxPayload-10) + `"}`)
	var tooLarge *TooLargeError
	if _, err := MergePatch(large, Raw(`{"b":"123"}`)); !errors.As(err, &tooLarge) {
		t.Errorf("a result over the limit gave %v", err)
	}
	deep := strings.Repeat(`{"a":`, MaxDepth-1) + `1` + strings.Repeat(`}`, MaxDepth-1)
	if _, err := MergePatch(Raw(`{}`), Raw(deep)); err != nil {
		t.Errorf("%d levels gave %v", MaxDepth-1, err)
	}
	lists := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if _, err := MergePatch(Raw(`{}`), Raw(`{"a":`+lists+`}`)); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("%d levels gave %v", MaxDepth+1, err)
	}
}
