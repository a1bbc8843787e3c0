package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Ports where the URL names none: submission, and submission within TLS (RFC 8314).
const (
	portSTARTTLS = "587"
	portTLS      = "465"
)

// server is the mail server of --smtp.
type server struct {
	host, port string
	name       string // host:port, as it stands in messages

	user, password string // "": nobody signs in
	implicit       bool   // TLS from the first byte
	clear          bool   // no TLS at all, for the URL says so
	roots          *x509.CertPool
}

// parseServer reads the URL of --smtp. Errors never quote it: it may hold a password.
func parseServer(text, password string) (*server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("--smtp: want a URL such as smtp://user@mail.example.com:587 or " +
			"smtps://mail.example.com")
	}
	if _, given := u.User.Password(); given {
		return nil, errors.New("--smtp: want no password in the URL: set NIGHTSHIFT_SMTP_PASSWORD")
	}
	s := &server{
		host: u.Hostname(), port: u.Port(), user: u.User.Username(), password: password,
		implicit: u.Scheme == "smtps",
	}
	if s.port == "" {
		s.port = portSTARTTLS
		if s.implicit {
			s.port = portTLS
		}
	}
	s.name = net.JoinHostPort(s.host, s.port)
	if err := s.readOptions(u); err != nil {
		return nil, err
	}
	return s, s.check(u)
}

func (s *server) readOptions(u *url.URL) error {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("--smtp: what follows the ? cannot be read: want nothing, or tls=none")
	}
	for name, given := range values {
		if name != "tls" || len(given) != 1 || given[0] != "none" {
			return errors.New("--smtp: what follows the ? is not known: want nothing, or tls=none, " +
				"which sends in clear")
		}
		s.clear = true
	}
	return nil
}

func (s *server) check(u *url.URL) error {
	_, notIP := netip.ParseAddr(s.host)
	port, err := strconv.Atoi(s.port)
	switch {
	case notIP != nil && !validDomain(s.host):
		return errors.New("--smtp: want a host name or an IP address, IPv6 in brackets")
	case err != nil || port < 1 || port > 65535 || strings.HasSuffix(u.Host, ":"):
		return errors.New("--smtp: want a port from 1 to 65535, or none and no colon")
	case strings.Trim(u.Path, "/") != "" || u.Fragment != "":
		return errors.New("--smtp: want nothing behind host and port but ?tls=none")
	case s.clear && s.implicit:
		return errors.New("--smtp: smtps is TLS and tls=none is none: want one of them")
	case hasControl(s.user) || hasControl(s.password):
		return errors.New("--smtp: want a user and a password without control characters")
	case u.User != nil && s.user == "":
		return errors.New("--smtp: want a user before the @")
	case s.user != "" && s.password == "":
		return errors.New("--smtp: it names a user: set NIGHTSHIFT_SMTP_PASSWORD")
	case s.user == "" && s.password != "":
		return errors.New("NIGHTSHIFT_SMTP_PASSWORD: needs a user in --smtp, as in " +
			"smtp://user@mail.example.com:587")
	}
	return nil
}

func (s *server) tls() *tls.Config {
	return &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots}
}
