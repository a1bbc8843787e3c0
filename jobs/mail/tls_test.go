package mail

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// files of a certificate and its key.
type files struct{ file, key string }

// certificate signs itself for this name; the pool trusts it.
func certificate(t testing.TB, name string) (files, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name, sort string, der []byte) string {
		path := filepath.Join(dir, name)
		text := pem.EncodeToMemory(&pem.Block{Type: sort, Bytes: der})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trust := x509.NewCertPool()
	trust.AddCert(parsed)
	return files{put("cert.pem", "CERTIFICATE", der), put("key.pem", "PRIVATE KEY", secret)}, trust
}

func TestTrustedServerIsSentToWithinTLS(t *testing.T) {
	cert, trust := certificate(t, "localhost")
	for sort, scheme := range map[string]string{"starttls": "smtp", "implicit": "smtps"} {
		t.Run(sort, func(t *testing.T) {
			b := startBox(t, options{TLS: sort, Cert: cert.file, Key: cert.key, Auth: "ada:pass word"})
			k := newKind(t, Config{
				SMTP: b.url(scheme, "ada", ""), Password: "pass word", From: "jobs@here.test", RootCAs: trust,
			})
			wantSent(t, send(t, k, mailTo("ops@example.com")))
			m := b.messages()
			if len(m) != 1 || !m[0].TLS {
				t.Fatalf("messages: %+v", m)
			}
			for _, e := range b.all("auth") {
				if !e.TLS || e.Way != "PLAIN" {
					t.Errorf("sign-in: %+v", e)
				}
			}
		})
	}
}

// Neither message nor credentials leave where TLS does not come to be, and the failure says why.
func TestNothingIsSentWhereTLSFails(t *testing.T) {
	_, trust := certificate(t, "localhost")
	other, _ := certificate(t, "mail.example.com")
	for name, c := range map[string]struct {
		options
		scheme string
		want   string
	}{
		"lacks STARTTLS":           {options{}, "smtp", "offers no STARTTLS"},
		"speaks no TLS":            {options{}, "smtps", "does not begin with TLS"},
		"is not trusted":           {options{TLS: "starttls", Cert: other.file, Key: other.key}, "smtp", "not to be trusted"},
		"is not trusted, TLS only": {options{TLS: "implicit", Cert: other.file, Key: other.key}, "smtps", "not to be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Auth = "ada:correct horse"
			b := startBox(t, c.options)
			k := newKind(t, Config{
				SMTP: b.url(c.scheme, "ada", ""), Password: "correct horse", From: "jobs@here.test", RootCAs: trust,
			})
			rep := send(t, k, mailTo("ops@example.com"))
			wantFailure(t, rep, jobs.FailTLS, "tls", c.want)
			if n := len(b.messages()) + len(b.all("auth")) + len(b.all("to")); n > 0 {
				t.Errorf("%d commands came through", n)
			}
		})
	}
}

