package otlp

import (
	"context"
	"crypto/sha256"
	"net"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"nightshift/jobs"
	"nightshift/runtime"
)

// ids are those of the span that is started with a context.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

// derived gives spans the ids of the context they are started with.
type derived struct{}

// NewIDs gives those of a span that begins a trace.
func (derived) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	got, _ := ctx.Value(idsKey{}).(ids)
	return got.trace, got.span
}

// NewSpanID gives that of a span within a trace.
func (derived) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	got, _ := ctx.Value(idsKey{}).(ids)
	return got.span
}

// The spans of a run: it is made; attempt 1; the second call of attempt 1.
const made = "made"

func attemptPart(number int) string     { return "attempt " + strconv.Itoa(number) }
func callPart(number, slice int) string { return attemptPart(number) + " call " + strconv.Itoa(slice) }

func spanID(run jobs.ID, part string) trace.SpanID {
	sum := sha256.Sum256([]byte("span " + run.String() + " " + part))
	return trace.SpanID(sum[:8])
}

// traceID is that of a run which was made without a trace.
func traceID(run jobs.ID) trace.TraceID {
	sum := sha256.Sum256([]byte("trace " + run.String()))
	return trace.TraceID(sum[:16])
}

// from is the context of whoever made a run.
func from(run *jobs.Run) context.Context {
	carrier := propagation.MapCarrier{"traceparent": run.Traceparent}
	return propagation.TraceContext{}.Extract(context.Background(), carrier)
}

func (t *Tracer) start(
	ctx context.Context, run *jobs.Run, part, name string, opts ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	ctx = context.WithValue(ctx, idsKey{}, ids{traceID(run.ID), spanID(run.ID, part)})
	return t.tracer.Start(ctx, name, opts...)
}

// made is the span that a run was made. One that is not ended is never sent: it is there to be the parent.
func (t *Tracer) made(run *jobs.Run) (context.Context, trace.Span) {
	var links []trace.Link
	for _, other := range []struct {
		run  jobs.ID
		part string
		why  string
	}{{run.RequeuedFrom, made, "requeued_from"}, {run.Group, attemptPart(1), "group"}} {
		if !other.run.IsNil() {
			links = append(links, link(from(run), other.run, other.part, other.why))
		}
	}
	return t.start(from(run), run, made, "enqueue "+run.Job,
		trace.WithSpanKind(trace.SpanKindProducer), trace.WithTimestamp(run.CreatedAt.Std()),
		trace.WithLinks(links...), trace.WithAttributes(about(run, "send")...))
}

// attempt is the span of the attempt that a run is in.
func (t *Tracer) attempt(run *jobs.Run, number int, at time.Time) (context.Context, trace.Span) {
	ctx, _ := t.made(run)
	opts := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(at),
		trace.WithAttributes(append(about(run, "process"), attribute.Int("nightshift.attempt", number))...),
	}
	if number > 1 {
		opts = append(opts, trace.WithLinks(link(ctx, run.ID, attemptPart(number-1), "attempt_before")))
	}
	return t.start(ctx, run, attemptPart(number), "run "+run.Job, opts...)
}

// link leads to the span of a run that is in the trace of ctx, else in one of its own.
func link(ctx context.Context, run jobs.ID, part, why string) trace.Link {
	in := trace.SpanContextFromContext(ctx)
	id := in.TraceID()
	if !id.IsValid() {
		id = traceID(run)
	}
	return trace.Link{
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: spanID(run, part), TraceFlags: in.TraceFlags(),
		}),
		Attributes: []attribute.KeyValue{attribute.String("nightshift.link", why)},
	}
}

func about(run *jobs.Run, operation string) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("messaging.system", "nightshift"),
		attribute.String("messaging.operation.type", operation),
		attribute.String("messaging.destination.name", run.Job),
		attribute.String("messaging.message.id", run.ID.String()),
		attribute.String("nightshift.operation", run.OperationID.String()),
		attribute.String("nightshift.trigger", string(run.Trigger)),
	}
	if run.CorrelationID != "" {
		list = append(list, attribute.String("messaging.message.conversation_id", run.CorrelationID))
	}
	if run.Schedule != "" {
		list = append(list, attribute.String("nightshift.schedule", run.Schedule))
	}
	return list
}

// call is the span of the request, process or mail of an attempt.
func (t *Tracer) call(run *jobs.Run, name string, opts ...trace.SpanStartOption) trace.Span {
	number := run.Counts.Number
	ctx, _ := t.attempt(run, number, run.AttemptAt.Std())
	_, span := t.start(ctx, run, callPart(number, run.Slices+1), name, opts...)
	return span
}

// Calling is the trace context that the call of an attempt passes on: its own.
func (t *Tracer) Calling(run *jobs.Run) string {
	carrier := propagation.MapCarrier{}
	ctx := trace.ContextWithSpan(context.Background(), t.call(run, "call"))
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Called tells of a call that is over.
func (t *Tracer) Called(c *runtime.TracedCall) {
	kind, name := trace.SpanKindInternal, c.Kind
	var more []attribute.KeyValue
	switch c.Kind {
	case jobs.KindWebhook:
		kind, name = trace.SpanKindClient, c.Method
		more = append(more, attribute.String("http.request.method", c.Method))
		if host, port, err := net.SplitHostPort(c.Host); err == nil {
			more = append(more, attribute.String("server.address", host))
			if n, err := strconv.Atoi(port); err == nil {
				more = append(more, attribute.Int("server.port", n))
			}
		}
		if c.Report.HTTPStatus != 0 {
			more = append(more, attribute.Int("http.response.status_code", c.Report.HTTPStatus))
		}
	case jobs.KindScript:
		if c.Report.ExitCode >= 0 {
			more = append(more, attribute.Int("process.exit.code", c.Report.ExitCode))
		}
	case jobs.KindMail:
		kind = trace.SpanKindClient
	}
	span := t.call(c.Run, name, trace.WithSpanKind(kind), trace.WithTimestamp(c.Begun), trace.WithAttributes(more...))
	switch {
	case c.Report.Failure != nil:
		span.SetAttributes(attribute.String("error.type", string(c.Report.Failure.Kind)))
		span.SetStatus(codes.Error, "")
	case c.Report.Stopped != nil:
		span.SetStatus(codes.Error, c.Report.Stopped.Error())
	}
	span.End(trace.WithTimestamp(c.Ended))
}

// Ended tells of an attempt that is over, and with a run's first one that it was made.
func (t *Tracer) Ended(run *jobs.Run, a *jobs.Attempt) {
	if a.Number == 1 {
		_, span := t.made(run)
		span.End(trace.WithTimestamp(run.CreatedAt.Std()))
	}
	_, span := t.attempt(run, a.Number, a.StartedAt.Std())
	span.SetAttributes(attribute.String("nightshift.outcome", a.Outcome.String()))
	if a.Decision != nil {
		span.SetAttributes(attribute.String("nightshift.decision", a.Decision.Action),
			attribute.String("nightshift.decided_by", a.Decision.By))
	}
	if a.Error != nil {
		span.SetAttributes(attribute.String("error.type", string(a.Error.Kind)))
		span.SetStatus(codes.Error, a.Error.Message)
	}
	span.End(trace.WithTimestamp(a.FinishedAt.Std()))
}
