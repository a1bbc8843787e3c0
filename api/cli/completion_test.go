package cli

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func modelOf() *kong.Node {
	return newParser(&commands{}, io.Discard, io.Discard, func(int) {}).Model.Node
}

// completed are the words that are offered for the last of these, and the kind.
func completed(line ...string) (kind string, words []string) {
	var out bytes.Buffer
	s := &session{ctx: context.Background(), out: newPrinter(&out, false), remote: remoteFlags{Server: "http://127.0.0.1:1"}}
	s.complete(modelOf(), line)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines[1:] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return lines[0], words
}

func TestWordsAreOfferedWhereTheyMayStand(t *testing.T) {
	cases := []struct {
		line string // the last word is typed
		want string // words, or a kind
	}{
		{"vers", "version"},
		{"runs ", "list show run-now checkpoint delete"},
		{"runs checkpoint --de", "--delete"},
		{"runs nonsense li", ""},
		{"run list ", ""}, // list is a job
		{"completion ", "bash zsh fish"},
		{"completion bash ", ""},
		{"--json completion z", "zsh"},
		{"--server http://x completion z", "zsh"},
		{"--server ", ""},
		{"runs --st", "--state"},
		{"runs list --st", "--state"},
		{"runs --state runn", "running"},
		{"runs --state running --state queu", "queued"},
		{"runs --state=runn", "--state=running"},
		{"runs --nonsense=runn", ""},
		{"runs --state running ", ""},
		{"runs --", "many"},
		{"runs -- --st", ""},
		{"run x --wa", "--wait"},
		{"run x --wait --de", "--delay"},
		{"serve --db ", ":files"},
		{"serve --db=", ":files"},
		{"serve --scripts ", ":folders"},
		{"serve --log-level w", "warn"},
		{"apply -f ", ":files"},
		{"apply -fa", ""}, // is of one word with the flag
		{"apply a.yaml ", ":files"},
		{"import crontab ", ":files"},
		{"import crontab --timezone Europe/Ber", "Europe/Berlin"},
		{"schedules preview --timezone America/Argentina/Us", "America/Argentina/Ushuaia"},
		{"pause s", "schedule/"},
		{"pause ", "dependency/ job/ queue/ schedule/"},
		{"pause nonsense/", ""},
		{"events --type run.s", "run.succeeded"},
		{"tokens create me --scope ad", "admin"},
		{"rules check --error ", ":files"},
		{"failures --status w", "will_retry"},
		{"checkpoint ", "get set"},
		{"jobs pause ", ""}, // no server answers
	}
	for _, c := range cases {
		kind, words := completed(strings.Split(c.line, " ")...)
		got := strings.Join(words, " ")
		switch {
		case kind != listedWords && len(words) == 0:
			got = kind
		case len(words) > 5 && slices.Contains(words, "--json") && slices.Contains(words, "--since"):
			got = "many"
		}
		if got != c.want {
			t.Errorf("%q offers %q, want %q", c.line, got, c.want)
		}
	}
	if kind, words := completed(); kind != listedWords || len(words) != 1+strings.Count(topLevelHelp(t), "\n") {
		t.Errorf("without a word: %s %q", kind, words)
	}
}

// topLevelHelp has a line for each command but the first.
func topLevelHelp(t *testing.T) string {
	t.Helper()
	var names []string
	for _, child := range modelOf().Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return strings.Join(names, "\n")
}

// namedValues are the placeholders of what has a name, or is a file.
var namedValues = strings.Fields("NAME ID FILE DIR STATE STATUS TRIGGER SCOPE TYPE KIND ZONE LEVEL")

// freeValues are arguments, and flags with such a placeholder, for which nothing can be offered: texts, numbers, and
// names that are made up where they are typed.
var freeValues = strings.Fields(`
	json|- done[/total] note message line value type error-type correlation set prefix name id order after subject
`)

func TestEachValueOfACommandIsOfferedOrFree(t *testing.T) {
	for _, node := range modelOf().Leaves(true) {
		values := slices.Clone(node.Positional)
		for _, f := range node.Flags {
			if !f.IsBool() && !f.Hidden && slices.Contains(namedValues, f.PlaceHolder) {
				values = append(values, f.Value)
			}
		}
		for _, v := range values {
			if v.Enum != "" || v.Tag.Hidden {
				continue
			}
			from := sourceOf(node, v)
			if from.kind == "" && from.words == nil && !slices.Contains(freeValues, v.Name) {
				t.Errorf("%s: nothing is offered for %s: name it among sources, or among what is free", node.FullPath(), v.Name)
			}
		}
	}
	for key := range sources {
		if path, _, more := strings.Cut(key, " "); more && childOf(modelOf(), path) == nil {
			t.Errorf("%q is of no command", key)
		}
	}
}
