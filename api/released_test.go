package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// golden names the fixture whose answers are written anew: see TestMakeFixture in api/cli.
var golden = flag.String("golden", "", "write what must be readable from this fixture, such as schema-1")

// What the servers of fixtures were given: see api/cli.
const (
	fixtureKey   = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	fixtureToken = "fixture-token-of-the-admin"
	fixtures     = "../store/sqlite/testdata"
)

// readable is what the API answered from a file: all lists, and all that is in them.
type readable struct {
	At      jobs.Time                  `json:"at"` // of the questions
	Answers map[string]json.RawMessage `json:"answers"`
}

func TestFileOfEachReleasedSchemaIsReadAsItWas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures, "schema-*.db.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no fixtures: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".db.gz")
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.db")
			if err := os.WriteFile(path, unpacked(t, file), 0o600); err != nil {
				t.Fatal(err)
			}
			if *golden == name {
				writeGolden(t, path, name)
				return
			}
			text, err := os.ReadFile(filepath.Join(fixtures, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want readable
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if len(want.Answers) < 100 {
				t.Fatalf("%d answers are wanted: that is not all", len(want.Answers))
			}
			got := readAll(t, path, want.At)
			for _, asked := range slices.Sorted(maps.Keys(want.Answers)) {
				if lacks := lacking(asked, plain(t, want.Answers[asked]), plain(t, got[asked])); lacks != "" {
					t.Error(lacks)
				}
			}
		})
	}
}

// unpacked is a fixture as a file that was not moved, which would be held.
func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	const applicationID = 68 // where it stands in the header; 0: made before files said where they were served
	copy(text[applicationID:], make([]byte, 4))
	return text
}

func writeGolden(t *testing.T, path, name string) {
	t.Helper()
	st, err := sqlite.Open(context.Background(), path, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	newest, _, err := st.EventList(t.Context(), store.EventFilter{}, store.Page{Limit: 1})
	if err != nil || len(newest) == 0 {
		t.Fatalf("no event says when the file was made: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	all := readable{At: newest[0].At + 60_000}
	all.Answers = readAll(t, path, all.At)
	text, err := json.MarshalIndent(all, "", "") // a line each, for differences
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fixtures, name+".json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d answers, %d KiB", len(all.Answers), len(text)>>10)
}

// readAll asks for everything at an instant of the file's time, from a server that does no work.
func readAll(t *testing.T, path string, at jobs.Time) (answers map[string]json.RawMessage) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at.Std()))
		ctx := context.Background()
		st, err := sqlite.Open(ctx, path, sqlite.Config{Now: at})
		if err != nil {
			t.Fatal(err)
		}
		key, err := hex.DecodeString(fixtureKey)
		if err != nil {
			t.Fatal(err)
		}
		rt, err := runtime.New(ctx, runtime.Config{
			Store: st, Keys: [][]byte{key}, SaveKeys: func([][]byte) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		rt.ServeAt("https://jobs.example.com", "https://jobs.example.com")
		srv, err := New(ctx, Config{Runtime: rt, Listen: "127.0.0.1:8700", URL: "https://jobs.example.com", Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, err := range []error{srv.Shutdown(ctx), rt.Stop(nil), st.Close()} {
				if err != nil {
					t.Error(err)
				}
			}
		})
		r := &reader{t: t, srv: srv, answers: map[string]json.RawMessage{}}
		r.all()
		answers = r.answers
	})
	return answers
}

// reader asks a server for all there is.
type reader struct {
	t       *testing.T
	srv     *Server
	answers map[string]json.RawMessage
}

func (r *reader) all() {
	for _, kind := range []string{"jobs", "schedules", "policies", "queues", "dependencies", "alerts", "secrets"} {
		for _, name := range r.list("/v1/"+kind, "name") {
			r.get("/v1/" + kind + "/" + url.PathEscape(name))
			switch kind {
			case "jobs":
				for _, version := range r.list("/v1/jobs/"+name+"/versions", "version") {
					r.get("/v1/jobs/" + name + "/versions/" + version)
				}
			case "schedules":
				r.list("/v1/schedules/"+name+"/ticks", "at")
			}
		}
	}
	for _, name := range r.list("/v1/tokens", "name") {
		r.get("/v1/tokens/" + name)
	}
	for _, list := range []string{"/v1/sessions", "/v1/events", "/v1/failure-groups", "/v1/groups"} {
		r.list(list, "")
	}
	for _, run := range r.list("/v1/runs", "id") {
		r.get("/v1/runs/" + run)
		r.get("/v1/runs/" + run + "/log")
		r.get("/v1/runs/" + run + "/checkpoint")
		r.get("/v1/runs/" + run + "/members")
	}
	for _, status := range []string{"open", "will_retry", "requeued", "resolved", "ignored"} {
		for _, run := range r.list("/v1/failures?status="+status, "id") {
			r.get("/v1/failures/" + run)
		}
	}
	for _, order := range r.list("/v1/audit?kind=failures", "name") {
		r.get("/v1/requeues/" + order)
	}
	r.list("/v1/audit", "id")
	r.get("/v1/export")
	r.get("/v1/stats")
}

// get keeps an answer; one that there is nothing is none.
func (r *reader) get(path string) []byte {
	r.t.Helper()
	req := httptest.NewRequest("GET", "https://jobs.example.com"+path, nil)
	req.Header.Set("Authorization", "Bearer "+fixtureToken)
	req.Header.Set("Accept", "application/json")
	rec := httptest.NewRecorder()
	r.srv.ServeHTTP(rec, req)
	body := rec.Body.Bytes()
	switch {
	case rec.Code == 404 || rec.Code == 409:
		return nil
	case rec.Code != 200:
		r.t.Fatalf("GET %s: %d %s", path, rec.Code, body)
	}
	if json.Valid(body) {
		r.answers[path] = body
		return body
	}
	text, err := json.Marshal(string(body))
	if err != nil {
		r.t.Fatal(err)
	}
	r.answers[path] = text
	return nil
}

// list keeps an answer that is a list, and gives a field of its items.
func (r *reader) list(path, field string) (values []string) {
	r.t.Helper()
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	var list struct {
		Items []map[string]json.RawMessage
		Next  *string
	}
	path += mark + "limit=1000"
	if body := r.get(path); body == nil || json.Unmarshal(body, &list) != nil || list.Next != nil {
		r.t.Fatalf("GET %s is no list, or not all of one: %.200s", path, r.answers[path])
	}
	for _, item := range list.Items {
		values = append(values, strings.Trim(string(item[field]), `"`))
	}
	return values
}

// plain reads JSON, with the text of its numbers.
func plain(t *testing.T, text []byte) (v any) {
	t.Helper()
	if text == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// lacking says what of a value is not in another, which may have more fields; "": nothing.
func lacking(where string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(w)) {
			value, there := g[name]
			if !ok || !there {
				return fmt.Sprintf("%s has no %s; it was %.200v", where, name, w[name])
			}
			if lacks := lacking(where+" "+name, w[name], value); lacks != "" {
				return lacks
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %.200v, it was %.200v", where, got, want)
		}
		for i := range w {
			if lacks := lacking(fmt.Sprint(where, "[", i, "]"), w[i], g[i]); lacks != "" {
				return lacks
			}
		}
		return ""
	}
	if got != want {
		return fmt.Sprintf("%s is %.200v, it was %.200v", where, got, want)
	}
	return ""
}
