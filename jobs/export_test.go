package jobs

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exported is how a value comes back from an export.
func exported(t testing.TB, value string) (yaml, back string) {
	t.Helper()
	text := `{"jobs":[{"name":"a","script":{"source":"x"},"payload":` + value + `}]}`
	out, err := ToYAML([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	f, err := ParseFile("f", out)
	if err != nil {
		t.Fatalf("%s became\n%s\n%v", value, out, err)
	}
	return string(out), string(f.Jobs[0].Payload)
}

func TestExportKeepsOddValues(t *testing.T) {
	odd := []string{
		"1.10", "yes", "No", "null", "Null", "~", "0x1F", "0o17", "007", "2001-01-01", "12:30", "1_000",
		".inf", ".nan", "1e3", "+1", "-", "- a", "a: b", "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a",
		"{a}", "[a]", "{{ payload.a }}", "'", `"`, `\`, `a"b`, "a'b", "a\\nb", "", " ", " a", "a ", "\t", "a\tb",
		"\ta", "a\n", "\na", "a\nb", "a\n\nb\n\n", "a \nb", "  a\nb\n", "\n  a\n", "a\r\nb", "\n", "\n\n", "\x00",
		"\x1b[0m", "é", "日本", "😀", "\u0085", "a\u0085b\n", "\u2028", "a\u2029b\nc", "\ufeff", "\u00a0", "<<", "=", "<", "?", "? a",
		"---", "...", "a\n---\nb", "a\n...\nb", "# a\nb\n", "\tx\n\ty\n", "\n\tx\n", "a\n\tb\n\tc", "true", "on", "a:", ":a", "::", ",", "|", ">", "a,b",
		strings.Repeat("long ", 60) + "end", strings.Repeat("x", 300), "line one\nline two has \"quotes\" and 'these'\n",
	}
	for _, s := range odd {
		text := string(AppendJSONString(nil, s))
		for _, value := range []string{text, "{" + text + ":1}", "[" + text + ",[" + text + "]]"} {
			if yaml, back := exported(t, value); back != value {
				t.Errorf("%s came back as %s from\n%s", value, back, yaml)
			}
		}
	}
	for _, value := range []string{
		"1.10", "1e400", "-0", "1E+3", "9007199254740993", "0.0", "-1.5e-7", "true", "false", "null", "{}", "[]", "[[]]",
		`{ "a" : 1 }`, `{"a": [1, 2]}`, `["\u00e9"]`, `["\/"]`, `["\ud800"]`, `{"\ud800":1}`, `[{"b":"\u0041 'x'"},{"c":2}]`,
		"[\n1\n]", `{"a":{"b":{"c":[1,{"d":null}]}}}`,
	} {
		want := value
		if value == "null" {
			want = "" // as good as none
		}
		if yaml, back := exported(t, value); back != want {
			t.Errorf("%s came back as %s from\n%s", value, back, yaml)
		}
	}
}

func TestExportIsReadable(t *testing.T) {
	yaml, _ := exported(t, `{"id":1.10,"url":"https://example.com/a","when":"2026-01-02","if":"http.status == 429",`+
		`"text":"#!/bin/sh\necho \"hi\"\n","tpl":"{{ payload.a }}","q":"\"x\": y","odd":{ "a":1}}`)
	want := `jobs:
  - name: a
    script:
      source: x
    payload:
      id: 1.10
      url: https://example.com/a
      when: "2026-01-02"
      if: http.status == 429
      text: |
        #!/bin/sh
        echo "hi"
      tpl: "{{ payload.a }}"
      q: '"x": y'
      odd: !json '{ "a":1}'
`
	if yaml != want {
		t.Errorf("got\n%s\nwant\n%s", yaml, want)
	}
}

func TestExportOfAnyDocumentRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonGen(4).Draw(t, "value")
		text := `{"jobs":[{"name":"a","script":{"source":"x"},"payload":[` + value + `]}]}`
		out, err := ToYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseFile("f", out)
		if err != nil {
			t.Fatalf("%s became\n%s\n%v", value, out, err)
		}
		if back := string(f.Jobs[0].Payload); back != "["+value+"]" {
			t.Fatalf("%s came back as %s from\n%s", value, back, out)
		}
	})
}

// jsonGen makes JSON texts with odd strings, odd numbers and odd spaces.
func jsonGen(depth int) *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		"a", "B", "0", "1", "9", ".", "-", "+", "e", "x", " ", "  ", "\n", "\t", "\r", ":", ": ", "#", " #", "'", `"`, `\`, "{", "}",
		"[", "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "~", "yes", "no", "null", "true", "<<", "é", "日", "😀", "\u0085",
		"\u2028", "\ufeff", "\x00", "\x7f", "---", "...", "?", "? ", "- ", "=",
	})
	texts := rapid.Custom(func(t *rapid.T) string {
		return string(AppendJSONString(nil, strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "text"), "")))
	})
	space := rapid.SampledFrom([]string{"", "", "", "", "", "", " ", "\n"})
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		switch {
		case kind < 2 && depth > 0:
			items := rapid.SliceOfN(jsonGen(depth-1), 0, 4).Draw(t, "items")
			return "[" + strings.Join(items, ","+space.Draw(t, "space")) + "]"
		case kind < 5 && depth > 0:
			keys := rapid.SliceOfNDistinct(texts, 0, 4, rapid.ID[string]).Draw(t, "keys")
			members := make([]string, len(keys))
			for i, key := range keys {
				members[i] = key + ":" + space.Draw(t, "space") + jsonGen(depth-1).Draw(t, "member")
			}
			return "{" + strings.Join(members, ",") + "}"
		case kind < 6:
			return fmt.Sprint(rapid.Float64Range(-1e9, 1e9).Draw(t, "number"))
		case kind < 7:
			return rapid.SampledFrom([]string{"true", "false", "null", "1.10", "-0", "1e400", `"\ud800"`, `"\u0041"`}).Draw(t, "word")
		}
		return texts.Draw(t, "text")
	})
}

// roundTrip fails the test unless what a file holds comes back from an export as it is.
func roundTrip(t testing.TB, file *File) {
	t.Helper()
	doc := struct {
		Policies []Raw `json:"policies"`
		Jobs     []Raw `json:"jobs"`
	}{[]Raw{}, []Raw{}}
	for _, p := range file.Policies {
		doc.Policies = append(doc.Policies, p.Document())
	}
	for _, j := range file.Jobs {
		doc.Jobs = append(doc.Jobs, j.Document())
	}
	text, err := ToYAML(AppendJSON(nil, &doc))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseFile("export", text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for i, j := range again.Jobs {
		if string(j.Document()) != string(doc.Jobs[i]) {
			t.Fatalf("%s came back as %s from\n%s", doc.Jobs[i], j.Document(), text)
		}
	}
	for i, p := range again.Policies {
		if string(p.Document()) != string(doc.Policies[i]) {
			t.Fatalf("%s came back as %s from\n%s", doc.Policies[i], p.Document(), text)
		}
	}
}
