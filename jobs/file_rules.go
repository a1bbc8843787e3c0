package jobs

import (
	"errors"
	"strings"
)

// RuleFile is a file of rules that was read.
type RuleFile struct {
	Rules []Rule
	file  *File
	list  bool // the list itself, not a map that holds it
}

// ruleDocument is a file that holds its rules below rules.
type ruleDocument struct {
	Rules *[]Rule `json:"rules"`
}

// ParseRules reads a file of rules, YAML or JSON as ParseFile does: a list of them, or
// {rules: [...]}. They are compiled only to tell all that is wrong where something cannot be read. Name is what messages call the file. The error is
// a *FileError.
func ParseRules(name string, data []byte) (*RuleFile, error) {
	f := &File{Name: name}
	if err := f.read(data, isJSON(data)); err != nil {
		return nil, err
	}
	r := &RuleFile{file: f, list: beginsWith(f.text, '[')}
	var doc ruleDocument
	var placed []placed
	var syntax *SyntaxError
	if r.list {
		doc.Rules = &r.Rules
		placed, syntax = decode(f.text, &r.Rules, decodeOptions{})
	} else {
		placed, syntax = decode(f.text, &doc, decodeOptions{})
	}
	if syntax != nil {
		return nil, f.syntax(f.text, syntax.Offset, syntax.Msg)
	}
	unread := make([]Fault, len(placed))
	for i, p := range placed {
		line, column := f.at(p.offset)
		f.fault(line, column, p.Location, p.Message)
		unread[i] = p.Fault
	}
	if doc.Rules != nil && len(unread) > 0 {
		f.found = append(f.found, r.faultsBesides(unread, *doc.Rules)...)
	}
	if doc.Rules == nil && len(placed) == 0 {
		f.fault(0, 0, "", "holds no rules: want a list of them, by itself or below rules")
	}
	if len(f.found) > 0 {
		return nil, f.invalid()
	}
	r.Rules = *doc.Rules
	return r, nil
}

// faultsBesides are those of rules of which some parts could not be read.
func (r *RuleFile) faultsBesides(unread []Fault, rules []Rule) []FileFault {
	_, found := compileLevel(&Retry{Rules: rules}, "job", "")
	if r.list {
		for i := range found {
			found[i].Location = strings.TrimPrefix(found[i].Location, "rules")
		}
	}
	var all []FileFault
	for _, fault := range Besides(unread, found)[len(unread):] {
		line, column := r.file.Position(fault.Location)
		all = append(all, FileFault{r.file.Name, line, column, fault})
	}
	return all
}

// isJSON tells JSON from YAML, whose lists may begin alike.
func isJSON(data []byte) bool {
	if beginsWith(data, '[') {
		var syntax *SyntaxError
		return !errors.As(ValidJSON(withoutMark(data)), &syntax)
	}
	return beginsWith(data, '{')
}

// PlaceFaults gives faults that are located such as rules[1].if their place in the file.
func (r *RuleFile) PlaceFaults(list []Fault) []FileFault {
	all := make([]FileFault, len(list))
	for i, fault := range list {
		if r.list {
			fault.Location = strings.TrimPrefix(fault.Location, "rules")
		}
		line, column := r.file.Position(fault.Location)
		all[i] = FileFault{r.file.Name, line, column, fault}
	}
	return all
}
