package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// view is one page while it is made: what the handler and the templates of every page need.
type view struct {
	*Visit
	At    words.At // now, in the zone that times are shown in
	Times Times
	Theme string // light, dark, "": as the browser says
	Title string
	Nav   string // which part of the site it is: the pattern of its link
	Said  string // what came of the form that led here
	Data  any    // of the page itself
	// Watch is what the page follows: the query of /live; "": it is not live.
	Watch string

	site *Site
	w    http.ResponseWriter
	r    *http.Request
}

func withVisit(r *http.Request, v *Visit) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
}

func newView(s *Site, w http.ResponseWriter, r *http.Request) *view {
	visit, _ := r.Context().Value(visitKey{}).(*Visit)
	v := &view{Visit: visit, site: s, w: w, r: r, Times: timesOf(r)}
	v.At = words.At{Now: s.cfg.Now().Std().In(v.Times.zone()), Zoned: true}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		v.Theme = c.Value
	}
	return v
}

// Version is that of the program.
func (v *view) Version() string { return v.site.cfg.Version }

// URL is the base of links: where others call the server.
func (v *view) URL() string { return v.site.cfg.URL }

// ctx ends when the browser leaves, or the session.
func (v *view) ctx() context.Context { return v.r.Context() }

// Path is the address of the page with its query.
func (v *view) Path() string { return v.r.URL.RequestURI() }

// Stay is the address of the page that a form on it leads back to: one that answers a form has none of its own.
func (v *view) Stay() string {
	if v.r.Method != http.MethodPost {
		return v.Path()
	}
	return cmp.Or(v.cameFrom(), v.Nav, "/")
}

// cameFrom is the page of the form that was sent; "": it is not known.
func (v *view) cameFrom() string {
	if back := v.form("back"); local(back) {
		return back
	}
	return v.referer()
}

// referer is the page whose form was sent, as the browser says; "": it is not known.
func (v *view) referer() string {
	from, err := url.Parse(v.r.Referer())
	if err != nil || v.r.Referer() == "" || !local(from.RequestURI()) || from.Path == v.r.URL.Path { // a form that was refused twice
		return ""
	}
	return from.RequestURI()
}

// Here reports whether the page is in a part of the site.
func (v *view) Here(nav string) bool { return v.Nav == nav }

// May reports whether who has signed in has a scope: pages leave out what they may not do. The API decides.
func (v *view) May(scope string) bool {
	if v.Who == nil {
		return false
	}
	has := func(name string) bool { return slices.Contains(v.Who.Scopes, name) }
	switch scope {
	case "read":
		return has("read") || has("operate") || has("admin")
	case "enqueue":
		return has("enqueue") || has("operate") || has("admin")
	case "operate":
		return has("operate") || has("admin")
	}
	return has("admin")
}

// Whole reports whether the token is not narrowed to some jobs.
func (v *view) Whole() bool { return v.Who != nil && v.Who.Jobs == nil }

// refresh reports whether it is the live part of a page that is read anew.
func (v *view) refresh() bool { return v.r.Header.Get("Hx-Request") != "" }

// query is a parameter of the address.
func (v *view) query(name string) string { return v.r.URL.Query().Get(name) }

// Query is the address's parameters that are not empty.
func (v *view) Query() url.Values {
	q := v.r.URL.Query()
	for name, values := range q {
		if len(values) == 0 || values[0] == "" {
			q.Del(name)
		}
	}
	return q
}

// With is the address of this page with parameters changed: pairs of a name and a value, "" to leave it out. Where
// it is not the cursor that changes, the list begins anew.
func (v *view) With(pairs ...string) string {
	q := v.Query()
	q.Del("cursor")
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return v.r.URL.Path
	}
	return v.r.URL.Path + "?" + q.Encode()
}

// page is the part of a list that the address asks for.
func (v *view) page(limit int) client.Page {
	return client.Page{Limit: limit, Cursor: v.query("cursor")}
}

// id reads an id from the path.
func (v *view) id() (jobs.ID, error) {
	id, err := jobs.ParseID(v.r.PathValue("id"))
	if err != nil {
		return id, &notFound{}
	}
	return id, nil
}