func TestServerWithoutTLS12IsNotSentTo(t *testing.T) {
	cert, trust := certificate(t, "localhost")
	pair, err := tls.LoadX509KeyPair(cert.file, cert.key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	k := newKind(t, Config{SMTP: "smtps://localhost:" + port, From: "jobs@here.test", RootCAs: trust})
	wantFailure(t, send(t, k, mailTo("ops@example.com")), jobs.FailTLS, "tls", "TLS handshake")
}

func TestSelfSignedCertificateIsRefusedUnlessItIsGiven(t *testing.T) {
	cert, trust := certificate(t, "localhost")
	b := startBox(t, options{TLS: "starttls", Cert: cert.file, Key: cert.key})
	cfg := Config{SMTP: b.url("smtp", "", ""), From: "jobs@here.test"}
	wantFailure(t, send(t, newKind(t, cfg), mailTo("ops@example.com")), jobs.FailTLS, "tls", "not to be trusted")
	cfg.RootCAs = trust
	wantSent(t, send(t, newKind(t, cfg), mailTo("ops@example.com")))
}

func TestURLThatSaysSoSendsInClear(t *testing.T) {
	for _, c := range []struct {
		ways []string
		want string
	}{{[]string{"PLAIN", "LOGIN", "CRAM-MD5"}, "CRAM-MD5"}, {[]string{"LOGIN"}, "LOGIN"}, {[]string{"PLAIN"}, "PLAIN"}} {
		b := startBox(t, options{Auth: "ada:secret", Ways: c.ways})
		k := newKind(t, Config{SMTP: b.url("smtp", "ada", "?tls=none"), Password: "secret", From: "jobs@here.test"})
		wantSent(t, send(t, k, mailTo("ops@example.com")))
		if auth := b.all("auth"); len(auth) != 1 || auth[0].Way != c.want || auth[0].TLS {
			t.Errorf("sign-in: %+v, want %s", auth, c.want)
		}
		if n := len(b.messages()); n != 1 {
			t.Errorf("%d messages", n)
		}
	}
}

func TestWrongPasswordFailsWithTheReplyAndIsNotShown(t *testing.T) {
	cert, trust := certificate(t, "localhost")
	b := startBox(t, options{TLS: "starttls", Cert: cert.file, Key: cert.key, Auth: "ada:right", Echo: true})
	k := newKind(t, Config{
		SMTP: b.url("smtp", "ada", ""), Password: "canary-of-the-test", From: "jobs@here.test", RootCAs: trust,
	})
	rep := send(t, k, mailTo("ops@example.com"))
	wantFailure(t, rep, jobs.FailSMTP, "535", "refused the sign-in of ada", "535 5.7.8 *** *** is wrong")
	if n := len(b.messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
	if d := decision(t, rep); d.Action != jobs.ThenFail {
		t.Errorf("decision %+v: want that it is not tried again", d)
	}
}

func TestServerThatOffersNoSignInIsNotSentTo(t *testing.T) {
	b := startBox(t, options{})
	k := newKind(t, Config{SMTP: b.url("smtp", "ada", "?tls=none"), Password: "secret", From: "jobs@here.test"})
	rep := send(t, k, mailTo("ops@example.com"))
	wantFailure(t, rep, jobs.FailSMTP, "smtp", "offers no way to sign in")
	if n := len(b.messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestServerURLIsReadStrictly(t *testing.T) {
	for url, want := range map[string]string{
		"mail.example.com":                   "want a URL such as",
		"http://mail.example.com":            "want a URL such as",
		"smtp:mail.example.com":              "want a URL such as",
		"smtp://%zz/":                        "want a URL such as",
		"smtp://":                            "want a host name",
		"smtp://mail .example.com":           "want a URL such as",
		"smtp://m\u00e4il.example.com":       "want a host name",
		"smtp://mail.example.com:0":          "want a port",
		"smtp://mail.example.com:99999":      "want a port",
		"smtp://mail.example.com:":           "want a port",
		"smtp://mail.example.com/inbox":      "want nothing behind",
		"smtp://mail.example.com#a":          "want nothing behind",
		"smtp://mail.example.com?tls=off":    "tls=none",
		"smtp://mail.example.com?verify=no":  "tls=none",
		"smtp://mail.example.com?tls=none;a": "cannot be read",
		"smtps://mail.example.com?tls=none":  "want one of them",
		"smtp://ada@mail.example.com":        "set NIGHTSHIFT_SMTP_PASSWORD",
		"smtp://@mail.example.com":           "want a user",
		"smtp://ada:canary@mail.example.com": "want no password in the URL",
		"smtp://a%0Ada@mail.example.com":     "without control characters",
	} {
		_, err := New(Config{SMTP: url})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--smtp: ") {
			t.Errorf("%s: %v, want %q", url, err, want)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the password is in %q", url, err)
		}
	}
	for _, cfg := range []Config{{SMTP: "smtp://mail.example.com", Password: "x"}, {Password: "x"}} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "NIGHTSHIFT_SMTP_PASSWORD: ") {
			t.Errorf("a password without a user: %v", err)
		}
	}
	if _, err := New(Config{From: "jobs"}); err == nil || !strings.HasPrefix(err.Error(), "--mail-from: ") {
		t.Errorf("--mail-from: %v", err)
	}
	for url, want := range map[string]string{
		"smtp://mail.example.com":              "mail.example.com:587",
		"smtps://mail.example.com/":            "mail.example.com:465",
		"smtp://127.0.0.1:25?tls=none":         "127.0.0.1:25",
		"smtp://[::1]:2525":                    "[::1]:2525",
		"smtp://ada%40example.com@mail.test:1": "mail.test:1",
	} {
		s, err := parseServer(url, map[bool]string{true: "secret"}[strings.Contains(url, "@")])
		if err != nil || s.name != want {
			t.Errorf("%s: %+v, %v: want %s", url, s, err, want)
		} else if s.user != "" && s.user != "ada@example.com" {
			t.Errorf("%s: user %q", url, s.user)
		}
	}
}
