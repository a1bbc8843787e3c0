package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// failure says why a conversation came to no verdicts.
func (x *exchange) failure(err error) *jobs.Failure {
	name := x.server.name
	var reply *textproto.Error
	var protocol textproto.ProtocolError
	switch {
	case errors.As(err, &reply):
		return x.refusal(err, reply)
	case errors.Is(err, errNoSTARTTLS):
		return &jobs.Failure{Kind: jobs.FailTLS, Message: name + " " + err.Error()}
	case errors.Is(err, errNoSignIn):
		return &jobs.Failure{Kind: jobs.FailSMTP, Message: name + " " + err.Error()}
	case errors.Is(err, errTooMuch):
		return connection("%s said more than 1 MiB %s", name, x.stage)
	case errors.As(err, &protocol):
		return connection("%s does not speak SMTP %s: %s", name, x.stage, protocol.Error())
	case x.stage == stageConnect:
		return x.unreached(err)
	case x.stage == stageHandshake, x.stage == stageSTARTTLS:
		return x.insecure(err)
	case !isBroken(err): // only a sign-in checks what it is told
		return &jobs.Failure{
			Kind: jobs.FailSMTP, Message: fmt.Sprintf("%s %s: %s", name, x.stage, err),
		}
	}
	return connection("%s %s %s", name, brokeHow(err), x.stage)
}

func connection(format string, args ...any) *jobs.Failure {
	return &jobs.Failure{Kind: jobs.FailConnection, Message: fmt.Sprintf(format, args...)}
}

// refusal is a reply to what concerns all recipients. Its type is the code.
func (x *exchange) refusal(err error, reply *textproto.Error) *jobs.Failure {
	name := x.server.name
	if !isRefusal(reply) {
		return connection("%s does not speak SMTP: it answered %s %s", name, x.replyText(reply), x.stage)
	}
	said := fmt.Sprintf("answered %s %s", x.replyText(reply), x.stage)
	var signIn *signInError
	if errors.As(err, &signIn) {
		said = fmt.Sprintf("refused the sign-in of %s: %s", signIn.user, x.replyText(reply))
	}
	return &jobs.Failure{
		Kind: jobs.FailSMTP, Type: strconv.Itoa(reply.Code), Message: name + " " + said,
	}
}

func (x *exchange) unreached(err error) *jobs.Failure {
	name := x.server.name
	var dns *net.DNSError
	var call *os.SyscallError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return &jobs.Failure{
			Kind:    jobs.FailDNS,
			Message: fmt.Sprintf("no address found for %s: the name does not exist", x.server.host),
		}
	case errors.As(err, &dns):
		return &jobs.Failure{
			Kind: jobs.FailDNS, Message: fmt.Sprintf("looking up %s: %s", x.server.host, dns.Err),
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		return connection("connect to %s refused: nothing listens there", name)
	case errors.As(err, &timeout) && timeout.Timeout():
		return &jobs.Failure{
			Kind:    jobs.FailTimeout,
			Message: fmt.Sprintf("connecting to %s took longer than %s", name, connectTimeout),
		}
	case errors.As(err, &call):
		return connection("connect to %s: %s", name, call.Err)
	}
	return connection("connect to %s: %s", name, err)
}

// insecure: kind tls where certificate or protocol is at fault, connection where the other side
// was lost on the way.
func (x *exchange) insecure(err error) *jobs.Failure {
	name := x.server.name
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var invalid x509.CertificateInvalidError
	f := &jobs.Failure{Kind: jobs.FailTLS}
	switch {
	case errors.As(err, &record) && x.stage == stageHandshake:
		f.Message = fmt.Sprintf("%s does not begin with TLS; if STARTTLS is meant, the URL of --smtp "+
			"begins with smtp", name)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		f.Message = fmt.Sprintf("the certificate of %s is not valid now: %s", name, err)
	case errors.As(err, &cert):
		f.Message = fmt.Sprintf("the certificate of %s is not to be trusted: %s", name, cert.Err)
	case isBroken(err) && !isAlert(err):
		return connection("%s %s %s", name, brokeHow(err), x.stage)
	default:
		f.Message = fmt.Sprintf("TLS handshake with %s: %s", name, err)
	}
	return f
}

// isAlert: crypto/tls wraps an alert of the other side in a net.OpError.
func isAlert(err error) bool {
	var alert tls.AlertError
	var op *net.OpError
	return errors.As(err, &alert) || errors.As(err, &op) && op.Op == "remote error"
}

// isBroken tells a connection that ended from an answer that cannot be read.
func isBroken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}

func brokeHow(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset the connection"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed the connection"
	case errors.As(err, &op):
		return "broke the connection (" + op.Err.Error() + ")"
	}
	return "broke the connection (" + err.Error() + ")"
}

// stopped is what is on record of an attempt that was ended from outside.
func (x *exchange) stopped(cause error) *jobs.Failure {
	return stopped(cause, fmt.Sprintf("%s: %s", x.server.name, x.stage))
}

func stopped(cause error, where string) *jobs.Failure {
	f := &jobs.Failure{Kind: jobs.FailTimeout, Message: "the attempt's time was up at " + where}
	switch {
	case errors.Is(cause, jobs.ErrCancelled):
		return nil
	case errors.Is(cause, jobs.ErrShutdown):
		f.Kind, f.Message = jobs.FailShutdown, "the server stopped at "+where
	}
	return f.Bound()
}

// oneLine makes valid UTF-8 without control characters.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// clip cuts to at most limit bytes, not inside a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
