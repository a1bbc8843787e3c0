package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"nightshift/api/web"
	"nightshift/runtime"
)

// Timeouts and bounds of connections.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	maxStreams    = 2000 // logs and runs that are followed, in all
)

// Config is what a Server is made of. Runtime is needed; the zero values of the others work.
type Config struct {
	Runtime *runtime.Runtime
	Log     *slog.Logger
	Listen  string // the address asked for: its host may be called
	URL     string // base of links, without a final slash
	Version string // of the program
	Proxies []netip.Prefix

	// Handover: the listener outlives this server, and another one goes on with it. Calls are then taken until
	// Shutdown, and those that come later wait in the kernel for the next server.
	Handover bool
	Scripts  string // in a sentence: how scripts are kept apart; "": there are none
}

// Server answers the HTTP API.
type Server struct {
	rt       *runtime.Runtime
	log      *slog.Logger
	base     string
	version  string
	scripts  string // how they are kept apart
	hosts    hosts
	access   *access
	echo     *echo.Echo
	http     *http.Server
	routes   []*route
	byPath   map[string]*route      // METHOD /path
	spec     func() ([]byte, error) // openapi.json, made when it is first asked for
	docs     func() ([]byte, error) // the page of it
	pages    *web.Site
	throttle throttle
	calls    *calls
	streams  atomic.Int64
	handover bool
	conns    conns

	backtests atomic.Int64 // under way

	stopping context.Context // ends streams and waits
	stop     context.CancelFunc
	loops    sync.WaitGroup
}

// New makes a server and reads the tokens.
func New(ctx context.Context, cfg Config) (*Server, error) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		rt: cfg.Runtime, log: log, base: cfg.URL, version: cfg.Version, scripts: cfg.Scripts,
		hosts: newHosts(cfg.Listen, cfg.URL, cfg.Proxies), byPath: map[string]*route{}, handover: cfg.Handover,
	}
	s.stopping, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if s.access, err = newAccess(ctx, s.rt.Store(), s.rt.Now, log); err != nil {
		return nil, err
	}
	if s.calls, err = newCalls(s.rt.Metrics().Registry()); err != nil {
		return nil, fmt.Errorf("count calls: %w", err)
	}
	s.echo = echo.New()
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.onError
	s.echo.IPExtractor = s.callerOf
	s.echo.Use(s.answered, s.recovered, s.guardHost, s.identified)
	s.routes = allRoutes()
	for _, r := range s.routes {
		s.byPath[r.method+" "+r.path] = r
		s.echo.Add(r.method, r.path, s.serve(r))
	}
	for _, r := range s.routes {
		if head := "HEAD " + r.path; r.method == "GET" && s.byPath[head] == nil {
			s.byPath[head] = r
			s.echo.Add("HEAD", r.path, s.serve(r))
		}
	}
	s.spec = sync.OnceValues(func() ([]byte, error) { return describe(s.routes, cfg.Version, cfg.URL) })
	s.docs = sync.OnceValues(func() ([]byte, error) {
		spec, err := s.spec()
		if err != nil {
			return nil, err
		}
		return renderDocs(s.routes, spec)
	})
	s.pages, err = web.New(web.Config{Version: cfg.Version, URL: cfg.URL, Now: s.rt.Now, Log: log})
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnContext:       connContext,
		ConnState:         connState,

		DisableGeneralOptionsHandler: true, // it answers without a token
	}
	return s, nil
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began(r)
	s.echo.ServeHTTP(w, r)
}

// Serve answers calls on ln until Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	s.loops.Go(func() { s.access.touchLoop(s.stopping) })
	end := s.conns.listen(ln)
	err := s.http.Serve(newCapped(ln, &s.conns))
	end()
	if errors.Is(err, http.ErrServerClosed) || s.conns.hasLeft() {
		return nil
	}
	return fmt.Errorf("serve %s: %w", ln.Addr(), err)
}

// callerOf is the address of the caller, for the log.
func (s *Server) callerOf(r *http.Request) string {
	if s.hosts.trusted(r) {
		trust := make([]echo.TrustOption, 0, len(s.hosts.proxies)+3)
		trust = append(trust,
			echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false))
		for _, p := range s.hosts.proxies {
			trust = append(trust, echo.TrustIPRange(ipNet(p)))
		}
		return echo.ExtractIPFromXFFHeader(trust...)(r)
	}
	return echo.ExtractIPDirect()(r)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{
		IP:   p.Addr().AsSlice(),
		Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
	}
}

// answered sets the headers of every answer, bounds bodies that nobody reads, and logs the call.
func (s *Server) answered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if s.stopping.Err() != nil {
			h.Set("Connection", "close") // so that whoever keeps it meets the next server with a new one
		}
		c.Response().Before(func() { // whoever does not read what is sent at once is cut off
			_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(writeGrace))
		})
		r := c.Request()
		began := time.Now()
		in := watchBody(c)
		if err := next(c); err != nil {
			in.refused()
			s.onError(err, c) // here, so that the status is known below
		}
		in.restore()
		s.calls.answered(s.routeOf(c), c)
		if s.log.Enabled(r.Context(), slog.LevelDebug) {
			s.log.Debug("call", "method", r.Method, "path", loggedPath(r.URL.Path),
				"status", c.Response().Status, "took", time.Since(began), "from", c.RealIP())
		}
		return nil
	}
}

// unreadGrace is how long the rest of a refused body may take; then the connection closes.
const unreadGrace = 500 * time.Millisecond

// watchedBody knows whether the body has been read to its end.
type watchedBody struct {
	io.ReadCloser
	c   echo.Context
	end bool
}

// watchBody gives the body of a call a deadline, so that nobody holds a connection with one that
// is never read. Nil where the call has none.
func watchBody(c echo.Context) *watchedBody {
	r := c.Request()
	if r.ContentLength == 0 {
		return nil
	}
	b := &watchedBody{ReadCloser: r.Body, c: c}
	r.Body = b
	b.deadline(bodyGrace)
	return b
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.end = b.end || err == io.EOF
	return n, err
}

func (b *watchedBody) deadline(d time.Duration) {
	_ = http.NewResponseController(b.c.Response()).SetReadDeadline(time.Now().Add(d))
}

// restore gives the call its own body back: net/http looks at it to see whether the caller still
// sends. It then closes in a way that lets the answer arrive.
func (b *watchedBody) restore() {
	if b != nil {
		b.c.Request().Body = b.ReadCloser
	}
}

// refused is called before the answer to a call that failed.
func (b *watchedBody) refused() {
	if b == nil || b.end {
		return
	}
	b.c.Response().Header().Set("Connection", "close")
	b.deadline(unreadGrace)
	if conn, ok := b.c.Request().Context().Value(connKey{}).(*countedConn); ok {
		conn.unread.Store(true)
	}
}

// loggedPath is a path without what opens a door: /in/JOB/NAME/SECRET, also where somebody has spelled
// it so that it leads nowhere.
func loggedPath(path string) string {
	parts := strings.Split(path, "/")
	seen := -1 // elements after "in"
	for i, part := range parts {
		switch {
		case seen < 0 && strings.EqualFold(part, "in"):
			seen = 0
		case seen < 0 || part == "":
		case seen < 2:
			seen++
		default:
			path = strings.Join(parts[:i], "/") + "/***"
			return path[:min(len(path), 200)]
		}
	}
	return path[:min(len(path), 200)]
}
