package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
)

// canary stands in bodies that are refused: no answer may hold it.
const canary = "s3cr3t-c4n4ry"

func TestBadBodiesAreRefusedWithTheirPlace(t *testing.T) {
	ts := newTestServer(t)
	deep := strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65)
	cases := []struct {
		name, body string
		kind       problemKind
		want       string
	}{
		{"empty", ``, probSyntax, "want a value"},
		{"broken", `{"webhook":{"url":"` + canary + `"`, probSyntax, "line 1, column"},
		{"trailing data", `{"webhook":{"url":"http://h/"}} x` + canary, probSyntax, "want nothing after the value"},
		{"invalid UTF-8", "{\"description\":\"\xff\xfe\"}", probSyntax, "want UTF-8"},
		{"byte order mark", "\xef\xbb\xbf{}", probSyntax, "byte order mark"},
		{"not a number", `{"priority":NaN}`, probSyntax, "line 1, column"},
		{"unknown field", `{"webhook":{"url":"http://h/"},"` + "colour" + `":"` + canary + `"}`, probInvalid, "body.colour: "},
		{"field of another place", `{"webhook":{"url":"http://h/"},"max_attempts":3}`, probInvalid, "below retry"},
		{"group without members", `{"group":{}}`, probInvalid, "body.group.members: want the members"},
		{"duplicate key", `{"queue":"a","queue":"` + canary + `"}`, probInvalid, "body.queue: "},
		{"duplicate key in the payload", `{"webhook":{"url":"http://h/"},"payload":{"a":1,"a":2}}`, probInvalid, "body.payload.a: "},
		{"letters in the wrong case", `{"webhook":{"url":"http://h/"},"Queue":"` + canary + `"}`, probInvalid, "body.Queue: "},
		{"wrong type", `{"webhook":{"url":"http://h/"},"priority":"high"}`, probInvalid, "body.priority: "},
		{"out of range", `{"webhook":{"url":"http://h/"},"priority":101}`, probInvalid, "body.priority: want from -100 to 100"},
		{"too deep", `{"payload":` + deep + `}`, probInvalid, "body.payload"},
		{"two kinds", `{"webhook":{"url":"http://h/"},"script":{"source":"` + canary + `"}}`, probInvalid, "exactly one of webhook, script"},
		{"bad rule", `{"webhook":{"url":"http://h/"},"retry":{"rules":[{"if":"true","then":"fail"},{"if":"http.statsu == 1","then":"fail"}]}}`, probInvalid, "body.retry.rules[1].if: "},
		{"name in the path and another in the body", `{"name":"b","webhook":{"url":"http://h/"}}`, probInvalid, "body.name: "},
		{"a list", `[]`, probInvalid, "body: "},
		{"payload past its bound", `{"webhook":{"url":"http://h/"},"payload":"` + strings.Repeat("x", 256<<10) + `"}`, probTooLarge, "body.payload: want at most 262144 bytes"},
		{"past the bound", `{"description":"` + strings.Repeat("x", maxBody) + `"}`, probTooLarge, "at most 1048576 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ts.t = t
			got := ts.call("PUT", "/v1/jobs/a", c.body)
			if text := got.problem(c.kind); !strings.Contains(text, c.want) {
				t.Errorf("%q, want %q in it", text, c.want)
			}
			if bytes.Contains(got.body, []byte(canary)) {
				t.Errorf("the answer quotes the body: %s", got.body)
			}
		})
	}
	ts.t = t
	ts.call("GET", "/v1/jobs/a", "").problem(probNotFound)
}

