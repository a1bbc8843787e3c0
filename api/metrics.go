package api

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// metricsMedia is the text format of Prometheus.
const metricsMedia = "text/plain; version=0.0.4; charset=utf-8"

// calls counts what was answered, by route and status: there are as many series as the table of routes has lines, times
// the few statuses each gives.
type calls struct {
	total *prometheus.CounterVec
}

// newCalls registers the counter.
func newCalls(registry *prometheus.Registry) (*calls, error) {
	c := &calls{total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nightshift_http_requests_total", Help: "Calls that were answered, by route and status; page: the dashboard.",
	}, []string{"method", "route", "code"})}
	if err := registry.Register(c.total); err != nil {
		return nil, err
	}
	return c, nil
}

// answered counts one call.
func (c *calls) answered(r *route, ec echo.Context) {
	name, method := "none", "other"
	switch {
	case r != nil:
		name, method = r.path, r.method
	case ec.Get(pageKey) != nil:
		name, method = "page", "GET"
	}
	c.total.WithLabelValues(method, name, strconv.Itoa(ec.Response().Status)).Inc()
}

func getMetrics(c *call) error {
	families, err := c.s.rt.Metrics().Registry().Gather()
	if err != nil { // of some: the others are told
		c.s.log.Warn("metrics are not whole", "error", err)
	}
	var text bytes.Buffer
	out := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := out.Encode(family); err != nil {
			return fmt.Errorf("write the metric %s: %w", family.GetName(), err)
		}
	}
	writeText(c.Context, 200, metricsMedia, text.Bytes())
	return nil
}
