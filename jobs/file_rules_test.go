package jobs

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRuleFilesHaveSeveralForms(t *testing.T) {
	want := []Rule{
		{If: "http.status == 404", Then: ThenRetry, After: "2m", MaxAttempts: new(3)},
		{If: `error.type == "Boom"`, Then: ThenFail, Reason: "no use"},
	}
	for name, text := range map[string]string{
		"a list in YAML": `
- {if: 'http.status == 404', then: retry, after: 2m, max_attempts: 3}
- if: error.type == "Boom"
  then: fail
  reason: no use
`,
		"below rules in YAML": `
rules:
  - {if: 'http.status == 404', then: retry, after: 2m, max_attempts: 3}
  - {if: 'error.type == "Boom"', then: fail, reason: no use}
`,
		"a flow list in YAML": `[{if: 'http.status == 404', then: retry, after: 2m, max_attempts: 3},
{if: 'error.type == "Boom"', then: fail, reason: no use}]`,
		"a list in JSON": ` [{"if":"http.status == 404","then":"retry","after":"2m","max_attempts":3},
{"if":"error.type == \"Boom\"","then":"fail","reason":"no use"}]`,
		"below rules in JSON": `{"rules":[{"if":"http.status == 404","then":"retry","after":"2m","max_attempts":3},
{"if":"error.type == \"Boom\"","then":"fail","reason":"no use"}]}`,
	} {
		f, err := ParseRules("r.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(f.Rules, want) {
			t.Errorf("%s: %+v", name, f.Rules)
		}
	}
}

func TestMistakesInRuleFilesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "r.yaml: holds nothing: the file is empty",
		"{}":                             "r.yaml: holds no rules",
		"rules: none":                    "r.yaml:1:8: rules: want a list",
		"- {if: x, than: retry}":         "r.yaml:1:11: [0].than: unknown",
		"- if: x\n  if: y":               "r.yaml:2:3: the key \"if\" stands twice",
		"rules:\n- {if: x, then: [1]}":   "r.yaml:2:17: rules[0].then: want a string",
		`[{"if":"x","if":"y"}]`:          "r.yaml:1:12: [0].if:",
		`{"rules":[}`:                    "r.yaml:1:11: ",
		"a: &a [*a]":                     "r.yaml:1:",
		"- x\n---\n- y":                  "r.yaml:2:1: want one document",
		"- {if: \"\xff\", then: fail}":   "r.yaml:1:9: want UTF-8",
		"jobs: []":                       "r.yaml:1:1: jobs: unknown",
		strings.Repeat("[", 200_000):     "r.yaml:",
		"- {if: x, max_attempts: 1.5}":   "r.yaml:1:25: [0].max_attempts: want a whole number",
		"rules: {if: x, then: retry}":    "r.yaml:1:8: rules: want a list",
		"- {if: 'a', then: retry, 3: 4}": "r.yaml:1:26: ",
	} {
		_, err := ParseRules("r.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v\nwant %s", text, err, want)
		}
	}
}

func TestAllMistakesOfARuleFileAreToldAtOnce(t *testing.T) {
	for text, want := range map[string][]string{
		"- {if: foo == 1, then: retry}\n- {if: 'true', thn: fail}": {
			"r.yaml:1:8: [0].if: line 1, column 1: unknown name foo", "r.yaml:2:16: [1].thn: unknown field",
			"r.yaml:2:3: [1].then: is \"\"",
		},
		"rules:\n- {if: 'true', then: 5}\n- {if: ok, then: again}": {
			"r.yaml:2:22: rules[0].then: want a string", "r.yaml:3:8: rules[1].if: line 1, column 1: unknown name ok",
			"r.yaml:3:18: rules[1].then: is \"again\"",
		},
		`{"rules":[{"if":"foo","then":"fail","x":1}]}`: {
			"r.yaml:1:17: rules[0].if: line 1, column 1: unknown name foo", "r.yaml:1:37: rules[0].x: unknown field",
		},
	} {
		_, err := ParseRules("r.yaml", []byte(text))
		var bad *FileError
		if !errors.As(err, &bad) {
			t.Fatalf("%s: %v", text, err)
		}
		for _, f := range bad.Faults {
			if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(f.String(), w) }) {
				t.Errorf("%s: unexpected %s", text, f)
			}
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v\nwant %s", text, err, w)
			}
		}
	}
}

func TestFaultsOfRulesHaveTheirPlaceInTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"# ours\n- {if: 'true', then: fail}\n- {then: fail, if: 'tru'}":              "r.yaml:3:20: [1].if: m",
		"rules:\n  - {if: 'true', then: fail}\n  - {then: fail, if: 'tru'}":          "r.yaml:3:22: rules[1].if: m",
		"[{\"if\":\"true\",\"then\":\"fail\"},\n{\"then\":\"fail\",\"if\":1}]":       "",
		"[{\"if\":\"true\",\"then\":\"fail\"},\n{\"then\":\"fail\",\"if\":\"tru\"}]": "r.yaml:2:21: [1].if: m",
	} {
		f, err := ParseRules("r.yaml", []byte(text))
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken", text)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := f.PlaceFaults([]Fault{{Location: "rules[1].if", Message: "m"}})[0].String()
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
