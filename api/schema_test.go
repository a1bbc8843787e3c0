package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// specOf reads the description as a client of it would.
func specOf(t testing.TB, text []byte) map[string]any {
	t.Helper()
	spec, err := readSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func readSpec(text []byte) (spec map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&spec)
	return spec, err
}

// member walks down objects; nil: there is none.
func member(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// schemaKeywords are what the check below understands or what needs no check.
var schemaKeywords = []string{
	"$ref", "type", "enum", "pattern", "properties", "required", "additionalProperties", "items",
	"anyOf", "oneOf", "allOf", "const", "minimum", "maximum", "minItems", "maxItems", "maxLength", "minLength",
	"description", "title", "format", "examples", "default", "readOnly", "writeOnly",
	"maxProperties", "minProperties", "propertyNames", "x-order", "uniqueItems", "not",
}

// mismatch says where a value is not as its schema says; "": nowhere.
func mismatch(spec map[string]any, schema, value any, at string) string {
	s, _ := schema.(map[string]any)
	for keyword := range s {
		if !slices.Contains(schemaKeywords, keyword) {
			return at + ": the check does not know the keyword " + keyword
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		target := member(spec, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		if target == nil {
			return at + ": " + ref + " leads nowhere"
		}
		if text := mismatch(spec, target, value, at); text != "" {
			return text
		}
	}
	if text := wrongType(s["type"], value); text != "" {
		return at + ": " + text
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, value) {
		return fmt.Sprintf("%s: %v is none of %v", at, value, enum)
	}
	if text, ok := value.(string); ok && s["pattern"] != nil {
		if !regexp.MustCompile(s["pattern"].(string)).MatchString(text) {
			return fmt.Sprintf("%s: %q does not match %v", at, text, s["pattern"])
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if text := noneOf(spec, s[keyword], value, at); text != "" {
			return text
		}
	}
	for i, item := range items(value) {
		if text := mismatch(spec, s["items"], item, fmt.Sprintf("%s[%d]", at, i)); text != "" {
			return text
		}
	}
	return wrongMember(spec, s, value, at)
}

func items(value any) []any {
	list, _ := value.([]any)
	return list
}

func noneOf(spec map[string]any, choices, value any, at string) string {
	list, _ := choices.([]any)
	last := ""
	for _, choice := range list {
		if last = mismatch(spec, choice, value, at); last == "" {
			return ""
		}
	}
	return last
}

func wrongType(want, value any) string {
	var names []any
	switch w := want.(type) {
	case nil:
		return ""
	case string:
		names = []any{w}
	case []any:
		names = w
	}
	got := "null"
	switch v := value.(type) {
	case bool:
		got = "boolean"
	case string:
		got = "string"
	case []any:
		got = "array"
	case map[string]any:
		got = "object"
	case json.Number:
		got = "number"
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil && slices.Contains(names, any("integer")) {
			got = "integer"
		}
	}
	if !slices.Contains(names, any(got)) {
		return fmt.Sprintf("is %s, want %v", got, names)
	}
	return ""
}

func wrongMember(spec, s map[string]any, value any, at string) string {
	object, ok := value.(map[string]any)
	if !ok {
		return ""
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, there := object[name.(string)]; !there {
			return fmt.Sprintf("%s: %v is missing", at, name)
		}
	}
	for name, v := range object {
		schema := member(s, "properties", name)
		if schema == nil {
			if s["additionalProperties"] == false {
				return at + "." + name + ": unknown"
			}
			schema = s["additionalProperties"]
		}
		if text := mismatch(spec, schema, v, at+"."+name); text != "" {
			return text
		}
	}
	return ""
}

// undescribed says how an answer differs from what the description says of it.
func undescribed(spec map[string]any, r *route, res *http.Response, body []byte) string {
	path := pathParam.ReplaceAllString(r.path, "{$1}")
	answers := member(spec, "paths", path, strings.ToLower(r.method), "responses")
	described := member(answers, strconv.Itoa(res.StatusCode))
	at := fmt.Sprintf("%s %s %d", r.method, r.path, res.StatusCode)
	if described == nil {
		return at + " is not described: " + string(body[:min(len(body), 300)])
	}
	if len(body) == 0 {
		return ""
	}
	media := res.Header.Get("Content-Type")
	content := member(described, "content", media)
	if content == nil {
		return at + ": " + media + " is not described"
	}
	if !strings.HasSuffix(media, "json") {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return at + ": " + err.Error()
	}
	return mismatch(spec, member(content, "schema"), value, at)
}
