package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nightshift/jobs"
)

// forEachBody calls f for all bodies of all routes: those of calls have status 0.
func forEachBody(f func(r *route, status int, media string, body any)) {
	for _, r := range allRoutes() {
		if r.in != nil || r.payload {
			f(r, 0, "application/json", r.in)
		}
		if r.text {
			f(r, 0, mediaText, nil)
		}
		if r.method == http.MethodHead {
			continue
		}
		for _, out := range r.out {
			media := out.media
			if media == nil && out.body != nil {
				media = []string{"application/json"}
			}
			for _, m := range media {
				f(r, out.status, m, out.body)
			}
		}
	}
}

func TestEveryRouteHasExamples(t *testing.T) {
	used := map[sampleKey]bool{}
	forEachBody(func(r *route, status int, media string, body any) {
		if len(samplesOf(r, status, media, body)) == 0 {
			t.Errorf("%s %s (%s) has no example of %s; status %d (0: the body of the call), %T: see examples_table.go",
				r.method, r.path, r.id, media, status, body)
		}
		if media == "application/json" {
			media = ""
		}
		used[sampleKey{r.id, status, media}] = true
	})
	for key := range samples {
		if !used[key] {
			t.Errorf("the examples of %v are of nothing", key)
		}
	}
	for _, r := range allRoutes() {
		for _, p := range append(append([]param{}, r.query...), r.headers...) {
			example := paramExample(r, p.name)
			if example == nil && !(p.wrong != nil && p.wrong([]string{"x"}) != "" && strings.HasPrefix(p.doc, "refused")) {
				t.Errorf("%s %s: the parameter %s has no example: see paramExamples", r.method, r.path, p.name)
				continue
			}
			text, isText := example.(string)
			if isText && p.fault([]string{text}) != "" && p.name != "If-None-Match" {
				t.Errorf("%s %s: the example of %s: %s", r.method, r.path, p.name, p.fault([]string{text}))
			}
		}
		for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
			if paramExample(r, m[1]) == nil {
				t.Errorf("%s %s: {%s} has no example: see paramExamples", r.method, r.path, m[1])
			}
		}
	}
}

var sampleName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func TestExamplesAreWhatTheirTypesAndSchemasSay(t *testing.T) {
	text, err := describe(allRoutes(), "0", "http://127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, text)
	checked := 0
	forEachBody(func(r *route, status int, media string, body any) {
		path := pathParam.ReplaceAllString(r.path, "{$1}")
		op := member(spec, "paths", path, strings.ToLower(r.method))
		content := member(op, "requestBody", "content", media)
		if status != 0 {
			content = member(op, "responses", strconv.Itoa(status), "content", media)
		}
		for _, s := range samplesOf(r, status, media, body) {
			at := r.id + " " + strconv.Itoa(status) + " " + s.name
			if !sampleName.MatchString(s.name) {
				t.Errorf("%s: want a name of letters, digits and dashes", at)
			}
			shown := member(content, "examples", s.name, "value")
			if shown == nil {
				t.Errorf("%s is not in the description", at)
				continue
			}
			if bad := mismatch(spec, member(content, "schema"), shown, at); bad != "" {
				t.Error(bad)
			}
			if media == "application/json" {
				checkSampleType(t, at, s, body, status == 0)
			}
			checked++
		}
	})
	if checked < 55 {
		t.Errorf("only %d examples were checked", checked)
	}
}

// checkSampleType reads an example strictly as its type. What is answered must be written as it was
// read.
func checkSampleType(t *testing.T, at string, s sample, body any, call bool) {
	t.Helper()
	if body == nil {
		return
	}
	text, isText := s.value.(jobs.Raw)
	switch {
	case s.value == nil:
		t.Errorf("%s: it is nil", at)
		return
	case !isText && reflect.TypeOf(s.value) != reflect.TypeOf(body):
		t.Errorf("%s: it is a %T, the route says %T", at, s.value, body)
		return
	case !isText:
		text = jobs.AppendJSON(nil, s.value)
	}
	into := reflect.New(reflect.TypeOf(body))
	if err := jobs.DecodeJSON(text, into.Interface()); err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	if again := jobs.AppendJSON(nil, into.Elem().Interface()); !call && !bytes.Equal(again, text) {
		t.Errorf("%s: it is written as\n%s and read as\n%s", at, text, again)
	}
}

func TestEveryProblemHasAnExampleOfItself(t *testing.T) {
	text, err := describe(allRoutes(), "0", "http://127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, text)
	schema := member(spec, "components", "schemas", "Problem")
	list, _ := member(schema, "examples").([]any) // those that no route answers
	examples := map[string]any{}
	for _, e := range list {
		name, _ := member(e, "type").(string)
		examples[strings.TrimPrefix(name, problemPrefix)] = e
	}
	for name, e := range member(spec, "components", "examples").(map[string]any) {
		examples[name] = member(e, "value")
	}
	for _, k := range problemKinds {
		e := examples[k.name]
		if member(e, "type") != problemPrefix+k.name || member(e, "title") != k.title ||
			member(e, "status") != json.Number(strconv.Itoa(k.status)) || member(e, "detail") == "" {
			t.Errorf("the example of %s is %v", k.name, e)
		}
		if bad := mismatch(spec, schema, e, k.name); bad != "" {
			t.Error(bad)
		}
		delete(examples, k.name)
	}
	for name := range examples {
		t.Errorf("the example %s is of no problem", name)
	}
}
