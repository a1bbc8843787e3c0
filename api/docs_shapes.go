package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// docsShape is a schema as the page shows it.
type docsShape struct {
	Name   string
	Fields []docsField
}

// docsField is a field of a shape. Ref names the shape that it holds, "": none of those shown.
type docsField struct{ Name, Type, Ref, Doc string }

// schemaText is what the page reads of a schema.
type schemaText struct {
	Ref        string                `json:"$ref"`
	Type       any                   `json:"type"`
	Enum       []any                 `json:"enum"`
	Items      *schemaText           `json:"items"`
	Extra      json.RawMessage       `json:"additionalProperties"`
	OneOf      []schemaText          `json:"oneOf"`
	AnyOf      []schemaText          `json:"anyOf"`
	Doc        string                `json:"description"`
	Required   []string              `json:"required"`
	Properties map[string]schemaText `json:"properties"`
}

// specText is what the page reads of the description.
type specText struct {
	Paths map[string]map[string]struct {
		ID        string              `json:"operationId"`
		Body      specBody            `json:"requestBody"`
		Responses map[string]specBody `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schemaText `json:"schemas"`
	} `json:"components"`
}

type specBody struct {
	Content map[string]struct {
		Schema schemaText `json:"schema"`
	} `json:"content"`
}

func (b specBody) shape() string {
	schema := b.Content["application/json"].Schema
	_, ref := schema.text()
	return ref
}

// bodyShapes are the shapes of bodies, by the operation and, for answers, the status behind it.
func (spec *specText) bodyShapes() map[string]string {
	shapes := map[string]string{}
	add := func(at string, body specBody) {
		if name := body.shape(); len(spec.Components.Schemas[name].Properties) > 0 {
			shapes[at] = name
		}
	}
	for _, methods := range spec.Paths {
		for _, op := range methods {
			add(op.ID, op.Body)
			for status, body := range op.Responses {
				add(op.ID+" "+status, body)
			}
		}
	}
	return shapes
}

// shapes are the schemas that have fields, by name.
func (spec *specText) shapes() (shapes []docsShape) {
	for _, name := range slices.Sorted(maps.Keys(spec.Components.Schemas)) {
		schema := spec.Components.Schemas[name]
		if len(schema.Properties) == 0 {
			continue
		}
		shape := docsShape{Name: name}
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			p := schema.Properties[field]
			typ, ref := p.text()
			if slices.Contains(schema.Required, field) {
				typ += ", always there"
			}
			shape.Fields = append(shape.Fields, docsField{field, typ, ref, p.Doc})
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

// text is the type in words, and the shape that it holds.
func (s *schemaText) text() (typ, ref string) {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return name, name
	case s.Items != nil:
		typ, ref = s.Items.text()
		return "list of " + typ, ref
	case len(s.OneOf)+len(s.AnyOf) > 0:
		return alternatives(append(s.OneOf, s.AnyOf...))
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, " | "), ""
	}
	var members schemaText
	if json.Unmarshal(s.Extra, &members) == nil && members.Type != nil {
		typ, ref = members.text()
		return "object of " + typ, ref
	}
	switch t := s.Type.(type) {
	case string:
		return t, ""
	case []any:
		words := make([]string, len(t))
		for i, v := range t {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, " | "), ""
	}
	return "any JSON", ""
}

func alternatives(all []schemaText) (typ, ref string) {
	words := make([]string, len(all))
	for i := range all {
		text, of := all[i].text()
		if words[i] = text; of != "" {
			ref = of
		}
	}
	return strings.Join(words, " | "), ref
}