func TestEveryFaultOfABodyIsListed(t *testing.T) {
	ts := newTestServer(t)
	got := ts.call("PUT", "/v1/jobs/a", `{"priority":101,"queue":"Q!","webhook":{"url":"ftp://h"},"colour":1}`).problem(probInvalid)
	if strings.Count(got, "\nbody.") < 1 {
		t.Errorf("faults: %s", got)
	}
	got = ts.call("PUT", "/v1/jobs/a", `{"priority":101,"queue":"Q!","webhook":{"url":"ftp://h"}}`).problem(probInvalid)
	for _, want := range []string{"body.priority: ", "body.queue: ", "body.webhook.url: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

func TestFaultsOfQueryHeadersAndBodyAreListedTogether(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	long := strings.Repeat("x", 256<<10)
	cases := []struct {
		method, path, body string
		headers            []string
		want               []string
	}{
		{
			"POST", "/v1/jobs/a/runs?wait=2h&x=1",
			`{"job":"b","priority":101,"colour":1,"timeout":"soon","payload":"` + long + `"}`,
			[]string{"Idempotency-Key", "käse"},
			[]string{
				"body.colour", "body.job", "body.payload", "body.priority", "body.timeout",
				"header.Idempotency-Key", "query.wait", "query.x",
			},
		},
		{
			"PUT", "/v1/jobs/a?dry=1",
			`{"name":"b","priority":101,"colour":1,"webhook":{"url":"ftp://h"},"script":{},
				"retry":{"rules":[{"if":"1 +","then":"x"}]}}`,
			[]string{"If-Match", "3", "If-None-Match", `"3"`},
			[]string{
				"body.colour", "body.name", "body.priority", "body.retry.rules[0].if",
				"body.retry.rules[0].then", "body.script", "body.script", "body.webhook.url",
				"header.If-Match", "header.If-None-Match", "query.dry",
			},
		},
		{"PUT", "/v1/jobs/A", `{"script":{"source":"x"},"priority":101}`, nil, []string{"body.priority", "path.name"}},
		{"POST", "/v1/jobs", `{"script":{"source":"x"},"priority":101}`, nil, []string{"body.name", "body.priority"}},
		{
			"PUT", "/v1/tokens/T?x=1", `{"name":"u","scopes":["x"],"colour":1,"jobs":[]}`,
			[]string{"If-Match", "3"},
			[]string{
				"body.colour", "body.jobs", "body.name", "body.scopes[0]", "header.If-Match", "path.name",
				"query.x",
			},
		},
		{
			"POST", "/v1/server/drain", `{"y":1}`, nil, []string{"body.y"},
		},
		{
			"POST", "/v1/jobs/a/pause?x=1", `{"note":"` + strings.Repeat("x", 1025) + `","y":1}`, nil,
			[]string{"body.note", "body.y", "query.x"},
		},
		{
			"GET", "/v1/runs?limit=0&state=done&since=x&until=y&job=&page=2&q=", "", nil,
			[]string{
				"query.job", "query.limit", "query.page", "query.q", "query.since", "query.state",
				"query.until",
			},
		},
		{"DELETE", "/v1/jobs/a?x=1", "", []string{"If-Match", "3"}, []string{"header.If-Match", "query.x"}},
	}
	for _, c := range cases {
		lines := strings.Split(ts.call(c.method, c.path, c.body, c.headers...).problem(probInvalid), "\n")
		var got []string
		for _, line := range lines[1:] {
			place, _, _ := strings.Cut(line, ": ")
			got = append(got, place)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s:\n got %q\nwant %q", c.method, c.path, got, c.want)
		}
	}
}

// A handler that read its body without telling what is wrong with the query would act.
func TestNoRouteActsOnAQueryItDoesNotKnow(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", "")
	ts.until(id, "succeeded")
	ts.flakyJob("b")
	failed := ts.failed("b", `{}`)
	order := ts.call("POST", "/v1/failures/resolve", `{"ids":["`+failed+`"]}`).want(202).field("id")
	for _, r := range ts.api.routes {
		if r.opens == 0 {
			continue
		}
		of := id
		switch {
		case strings.HasPrefix(r.path, "/v1/failures/"):
			of = failed
		case strings.HasPrefix(r.path, "/v1/requeues/"):
			of = order
		}
		path := strings.NewReplacer(":name", "a", ":id", of, ":version", "1").Replace(r.path)
		got := ts.call(r.method, path+"?zzz=1", "{}")
		if text := got.problem(probInvalid); !strings.Contains(text, "query.zzz: unknown") {
			t.Errorf("%s %s: %s", r.method, r.path, got.body)
		}
	}
}

func TestBodyIsJSONWhateverItsContentType(t *testing.T) {
	ts := newTestServer(t)
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "nonsense"} {
		a := ts.call("PUT", "/v1/jobs/a", `{"webhook":{"url":"http://h/"}}`, "Content-Type", media)
		if a.status != 201 && a.status != 200 {
			t.Errorf("%s: %d %s", media, a.status, a.body)
		}
	}
	ts.call("POST", "/v1/jobs/a/pause", "note=x", "Content-Type", "application/x-www-form-urlencoded").problem(probSyntax)
}

func TestCompressedBodiesAreRefused(t *testing.T) {
	ts := newTestServer(t)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(bytes.Repeat([]byte{' '}, 8<<20))
	_ = z.Close()
	ts.call("PUT", "/v1/jobs/a", bomb.String(), "Content-Encoding", "gzip").problem(probEncoding)
	ts.call("PUT", "/v1/jobs/a", `{"webhook":{"url":"http://h/"}}`, "Content-Encoding", "identity").want(201)
}

// raw sends bytes over a connection of its own and gives it.
func (ts *testServer) raw(text string) net.Conn {
	ts.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		ts.t.Fatal(err)
	}
	return conn
}

