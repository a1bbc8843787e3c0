package api

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// hostileBodies are taken nowhere, whatever the route wants.
var hostileBodies = []struct{ name, body string }{
	{"depth 65", strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65)},
	{"depth 65 of objects", strings.Repeat(`{"k":`, 65) + `"` + canary + `"` + strings.Repeat(`}`, 65)},
	{"depth 65 of a known field", `{"payload":` + strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65) + `}`},
	{"depth 100,000", strings.Repeat(`[`, 100_000)},
	{"half a surrogate", `{"k":"` + canary + `\ud800"}`},
	{"half a surrogate in a key", `{"\udfff":"` + canary + `"}`},
	{"NUL as text", `{"k":"` + canary + `\u0000"}`},
	{"NUL", "{\"" + canary + "\x00\":1}"},
	{"NUL after it", "{}\x00"},
	{"byte order mark", "\xef\xbb\xbf{}"},
	{"UTF-16", "\xff\xfe{\x00}\x00"},
	{"bytes that are no UTF-8", "{\"" + canary + "\":\"\xc3\x28\"}"},
	{"trailing junk", `{} ` + canary},
	{"two documents", `{}{}`},
	{"duplicate keys", `{"k":"` + canary + `","k":"` + canary + `"}`},
	{"a number past all bounds", `{"priority":1e999999999}`},
	{"a number of 100,000 digits", `{"priority":` + strings.Repeat("9", 100_000) + `}`},
	{"YAML", "name: " + canary + "\nwebhook: {url: 'https://h/'}\n"},
	{"a comment", "{/* " + canary + " */}"},
	{"NaN", `{"priority":NaN}`},
	{"a form", "name=" + canary},
	{"no value", " \t\r\n"},
	{"a text", `"` + canary + `"`},
	{"a text without an end", `"` + strings.Repeat("a", 100_000)},
}

func TestHostileBodiesAreRefusedEverywhere(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/server/drain", "").want(200)
	var list strings.Builder
	for i := range map[bool]int{false: 1_000_000, true: 100_000}[raced] {
		list.WriteString(`,"k` + strconv.Itoa(i) + `":0`)
	}
	keys := `{"a":0` + list.String() + `}`
	bounds := map[int64]bool{} // of bodies: routes with the same are alike to one that is large
	for _, r := range ts.api.routes {
		if r.body == 0 {
			continue
		}
		path := fill(r, ts.stage(r))
		for _, c := range hostileBodies {
			ts.call(r.method, path, c.body).clear(r.method+" "+r.path+": "+c.name, canary)
		}
		if bounds[r.body] {
			continue
		}
		bounds[r.body] = true
		ts.call(r.method, path, keys).clear(r.method+" "+r.path+": 1,000,000 keys", keys)
		if r.body > maxBody {
			body := `{"jobs":` + keys + `}`
			ts.call(r.method, path, body).clear(r.method+" "+r.path+": 1,000,000 jobs", body)
		}
	}
	// And the server goes on.
	ts.call("GET", "/v1/jobs", "").want(200)
}

func TestApplyTakes16MiBAndNotOneByteMore(t *testing.T) {
	ts := newTestServer(t)
	doc := `{"jobs":[{"name":"a","webhook":{"url":"https://example.com/"}}]}`
	whole := doc + strings.Repeat(" ", maxBatchBody-len(doc))
	ts.call("POST", "/v1/apply", whole).want(200)
	got := ts.call("POST", "/v1/apply", whole+" ").problem(probTooLarge)
	if !strings.Contains(got, "16777216 bytes") {
		t.Errorf("it does not say how much is taken: %s", got)
	}
	// As much of it as may be in documents.
	var many strings.Builder
	many.WriteString(`{"jobs":[`)
	row := `{"name":"j%05d","description":"` + strings.Repeat("d", 1000) + `","webhook":{"url":"https://example.com/"}}`
	for i := range 10_000 {
		if i > 0 {
			many.WriteByte(',')
		}
		fmt.Fprintf(&many, row, i)
	}
	many.WriteString(`],"colour":"` + canary + `"}`)
	ts.call("POST", "/v1/apply", many.String()).clear("10,000 jobs and a field that is unknown", canary)
	ts.call("GET", "/v1/jobs/j00001", "").problem(probNotFound)
}

func TestManySlowCallersHoldUpNobody(t *testing.T) { // case 181
	ts := newTestServer(t)
	for i := range 500 {
		text := "PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\n"
		switch i % 3 {
		case 1:
			text += "Content-Length: 1000000\r\n\r\n{" // without a token
		case 2:
			text += "Authorization: Bearer " + ts.admin + "\r\nContent-Length: 1000000\r\n\r\n{"
		}
		ts.raw(text)
	}
	ts.wellBehaved(func() {
		for range 20 {
			ts.call("GET", "/v1/jobs", "").want(200)
		}
		ts.call("PUT", "/v1/jobs/b", hookDoc).want(201)
	})
}
