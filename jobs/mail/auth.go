package mail

import (
	"encoding/base64"
	"errors"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// Ways to sign in, the preferred first. Within TLS the plain ones are what servers do best; in
// clear the password itself is sent only where nothing else is offered.
var (
	withinTLS = []string{"PLAIN", "LOGIN", "SCRAM-SHA-256", "SCRAM-SHA-1", "CRAM-MD5"}
	inClear   = []string{"SCRAM-SHA-256", "SCRAM-SHA-1", "CRAM-MD5", "PLAIN", "LOGIN"}
)

// signInError is a sign-in that failed; the error within holds nothing secret.
type signInError struct {
	user string
	err  error
}

func (e *signInError) Error() string { return e.err.Error() }
func (e *signInError) Unwrap() error { return e.err }

var errNoSignIn = errors.New("offers no way to sign in that is known here (AUTH PLAIN, LOGIN, " +
	"SCRAM-SHA-256, SCRAM-SHA-1, CRAM-MD5)")

// signIn does nothing where the URL names no user. Without TLS it is reached only where the URL
// says tls=none.
func (x *exchange) signIn() error {
	s := x.server
	if s.user == "" {
		return nil
	}
	x.stage = stageAuth
	_, offered := x.client.Extension("AUTH")
	ways := withinTLS
	if s.clear {
		ways = inClear
	}
	at := slices.IndexFunc(ways, func(way string) bool {
		return slices.Contains(strings.Fields(strings.ToUpper(offered)), way)
	})
	if at < 0 {
		return errNoSignIn
	}
	if err := x.client.Auth(s.auth(ways[at])); err != nil {
		return &signInError{user: s.user, err: s.hide(err)}
	}
	return nil
}

func (s *server) auth(way string) smtp.Auth {
	switch way {
	case "PLAIN":
		return smtp.PlainAuth("", s.user, s.password, s.host, s.clear)
	case "LOGIN":
		return smtp.LoginAuth(s.user, s.password, s.host, s.clear)
	case "SCRAM-SHA-256":
		return smtp.ScramSHA256Auth(s.user, s.password)
	case "SCRAM-SHA-1":
		return smtp.ScramSHA1Auth(s.user, s.password)
	}
	return smtp.CRAMMD5Auth(s.user, s.password)
}

// hide drops from what a server said what it may echo of the credentials, and passes errors of
// the connection on as they are.
func (s *server) hide(err error) error {
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return &textproto.Error{Code: reply.Code, Msg: s.withoutSecrets(reply.Msg)}
	}
	if text := s.withoutSecrets(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

func (s *server) withoutSecrets(text string) string {
	for _, secret := range []string{
		base64.StdEncoding.EncodeToString([]byte("\x00" + s.user + "\x00" + s.password)),
		base64.StdEncoding.EncodeToString([]byte(s.password)),
		s.password,
	} {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
