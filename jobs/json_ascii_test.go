package jobs

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestCompactASCIIKeepsTheValueAndItsTexts(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "null": "null", " 1.10 ": "1.10", "1E400": "1E400",
		"{ \"b\" : 1.0 ,\n\t\"a\" :\r[ ] }": `{"b":1.0,"a":[]}`,
		`"two  spaces, \"quoted\" \\"`:      `"two  spaces, \"quoted\" \\"`,
		`"\\" `:                             `"\\"`,
		`{"é":"aé\u00e9\/"}`:                `{"\u00e9":"a\u00e9\u00e9\/"}`,
		`"😀\ud83d\ude00 \ud83d"`:            `"\ud83d\ude00\ud83d\ude00 \ud83d"`,
		"\"\u007f\u0080\uffff\U0010ffff\"":  `"\u007f\u0080\uffff\udbff\udfff"`,
		"\"\u2028\"":                        `"\u2028"`,
		`[true,false,{"n":-0}]`:             `[true,false,{"n":-0}]`,
	} {
		if got := string(CompactASCII(Raw(raw))); got != want {
			t.Errorf("%q: %q: want %q", raw, got, want)
		}
	}
}

func FuzzCompactASCII(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1, 2.50, "é\"😀"]}`, "\"\x7f\\\\\"", "\"\\", "\xff", `"\ud800é"`, " [ ] ",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := CompactASCII(raw)
		if bytes.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f }) && ValidJSON(raw) == nil {
			t.Errorf("%q: %q is not printable ASCII", raw, got)
		}
		if ValidJSON(raw) != nil {
			return
		}
		if !EqualJSON(raw, got) {
			t.Errorf("%q is another value than %q", got, raw)
		}
		if again := CompactASCII(got); !bytes.Equal(again, got) {
			t.Errorf("%q became %q", got, again)
		}
		var compact bytes.Buffer
		if json.Compact(&compact, got) == nil && compact.Len() != len(got) {
			t.Errorf("%q has white space left", got)
		}
	})
}
