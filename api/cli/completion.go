package cli

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says where the script belongs.
func (completionCmd) Help() string {
	return `Prints a script that completes commands, flags and the names of what the server has.

  bash   source <(nightshift completion bash)                          in ~/.bashrc
  zsh    source <(nightshift completion zsh)                           in ~/.zshrc, behind compinit
  fish   nightshift completion fish > ~/.config/fish/completions/nightshift.fish

Names are asked from the server of NIGHTSHIFT_SERVER or --server with the token as for every command, for a second at
most; where none answers there are none.`
}

//go:embed completion/bash.sh
var bashCompletion string

//go:embed completion/zsh.sh
var zshCompletion string

//go:embed completion/fish.fish
var fishCompletion string

// Run prints the script.
func (cmd completionCmd) Run(s *session) error {
	script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[cmd.Shell]
	_, err := io.WriteString(s.out.w, script)
	return err
}

// completeWord is the command by which the scripts ask what may stand at a place: the words before it, then what
// is typed of it.
const completeWord = "__complete"

// What may stand at a place besides words that are listed: the shell knows files better.
const (
	listedWords = ":words"
	anyFile     = ":files"
	anyFolder   = ":folders"
)

// candidate is a word that may stand at a place, and what it means.
type candidate struct{ word, help string }

// place is where a word is typed.
type place struct {
	node     *kong.Node
	value    *kong.Value // that is typed; nil: a command or a flag
	flags    bool        // a flag is typed
	commands bool        // a command may stand here
	before   string      // what stands before the value in the same word, such as --job=
	typed    string
	taken    []string // values of the same argument

	server, token string // of flags before; "": none
}

// complete prints what may stand at the place of the last word.
func (s *session) complete(root *kong.Node, args []string) {
	typed := ""
	if len(args) > 0 {
		typed, args = args[len(args)-1], args[:len(args)-1]
	}
	at := locate(root, args, typed)
	kind, list := s.candidates(&at)
	fmt.Fprintln(s.out.w, kind)
	for _, c := range list {
		fmt.Fprintf(s.out.w, "%s%s\t%s\n", at.before, c.word, c.help)
	}
}

// locate walks the words before the one that is typed as the parser would.
func locate(root *kong.Node, before []string, typed string) place {
	at := place{node: root, typed: typed}
	var open *kong.Flag // waits for its value
	count, onlyArgs := 0, false
	set := func(f *kong.Flag, value string) {
		switch f.Name {
		case "server":
			at.server = value
		case "token":
			at.token = value
		}
	}
	for _, word := range before {
		switch {
		case open != nil:
			set(open, word)
			open = nil
		case onlyArgs:
			count++
		case word == "--":
			onlyArgs = true
		case len(word) > 1 && word[0] == '-':
			f, value, given := flagOf(at.node, word)
			if d := at.node.DefaultCmd; d != nil && slices.Contains(d.Flags, f) {
				at.node = d // another command would not know it
			}
			if f != nil && given {
				set(f, value)
			} else if f != nil && !f.IsBool() {
				open = f
			}
		default:
			if next := childOf(at.node, word); next != nil && count == 0 {
				at.node, at.taken = next, nil
				continue
			}
			if at.node.DefaultCmd != nil && count == 0 {
				at.node = at.node.DefaultCmd
			}
			count++
			at.taken = append(at.taken, word)
		}
	}
	switch {
	case open != nil:
		at.value = open.Value
	case !onlyArgs && strings.HasPrefix(typed, "-"):
		name, value, given := strings.Cut(typed, "=")
		if f, _, _ := flagOf(at.node, name); given && f != nil {
			at.value, at.before, at.typed = f.Value, name+"=", value
		} else {
			at.flags = true
		}
	default:
		at.commands = count == 0 && !onlyArgs
		at.value = argumentOf(at.node, count)
		if at.value == nil && at.commands && at.node.DefaultCmd != nil {
			at.value = argumentOf(at.node.DefaultCmd, 0)
		}
	}
	return at
}

// flagOf is the flag that a word names at a command, or above it; value is what the same word gives it.
func flagOf(node *kong.Node, word string) (f *kong.Flag, value string, given bool) {
	name, value, given := strings.Cut(word, "=")
	for _, f := range flagsAt(node) {
		if long, ok := strings.CutPrefix(name, "--"); ok {
			if long == f.Name || f.Negated && long == "no-"+f.Name {
				return f, value, given
			}
			continue
		}
		if f.Short != 0 && strings.HasPrefix(name, "-"+string(f.Short)) {
			rest := strings.TrimPrefix(word, "-"+string(f.Short))
			return f, strings.TrimPrefix(rest, "="), rest != ""
		}
	}
	return nil, "", false
}

// flagsAt are those of a command, of its default one and of those above it.
func flagsAt(node *kong.Node) (all []*kong.Flag) {
	if node.DefaultCmd != nil {
		all = append(all, node.DefaultCmd.Flags...)
	}
	for _, group := range node.AllFlags(true) {
		all = append(all, group...)
	}
	return all
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name && !child.Hidden {
			return child
		}
		for _, alias := range child.Aliases {
			if alias == name {
				return child
			}
		}
	}
	return nil
}

// argumentOf is the argument behind so many others; nil: there is none.
func argumentOf(node *kong.Node, count int) *kong.Value {
	n := len(node.Positional)
	if n > 0 && count >= n && node.Positional[n-1].IsCumulative() {
		count = n - 1
	}
	if count >= n || node.Positional[count].Tag.Hidden {
		return nil
	}
	return node.Positional[count]
}

// candidates are those that begin with what is typed.
func (s *session) candidates(at *place) (kind string, list []candidate) {
	if at.flags {
		for _, f := range flagsAt(at.node) {
			if !f.Hidden {
				list = append(list, candidate{"--" + f.Name, oneLine(f.Help)})
			}
		}
		return listedWords, matching(list, at)
	}
	if at.commands {
		for _, child := range at.node.Children {
			if !child.Hidden {
				list = append(list, candidate{child.Name, oneLine(child.Help)})
			}
		}
	}
	kind = listedWords
	if at.value != nil {
		if at.value.Enum != "" {
			for _, word := range at.value.EnumSlice() {
				list = append(list, candidate{word: word})
			}
		} else if from := sourceOf(at.node, at.value); from.kind != "" {
			kind = from.kind
		} else if from.words != nil {
			list = append(list, from.words(s, at)...)
		}
	}
	return kind, matching(list, at)
}

func matching(list []candidate, at *place) (match []candidate) {
	seen := map[string]bool{}
	for _, word := range at.taken {
		seen[word] = true
	}
	for _, c := range list {
		if strings.HasPrefix(c.word, at.typed) && !seen[c.word] {
			seen[c.word] = true
			match = append(match, c)
		}
	}
	return match
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
