package api

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const docsStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif;
  --line: color-mix(in srgb, currentColor 20%, transparent);
  --soft: color-mix(in srgb, currentColor 7%, transparent) }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem } h3 { margin: 0; font-size: 1rem } h3 code { font-size: 1rem }
a { color: light-dark(#1d4ed8, #93c5fd) }
h4 { margin: 1rem 0 0.25rem; font-size: 0.9rem } p { margin: 0.25rem 0 }
section { margin: 1rem 0; padding-top: 1rem; border-top: 1px solid var(--line) }
code, pre { font: 0.85rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere }
pre { margin: 0.25rem 0; padding: 0.75rem; overflow-x: auto; overflow-wrap: normal;
  background: var(--soft); border-radius: 0.25rem }
nav a { display: inline-block; margin: 0 1rem 0.25rem 0 }
details { margin: 0.25rem 0 } summary { cursor: pointer }
dl { display: grid; grid-template-columns: minmax(8rem, auto) 1fr; gap: 0.25rem 1rem; margin: 0.25rem 0 }
dd { margin: 0 } @media (max-width: 34rem) { dl { display: block } dd { margin: 0 0 0.5rem } }
`

// docsPolicy lets the page have its one style and nothing else.
var docsPolicy = func() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

var docsPage = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Nightshift API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{{.Style}}</style></head><body>
<h1>Nightshift API</h1>
{{range .Intro}}<p>{{.}}</p>
{{end}}<p>Every call bears <code>Authorization: Bearer TOKEN</code>, but for those marked open; those of
<a href="#chapter-callbacks">callbacks</a> the token of their attempt. The exact
description is <a href="/openapi.json">/openapi.json</a>.</p>
<nav>{{range .Tags}}<a href="#tag-{{.Name}}">{{.Name}}</a>{{end}}{{range .Chapters}}<a
href="#chapter-{{.Name}}">{{.Name}}</a>{{end}}<a href="#errors">errors</a> <a href="#shapes">shapes</a></nav>
{{range .Tags}}<h2 id="tag-{{.Name}}">{{.Name}}</h2><p>{{.Doc}}</p>
{{range .Routes}}<section id="{{.ID}}"><h3><code>{{.Method}} {{.Path}}</code></h3>
<p>{{.Summary}}. <em>{{.Scope}}</em></p>{{with .More}}<p>{{.}}</p>{{end}}
{{with .Params}}<dl>
{{range .}}<dt><code>{{.Name}}</code></dt><dd>{{.Doc}}</dd>
{{end}}</dl>{{end}}
{{range .Bodies}}<h4>{{.Head}}{{with .Shape}}: <a href="#shape-{{.}}">{{.}}</a>{{end}}</h4>{{range .Examples}}
<details><summary>{{.Title}}</summary><pre>{{.Text}}</pre></details>{{end}}
{{end}}<h4>Errors</h4><p>{{range .Problems}}<a href="#problem-{{.Name}}">{{.Status}} {{.Name}}</a> {{end}}</p>
</section>{{end}}{{end}}
{{range .Chapters}}<h2 id="chapter-{{.Name}}">{{.Name}}</h2>
{{range .Parts}}<p>{{.Text}}</p>{{with .Code}}<pre>{{.}}</pre>{{end}}
{{end}}{{end}}<h2 id="errors">errors</h2><p>application/problem+json (RFC 9457); the type is one of:</p>
{{range .Problems}}<section id="problem-{{.Name}}"><h3>{{.Status}} <code>{{.Type}}</code></h3>
<p>{{.Title}}</p><pre>{{.Text}}</pre></section>
{{end}}
<h2 id="shapes">shapes</h2><p>The fields of bodies and answers.</p>
{{range .Shapes}}<section id="shape-{{.Name}}"><h3>{{.Name}}</h3><dl>
{{range .Fields}}<dt><code>{{.Name}}</code></dt><dd>{{.Doc}}
<em>{{if .Ref}}<a href="#shape-{{.Ref}}">{{.Type}}</a>{{else}}{{.Type}}{{end}}</em></dd>
{{end}}</dl></section>
{{end}}
</body></html>
`))

type docsParam struct{ Name, Doc string }

// docsBody is what is sent, or what is answered under one status.
type docsBody struct {
	Head     string
	Shape    string // its name among the shapes; "": none
	Examples []docsExample
}

type docsExample struct{ Title, Text string }

