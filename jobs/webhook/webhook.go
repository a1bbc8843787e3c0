package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"nightshift/jobs"
)

// Bounds on an exchange.
const (
	connectTimeout = 10 * time.Second // name, TCP and TLS together
	idleTimeout    = 30 * time.Second // a kept connection without use
	maxHeaderBytes = 64 << 10         // of an answer, its 1xx included
	maxBodyBytes   = 1 << 20          // of an answer; past it the connection is closed
	idlePerHost    = 128
	idleTotal      = 1024
)

// Config of the kind. The zero value works: everything is allowed that is never forbidden.
type Config struct {
	Version string        // User-Agent is nightshift/Version; "": dev
	Private PrivatePolicy // whether private and loopback addresses may be called; zero: allowed

	// Self tells whether an address is the server's own, which is never called; see ListensOn.
	// Nil: the server has none.
	Self func(netip.AddrPort) bool

	RootCAs        *x509.CertPool // nil: those of the system
	MaxIdlePerHost int            // connections kept for one host and port; 0: 128
}

// Kind calls webhooks. It is safe for concurrent use; Close it when no attempt runs.
type Kind struct {
	guard     guard
	plans     plans
	transport *http.Transport
	tls       *tls.Config
	connect   time.Duration // for name, TCP and TLS
	handOver  time.Duration // for the request of completion callback
	now       func() time.Time
	lookup    *net.Resolver // nil: the system's
}

var _ jobs.Kind = (*Kind)(nil)

// New makes the kind. It opens nothing before the first attempt.
func New(cfg Config) *Kind {
	version, perHost := cfg.Version, cfg.MaxIdlePerHost
	if version == "" {
		version = "dev"
	}
	if perHost <= 0 {
		perHost = idlePerHost
	}
	k := &Kind{
		guard: newGuard(cfg.Private, cfg.Self),
		plans: plans{userAgent: "nightshift/" + version},
		tls: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            cfg.RootCAs,
			NextProtos:         []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(0),
		},
		connect:  connectTimeout,
		handOver: callbackWait,
		now:      time.Now,
	}
	k.transport = &http.Transport{
		Proxy:                  nil, // the address dialled must be the one checked
		DialContext:            k.dialTCP,
		DialTLSContext:         k.dialTLS,
		DisableCompression:     true,
		MaxIdleConns:           idleTotal,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes, // 1xx answers before it included
		Protocols:              new(http.Protocols),
	}
	k.transport.Protocols.SetHTTP1(true)
	return k
}

// Close closes the kept connections. Attempts that still run close theirs as they end.
func (k *Kind) Close() { k.transport.CloseIdleConnections() }

// Run executes one attempt: one request, written once, and its answer; with follow_redirects one
// more for each redirect. A report has ExitCode -1.
//
// When ctx ends or call.Kill is closed the connection is closed at once and Stopped is set: to the
// cause of ctx, or to jobs.ErrShutdown where only Kill was closed. An answer 202 of completion callback
// counts from its headers on, whatever ends the rest.
func (k *Kind) Run(ctx context.Context, call *jobs.Call) jobs.Report {
	p, err := k.plans.of(call.Spec.Webhook, call.Fresh)
	if err != nil {
		return failed(&jobs.Failure{Kind: jobs.FailInvalid, Message: err.Error()})
	}
	ctx, cancel := call.Until(ctx)
	defer cancel()
	x := exchange{plan: p, now: k.now, phase: phaseConnect}
	asked := ctx
	if call.Spec.Webhook.CallsBack() {
		var over context.CancelFunc
		asked, over = context.WithTimeout(ctx, k.handOver)
		defer over()
	}
	var rep jobs.Report
	switch err := x.do(asked, k.transport, call); {
	case x.accepted(call):
		rep = jobs.Report{Accepted: true, HTTPStatus: x.resp.StatusCode, ExitCode: -1}
	case err != nil && ctx.Err() == nil && asked.Err() != nil:
		rep = k.broken(ctx, &x, call, errHandOver)
	case err != nil:
		rep = k.broken(ctx, &x, call, err)
	default:
		rep = k.judge(&x, call)
	}
	x.tellHops(&rep)
	return rep
}

// broken reports an attempt that has no full answer: it was stopped, or the exchange failed.
func (k *Kind) broken(ctx context.Context, x *exchange, call *jobs.Call, err error) jobs.Report {
	stopped := ctx.Err() != nil
	if !stopped && x.resp != nil && !succeeded(x.resp.StatusCode) {
		if x.redirects() {
			x.refusal = "it is not followed: it broke off"
		}
		if good, why := x.verdict(call); !good {
			// What came is verdict enough; what is missing of the body is only noted.
			rep := k.judgeFailed(x, call, why)
			rep.Notes = append(rep.Notes, "the answer broke off after "+bytesText(x.size))
			return rep
		}
	}
	rep := failed(failureOf(x, err))
	if x.resp != nil {
		rep.HTTPStatus = x.resp.StatusCode
	}
	if stopped {
		rep.Stopped = jobs.StopCause(ctx)
		rep.Failure = stoppedFailure(x, rep.Stopped)
	}
	return rep
}

func failed(f *jobs.Failure) jobs.Report {
	if f.Type == "" {
		f.Type = string(f.Kind)
	}
	f.Message = oneLine(f.Message, jobs.MaxMessage)
	return jobs.Report{Failure: f, ExitCode: -1}
}
