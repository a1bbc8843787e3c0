package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// failureOf says why an exchange has no full answer. Messages name host and port only: path and
// query of a URL may hold secrets.
func failureOf(x *exchange, err error) *jobs.Failure {
	switch {
	case errors.Is(err, errHandOver):
		f := x.cutShort(jobs.FailTimeout, err.Error()+": the request was given up")
		f.Message += "; answer 202 first, do the work then, and call back when it is done"
		return f
	case x.phase == phaseConnect:
		return connectFailure(x.plan, err)
	}
	f := &jobs.Failure{Kind: jobs.FailConnection}
	name := x.plan.name
	switch {
	case errors.Is(err, errHeaderTooLarge):
		f.Message = fmt.Sprintf("the headers of %s's answer are larger than 64 KiB", name)
	case errors.Is(err, errUnasked):
		f.Message = fmt.Sprintf("%s did not answer in HTTP/1.1: %s", name, errUnasked)
	case x.phase == phaseBody:
		f.Message = fmt.Sprintf("%s %s in the middle of the answer (status %d), after %s of its body",
			name, brokeHow(err), x.resp.StatusCode, bytesText(x.size))
	case x.phase == phaseHeaders && !isBroken(err):
		f.Message = fmt.Sprintf("%s did not answer in HTTP/1.1: %s", name, err)
	case x.phase == phaseHeaders:
		f.Message = fmt.Sprintf("%s %s in the middle of the answer's headers", name, brokeHow(err))
	case x.kept:
		f.Message = fmt.Sprintf("%s %s that was kept from an earlier request before it answered; "+
			"whether the request arrived is unknown", name, brokeHow(err))
	default:
		f.Message = fmt.Sprintf("%s %s before it answered; whether the request arrived is unknown",
			name, brokeHow(err))
	}
	return f
}

// isBroken tells a connection that ended from an answer that cannot be read.
func isBroken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}

func brokeHow(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset the connection"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed the connection"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return "broke the connection (" + op.Err.Error() + ")"
	}
	return "broke the connection (" + err.Error() + ")"
}

func connectFailure(p *plan, err error) *jobs.Failure {
	var blocked *blockedError
	var dns *net.DNSError
	var shake *handshakeError
	switch {
	case errors.As(err, &blocked):
		return &jobs.Failure{Kind: jobs.FailBlocked, Message: blocked.text}
	case errors.Is(err, errConnectTimeout):
		return &jobs.Failure{
			Kind:    jobs.FailTimeout,
			Message: fmt.Sprintf("connecting to %s took longer than %s", p.name, connectTimeout),
		}
	case errors.As(err, &dns):
		return &jobs.Failure{Kind: jobs.FailDNS, Message: dnsMessage(p.host, dns)}
	case errors.As(err, &shake):
		return handshakeFailure(p, shake.err)
	}
	return &jobs.Failure{Kind: jobs.FailConnection, Message: connectMessage(p.name, err)}
}

func dnsMessage(host string, err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return fmt.Sprintf("no address found for %s: the name does not exist", host)
	case err.IsTimeout:
		return fmt.Sprintf("looking up %s: no answer from the name servers", host)
	}
	return fmt.Sprintf("looking up %s: %s", host, err.Err)
}

func connectMessage(name string, err error) string {
	var call *os.SyscallError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("connect to %s refused: nothing listens there", name)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("connect to %s: no way to reach that address", name)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Sprintf("connect to %s: this server has too many files open", name)
	case errors.As(err, &call):
		return fmt.Sprintf("connect to %s: %s", name, call.Err)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Sprintf("connect to %s: %s", name, err)
}

// handshakeFailure: kind tls where certificate or protocol is at fault, connection where the
// other side was lost on the way.
func handshakeFailure(p *plan, err error) *jobs.Failure {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var invalid x509.CertificateInvalidError
	f := &jobs.Failure{Kind: jobs.FailTLS}
	switch {
	case errors.As(err, &record):
		f.Message = fmt.Sprintf("%s does not speak TLS; if that is meant, use http in the url", p.name)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		f.Message = fmt.Sprintf("the certificate of %s is not valid now: %s", p.name, err)
	case errors.As(err, &cert):
		f.Message = fmt.Sprintf("the certificate of %s is not to be trusted: %s", p.name, cert.Err)
	case isBroken(err) && !isAlert(err):
		f.Kind = jobs.FailConnection
		f.Message = fmt.Sprintf("%s %s during the TLS handshake", p.name, brokeHow(err))
	default:
		f.Message = fmt.Sprintf("TLS handshake with %s: %s", p.name, err)
	}
	return f
}

// isAlert: crypto/tls wraps an alert of the other side in a net.OpError.
func isAlert(err error) bool {
	var alert tls.AlertError
	var op *net.OpError
	return errors.As(err, &alert) || errors.As(err, &op) && op.Op == "remote error"
}

// stoppedFailure is what is on record of an attempt that was ended from outside.
func stoppedFailure(x *exchange, cause error) *jobs.Failure {
	switch {
	case errors.Is(cause, jobs.ErrCancelled):
		return nil
	case errors.Is(cause, jobs.ErrShutdown):
		return x.cutShort(jobs.FailShutdown, "the server stopped")
	}
	return x.cutShort(jobs.FailTimeout, "the attempt's time was up")
}

// cutShort says how far an exchange had got that we ended.
func (x *exchange) cutShort(kind jobs.FailureKind, why string) *jobs.Failure {
	f := &jobs.Failure{Kind: kind, Type: string(kind)}
	switch name := x.plan.name; x.phase {
	case phaseConnect:
		f.Message = fmt.Sprintf("%s while connecting to %s", why, name)
	case phaseSend:
		f.Message = fmt.Sprintf("%s while sending the request to %s", why, name)
	case phaseAnswer:
		f.Message = fmt.Sprintf("%s before %s answered", why, name)
	case phaseHeaders:
		f.Message = fmt.Sprintf("%s in the middle of the headers of %s's answer", why, name)
	default:
		f.Message = fmt.Sprintf("%s in the middle of %s's answer (status %d), after %s of its body",
			why, name, x.resp.StatusCode, bytesText(x.size))
	}
	return f
}

func bytesText(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// oneLine makes valid UTF-8 without control characters of at most limit bytes.
func oneLine(s string, limit int) string {
	s = strings.ToValidUTF8(clip(s, limit), "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, s)
	return strings.TrimSpace(clip(s, limit))
}

// text makes valid UTF-8 of at most limit bytes.
func text(b []byte, limit int) string {
	s := strings.ToValidUTF8(clip(string(b[:min(len(b), limit+utf8.UTFMax)]), limit), "\uFFFD")
	return clip(s, limit)
}

// clip cuts to at most limit bytes, not inside a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
