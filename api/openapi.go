package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"nightshift/api/wire"
	"nightshift/jobs"
)

const schemaPrefix = "#/components/schemas/"

// How the types of the domain look in JSON.
type (
	anyJSON      struct{}
	timeText     struct{}
	idText       struct{}
	durationText struct{}
)

// Schema describes any JSON value.
func (anyJSON) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "Any JSON, kept and answered byte for byte"}
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
		Type: "string", Pattern: `^([0-9.]+d)?([0-9.]+(h|m|s|ms))*$`,
		Examples: []any{"90s", "1h30m", "7d"},
	}
}

// schemaNames are those that say more than the name of the type.
var schemaNames = map[string]string{
	"Request": "RunRequest", "PutToken": "TokenRequest", "Fault": "ProblemFault",
}

// jobDocs say what the fields of a job document mean (contract 3.1).
var jobDocs = map[string]map[string]string{
	"Job": {
		"name":        "Its identity; matches ^[a-z0-9][a-z0-9._-]{0,99}$",
		"webhook":     "Exactly one of webhook and script",
		"script":      "Exactly one of webhook and script",
		"payload":     "Used where a run brings none; {} where left out. Up to 256 KiB",
		"timeout":     "Of one attempt: 5m for a webhook, 6h for a script where left out; 24h at most",
		"queue":       "default where left out",
		"priority":    "-100 to 100, higher first",
		"retry":       "When a failed attempt is tried again",
		"retain":      "How long ended runs are kept",
		"version":     "Grows when what is executed changes",
		"paused":      "Nothing of it starts",
		"pause_note":  "Why it is paused",
		"created_at":  "When it was first registered",
		"updated_at":  "When the document last changed",
		"description": "For people",
		"labels":      "For people and filters; runs carry them",
	},
	"RunRequest": {
		"job":             "In a batch; else the path names it",
		"payload":         "Left out: the job's. Up to 256 KiB",
		"delay":           "Start that much later; or run_at",
		"run_at":          "Start then; or delay",
		"priority":        "-100 to 100, higher first; left out: the job's",
		"max_attempts":    "A cap on all attempts, those of rules' own budgets included",
		"timeout":         "Of one attempt; 24h at most",
		"correlation_id":  "Passed on to what the run makes; left out: the run's id",
		"labels":          "Added to the job's",
		"idempotency_key": "1 to 255 printable ASCII characters; or the header Idempotency-Key",
	},
	"Webhook": {
		"url":                "http or https",
		"method":             "POST where left out",
		"headers":            "One set here wins over ours of that name",
		"nightshift_headers": "false: no Nightshift-* header",
	},
	"Script": {
		"source":      "The text, or path",
		"path":        "A file below the scripts folder of the server",
		"interpreter": "Else the #! line, else by the path's ending, else a shell",
		"env":         "Of the server's environment only PATH, LANG and TZ are inherited",
		"dir":         "Left out: an empty folder of its own, removed afterwards",
		"grace":       "Between SIGTERM and SIGKILL; 10s where left out",
	},
	"Failure": {
		"reported": "What the job itself said of another try",
	},
	"Rule": {
		"if":           "An expression over the error: true decides",
		"after":        "A duration, or an expression that gives one; left out: the backoff",
		"max_attempts": "A budget of its own: failures that this rule decided",
		"reason":       "Shown with each decision",
	},
	"Retry": {
		"max_attempts": "Attempts outside rules' own budgets, the first included; 8 where left out",
		"max_elapsed":  "No retry later than this after the run was first due",
		"rules":        "Tried in order; the first whose if holds decides",
		"otherwise":    "Where no rule matched: retry or fail",
		"interrupted":  "rerun, or fail: a started attempt is never started again",
	},
}

