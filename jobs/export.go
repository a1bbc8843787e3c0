package jobs

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// ToYAML writes JSON text, such as that of a job file, as YAML which ParseFile reads as the very
// same text: numbers keep theirs, texts of several lines become blocks. What no YAML would give
// back byte for byte, such as a payload with spaces between its members, is written as a
// string with the tag !json.
func ToYAML(text []byte) ([]byte, error) {
	if err := ValidJSON(text); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(yamlOf(bytes.Trim(text, " \t\r\n"))); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), e.Close()
}

// yamlOf is the node of a JSON text.
func yamlOf(text []byte) *yaml.Node {
	parts, list, ok := partsOf(text)
	if !ok {
		return yamlScalar(text)
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	plain := []byte{'{'}
	if list {
		n.Kind, plain[0] = yaml.SequenceNode, '['
	}
	for i, p := range parts {
		if i > 0 {
			plain = append(plain, ',')
		}
		if !list {
			plain = append(AppendJSONString(plain, p.key), ':')
			n.Content = append(n.Content, yamlString(p.key))
		}
		plain = append(plain, p.text...)
		n.Content = append(n.Content, yamlOf(p.text))
	}
	end := byte('}')
	if list {
		end = ']'
	}
	if !bytes.Equal(append(plain, end), text) {
		return yamlRaw(text)
	}
	return n
}

func yamlScalar(text []byte) *yaml.Node {
	if text[0] != '"' {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(text)}
	}
	s, ok := jsonText(text)
	if !ok || !bytes.Equal(AppendJSONString(nil, s), text) {
		return yamlRaw(text)
	}
	return yamlString(s)
}

func yamlRaw(text []byte) *yaml.Node {
	return &yaml.Node{
		Kind: yaml.ScalarNode, Tag: jsonTag, Value: string(text),
		Style: yaml.TaggedStyle | quotes(string(text)),
	}
}

func yamlString(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case isBlock(s):
		n.Style = yaml.LiteralStyle
	case !isPlain(s):
		n.Style = quotes(s)
	}
	return n
}

// quotes are the ones that need fewer escapes.
func quotes(s string) yaml.Style {
	if strings.ContainsAny(s, `"\`) && !strings.ContainsFunc(s, unprintable) {
		return yaml.SingleQuotedStyle
	}
	return yaml.DoubleQuotedStyle
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// isBlock reports whether a text is readable as a block: several lines of which none ends in space.
// One that begins with a tab the library could not read back.
func isBlock(s string) bool {
	begin := strings.TrimLeft(s, "\n")
	return strings.Contains(s, "\n") && begin != "" && begin[0] != '\t' &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unprintable(r) }) &&
		!strings.Contains(s, " \n") && !strings.Contains(s, "\t\n") &&
		!strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "\t")
}

// isPlain reports whether a text needs no quotes, for this reader and for those of other versions
// of YAML, in which yes is a boolean and 12:30 a number. What the syntax of YAML itself
// refuses without quotes, the library puts in some.
func isPlain(s string) bool {
	if s == "" || strings.ContainsFunc(s, unprintable) || strings.Contains(s, "{{") {
		return false
	}
	if c := s[0]; isDigit(c) || strings.IndexByte("+-.~=<", c) >= 0 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}
