// Package otlp shows runs as OpenTelemetry spans and sends them by OTLP over HTTP: a run is made, its
// attempts, and what each of them calls.
//
// The ids of spans are derived from the run and the number of its attempt. So nothing about traces is
// stored, and spans told before a restart and after it fit together.
package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	// stopWithin bounds what a stop waits for the last spans to be sent.
	stopWithin = 2 * time.Second
	// complainEvery is how often the log says that spans cannot be sent.
	complainEvery = time.Minute
	// maxText bounds each attribute, in bytes.
	maxText = 1 << 10
)

// Tracer tells a collector of runs.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted reports whether the environment names a collector to which traces are to be sent.
func Wanted(env func(string) string) bool {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(env("OTEL_TRACES_EXPORTER"), "none") {
		return false
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// New begins to tell the collector that the environment names (OTEL_*). Nothing waits for it: while it
// does not answer, spans are dropped.
func New(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s: traces are sent as http/protobuf alone, not as %q", name, p)
		}
	}
	otel.SetErrorHandler(&complaints{log: log})
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("get ready to send traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "nightshift"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	limits := sdk.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxText
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about),
		sdk.WithIDGenerator(derived{}), sdk.WithRawSpanLimits(limits))
	return &Tracer{provider: provider, tracer: provider.Tracer("nightshift", trace.WithInstrumentationVersion(version))}, nil
}

// Close sends what has not been sent, as far as that can be done in two seconds.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what is wrong the complaints have said
}

// complaints are what goes wrong with the sending: a line a minute.
type complaints struct {
	log  *slog.Logger
	last atomic.Int64 // when the last was written, in ns since 1970
}

// Handle takes one in.
func (c *complaints) Handle(err error) {
	now, last := time.Now().UnixNano(), c.last.Load()
	if now-last < int64(complainEvery) || !c.last.CompareAndSwap(last, now) {
		return
	}
	c.log.Warn("traces cannot be sent: they are dropped until they can", "error", err)
}
