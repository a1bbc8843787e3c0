package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// How the types of the domain look in JSON.
type (
	anyJSON      struct{}
	timeText     struct{}
	idText       struct{}
	durationText struct{}
	sizeText     struct{}
	textsOrText  struct{}
	stateText    struct{}
	needText     struct{}
)

// jobDocument is a job as somebody writes it: its schema demands nothing that the server knows.
type jobDocument jobs.Job

// policyDocument is a policy so written.
type policyDocument jobs.Policy

// alertDocument is an alert so written.
type alertDocument jobs.Alert

// queueDocument and dependencyDocument are those so written.
type (
	queueDocument      wire.Queue
	dependencyDocument wire.Dependency
)

// scheduleDocument is a schedule so written.
type scheduleDocument wire.StandingSchedule

// progressDocument is progress as an attempt says it.
type progressDocument jobs.Progress

// defaultsDocument is what a job file says for all its jobs and schedules.
type defaultsDocument struct {
	jobs.Job
	Timezone string `json:"timezone,omitempty"`
}

// applyDocument is a job file in JSON.
type applyDocument struct {
	Defaults     *defaultsDocument    `json:"defaults,omitempty"`
	Policies     []policyDocument     `json:"policies,omitempty"`
	Queues       []queueDocument      `json:"queues,omitempty"`
	Dependencies []dependencyDocument `json:"dependencies,omitempty"`
	Jobs         []jobDocument        `json:"jobs,omitempty"`
	Schedules    []scheduleDocument   `json:"schedules,omitempty"`
	Alerts       []alertDocument      `json:"alerts,omitempty"`
}

// Schema describes any JSON value.
func (anyJSON) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: anyJSONDoc}
}

// Schema describes an instant.
func (timeText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: "string", Format: "date-time", Nullable: true,
		Description: "RFC 3339; answered in UTC with milliseconds",
	}
}

// Schema describes an id.
func (idText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: "string", Format: "uuid", Nullable: true, Description: "A UUID of version 7",
	}
}

// Schema describes a length of time.
func (durationText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: "string", Pattern: answeredPattern,
		Examples: []any{"90s", "1h30m", "7d"},
	}
}

// Schema describes a number of bytes.
func (sizeText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: sizePattern, Examples: []any{"512MiB", "2GiB"}}
}

// Schema describes one text or a list of texts.
func (textsOrText) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: "string"}
	return &huma.Schema{OneOf: []*huma.Schema{text, {Type: "array", Items: text}}}
}

// Schema describes the state of a run.
func (stateText) Schema(huma.Registry) *huma.Schema {
	schema := &huma.Schema{Type: "string"}
	for s := jobs.Scheduled; s <= jobs.Cancelled; s++ {
		schema.Enum = append(schema.Enum, s.String())
	}
	return schema
}

// Schema describes how many members of a group have to be good.
func (needText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: "integer", Minimum: new(0.0)}, {Type: "string", Pattern: needPattern},
	}}
}

// newRegistry makes a place for schemas that are referred to behind a prefix.
func newRegistry(prefix string) huma.Registry {
	huma.DefaultArrayNullable = false
	registry := huma.NewMapRegistry(prefix, func(t reflect.Type, hint string) string {
		name := huma.DefaultSchemaNamer(t, hint)
		if better := schemaNames[name]; better != "" {
			return better
		}
		return name
	})
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Raw](), reflect.TypeFor[anyJSON]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Time](), reflect.TypeFor[timeText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Until](), reflect.TypeFor[timeText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.ID](), reflect.TypeFor[idText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Duration](), reflect.TypeFor[durationText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Size](), reflect.TypeFor[sizeText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.State](), reflect.TypeFor[stateText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Texts](), reflect.TypeFor[textsOrText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Need](), reflect.TypeFor[needText]())
	registry.RegisterTypeAlias(reflect.TypeFor[wire.Export](), reflect.TypeFor[applyDocument]())
	return registry
}
