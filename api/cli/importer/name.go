package importer

import (
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxImportedName leaves room for a prefix and for what tells alike names apart.
const maxImportedName = 60

// nameParts makes a name of words: what a name may not hold becomes -.
func nameParts(parts ...string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.Join(parts, "-")) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	name := strings.TrimLeft(b.String(), "-._")
	name = strings.TrimRight(name[:min(len(name), maxImportedName)], "-._")
	if name == "" {
		return "job"
	}
	return name
}

// namesakes gives each of the wanted names a form of its own. Those that are wanted more than once are
// told apart by what they are of, not by their order, so that a line keeps its name when it moves; only
// lines that are the very same are counted.
func namesakes(wanted, of []string) []string {
	count, again, taken := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, name := range wanted {
		count[name]++
	}
	for name, n := range count {
		taken[name] = n == 1
	}
	names := slices.Clone(wanted)
	for i, name := range names {
		if count[name] == 1 {
			continue
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(of[i])) // never fails
		base := fmt.Sprintf("%s-%06x", name, h.Sum32()>>8)
		names[i] = base
		for taken[names[i]] {
			again[base]++
			names[i] = fmt.Sprintf("%s-%d", base, again[base]+1)
		}
		taken[names[i]] = true
	}
	return names
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	plainWord  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]*$`)
	pathWord   = regexp.MustCompile(`^(\.{0,2}/|~/|https?://)`)
	runsFile   = regexp.MustCompile(`^(python|php|perl|ruby|node|bash|sh|dash|zsh|ksh|java|deno|bun|lua|Rscript)[0-9.]*$`)
	fileEnding = regexp.MustCompile(`\.(sh|bash|py|php|pl|rb|js|mjs|cjs|ts|lua|R|jar)$`)
	amount     = regexp.MustCompile(`^[0-9][0-9.]*[smhd]?$`)

	// guards are commands that come before the one that a line is for.
	guards = strings.Fields("test [ [[ cd pushd sleep : true false export set unset umask ulimit . source exit echo " +
		"printf date command type which hash trap eval")
	keywords = strings.Fields("if then elif else fi while until do done for case esac ! { } exec time")
	// wrappers are commands that run another.
	wrappers = strings.Fields("nice ionice nohup sudo env timeout flock setsid stdbuf chronic chrt taskset busybox " +
		"systemd-cat unbuffer cronic doas")
	withValue = strings.Fields("-n -c -u -g -w -E -k -s -t -p -o")
)

// commandName makes a name of a shell command: of the program that it is for, what stands before the
// first option, and files and addresses. Values of options are left out: they may be passwords.
func commandName(text string) string {
	var guard []string
	for _, words := range simpleCommands(text) {
		words = unwrapped(words)
		switch {
		case len(words) == 0:
		case !slices.Contains(guards, words[0]) && !inlineScript(words):
			return nameParts(wordsOfName(words)...)
		case guard == nil || strings.HasPrefix(guard[0], "["):
			guard = words // the line may be for nothing else: echo
		}
	}
	return nameParts(wordsOfName(guard)...)
}

// inlineScript reports whether the program that is run stands in the line: perl -e '...'.
func inlineScript(words []string) bool {
	return runsFile.MatchString(path.Base(words[0])) && len(words) > 1 &&
		(words[1] == "-e" || words[1] == "-c" || words[1] == "-r")
}

// unwrapped takes off what runs a command: keywords, assignments, nice, sudo and the like.
func unwrapped(words []string) []string {
	for len(words) > 0 {
		word := words[0]
		switch {
		case assignment.MatchString(word) || slices.Contains(keywords, word):
			words = words[1:]
		case slices.Contains(wrappers, path.Base(word)):
			words = afterWrapper(words)
		default:
			return words
		}
	}
	return nil
}

