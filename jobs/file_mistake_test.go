package jobs

import (
	"strings"
	"testing"
)

func TestAMistakeInYAMLIsToldWithItsLine(t *testing.T) {
	head := strings.Repeat("# a comment\n", 3)
	for text, want := range map[string]string{
		"jobs:\n  a:\n    script: |\n      x\n   bad: 1\n":         "f:8:1: not YAML: did not find expected key",
		"jobs: {a: {script: x}} trailing":                          "f:4:1: not YAML: did not find expected key",
		"jobs:\n  a:\n    script: x\n\tb: y\n":                     "f:7:1: not YAML: found a tab character that violates indentation",
		"jobs:\n- name: a\n  script: \"x\n  timeout: 5m\n":         "f:6:1: not YAML: found unexpected end of stream",
		"jobs:\n- name: a\n  script: [x\n- name: b\n  script: y\n": "f:6:1: not YAML: did not find expected ',' or ']'",
		"jobs:\n  a: {script: x}\n  b: &\n":                        "f:6:1: not YAML: did not find expected alphabetic or numeric character",
		"schedules:\n- {cron: */5 * * * *}\n": "f:5:1: not YAML: did not find expected alphabetic or numeric character: " +
			"a text that begins with * wants quotes around it",
		"schedules:\n- job: a\n  cron: @daily\n": "f:6:1: not YAML: found character that cannot start any token: " +
			"a text that begins with @ wants quotes around it",
		"jobs:\n  a: {script: *x}\n":                                   "f:5:1: not YAML: unknown anchor 'x' referenced",
		"jobs:\n  a: {script: x}\n---\njobs:\n - a\n  - b: 'x\n":       "f:9:1: not YAML: mapping values are not allowed in this context",
		"jobs:\n  a:\n    script: x\n   timeout: 1m\n  b: {script: y}": "f:7:1: not YAML: did not find expected key",
	} {
		_, err := ParseFile("f", []byte(head+text))
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
