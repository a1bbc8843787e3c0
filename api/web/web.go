package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"nightshift/api/client"
	"nightshift/jobs"
)

//go:embed templates static
var files embed.FS

// ErrNotKnown says that a token or a link to sign in by is not known, was used or is over.
var ErrNotKnown = errors.New("not known")

// ErrTooMany says that too many sign-ins have failed from an address.
var ErrTooMany = errors.New("too many tries")

// Config is what a Site is made of.
type Config struct {
	Version string // of the program
	URL     string // base of links, without a final slash
	Now     func() jobs.Time
	Log     *slog.Logger
}

// Who has signed in.
type Who struct {
	Name    string   // of the token they act as
	Scopes  []string // read, enqueue, operate, admin
	Jobs    []string // patterns the token is narrowed to; nil: all
	Session string   // its public id
}

// Visit is one request of a page, and what the server knows of who makes it.
type Visit struct {
	Who    *Who           // nil: nobody has signed in
	API    *client.Client // acts as they do; nil as Who
	Secure bool           // it came by HTTPS
	From   string         // the address of the browser
	// SignIn begins a session by a token or the code of a link, and sets its cookie. ErrNotKnown: it is no good.
	SignIn func(secret string) error
	// SignOut ends the session.
	SignOut func() error
}

// Site answers the pages.
type Site struct {
	cfg Config
	mux *http.ServeMux
	*embedded
}

// embedded is what the program brings: it is read once, however many sites there are.
type embedded struct {
	templates map[string]*template.Template // by the name of their file
	assets    map[string]asset
}

var readEmbedded = sync.OnceValues(func() (*embedded, error) {
	e := &embedded{templates: map[string]*template.Template{}, assets: map[string]asset{}}
	if err := e.readAssets(); err != nil {
		return nil, err
	}
	if err := e.parse(); err != nil {
		return nil, fmt.Errorf("parse the pages: %w", err)
	}
	return e, nil
})

// page is a route of the site: what answers, and whom it is for.
type page struct {
	pattern string // of http.ServeMux, with the method
	open    bool   // for everybody
	handle  func(*view) error
}

// pages is the table of all of them.
func pages() []page {
	var all []page
	for _, part := range [][]page{
		signInPages(), overviewPages(), runPages(), jobPages(), failurePages(), groupPages(), schedulePages(), sharingPages(),
		rulePages(), alertPages(), accessPages(), auditPages(), serverPages(),
	} {
		all = append(all, part...)
	}
	return all
}

// New makes a site.
func New(cfg Config) (*Site, error) {
	e, err := readEmbedded()
	if err != nil {
		return nil, err
	}
	s := &Site{cfg: cfg, mux: http.NewServeMux(), embedded: e}
	for _, p := range pages() {
		s.mux.Handle(p.pattern, s.handler(p))
	}
	s.mux.HandleFunc("GET /static/{file}", s.serveAsset)
	return s, nil
}

// parse reads the templates: each file that is no part is a page, made of the layout, all parts and itself.
func (e *embedded) parse() error {
	base := template.New("").Funcs(funcs).Funcs(template.FuncMap{"asset": e.assetURL})
	base, err := base.ParseFS(files, "templates/parts/*.html")
	if err != nil {
		return err
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := base.Clone()
		if err != nil {
			return err
		}
		if t, err = t.ParseFS(files, name); err != nil {
			return err
		}
		e.templates[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return nil
}

// Has reports whether a page, or a part of one, has this path.
func (s *Site) Has(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != ""
}

type visitKey struct{}

// Serve answers a request: also one that no page has the path of.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, v *Visit) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // without any, browsers send forms with the Origin null
	r = withVisit(r, v)
	if !s.Has(r) {
		s.handler(page{handle: func(v *view) error { return &notFound{} }}).ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// policy is what browsers may load and do for a page: what comes from this server, and no script or style that
// stands in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// notFound is an error whose page says that there is no such thing.
type notFound struct{}

func (*notFound) Error() string { return "There is no such page." }

// handler makes the handler of a page.
func (s *Site) handler(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := newView(s, w, r)
		if v.Who == nil && !p.open {
			v.askToSignIn()
			return
		}
		err := v.readForm()
		if err == nil {
			err = p.handle(v)
		}
		if err != nil {
			v.fail(err)
		}
	})
}

// writeWithin is how long a reader may take for a page.
const writeWithin = 30 * time.Second

// write sends a whole page.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var page bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&page, "layout", data); err != nil {
		s.cfg.Log.Error("a page could not be made", "page", name, "error", err)
		http.Error(w, "The page could not be made; the log of the server tells why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page.Bytes())
	}
}
