package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"nightshift/jobs"
)

// maxRedirects is how many redirects of an attempt are followed.
const maxRedirects = 3

// redirects reports whether the answer is a redirect that the job wants followed: 307 and 308,
// which keep method and body (RFC 9110, 15.4.8 and 15.4.9).
func (x *exchange) redirects() bool {
	status := x.resp.StatusCode
	return x.plan.follow &&
		(status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect)
}

// redirect gives the plan of the next request where there is one. Where a redirect cannot be
// followed, refusal says why.
func (x *exchange) redirect(call *jobs.Call) *plan {
	if !x.redirects() {
		return nil
	}
	if x.hops == maxRedirects {
		x.refusal = fmt.Sprintf("%d redirects came before it: no more are followed", maxRedirects)
		return nil
	}
	next, err := x.plan.moved(x.resp.Header["Location"])
	if err == nil && next.elsewhere && call.BodySecret {
		err = fmt.Errorf("the body holds a secret, which goes to %s alone", x.first)
	}
	if err != nil {
		x.refusal = "it is not followed: " + err.Error()
		return nil
	}
	return next
}

// moved is the plan of the same request to where a redirect leads.
//
// Another host, port or scheme gets none of the job's headers nor of ours, even if a later
// redirect leads back: who answers there would choose what our headers are good for. It gets what
// describes the body, for the body goes along.
func (p *plan) moved(locations []string) (*plan, error) {
	if len(locations) != 1 || locations[0] == "" {
		return nil, errors.New("want one header Location")
	}
	if strings.ContainsFunc(locations[0], notURL) {
		return nil, errors.New("its Location is no URL")
	}
	ref, err := url.Parse(locations[0])
	if err != nil {
		return nil, errors.New("its Location cannot be read")
	}
	from := p.template.URL
	to := from.ResolveReference(ref)
	to.Fragment, to.RawFragment = "", ""
	next := *p
	next.template = p.template.WithContext(p.template.Context())
	if next.template.URL, err = next.target(to.String()); err != nil {
		return nil, errors.New("the url it leads to " + strings.TrimPrefix(err.Error(), "the url "))
	}
	if from.Scheme == "https" && to.Scheme != "https" {
		return nil, errors.New("it leads from https to http")
	}
	if next.name == p.name && to.Scheme == from.Scheme && !p.elsewhere {
		return &next, nil
	}
	next.elsewhere = true
	next.template.Host = ""
	next.template.Header = http.Header{"User-Agent": {p.userAgent}}
	for name, values := range p.template.Header {
		if http.CanonicalHeaderKey(name) == "Content-Type" {
			next.template.Header[name] = values
		}
	}
	return &next, nil
}

// follow makes the exchange ready for the request that a redirect leads to.
func (x *exchange) follow(next *plan) {
	x.plan, x.phase = next, phaseConnect
	x.conn, x.kept = nil, false
	x.resp, x.body, x.size, x.past = nil, nil, 0, false
	x.hops++
}

// tellHops says of a report where the answer came from, if that is not where the URL leads.
func (x *exchange) tellHops(rep *jobs.Report) {
	switch {
	case x.hops == 0 || rep.Failure == nil:
	case rep.Failure.Kind == jobs.FailHTTP:
		rep.Notes = append(rep.Notes, fmt.Sprintf("redirected from %s to %s", x.first, x.plan.name))
	default:
		rep.Failure.Message = oneLine(rep.Failure.Message+" (redirected from "+x.first+")",
			jobs.MaxMessage)
	}
}
