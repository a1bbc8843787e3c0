package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// hosts decides which Host and Origin a call may bear: a web page in somebody's browser must not
// reach the server by a name that resolves to it (DNS rebinding).
type hosts struct {
	names   map[string]bool // lower case, without port: of --listen and --url
	url     string          // host[:port] of --url
	proxies []netip.Prefix
}

func newHosts(listen, base string, proxies []netip.Prefix) hosts {
	h := hosts{names: map[string]bool{}, proxies: proxies}
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		h.names[strings.ToLower(host)] = true
	}
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		h.names[strings.ToLower(u.Hostname())] = true
		h.url = strings.ToLower(u.Host)
	}
	return h
}

// trusted reports whether the call comes from a proxy whose X-Forwarded-* count.
func (h *hosts) trusted(r *http.Request) bool {
	if len(h.proxies) == 0 {
		return false
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr := from.Addr().Unmap().WithZone("")
	for _, p := range h.proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// hostOf is the host that the caller meant.
func (h *hosts) hostOf(r *http.Request) string {
	if h.trusted(r) {
		if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ","); first != "" {
			return strings.TrimSpace(first)
		}
	}
	return r.Host
}

// allows checks the host: an IP address, a loopback name, the host of --listen or --url.
func (h *hosts) allows(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || h.names[name]
}

// sameOrigin checks an Origin header against the host of the call.
func (h *hosts) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	from := strings.ToLower(u.Host)
	return from == strings.ToLower(host) || (h.url != "" && from == h.url)
}

// guardHost refuses calls by a wrong name or from a foreign page.
func (s *Server) guardHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		host := s.hosts.hostOf(r)
		if !s.hosts.allows(host) {
			return refuse(probHost, "call it by an IP address, a loopback name, or the host of its "+
				"--listen or --url")
		}
		origins := r.Header["Origin"]
		if len(origins) > 0 && !s.routeOf(c).anyOrigin() {
			if len(origins) > 1 || !s.hosts.sameOrigin(origins[0], host) {
				return refuse(probOrigin, "the Origin is not this server")
			}
		}
		return next(c)
	}
}
