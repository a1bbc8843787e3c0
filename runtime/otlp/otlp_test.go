package otlp_test

import (
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/runtime/otlp"
)

// receiver is a collector that keeps what it is sent.
type receiver struct {
	mu    sync.Mutex
	spans map[string]*traces.Span // by the hex of their ids
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{spans: map[string]*traces.Span{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var got collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rs := range got.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					if r.spans[hex.EncodeToString(s.SpanId)] != nil {
						t.Errorf("span %s was sent twice", s.Name)
					}
					r.spans[hex.EncodeToString(s.SpanId)] = s
				}
			}
		}
	}))
	t.Cleanup(srv.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	return r
}

func (r *receiver) named(t *testing.T, name string) (list []*traces.Span) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no span %q came", name)
	}
	return list
}

func newTracer(t *testing.T) *otlp.Tracer {
	t.Helper()
	tr, err := otlp.New(context.Background(), "1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// webhookRun is a run in its attempt number, made within a trace where parent is given.
func webhookRun(number int, parent string) *jobs.Run {
	var id jobs.ID
	id[0], id[15] = 1, 7
	return &jobs.Run{
		ID: id, Job: "sync", OperationID: id, Trigger: jobs.TriggerAPI, CorrelationID: "order-1", Traceparent: parent,
		CreatedAt: 1_000, AttemptAt: jobs.Time(1_000 * number), Counts: jobs.Counts{Number: number},
	}
}

// attempt tells of an attempt as the runtime does, and gives what its call passed on.
func attempt(tr *otlp.Tracer, run *jobs.Run, status int) string {
	parent := tr.Calling(run)
	report := &jobs.Report{HTTPStatus: status, ExitCode: -1}
	a := &jobs.Attempt{
		Number: run.Counts.Number, StartedAt: run.AttemptAt, FinishedAt: run.AttemptAt + 500,
		Outcome: jobs.OutcomeSucceeded,
	}
	if status >= 300 {
		report.Failure = &jobs.Failure{Kind: jobs.FailHTTP, Message: "secret-canary"}
		a.Outcome, a.Error = jobs.OutcomeFailed, &jobs.Failure{Kind: jobs.FailHTTP, Message: "masked"}
	}
	begun := time.UnixMilli(int64(run.AttemptAt))
	tr.Called(&runtime.TracedCall{
		Run: run, Kind: jobs.KindWebhook, Method: "POST", Host: "example.com:443",
		Begun: begun, Ended: begun.Add(time.Second), Report: report,
	})
	tr.Ended(run, a)
	return parent
}

const (
	caller   = "4bf92f3577b34da6a3ce929d0e0e4736"
	incoming = "00-" + caller + "-00f067aa0ba902b7-01"
)

func TestARunIsATraceFromItsCallerToItsWebhookOverRetriesAndRestarts(t *testing.T) {
	for _, parent := range []string{incoming, ""} {
		r := newReceiver(t)
		tr := newTracer(t)
		first := attempt(tr, webhookRun(1, parent), 503)
		tr.Close() // the server is started again between the two
		tr = newTracer(t)
		second := attempt(tr, webhookRun(2, parent), 200)
		tr.Close()

		made := r.named(t, "enqueue sync")
		if len(made) != 1 || len(r.named(t, "run sync")) != 2 || len(r.named(t, "POST")) != 2 {
			t.Fatalf("got %v", r.spans)
		}
		if parent != "" && (hex.EncodeToString(made[0].TraceId) != caller ||
			hex.EncodeToString(made[0].ParentSpanId) != "00f067aa0ba902b7") {
			t.Errorf("not within the caller's trace: %v", made[0])
		}
		attempts := map[int]*traces.Span{}
		for n, passed := range map[int]string{1: first, 2: second} {
			part := strings.Split(passed, "-")
			if len(part) != 4 || part[1] != hex.EncodeToString(made[0].TraceId) || part[3] != "01" {
				t.Fatalf("attempt %d passed on %q", n, passed)
			}
			call := r.spans[part[2]]
			if call == nil || call.Name != "POST" || call.Kind != traces.Span_SPAN_KIND_CLIENT {
				t.Fatalf("what attempt %d passed on, %q, is no span of a call", n, passed)
			}
			a := r.spans[hex.EncodeToString(call.ParentSpanId)]
			if a == nil || a.Name != "run sync" || string(a.ParentSpanId) != string(made[0].SpanId) {
				t.Fatalf("the call of attempt %d is not below its attempt", n)
			}
			attempts[n] = a
			if strings.Contains(call.String(), "canary") {
				t.Error("what is not masked was sent")
			}
		}
		if l := attempts[2].Links; len(l) != 1 || string(l[0].SpanId) != string(attempts[1].SpanId) {
			t.Errorf("the second attempt has links %v", l)
		}
		if attempts[1].Status.GetMessage() != "masked" || attempts[2].Status.GetMessage() != "" {
			t.Errorf("got %v, %v", attempts[1].Status, attempts[2].Status)
		}
	}
}

func TestWhatItsCallerDoesNotSampleIsPassedOnAndNotSent(t *testing.T) {
	r := newReceiver(t)
	tr := newTracer(t)
	passed := attempt(tr, webhookRun(1, strings.TrimSuffix(incoming, "01")+"00"), 200)
	tr.Close()
	if !strings.HasPrefix(passed, "00-"+caller+"-") || !strings.HasSuffix(passed, "-00") || len(r.spans) > 0 {
		t.Errorf("passed on %q, sent %v", passed, r.spans)
	}
}

func TestACollectorThatDoesNotAnswerHoldsNothingUp(t *testing.T) {
	block := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-block }))
	defer srv.Close()
	defer close(block)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	tr := newTracer(t)
	began := time.Now()
	for n := range 5_000 {
		attempt(tr, webhookRun(n+1, ""), 200)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("5,000 attempts waited %s", took)
	}
	began = time.Now()
	tr.Close()
	if took := time.Since(began); took > 4*time.Second { // 2 s, on a machine that is busy
		t.Errorf("the stop waited %s", took)
	}
}

func TestTracesAreSentWhereTheEnvironmentNamesACollector(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"OTEL_SERVICE_NAME": "a"}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, false},
	} {
		if got := otlp.Wanted(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: got %v", c.env, got)
		}
	}
}
