package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
)

const docsStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem } section { margin: 1.5rem 0 }
code, pre { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere }
h3 { margin: 0; font-size: 1rem } p { margin: 0.25rem 0 }
table { border-collapse: collapse } td { padding: 0 1rem 0 0; vertical-align: top }
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
<p>Every call bears <code>Authorization: Bearer TOKEN</code>, but for those marked open. The exact
shapes are in <a href="/openapi.json">/openapi.json</a>.</p>
{{range .Tags}}<h2>{{.Name}}</h2>
{{range .Routes}}<section><h3><code>{{.Method}} {{.Path}}</code></h3>
<p>{{.Summary}}. <em>{{.Scope}}</em></p>{{with .More}}<p>{{.}}</p>{{end}}
{{if .Params}}<table>
{{range .Params}}<tr><td><code>{{.Name}}</code></td><td>{{.Doc}}</td></tr>
{{end}}</table>{{end}}
</section>{{end}}{{end}}
<h2>errors</h2><table>
{{range .Problems}}<tr><td>{{.Status}}</td><td><code>{{.Name}}</code></td><td>{{.Title}}</td></tr>
{{end}}</table>
</body></html>
`))

type docsParam struct{ Name, Doc string }

type docsRoute struct {
	Method, Path, Summary, More, Scope string
	Params                             []docsParam
}

type docsTag struct {
	Name   string
	Routes []docsRoute
}

type docsProblem struct {
	Status      int
	Name, Title string
}

// renderDocs makes the page of the routes: no scripts, nothing from elsewhere.
func renderDocs(routes []*route) []byte {
	var page struct {
		Style    template.CSS
		Tags     []*docsTag
		Problems []docsProblem
	}
	page.Style = docsStyle
	for _, k := range problemKinds {
		page.Problems = append(page.Problems, docsProblem{k.status, problemPrefix + k.name, k.title})
	}
	for _, r := range routes {
		last := len(page.Tags) - 1
		if last < 0 || page.Tags[last].Name != r.tag {
			page.Tags = append(page.Tags, &docsTag{Name: r.tag})
			last++
		}
		view := docsRoute{
			Method: r.method, Path: pathParam.ReplaceAllString(r.path, "{$1}"), Summary: r.summary,
			More: r.more, Scope: "Open.",
		}
		if r.opens != 0 {
			view.Scope = "Scope: " + r.opens.String() + "."
		}
		for _, p := range r.query {
			view.Params = append(view.Params, docsParam{p.name, p.doc})
		}
		for _, p := range r.headers {
			view.Params = append(view.Params, docsParam{"header " + p.name, p.doc})
		}
		page.Tags[last].Routes = append(page.Tags[last].Routes, view)
	}
	var out bytes.Buffer
	if err := docsPage.Execute(&out, page); err != nil {
		panic(err) // the template and its data are both above
	}
	return out.Bytes()
}
