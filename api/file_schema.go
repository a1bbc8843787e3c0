package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// defsPrefix is where the schema of job files keeps its parts.
const defsPrefix = "#/$defs/"

// object is a part of a JSON Schema.
type object = map[string]any

// FileSchema is the JSON Schema (draft 2020-12) of job files, for editors. It is made from the
// types that the files are read into.
func FileSchema() ([]byte, error) {
	registry := newRegistry(defsPrefix)
	registry.Schema(reflect.TypeFor[jobs.Job](), true, "")
	registry.Schema(reflect.TypeFor[jobs.Policy](), true, "")
	registry.Schema(reflect.TypeFor[jobs.Schedule](), true, "")
	registry.Schema(reflect.TypeFor[jobs.Alert](), true, "")
	registry.Schema(reflect.TypeFor[wire.Queue](), true, "")
	registry.Schema(reflect.TypeFor[wire.Dependency](), true, "")
	text, err := json.Marshal(registry.Map())
	if err != nil {
		return nil, err
	}
	var defs map[string]object
	if err := json.Unmarshal(text, &defs); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		adaptDef(name, defs[name])
	}
	scheduleInJob(defs)
	defs["Defaults"] = defaultsDef(defs["Job"])
	unkeyedRate(defs)
	exactlyOneKind(defs["Job"])
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(fileSchema(defs))
	return out.Bytes(), err
}

func fileSchema(defs map[string]object) object {
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Nightshift job file",
		"description": "What nightshift apply -f FILE registers. In each place null is the same as " +
			"left out, but in dependencies, where it turns off.",
		"type":                 "object",
		"additionalProperties": false,
		"properties": object{
			"defaults": documentedPart("Fields that hold for each job of this file which says nothing "+
				"else. Maps such as labels, and objects such as retry, are merged member by member; "+
				"webhook, script, mail and group only into jobs of that kind", orNullPart(object{"$ref": defsPrefix + "Defaults"})),
			"policies": documentedPart("Named retry policies that jobs may start from: a list, or a map "+
				"by name", listOrMap("Policy", namePattern)),
			"queues": documentedPart("What runs wait in: a list, or a map by name. One that is named alone "+
				"needs no document", listOrMap("Queue", namePattern)),
			"dependencies": documentedPart("What runs share, such as a service that they call: a list, or a "+
				"map by name. One that is named alone needs no document", listOrMap("Dependency", dependencyPattern)),
			"jobs": documentedPart("The jobs: a list, or a map by name", listOrMap("Job", namePattern)),
			"schedules": documentedPart("When runs of jobs are made, beside those of the jobs' own schedules: a list, or "+
				"a map by name", listOrMap("Schedule", namePattern)),
			"alerts": documentedPart("Who is told of what: events that make runs of jobs which tell people; a list, or a "+
				"map by name", listOrMap("Alert", namePattern)),
		},
		"anyOf": []object{
			holds("jobs"), holds("schedules"), holds("policies"), holds("queues"), holds("dependencies"),
			holds("alerts"),
		},
		"$defs": defs,
	}
}

// listOrMap is documents as a list, where each says its name, or as a map by name.
func listOrMap(name, pattern string) object {
	ref := defsPrefix + name
	return object{"anyOf": []object{
		{
			"type":  "array",
			"items": object{"$ref": ref, "required": []string{"name"}},
		},
		{
			"type":                 "object",
			"propertyNames":        object{"pattern": pattern},
			"additionalProperties": object{"$ref": ref},
		},
		{"type": "null"},
	}}
}

// holds wants a member that is not null.
func holds(name string) object {
	return object{
		"required":   []string{name},
		"properties": object{name: object{"not": object{"type": "null"}}},
	}
}

// stateOfDocuments is answered with a document and is no part of it.
var stateOfDocuments = []string{
	"version", "paused", "pause_note", "set", "built_in", "created_at", "updated_at",
}

// listedDefs are items of lists: nothing is merged into them, so what they need must stand there.
var listedDefs = []string{"Rule", "Chain", "Door", "Member", "Merge"}

