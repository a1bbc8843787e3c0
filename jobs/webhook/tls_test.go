package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
)

// secure starts an HTTPS receiver with a certificate for this name and time, and the pool that
// trusts it. It answers with the body that came and with what stood in Authorization as X-Got; with
// ?to=URL it redirects.
func secure(
	t *testing.T, name string, until time.Time, change func(*tls.Config),
) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{name},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(name); ip != nil {
		cert.DNSNames, cert.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AddCert(parsed)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Got", r.Header.Get("Authorization"))
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write(body)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	if change != nil {
		change(s.TLS)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, trust
}

func TestTrustedCertificateIsCalledOnKeptConnections(t *testing.T) {
	var shakes atomic.Int64
	s, trust := secure(t, "127.0.0.1", time.Now().Add(time.Hour), func(c *tls.Config) {
		c.VerifyConnection = func(tls.ConnectionState) error { shakes.Add(1); return nil }
	})
	k := newKind(t, Config{RootCAs: trust})
	for range 5 {
		wantResult(t, call(t, k, hook(s.URL)), "{}")
	}
	if shakes.Load() != 1 {
		t.Errorf("%d handshakes for 5 attempts", shakes.Load())
	}
}

func TestWrongCertificateIsATLSFailure(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		host   string
		until  time.Time
		trust  bool
		change func(*tls.Config)
		want   string
	}{
		"unknown authority": {"127.0.0.1", later, false, nil, "is not to be trusted"},
		"wrong host":        {"other.example", later, true, nil, "is not to be trusted"},
		"expired":           {"127.0.0.1", time.Now().Add(-time.Hour), true, nil, "is not valid now"},
		"TLS 1.1": {"127.0.0.1", later, true, func(c *tls.Config) {
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}, "TLS handshake"},
		"wants a certificate": {"127.0.0.1", later, true, func(c *tls.Config) {
			c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
		}, "TLS handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			s, trust := secure(t, c.host, c.until, c.change)
			if !c.trust {
				trust = nil
			}
			rep := call(t, newKind(t, Config{RootCAs: trust}), hook(s.URL))
			wantFailure(t, rep, jobs.FailTLS, c.want)
		})
	}
}

func TestReceiverWithoutTLSIsATLSFailureThatSaysSo(t *testing.T) {
	r := receive(t, func(p *peer) {
		_, _ = p.br.Peek(1)
		p.say("HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	rep := call(t, newKind(t, Config{}), hook(strings.Replace(r.url, "http:", "https:", 1)))
	wantFailure(t, rep, jobs.FailTLS, "does not speak TLS")
}

// A receiver that restarts is retried by the default rules, so it must not look like a bad
// certificate.
func TestConnectionLostInTheHandshakeIsAConnectionFailure(t *testing.T) {
	for name, play := range map[string]func(*peer){
		"fin": func(p *peer) { _, _ = p.br.Peek(1) },
		"rst": func(p *peer) { _, _ = p.br.Peek(1); p.reset() },
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, play)
			rep := call(t, newKind(t, Config{}), hook(strings.Replace(r.url, "http:", "https:", 1)))
			wantFailure(t, rep, jobs.FailConnection, "during the TLS handshake")
		})
	}
}
