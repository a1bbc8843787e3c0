package cli_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans is a collector that keeps what it was sent.
type spans struct {
	mu   sync.Mutex
	list []*traces.Span
}

func newCollector(t *testing.T) (s *spans, url string) {
	t.Helper()
	s = &spans{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, rs := range got.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				s.list = append(s.list, ss.Spans...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// named are the spans of a name, as they began.
func (s *spans) named(name string) (list []*traces.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.list {
		if span.Name == name {
			list = append(list, span)
		}
	}
	if len(list) == 2 && list[0].StartTimeUnixNano > list[1].StartTimeUnixNano {
		list[0], list[1] = list[1], list[0]
	}
	return list
}

func TestATraceLeadsFromTheCallerToTheWebhookOverRetriesAndARestart(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	got, endpoint := newCollector(t)
	var mu sync.Mutex
	var passedOn []string
	hook := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		passedOn = append(passedOn, r.Header.Get("Traceparent"))
		mu.Unlock()
		if n == 1 {
			w.WriteHeader(503)
		}
	})
	dir, env := t.TempDir(), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_BSP_SCHEDULE_DELAY=100"}
	p := startWith(t, dir, env)
	p.put("call", doc{
		"webhook": doc{"url": hook.URL + "/secret-path?key=secret-query"},
		"retry":   doc{"max_attempts": 3, "backoff": doc{"kind": "fixed", "base": "1s", "jitter": 0}},
	})
	req, err := http.NewRequest("POST", p.url+"/v1/jobs/call/runs", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.tokenOf())
	req.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 202 {
		t.Fatalf("%v %v", err, res)
	}
	res.Body.Close()
	p.until("the first attempt to be told", func() bool { return len(got.named("run call")) == 1 })
	p.stop(syscall.SIGTERM)
	p = startWith(t, dir, env)
	p.until("the second attempt to be told", func() bool { return len(got.named("run call")) == 2 && len(got.named("POST")) == 2 })
	p.stop(syscall.SIGTERM)

	enqueue := got.named("enqueue call")
	if len(enqueue) != 1 || hex.EncodeToString(enqueue[0].ParentSpanId) != parent {
		t.Fatalf("enqueue: %v", enqueue)
	}
	attempts, calls := got.named("run call"), got.named("POST")
	mu.Lock()
	defer mu.Unlock()
	for i := range attempts {
		if string(attempts[i].ParentSpanId) != string(enqueue[0].SpanId) || string(calls[i].ParentSpanId) != string(attempts[i].SpanId) {
			t.Errorf("attempt %d hangs in the air", i+1)
		}
		if want := "00-" + trace + "-" + hex.EncodeToString(calls[i].SpanId) + "-01"; passedOn[i] != want {
			t.Errorf("call %d passed on %s, want %s", i+1, passedOn[i], want)
		}
	}
	if links := attempts[1].Links; len(links) != 1 || string(links[0].SpanId) != string(attempts[0].SpanId) {
		t.Errorf("the retry has the links %v", links)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	for _, span := range got.list {
		if hex.EncodeToString(span.TraceId) != trace {
			t.Errorf("%s is in another trace", span.Name)
		}
		if text := span.String(); strings.Contains(text, "secret") {
			t.Errorf("a span tells of what is in the URL: %s", text)
		}
	}
}

func TestACollectorThatIsDeadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else it does not see that the caller has left
		<-r.Context().Done()
	}))
	t.Cleanup(func() { dead.CloseClientConnections(); dead.Close() })
	p := startWith(t, t.TempDir(), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + dead.URL})
	p.put("quick", doc{"script": doc{"source": "true"}})
	for range 5 {
		if run := p.end(p.enqueue("quick", doc{})); run.State != "succeeded" {
			t.Errorf("a run is %s", run.State)
		}
	}
	began := time.Now()
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("stopped with %d", code)
	}
	if took := time.Since(began); took > 20*time.Second { // 2 s, on a machine that has time
		t.Errorf("the stop took %v", took)
	}
}