// adaptDef makes the schema of a type one of what people write.
func adaptDef(name string, def object) {
	if !slices.Contains(listedDefs, name) {
		delete(def, "required")
	}
	properties, _ := def["properties"].(object)
	if name == "Alert" {
		def["required"] = []any{"on", "run"}
	}
	if name == "Job" || name == "Policy" || name == "Alert" {
		for _, field := range stateOfDocuments {
			delete(properties, field)
		}
	}
	if name == "Queue" || name == "Dependency" {
		for _, field := range jobs.SharedState {
			delete(properties, field)
		}
	}
	docs := name
	if name == "Policy" {
		docs = "Retry"
	}
	required, _ := def["required"].([]any)
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		p := adaptField(docs+"."+field, properties[field].(object))
		if !slices.Contains(required, any(field)) && !takesAnything(p) {
			p = orNullPart(p)
		}
		properties[field] = documentedPart(fieldDoc(docs, field), p)
	}
}

func adaptField(place string, p object) object {
	delete(p, "format")
	delete(p, "readOnly")
	if p["pattern"] == answeredPattern {
		p["pattern"] = durationPattern
	}
	if members, ok := p["additionalProperties"].(object); ok {
		p["additionalProperties"] = orNullPart(members)
	}
	maps.Copy(p, fieldRules[place])
	return shortForm(p)
}

func takesAnything(p object) bool {
	for key := range p {
		if key != "description" {
			return false
		}
	}
	return true
}

// shortForm lets webhook: URL and script: TEXT stand for their objects.
func shortForm(p object) object {
	switch p["$ref"] {
	case defsPrefix + "Webhook":
		return object{"anyOf": []object{{"type": "string", "pattern": urlPattern}, p}}
	case defsPrefix + "Script":
		return object{"anyOf": []object{{"type": "string", "minLength": 1}, p}}
	}
	return p
}

// orNullPart lets a part be null too.
func orNullPart(p object) object {
	if list, ok := p["enum"].([]any); ok {
		p = maps.Clone(p)
		p["enum"] = append(slices.Clone(list), nil)
	}
	switch t := p["type"].(type) {
	case string:
		p = maps.Clone(p)
		p["type"] = []string{t, "null"}
		return p
	case []any:
		return p // it may be already
	}
	any, ok := p["anyOf"].([]object)
	if !ok {
		any = []object{p}
	}
	return object{"anyOf": append(slices.Clone(any), object{"type": "null"})}
}

func documentedPart(doc string, p object) object {
	if doc == "" {
		return p
	}
	p = maps.Clone(p)
	p["description"] = strings.TrimSpace(doc)
	return p
}

// defaultsDef are the fields of a job but for its name, and the time zone of schedules.
func defaultsDef(job object) object {
	properties := maps.Clone(job["properties"].(object))
	delete(properties, "name")
	properties["timezone"] = documentedPart("Of each schedule of this file with a cron line that says none, those of "+
		"its jobs included", object{"type": []string{"string", "null"}})
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

// unkeyedRate gives dependencies a rate of their own, whose parts no defaults can bring.
func unkeyedRate(defs map[string]object) {
	rate := maps.Clone(defs["Rate"])
	properties := maps.Clone(rate["properties"].(object))
	delete(properties, "key")
	rate["properties"], rate["required"] = properties, []string{"limit", "per"}
	defs["DependencyRate"] = rate
	of := defs["Dependency"]["properties"].(object)
	of["rate"] = documentedPart(fieldDoc("Dependency", "rate"),
		orNullPart(object{"$ref": defsPrefix + "DependencyRate"}))
}

// scheduleInJob gives jobs a schedule of their own, which names no job: one by itself must. Both have a
// cron line, or an interval.
func scheduleInJob(defs map[string]object) {
	alone, inJob := defs["Schedule"], object{}
	alone["oneOf"] = []object{holds("cron"), holds("every")}
	maps.Copy(inJob, alone)
	properties := maps.Clone(alone["properties"].(object))
	properties["job"] = documentedPart("Whose runs it makes", object{"type": "string", "pattern": namePattern})
	alone["properties"], alone["required"] = properties, []string{"job"}
	properties = maps.Clone(properties)
	delete(properties, "job")
	inJob["properties"], defs["JobSchedule"] = properties, inJob
	of := defs["Job"]["properties"].(object)
	of["schedules"] = documentedPart(fieldDoc("Job", "schedules"), object{
		"type": []string{"array", "null"}, "maxItems": jobs.MaxSchedulesOfJob,
		"items": object{"$ref": defsPrefix + "JobSchedule"},
	})
}

func exactlyOneKind(job object) {
	kinds := []object{}
	for _, kind := range []string{jobs.KindWebhook, jobs.KindScript, jobs.KindMail, jobs.KindGroup} {
		kinds = append(kinds, holds(kind))
	}
	job["oneOf"] = kinds
}