// describe makes the OpenAPI 3.1 description of the routes.
func describe(routes []*route, version string) ([]byte, error) {
	huma.DefaultArrayNullable = false
	registry := huma.NewMapRegistry(schemaPrefix, func(t reflect.Type, hint string) string {
		name := huma.DefaultSchemaNamer(t, hint)
		if better := schemaNames[name]; better != "" {
			return better
		}
		return name
	})
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Raw](), reflect.TypeFor[anyJSON]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Time](), reflect.TypeFor[timeText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.ID](), reflect.TypeFor[idText]())
	registry.RegisterTypeAlias(reflect.TypeFor[jobs.Duration](), reflect.TypeFor[durationText]())
	d := &description{registry: registry}
	spec := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Nightshift", Version: version, Description: intro()},
		Paths:   map[string]*huma.PathItem{},
		Tags: []*huma.Tag{
			{Name: "jobs", Description: "What is registered"},
			{Name: "runs", Description: "Work for a job"},
			{Name: "rules", Description: "What becomes of failures, tried before it counts"},
			{Name: "tokens", Description: "Who may call"},
			{Name: "server", Description: "The server itself"},
			{Name: "open", Description: "What answers without a token"},
		},
		Security: []map[string][]string{{"token": {}}},
	}
	for _, r := range routes {
		path := pathParam.ReplaceAllString(r.path, "{$1}")
		item := spec.Paths[path]
		if item == nil {
			item = &huma.PathItem{}
			spec.Paths[path] = item
		}
		setOperation(item, r.method, d.operation(r))
	}
	d.refine()
	spec.Components = &huma.Components{
		Schemas: registry,
		SecuritySchemes: map[string]*huma.SecurityScheme{
			"token": {Type: "http", Scheme: "bearer", Description: "A token; GET /v1/tokens lists them"},
		},
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	return append(text, '\n'), err
}

// namePattern is what jobs.CheckName takes.
const namePattern = `^[a-z0-9][a-z0-9._-]{0,99}$`

var pathParam = regexp.MustCompile(`:([a-z]+)`)

// intro is the description of the whole: conventions and the kinds of problems.
func intro() string {
	var b strings.Builder
	b.WriteString("Runs jobs: webhooks and scripts, with retries by rule and a durable history.\n\n" +
		"A body is read as JSON whatever its Content-Type, strictly: unknown fields, duplicate keys " +
		"and wrong types are refused with every fault found and where. Times are RFC 3339 in UTC with " +
		"milliseconds, durations texts such as 90s, 1h30m or 7d. A field that is null counts as left " +
		"out. Payloads and results are kept and answered byte for byte. HEAD answers as GET does, without " +
		"the body. Bodies up to 1 MiB (batch and " +
		"apply 16 MiB), payloads up to 256 KiB. 2xx means on disk.\n\n" +
		"Lists are newest first. Following next shows each row once while rows come and go.\n\n" +
		"Errors are application/problem+json (RFC 9457); their type is one of:\n\n")
	b.WriteString("- `" + problemBlank + "`: what is no HTTP call (400, 417, 431, 501, 505), and " +
		"connections past the bound (503)\n")
	for _, kind := range problemKinds {
		fmt.Fprintf(&b, "- %d `%s%s`: %s\n", kind.status, problemPrefix, kind.name, kind.title)
	}
	return b.String()
}

// description gathers the schemas of the routes.
type description struct{ registry huma.Registry }

func (d *description) schema(example any) *huma.Schema {
	return d.registry.Schema(reflect.TypeOf(example), true, "")
}

func (d *description) operation(r *route) *huma.Operation {
	op := &huma.Operation{
		OperationID: r.id, Tags: []string{r.tag}, Summary: r.summary, Description: r.more,
		Parameters: d.parameters(r), Responses: map[string]*huma.Response{},
		Extensions: map[string]any{},
	}
	if r.opens == 0 {
		op.Security = []map[string][]string{}
	} else {
		op.Extensions["x-scope"] = r.opens.String()
	}
	if r.in != nil {
		op.RequestBody = &huma.RequestBody{
			Required: !r.optional,
			Content:  map[string]*huma.MediaType{"application/json": {Schema: d.schema(r.in)}},
		}
	}
	for _, out := range r.out {
		op.Responses[strconv.Itoa(out.status)] = d.outcome(r, out)
	}
	for status, kinds := range problemsOf(r) {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.name + ": " + k.title
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(names, "; "),
			Content: map[string]*huma.MediaType{
				"application/problem+json": {Schema: d.schema(wire.Problem{})},
			},
		}
	}
	return op
}

func (d *description) outcome(r *route, out outcome) *huma.Response {
	doc := out.doc
	if doc == "" {
		doc = http.StatusText(out.status)
	}
	res := &huma.Response{Description: doc, Content: map[string]*huma.MediaType{}}
	media := out.media
	if media == nil && out.body != nil {
		media = []string{"application/json"}
	}
	for _, m := range media {
		schema := &huma.Schema{Type: "string"}
		switch {
		case m == "application/json" && out.body != nil:
			schema = d.schema(out.body)
		case m == "application/json":
			schema = &huma.Schema{Type: "object"}
		}
		if r.method != http.MethodHead {
			res.Content[m] = &huma.MediaType{Schema: schema}
		}
	}
	if out.etag {
		res.Headers = map[string]*huma.Param{"ETag": {
			Description: "For If-Match", Schema: &huma.Schema{Type: "string"},
		}}
	}
	return res
}

