package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// readYAML turns the one document of data into JSON text.
func (f *File) readYAML(data []byte) error {
	var doc, second yaml.Node
	source := yaml.NewDecoder(bytes.NewReader(data))
	err := source.Decode(&doc)
	if errors.Is(err, io.EOF) {
		f.fault(0, 0, "", "holds nothing: the file is empty")
		return f.invalid()
	}
	more := err
	if err == nil {
		more = source.Decode(&second)
	}
	switch {
	case more == nil:
		f.fault(second.Line, second.Column, "", "want one document: a second one begins here")
		return f.invalid()
	case !errors.Is(more, io.EOF):
		parts := yamlLine.FindStringSubmatch(more.Error())
		line, _ := strconv.Atoi(parts[1])
		msg := parts[2]
		if len(data) <= maxYAMLSearch {
			line = yamlMistake(data, msg)
			msg += quoteHint(data, line, msg)
		}
		e := f.syntax(nil, 0, "not YAML: "+msg)
		e.Faults[0].Line, e.Faults[0].Column = line, min(line, 1)
		e.err = &SyntaxError{Line: line, Column: 1, Msg: msg}
		return e
	}
	w := yamlWriter{file: f}
	if w.value(&doc, 0); len(f.found) > 0 {
		return f.invalid()
	}
	f.text, f.marks = w.out, w.marks
	return nil
}

// yamlWriter writes YAML nodes as JSON. Its methods return false where it has to stop.
type yamlWriter struct {
	file  *File
	out   []byte
	marks []mark

	aliases int // that are being written out
	written int // bytes and nodes on account of aliases
}

// nodeCost is what a node counts for, its text aside.
const nodeCost = 16

// maxYAMLDepth is above what JSON may have, which gives the better message.
const maxYAMLDepth = 4 * MaxDepth

func (w *yamlWriter) fault(n *yaml.Node, format string, args ...any) {
	w.file.fault(n.Line, n.Column, "", fmt.Sprintf(format, args...))
}

func (w *yamlWriter) mark(n *yaml.Node) {
	w.marks = append(w.marks, mark{len(w.out), n.Line, n.Column})
}

// enter counts what aliases cost, and levels.
func (w *yamlWriter) enter(n *yaml.Node, depth int) bool {
	if depth > maxYAMLDepth {
		w.fault(n, "nested too deep, or an alias within what it stands for")
		return false
	}
	if w.aliases > 0 {
		if w.written += nodeCost + len(n.Value); w.written > MaxFile {
			w.fault(n, "the aliases stand for more than %d bytes", MaxFile)
			return false
		}
	}
	return true
}

func (w *yamlWriter) value(n *yaml.Node, depth int) bool {
	if !w.enter(n, depth) {
		return false
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return w.value(n.Content[0], depth)
	case yaml.AliasNode:
		w.aliases++
		ok := w.value(n.Alias, depth+1)
		w.aliases--
		return ok
	}
	w.mark(n)
	switch n.Kind {
	case yaml.MappingNode:
		w.checkTag(n, "!!map")
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.checkTag(n, "!!seq")
		return w.sequence(n, depth)
	}
	w.scalar(n)
	return true
}

func (w *yamlWriter) checkTag(n *yaml.Node, want string) {
	if n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != want {
		w.fault(n, "the tag %s has no meaning here", clip(n.ShortTag(), 40))
	}
}

func (w *yamlWriter) sequence(n *yaml.Node, depth int) bool {
	w.out = append(w.out, '[')
	for i, item := range n.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if !w.value(item, depth+1) {
			return false
		}
	}
	w.out = append(w.out, ']')
	return true
}

// yamlPair is a member of a map. Those that a merge brought stand behind its own.
type yamlPair struct {
	text       string
	key, value *yaml.Node
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) bool {
	pairs, ok := w.pairs(n, depth)
	if !ok {
		return false
	}
	w.out = append(w.out, '{')
	for i, p := range pairs {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.mark(p.key)
		w.out = append(AppendJSONString(w.out, p.text), ':')
		if !w.value(p.value, depth+1) {
			return false
		}
	}
	w.out = append(w.out, '}')
	return true
}

// pairs are the members of a map, with those that merge keys (<<) bring: own ones win, then
// those merged first.
func (w *yamlWriter) pairs(n *yaml.Node, depth int) ([]yamlPair, bool) {
	if !w.enter(n, depth) {
		return nil, false
	}
	var pairs []yamlPair
	lines := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		text, ok := w.key(key)
		if !ok {
			continue
		}
		if line, twice := lines[text]; twice {
			w.fault(key, "the key %s stands twice in the same map: on line %d too",
				strconv.Quote(clip(text, 40)), line)
			continue
		}
		lines[text] = key.Line
		pairs = append(pairs, yamlPair{text, key, value})
	}
	for _, m := range merges {
		merged, ok := w.merged(m, depth+1)
		if !ok {
			return nil, false
		}
		for _, p := range merged {
			if _, stands := lines[p.text]; !stands {
				lines[p.text] = p.key.Line
				pairs = append(pairs, p)
			}
		}
	}
	return pairs, true
}

// merged are the members that a merge key brings: those of a map, or of a list of maps.
func (w *yamlWriter) merged(n *yaml.Node, depth int) (pairs []yamlPair, ok bool) {
	if !w.enter(n, depth) {
		return nil, false
	}
	switch n.Kind {
	case yaml.AliasNode:
		w.aliases++
		pairs, ok = w.merged(n.Alias, depth+1)
		w.aliases--
		return pairs, ok
	case yaml.MappingNode:
		return w.pairs(n, depth)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			more, ok := w.merged(item, depth+1)
			if !ok {
				return nil, false
			}
			pairs = append(pairs, more...)
		}
		return pairs, true
	}
	w.fault(n, "want a map or a list of maps to merge")
	return nil, true
}

// key is the text of a key, whatever the type it would have as a value.
func (w *yamlWriter) key(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || n.Style == 0 && isYAMLNull(n.Value) {
		w.fault(n, "want text as key")
		return "", false
	}
	return n.Value, true
}

func (w *yamlWriter) scalar(n *yaml.Node) {
	text, style := n.Value, n.Style&^yaml.FlowStyle
	tag := ""
	if style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	plain := style == 0
	switch tag {
	case "":
	case jsonTag:
		w.json(n)
		return
	case "!!str":
		plain = false
	case "!!int", "!!float", "!!bool", "!!null":
		json, problem := plainYAML(text)
		if problem != "" || json == "" || !tagFits(tag, json) {
			w.fault(n, "want a value that the tag %s fits", tag)
		}
		plain = true
	default:
		w.checkTag(n, "!!str")
	}
	if !plain {
		w.out = AppendJSONString(w.out, text)
		return
	}
	json, problem := plainYAML(text)
	switch {
	case problem != "":
		w.fault(n, "%s", problem)
		w.out = append(w.out, "null"...)
	case json == "":
		w.out = AppendJSONString(w.out, text)
	default:
		w.out = append(w.out, json...)
	}
}

// jsonTag is the tag of a string that is JSON text: the way to keep a payload byte for byte.
const jsonTag = "!json"

func (w *yamlWriter) json(n *yaml.Node) {
	if err := ValidJSON([]byte(n.Value)); err != nil {
		w.fault(n, "want JSON text behind the tag !json: %s", strings.TrimPrefix(err.Error(), "not JSON: "))
		w.out = append(w.out, "null"...)
		return
	}
	w.out = append(w.out, strings.Trim(n.Value, " \t\r\n")...)
}