func afterWrapper(words []string) []string {
	lock := path.Base(words[0]) == "flock"
	words = words[1:]
	for len(words) > 0 {
		switch word := words[0]; {
		case slices.Contains(withValue, word) && len(words) > 1 && !(lock && word == "-n"):
			words = words[2:]
		case strings.HasPrefix(word, "-") || amount.MatchString(word) || assignment.MatchString(word):
			words = words[1:]
		case lock:
			words, lock = words[1:], false
		default:
			return words
		}
	}
	return nil
}

// wordsOfName are the words of a command that its name is made of.
func wordsOfName(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	program, rest := path.Base(words[0]), words[1:]
	if runsFile.MatchString(program) {
		for i, word := range rest {
			if !strings.HasPrefix(word, "-") {
				program, rest = path.Base(word), rest[i+1:]
				break
			}
		}
	}
	parts := []string{fileEnding.ReplaceAllString(program, "")}
	options := false
	for _, word := range rest {
		options = options || strings.HasPrefix(word, "-")
		switch {
		case len(parts) == 3:
		case pathWord.MatchString(word):
			parts = append(parts, placeName(word))
		case !options && plainWord.MatchString(word):
			parts = append(parts, word)
		}
	}
	return parts
}

// placeName is the last part of a path, or an address without what may be secret in it.
func placeName(word string) string {
	_, address, ok := strings.Cut(word, "://")
	if !ok {
		return path.Base(word)
	}
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	if host, _, _ := strings.Cut(address, "/"); strings.Contains(host, "@") {
		_, address, _ = strings.Cut(address, "@")
	}
	return address
}

// simpleCommands cuts a line of shell at ; & | and brackets outside quotes, and each part into words
// without their quotes; redirections are left out. It need not be right: names are made of it.
func simpleCommands(text string) [][]string {
	c := commandCutter{text: text}
	for c.i < len(text) {
		c.next()
	}
	c.endCommand()
	return c.commands
}

type commandCutter struct {
	text     string
	i        int
	commands [][]string
	words    []string
	word     strings.Builder
	inWord   bool
	redirect bool // the word is the file of a redirection
}

func (c *commandCutter) next() {
	ch := c.text[c.i]
	c.i++
	switch ch {
	case ' ', '\t', '\n':
		c.endWord()
	case ';', '&', '|', '(', ')':
		c.endCommand()
	case '<', '>':
		if strings.Trim(c.word.String(), "0123456789") != "" {
			c.endWord()
		}
		c.word.Reset()
		c.inWord, c.redirect = false, true
		for c.i < len(c.text) && strings.IndexByte("<>&|", c.text[c.i]) >= 0 {
			c.i++
		}
	case '\'', '"':
		c.take(c.until(ch))
	case '`':
		c.until('`')
		c.take("")
	case '$':
		if strings.HasPrefix(c.text[c.i:], "(") {
			c.i++
			c.until(')')
			c.take("")
			return
		}
		c.take("$")
	case '\\':
		if c.i < len(c.text) {
			c.take(c.text[c.i : c.i+1])
			c.i++
		}
	case '#':
		if !c.inWord {
			c.i = len(c.text)
			return
		}
		c.take("#")
	default:
		c.take(string([]byte{ch}))
	}
}

// until gives the text up to an end, and goes behind it.
func (c *commandCutter) until(end byte) string {
	inside, _, found := strings.Cut(c.text[c.i:], string([]byte{end}))
	c.i += len(inside)
	if found {
		c.i++
	}
	return inside
}

func (c *commandCutter) take(s string) {
	c.word.WriteString(s)
	c.inWord = true
}

func (c *commandCutter) endWord() {
	if c.inWord && !c.redirect {
		c.words = append(c.words, c.word.String())
	}
	if c.inWord {
		c.redirect = false
	}
	c.word.Reset()
	c.inWord = false
}

func (c *commandCutter) endCommand() {
	c.endWord()
	c.redirect = false
	if len(c.words) > 0 {
		c.commands = append(c.commands, c.words)
	}
	c.words = nil
}
