package jobs

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzJobDocument: what is accepted comes back from its document, and all that it executes is
// rendered or invalid.
func FuzzJobDocument(f *testing.F) {
	f.Add([]byte(`{"name":"a","script":{"source":"x","env":{"A":"b"}},"payload":[1.10],"timeout":"1s"}`))
	f.Add([]byte(`{"webhook":{"url":"https://example.com/","headers":{"A":"b"}},"retry":{"rules":[{"if":"a"}]}}`))
	f.Add([]byte(`{"script":{"source":"0"},"retry":{"rules":[]}}`))
	for _, doc := range examples {
		f.Add([]byte(doc))
	}
	for _, doc := range places("payload.a") {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := ParseJob(data)
		if err != nil {
			return
		}
		again, err := ParseJob(j.Document())
		if err != nil {
			t.Fatalf("%q: %s: %v", data, j.Document(), err)
		}
		if !bytes.Equal(again.Document(), j.Document()) || !SameSpec(again.Spec(), j.Spec()) {
			t.Fatalf("%q: got %s, then %s", data, j.Document(), again.Document())
		}
		exercise(t, again, Raw(`{"a":{"b":[1.10,"x"]},"id":17}`))
		_ = again.Refs()
	})
}

// FuzzTemplate: whatever text is given is refused with its place, or rendered to text that is
// bounded and made of characters, or is invalid; in JSON it stays JSON.
func FuzzTemplate(f *testing.F) {
	payload := sampleScope().Payload
	for _, text := range []string{
		"a {{ payload.id }} b", "{{ payload }}", `{{ "}}" }}`, "{{", "}}", "{{}}", "{{ {a} }}", "}{{{", "{{ 'a", "{{ /* }} */ 1 }}",
		"{{ payload.list[-1] ?? run.id }}", "{{ json(payload.obj) + urlencode(payload.path) }}", "{{ secrets.TOKEN }}", "\xff{{ payload.nul }}",
		`{"a":{"b":"{{ payload.lone }}"}}`, "{{ payload.a.b[9223372036854775807] }}", "{{ payload[-9223372036854775808] }}",
	} {
		f.Add(text, string(payload))
	}
	f.Fuzz(func(t *testing.T, text, payload string) {
		if ValidJSON([]byte(payload)) != nil || len(payload) > MaxPayload {
			return
		}
		raw := AppendJSONString(nil, text)
		p, err := Prepare(Spec{
			Webhook: &Webhook{URL: "http://x/", Headers: map[string]string{"A": text}, Body: append(append(Raw(`{"a":`), raw...), '}')},
			Script:  &Script{Args: []string{text}},
			Mail:    &Mail{To: []string{text}, Subject: text},
		})
		if err != nil {
			for _, fault := range faultsOf(err) {
				if fault.Location == "" || !strings.HasPrefix(fault.Message, "line ") {
					t.Errorf("%q: %+v has no place", text, fault)
				}
			}
			return
		}
		sc := sampleScope()
		sc.Payload = Raw(payload)
		got, failure := p.Render(sc)
		if failure != nil {
			if failure.Kind != FailInvalid || failure.Message == "" {
				t.Errorf("%q: %+v", text, failure)
			}
			return
		}
		if !json.Valid(got.Body) || len(got.Body) > MaxBody+1 {
			t.Errorf("%q: the body is %q", text, got.Body)
		}
		if value := got.Spec.Webhook.Headers["A"]; hasTemplate(text) && checkHeaderValue(value) != nil {
			t.Errorf("%q: the header is %q", text, value)
		}
		if arg := got.Spec.Script.Args[0]; utf8.ValidString(text) && !utf8.ValidString(arg) ||
			hasTemplate(text) && checkNoNUL(arg) != nil {
			t.Errorf("%q: the argument is %q", text, arg)
		}
		if to := got.Spec.Mail.To[0]; strings.Contains(text, "{{") && checkAddress(to) != nil {
			t.Errorf("%q: the address is %q", text, to)
		}
	})
}

// FuzzURLTemplate: a value never changes the host that is written out, nor leaves its place in
// the path.
func FuzzURLTemplate(f *testing.F) {
	for _, value := range []string{"a", "..", "/x", "a@b", "?", "#", "%2e", "\\", "é", ".evil.example", ":80", "", "a\r\nb", "1.2"} {
		f.Add(value)
	}
	path, err := Prepare(Spec{Webhook: &Webhook{URL: "https://api.example.com/a/{{ payload.v }}/b?c={{ payload.v }}"}})
	if err != nil {
		f.Fatal(err)
	}
	host, err := Prepare(Spec{Webhook: &Webhook{URL: "https://{{ payload.v }}.example.com/a"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !utf8.ValidString(value) {
			return
		}
		sc := sampleScope()
		sc.Payload = append(append(Raw(`{"v":`), AppendJSONString(nil, value)...), '}')
		if got, failure := path.Render(sc); failure == nil {
			u, err := url.Parse(got.Spec.Webhook.URL)
			if err != nil || u.Host != "api.example.com" || u.Query().Get("c") != value ||
				u.Path != "/a/"+value+"/b" || u.JoinPath().Path != u.Path && !strings.Contains(value, "/") && value != "" {
				t.Errorf("%q: %s %v", value, got.Spec.Webhook.URL, err)
			}
		}
		name, failure := host.Host(sc.Payload, sc.Job)
		if failure != nil {
			return
		}
		if !strings.HasSuffix(name, ".example.com:443") || strings.ContainsAny(name, "/@?#\\% ") {
			t.Errorf("%q: the host is %q", value, name)
		}
		sc.Host = name
		if got, failure := host.Render(sc); failure != nil || !strings.HasSuffix(got.Spec.Webhook.URL, ".example.com/a") {
			t.Errorf("%q: %v %v", value, got, failure)
		}
	})
}

// FuzzValue: expressions see what encoding/json reads.
func FuzzValue(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5,-0,1e400,"x\ud800y",null,true],"a":false}`, "[[[", `"\u0000"`, "1 2", "", "9223372036854775808", `{"":{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeValue(text)
		var want any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		stdErr := dec.Decode(&want)
		if stdErr == nil && dec.More() || !utf8.Valid(text) || bytes.Contains(text, []byte(`\u`)) {
			return // read in another way, on purpose
		}
		if (err == nil) != (stdErr == nil) && len(bytes.TrimSpace(text)) > 0 && dec.InputOffset() == int64(len(text)) {
			t.Fatalf("%q: got %v, encoding/json %v", text, err, stdErr)
		}
		if err != nil || stdErr != nil {
			return
		}
		same, _ := equal(&meter{left: 1 << 40}, got, plainly(want))
		if !same {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	})
}

// plainly has the numbers of encoding/json as expressions have them.
func plainly(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return int(n)
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = plainly(x[i])
		}
	case map[string]any:
		for name := range x {
			x[name] = plainly(x[name])
		}
	}
	return v
}