func (d *description) parameters(r *route) []*huma.Param {
	var all []*huma.Param
	for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
		schema := &huma.Schema{Type: "string"}
		switch m[1] {
		case "id":
			schema.Format = "uuid"
		case "name":
			schema.Pattern = namePattern
		case "version":
			schema = &huma.Schema{Type: "integer"}
		}
		all = append(all, &huma.Param{Name: m[1], In: "path", Required: true, Schema: schema})
	}
	for _, p := range r.query {
		all = append(all, p.describe("query"))
	}
	for _, p := range r.headers {
		all = append(all, p.describe("header"))
	}
	return all
}

func (p param) describe(in string) *huma.Param {
	schema := &huma.Schema{Type: "string"}
	if p.integer {
		schema = &huma.Schema{Type: "integer"}
	}
	for _, v := range p.enum {
		schema.Enum = append(schema.Enum, v)
	}
	if p.many && in == "query" { // a header is one text, its lines joined
		schema = &huma.Schema{Type: "array", Items: schema}
	}
	return &huma.Param{Name: p.name, In: in, Description: p.doc, Schema: schema}
}

// problemsOf are the kinds of problems a route may answer, by status.
func problemsOf(r *route) map[int][]problemKind {
	kinds := []problemKind{probRequest, probHost, probInvalid, probInternal, probStopping}
	if !r.origin {
		kinds = append(kinds, probOrigin)
	}
	if r.opens != 0 {
		kinds = append(kinds, probUnauthorized, probForbidden, probBusy, probOverload)
	}
	if r.in != nil {
		kinds = append(kinds, probSyntax, probSlow, probTooLarge)
	}
	if r.opens != 0 && r.method != http.MethodGet {
		kinds = append(kinds, probEncoding, probUnknown, probFull)
	}
	kinds = append(kinds, r.problems...)
	byStatus := map[int][]problemKind{}
	for _, k := range problemKinds { // in their order
		if slices.Contains(kinds, k) {
			byStatus[k.status] = append(byStatus[k.status], k)
		}
	}
	return byStatus
}

// refine adds to the schemas what the types of the domain do not say of themselves.
func (d *description) refine() {
	all := d.registry.Map()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		schema := all[name]
		for field, doc := range jobDocs[name] {
			if p := schema.Properties[field]; p != nil {
				schema.Properties[field] = documented(p, doc)
			}
		}
		d.nullables(name, schema)
	}
	job := all["Job"]
	state := []string{"version", "paused", "pause_note", "created_at", "updated_at"}
	for _, field := range state {
		job.Properties[field].ReadOnly = true
	}
	job.Required = []string{"name", "version", "paused", "created_at", "updated_at"}
	kinds := make([]any, len(problemKinds))
	for i, k := range problemKinds {
		kinds[i] = problemPrefix + k.name
	}
	all["Problem"].Properties["type"].Enum = append(kinds, problemBlank)
}

// documented adds a text to a schema; beside a reference it stands as it is (OpenAPI 3.1).
func documented(s *huma.Schema, doc string) *huma.Schema {
	s.Description = doc
	return s
}

// nullables lets members that are pointers without omitempty be null.
func (d *description) nullables(name string, schema *huma.Schema) {
	t := d.registry.TypeFromRef(schemaPrefix + name)
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := schema.Properties[tag]
		if p == nil || f.Type.Kind() != reflect.Pointer || strings.Contains(opts, "omitempty") {
			continue
		}
		if p.Ref != "" {
			schema.Properties[tag] = &huma.Schema{
				Description: p.Description,
				AnyOf:       []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
			}
			continue
		}
		p.Nullable = true
	}
}

func setOperation(item *huma.PathItem, method string, op *huma.Operation) {
	switch method {
	case http.MethodGet:
		item.Get = op
	case http.MethodHead:
		item.Head = op
	case http.MethodOptions:
		item.Options = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodDelete:
		item.Delete = op
	default:
		panic("api: no place for the method " + method)
	}
}