// show answers with a page.
func (v *view) show(name, title string, data any) error {
	return v.showAs(http.StatusOK, name, title, data)
}

func (v *view) showAs(status int, name, title string, data any) error {
	v.Title, v.Data = title, data
	if v.r.Method == http.MethodPost {
		v.Watch = "" // its address is that of the form, which is no page to read anew
	}
	v.takeSaid()
	v.site.write(v.w, v.r, status, name, v)
	return nil
}

// maxForm bounds what a form may send: as the API does bodies.
const maxForm = 1 << 20

// readForm reads the form that was sent. One that is not whole must not be acted upon: what is missing in it means
// something too.
func (v *view) readForm() error {
	if v.r.Method != http.MethodPost {
		return nil
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	err := v.r.ParseForm()
	var tooBig *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooBig):
		return &client.Problem{Problem: wire.Problem{
			Title: "The form is too large", Status: http.StatusRequestEntityTooLarge, Detail: "A form may hold 1 MiB, a payload 256 KiB of it.",
		}}
	}
	return &client.Problem{Problem: wire.Problem{
		Title: "The form cannot be read", Status: http.StatusBadRequest, Detail: "It was cut off, or is none.",
	}}
}

// form reads a field of the form that was sent, without the carriage returns that browsers put at ends of lines.
func (v *view) form(name string) string {
	return strings.ReplaceAll(v.r.PostFormValue(name), "\r\n", "\n")
}

// forms are all values of a field.
func (v *view) forms(name string) []string {
	_ = v.r.ParseForm()
	return v.r.PostForm[name]
}

// done answers a form that has been carried out: the browser goes on to a page, which says what came of it. A
// back field of the form, a page of this site, wins.
func (v *view) done(to, said string) error {
	if back := v.form("back"); local(back) {
		to = back
	}
	v.keepSaid(said)
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// local reports whether an address is one of this site.
func local(to string) bool {
	u, err := url.Parse(to)
	return err == nil && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.Contains(to, `\`) &&
		u.Host == "" && u.Scheme == ""
}

// The cookies that pages keep besides the session's.
const (
	saidCookie  = "nightshift-said"
	themeCookie = "nightshift-theme"
	timesCookie = "nightshift-times"
	zoneCookie  = "nightshift-zone"
)

func (v *view) setCookie(name, value string, life time.Duration) {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/", Secure: v.Secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: int(life.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

// keepSaid has the next page say it.
func (v *view) keepSaid(said string) {
	if said != "" {
		v.setCookie(saidCookie, base64.RawURLEncoding.EncodeToString([]byte(words.Short(said, 600))), time.Minute)
	}
}

func (v *view) takeSaid() {
	c, err := v.r.Cookie(saidCookie)
	if err != nil || v.Said != "" || v.refresh() {
		return
	}
	if text, err := base64.RawURLEncoding.DecodeString(c.Value); err == nil {
		v.Said = string(text)
	}
	v.setCookie(saidCookie, "", 0)
}

// failed is the data of the page of an error.
type failed struct {
	Status int
	Title  string
	Detail string
	Faults []jobs.Fault
	Back   string // where the form was; "": there was none
}

// fail answers with the page of an error.
func (v *view) fail(err error) {
	if v.ctx().Err() != nil {
		return // nobody is there any more
	}
	f := failed{Status: http.StatusBadGateway, Title: "The page could not be made", Detail: err.Error()}
	var gone *notFound
	var p *client.Problem
	switch {
	case errors.As(err, &gone):
		f.Status, f.Title, f.Detail = http.StatusNotFound, "There is no such page", ""
	case errors.As(err, &p):
		f.Status, f.Title, f.Detail, f.Faults = p.Status, p.Title, p.Detail, p.Errors
	default:
		v.site.cfg.Log.Error("a page could not be made", "path", v.r.URL.Path, "error", err)
	}
	if v.r.Method == http.MethodPost {
		f.Back = v.cameFrom()
	}
	_ = v.showAs(f.Status, "failed", f.Title, f)
}

// problem is what the API refused, to be shown beside the form that was sent; nil: the error is another one.
func problem(err error) *client.Problem {
	var p *client.Problem
	errors.As(err, &p)
	return p
}