func TestRefusedCallsDoNotWaitForTheirBody(t *testing.T) {
	ts := newTestServer(t)
	// The rest of these bodies never comes.
	for name, c := range map[string]struct {
		head string
		want int
	}{
		"without a token":    {"POST /v1/runs/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", 401},
		"chunked, no token":  {"POST /v1/runs/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 401},
		"forged attempt":     {"POST /v1/callback/" + sampleRun + "/log HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer nsa_AAAAAQ\r\nContent-Length: 1000\r\n\r\n{", 401},
		"more than is taken": {"PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + ts.admin + "\r\nContent-Length: 5000000000\r\n\r\n{", 413},
		"wrong host":         {"PUT /v1/jobs/a HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer " + ts.admin + "\r\nContent-Length: 1000\r\n\r\n{", 421},
	} {
		t.Run(name, func(t *testing.T) {
			conn := ts.raw(c.head)
			_ = conn.SetReadDeadline(time.Now().Add(bodyGrace))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.want {
				t.Errorf("status %d, want %d", res.StatusCode, c.want)
			}
			if !res.Close {
				t.Error("the connection stays open for the rest of the body")
			}
		})
	}
}

func TestEndlessBodyIsCutAtItsBound(t *testing.T) {
	ts := newTestServer(t)
	conn := ts.raw("PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + ts.admin +
		"\r\nTransfer-Encoding: chunked\r\n\r\n")
	go func() {
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat(" ", 64<<10))
		for {
			if _, err := io.WriteString(conn, chunk); err != nil {
				return
			}
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 413 {
		t.Errorf("status %d, want 413", res.StatusCode)
	}
}

// A connection that is closed while bytes come in is reset, and the reset overtakes the answer.
func TestRefusedCallersThatStillSendReadTheirAnswer(t *testing.T) {
	ts := newTestServer(t)
	for name, head := range map[string]string{
		"no token":  "POST /v1/runs/batch HTTP/1.1\r\nHost: localhost\r\n",
		"too large": "PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + ts.admin + "\r\n",
	} {
		for _, body := range []string{"Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 5000000000\r\n\r\n"} {
			t.Run(name+" "+body[:7], func(t *testing.T) {
				conn := ts.raw(head + body)
				go func() {
					chunk := fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat(" ", 64<<10))
					for {
						if _, err := io.WriteString(conn, chunk); err != nil {
							return
						}
					}
				}()
				answer, err := io.ReadAll(conn) // to the end that the server makes, not to a reset
				if err != nil || !bytes.HasSuffix(answer, []byte("}\n")) {
					t.Errorf("%v after %q", err, answer)
				}
			})
		}
	}
}

func TestBrokenUploadIsNoRun(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	conn := ts.raw("POST /v1/jobs/a/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + ts.admin +
		"\r\nContent-Length: 20\r\n\r\n{}")
	_ = conn.(*net.TCPConn).CloseWrite()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 400 {
		t.Errorf("status %d, want 400", res.StatusCode)
	}
	if got := ts.call("GET", "/v1/runs", "").want(200).field("items.0.id"); got != "" {
		t.Errorf("it made the run %s", got)
	}
}

func TestPanicIs500AndTellsNothing(t *testing.T) {
	ts := newTestServer(t)
	r := &route{method: "GET", path: "/v1/panic", opens: scopeRead, handle: func(*call) error { panic(canary) }}
	late := &route{method: "GET", path: "/v1/late", opens: scopeRead, handle: func(c *call) error {
		_ = c.answer(200, &struct{}{})
		panic(canary)
	}}
	for _, r := range []*route{r, late} {
		ts.api.byPath["GET "+r.path] = r
		ts.api.echo.Add("GET", r.path, ts.api.serve(r))
	}
	got := ts.call("GET", "/v1/panic", "")
	detail := got.problem(probInternal)
	for _, bad := range []string{canary, "goroutine", ".go"} {
		if bytes.Contains(got.body, []byte(bad)) {
			t.Errorf("the answer holds %q: %s", bad, got.body)
		}
	}
	id := detail[strings.LastIndexByte(detail, ' ')+1:]
	if !strings.Contains(ts.log.String(), id) || !strings.Contains(ts.log.String(), canary) {
		t.Error("the log does not tell of it under its id")
	}
	ts.call("GET", "/v1/jobs", "").want(200)
}

func TestErrorsNobodyKnowsTellNothing(t *testing.T) {
	ts := newTestServer(t)
	r := &route{method: "GET", path: "/v1/odd", opens: scopeRead, handle: func(*call) error {
		return fmt.Errorf("open /srv/%s: no such file", canary)
	}}
	ts.api.byPath["GET /v1/odd"] = r
	ts.api.echo.Add("GET", "/v1/odd", echo.HandlerFunc(ts.api.serve(r)))
	got := ts.call("GET", "/v1/odd", "")
	got.problem(probInternal)
	if bytes.Contains(got.body, []byte(canary)) {
		t.Errorf("the answer tells of the error: %s", got.body)
	}
	if !strings.Contains(ts.log.String(), canary) {
		t.Error("the log does not tell of the error")
	}
}
