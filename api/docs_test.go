package api

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryFieldOfTheDescriptionSaysWhatItMeans(t *testing.T) {
	ts := newTestServer(t)
	var spec specText
	if err := json.Unmarshal(made(t, ts.api.spec), &spec); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Components.Schemas)) {
		for field, p := range spec.Components.Schemas[name].Properties {
			if p.Doc == "" && p.Ref == "" {
				t.Errorf("%s.%s says nothing: see field_docs.go", name, field)
			}
		}
	}
}

func TestFieldDocsAreOfFieldsThatAre(t *testing.T) {
	ts := newTestServer(t)
	var spec specText
	if err := json.Unmarshal(made(t, ts.api.spec), &spec); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for name, schema := range spec.Components.Schemas {
		name = strings.TrimSuffix(name, "Document")
		for field := range schema.Properties {
			used[name+"."+field], used[sharedDocs[name]+"."+field], used["*."+field] = true, true, true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fieldDocs)) {
		if !used[key] {
			t.Errorf("nothing has the field %s", key)
		}
	}
}

func TestEveryLinkOfTheDocsLeadsSomewhere(t *testing.T) {
	page := string(made(t, newTestServer(t).api.docs))
	links := regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 100 {
		t.Fatalf("%d links", len(links))
	}
	for _, link := range links {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("nothing has the id %s", link[1])
		}
	}
}
