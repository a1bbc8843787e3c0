package api

import (
	"encoding/json"
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

// describe makes the OpenAPI 3.1 description of the routes. base is where they are served.
func describe(routes []*route, version, base string) ([]byte, error) {
	registry := newRegistry(schemaPrefix)
	d := &description{registry: registry, answered: map[string]bool{}}
	problems, err := problemExamples()
	if err != nil {
		return nil, err
	}
	spec := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Nightshift", Version: version, Description: intro(),
			License: &huma.License{Name: "MIT", Identifier: "MIT"},
		},
		Servers:  []*huma.Server{{URL: base, Description: "This server (--listen, --url)"}},
		Paths:    map[string]*huma.PathItem{},
		Tags:     tags,
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
	d.leftOver(problems)
	spec.Components = &huma.Components{
		Schemas: registry,
		SecuritySchemes: map[string]*huma.SecurityScheme{
			"token": {
				Type: "http", Scheme: "bearer",
				Description: "A token. The first start writes one to DB.token, beside the database; " +
					"POST /v1/tokens makes more, with scopes read, enqueue, operate, admin",
			},
			"attempt": {
				Type: "http", Scheme: "bearer",
				Description: "The token of one attempt, good for its callback alone and while it is under way. A webhook " +
					"gets it in the header Nightshift-Token, a script in the variable NIGHTSHIFT_CALLBACK_TOKEN",
			},
		},
		Examples: problems,
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	return append(text, '\n'), err
}

// namePattern is what jobs.CheckName takes.
const namePattern = `^[a-z0-9][a-z0-9._-]{0,99}$`

// schedulePattern is what names of schedules match: JOB:NAME, or a plain name.
const schedulePattern = `^[a-z0-9][a-z0-9._-]{0,99}(:[a-z0-9][a-z0-9._-]{0,99})?$`

// dependencyPattern is what jobs.CheckDependencyName takes, as far as a pattern says it: a name, or
// host:port.
const dependencyPattern = `^([a-z0-9][a-z0-9._-]{0,99}|([a-z0-9._-]+|\[[0-9a-f:.]+\]):[0-9]{1,5})$`

// secretPattern is what jobs.CheckSecretName takes.
const secretPattern = `^[A-Za-z_][A-Za-z0-9_]{0,99}$`

var pathParam = regexp.MustCompile(`:([a-z]+)`)

// description gathers the schemas of the routes, and the kinds of problems they answer.
type description struct {
	registry huma.Registry
	answered map[string]bool
}

func (d *description) schema(example any) *huma.Schema {
	return d.registry.Schema(reflect.TypeOf(example), true, "")
}

func (d *description) bodySchema(r *route) *huma.Schema {
	if r.payload {
		return anyJSON{}.Schema(d.registry)
	}
	return d.schema(r.in)
}

func (d *description) operation(r *route) *huma.Operation {
	op := &huma.Operation{
		OperationID: r.id, Tags: []string{r.tag}, Summary: r.summary, Description: r.more,
		Parameters: d.parameters(r), Responses: map[string]*huma.Response{},
		Extensions: map[string]any{},
	}
	switch {
	case r.attempt:
		op.Security = []map[string][]string{{"attempt": {}}}
	case r.opens == 0:
		op.Security = []map[string][]string{}
	default:
		op.Extensions["x-scope"] = r.opens.String()
	}
	if r.in != nil || r.payload {
		op.RequestBody = &huma.RequestBody{
			Required: !r.optional,
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: d.bodySchema(r), Examples: examplesOf(samplesOf(r, 0, "", r.in)),
			}},
		}
	}
	if r.text {
		op.RequestBody.Content[mediaText] = &huma.MediaType{
			Schema: &huma.Schema{Type: "string"}, Examples: examplesOf(samplesOf(r, 0, mediaText, nil)),
		}
	}
	for _, out := range r.out {
		op.Responses[strconv.Itoa(out.status)] = d.outcome(r, out)
	}
	for status, kinds := range problemsOf(r) {
		names := make([]string, len(kinds))
		examples := map[string]*huma.Example{}
		for i, k := range kinds {
			names[i] = k.name + ": " + k.title
			examples[k.name] = &huma.Example{Ref: examplePrefix + k.name}
			d.answered[k.name] = true
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(names, "; "),
			Content: map[string]*huma.MediaType{
				"application/problem+json": {Schema: d.schema(wire.Problem{}), Examples: examples},
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
		case m == "application/json" && out.brief != nil:
			schema = &huma.Schema{AnyOf: []*huma.Schema{d.schema(out.body), d.schema(out.brief)}}
		case m == "application/json" && out.body != nil:
			schema = d.schema(out.body)
		case m == "application/json":
			schema = &huma.Schema{Type: "object"}
		}
		if r.method != http.MethodHead {
			res.Content[m] = &huma.MediaType{
				Schema: schema, Examples: examplesOf(samplesOf(r, out.status, m, out.body)),
			}
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
			switch r.tag {
			case "secrets":
				schema.Pattern = secretPattern
			case "dependencies":
				schema.Pattern = dependencyPattern
			case "schedules":
				schema.Pattern = schedulePattern
			}
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
	for _, p := range all {
		if p.Example = paramExample(r, p.Name); p.Schema.Type == "array" && p.Example != nil {
			p.Example = []any{p.Example}
		}
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
	if r.attempt {
		kinds = append(kinds, probUnauthorized, probBusy, probOverload)
	}
	if r.body > 0 {
		kinds = append(kinds, probSyntax, probSlow, probTooLarge, probBusy)
	}
	if r.body > 0 || r.opens != 0 && r.method != http.MethodGet {
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

// anyJSONDoc is said of values that are not looked into, where nothing better is.
const anyJSONDoc = "Any JSON, kept and answered byte for byte"

// refine adds to the schemas what the types of the domain do not say of themselves.
func (d *description) refine() {
	d.eventData()
	all := d.registry.Map()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		schema := all[name]
		for field, p := range schema.Properties {
			if doc := fieldDoc(name, field); doc != "" && (p.Description == "" || p.Description == anyJSONDoc) {
				schema.Properties[field] = documented(p, doc)
			}
		}
		d.nullables(name, schema)
	}
	state := []string{"version", "paused", "pause_note", "set", "created_at", "updated_at"}
	for _, name := range []string{"Job", "JobDocument", "DefaultsDocument"} {
		for _, field := range state {
			all[name].Properties[field].ReadOnly = true
		}
	}
	all["Job"].Required = []string{"name", "version", "paused", "created_at", "updated_at"}
	all["JobDocument"].Required, all["DefaultsDocument"].Required = nil, nil
	delete(all["DefaultsDocument"].Properties, "name")
	for _, name := range []string{"Policy", "PolicyDocument"} {
		for _, field := range []string{"built_in", "set", "created_at", "updated_at"} {
			all[name].Properties[field].ReadOnly = true
		}
	}
	for _, name := range []string{"Alert", "AlertDocument"} {
		for _, field := range []string{"set", "created_at", "updated_at"} {
			all[name].Properties[field].ReadOnly = true
		}
		refineAlert(all[name])
	}
	all["AlertDocument"].Required = []string{"on", "run"}
	all["PolicyDocument"].Required, all["ProgressDocument"].Required = nil, nil
	for name, document := range map[string][]string{
		"Queue": {"name", "concurrency"}, "Dependency": {"name", "concurrency", "rate", "breaker"},
	} {
		for field, p := range all[name+"Document"].Properties {
			p.ReadOnly = !slices.Contains(document, field)
		}
		all[name+"Document"].Required = nil
	}
	for _, field := range jobs.ScheduleState {
		if p := all["ScheduleDocument"].Properties[field]; p != nil {
			p.ReadOnly = true
		}
	}
	all["ScheduleDocument"].Required = []string{"job"}
	standing := all["StandingSchedule"]
	standing.Required = append([]string{"name", "job"}, standing.Required...)
	kinds := make([]any, len(problemKinds))
	for i, k := range problemKinds {
		kinds[i] = problemPrefix + k.name
	}
	all["Problem"].Properties["type"].Enum = append(kinds, problemBlank)
}

// refineAlert says which events there are.
func refineAlert(schema *huma.Schema) {
	on := schema.Properties["on"]
	on.MinItems, on.UniqueItems = new(1), true
	on.Items = &huma.Schema{Type: "string"}
	for _, typ := range jobs.EventTypes {
		on.Items.Enum = append(on.Items.Enum, typ)
	}
}

// eventData says what the data of events may be.
func (d *description) eventData() {
	data := d.registry.Map()["CloudEvent"].Properties["data"]
	for _, of := range jobs.EventData {
		data.AnyOf = append(data.AnyOf, d.schema(of))
		name := reflect.TypeOf(of).Name()
		if labels := d.registry.Map()[name].Properties["labels"]; labels != nil {
			labels.Nullable = true // of a job without any
		}
	}
}

// leftOver moves the examples of problems that no route answers to the schema of all problems.
func (d *description) leftOver(problems map[string]*huma.Example) {
	schema := d.registry.Map()["Problem"]
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		if !d.answered[name] {
			schema.Examples = append(schema.Examples, problems[name].Value)
			delete(problems, name)
		}
	}
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
		if len(p.Enum) > 0 {
			p.Enum = append(p.Enum, nil)
		}
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