type docsRoute struct {
	ID, Method, Path, Summary, More, Scope string
	Params                                 []docsParam
	Bodies                                 []docsBody
	Problems                               []docsProblem
}

type docsTag struct {
	Name, Doc string
	Routes    []docsRoute
}

type docsProblem struct {
	Status                  int
	Name, Type, Title, Text string
}

// renderDocs makes the page of the routes, with the shapes of their description: no scripts,
// nothing from elsewhere.
func renderDocs(routes []*route, spec []byte) ([]byte, error) {
	var described specText
	if err := json.Unmarshal(spec, &described); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	var page struct {
		Style    template.CSS
		Intro    []string
		Tags     []*docsTag
		Chapters []chapter
		Problems []docsProblem
		Shapes   []docsShape
	}
	page.Shapes = described.shapes()
	bodyShapes := described.bodyShapes()
	page.Style, page.Chapters = docsStyle, chapters
	page.Intro = strings.Split(conventions, "\n\n")
	examples, err := problemExamples()
	if err != nil {
		return nil, err
	}
	for _, k := range problemKinds {
		page.Problems = append(page.Problems, docsProblem{
			k.status, k.name, problemPrefix + k.name, k.title, indented(examples[k.name].Value),
		})
	}
	for _, tag := range tags {
		page.Tags = append(page.Tags, &docsTag{Name: tag.Name, Doc: tag.Description + "."})
	}
	for _, r := range routes {
		i := slices.IndexFunc(page.Tags, func(t *docsTag) bool { return t.Name == r.tag })
		if i < 0 {
			return nil, fmt.Errorf("the tag %s of %s is not in the list of tags", r.tag, r.id)
		}
		page.Tags[i].Routes = append(page.Tags[i].Routes, docsOf(r, bodyShapes))
	}
	var out bytes.Buffer
	err = docsPage.Execute(&out, page)
	return out.Bytes(), err
}

func docsOf(r *route, shapes map[string]string) docsRoute {
	view := docsRoute{
		ID: r.id, Method: r.method, Path: pathParam.ReplaceAllString(r.path, "{$1}"),
		Summary: r.summary, More: r.more, Scope: "Open.", Bodies: docsBodies(r, shapes),
	}
	switch {
	case r.attempt:
		view.Scope = "The attempt's token."
	case r.opens != 0:
		view.Scope = "Scope: " + r.opens.String() + "."
	}
	for _, p := range r.query {
		view.Params = append(view.Params, docsParam{p.name, p.doc})
	}
	for _, p := range r.headers {
		view.Params = append(view.Params, docsParam{"header " + p.name, p.doc})
	}
	for _, kinds := range problemsOf(r) {
		for _, k := range kinds {
			view.Problems = append(view.Problems, docsProblem{Status: k.status, Name: k.name})
		}
	}
	slices.SortFunc(view.Problems, func(a, b docsProblem) int {
		return cmp.Or(a.Status-b.Status, strings.Compare(a.Name, b.Name))
	})
	return view
}

func docsBodies(r *route, shapes map[string]string) (all []docsBody) {
	if r.in != nil || r.payload {
		head := "Body"
		if r.optional {
			head = "Body, may be left out"
		}
		body := docsBody{head, shapes[r.id], docsExamples(samplesOf(r, 0, "", r.in), "")}
		if r.text {
			body.Examples = append(body.Examples, docsExamples(samplesOf(r, 0, mediaText, nil), mediaText)...)
		}
		all = append(all, body)
	}
	for _, out := range r.out {
		doc := cmp.Or(out.doc, http.StatusText(out.status))
		status := strconv.Itoa(out.status)
		body := docsBody{Head: status + " " + doc, Shape: shapes[r.id+" "+status]}
		if out.media == nil {
			body.Examples = docsExamples(samplesOf(r, out.status, "", out.body), "")
		}
		for _, m := range out.media {
			body.Examples = append(body.Examples, docsExamples(samplesOf(r, out.status, m, out.body), m)...)
		}
		all = append(all, body)
	}
	return all
}

func docsExamples(of []sample, media string) (all []docsExample) {
	for _, s := range of {
		title := cmp.Or(s.title, "Example")
		if media != "" {
			title += ", " + media
		}
		all = append(all, docsExample{title, indented(s.json())})
	}
	return all
}

// indented is an example as a person reads it.
func indented(value any) string {
	text, isJSON := value.(json.RawMessage)
	if !isJSON {
		return value.(string)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return string(text)
	}
	return out.String()
}
