package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const proxiedName = "jobs.example.com"

// proxy is a real proxy before a server, by the configuration of examples/deploy/proxy.
type proxy struct {
	t      *testing.T
	dir    string // of its files
	port   string // of HTTPS
	behind string // address of the server
	roots  *x509.CertPool
	log    *lockedBuffer
}

// newProxy makes a certificate, and finds a port.
func newProxy(t *testing.T, behind string) *proxy {
	t.Helper()
	p := &proxy{t: t, dir: t.TempDir(), port: freePort(t), behind: behind, roots: x509.NewCertPool(), log: &lockedBuffer{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: proxiedName}, DNSNames: []string{proxiedName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	p.roots.AddCert(cert)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, p.dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return p
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// changed is a file of the example with its texts replaced, each of which it must hold.
func changed(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example(t, "deploy"), file))
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("%s does not hold %q", file, pairs[i])
		}
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s
}

// run starts the proxy and waits until it answers.
func (p *proxy) run(name string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, p.log, p.log
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-over
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+p.port)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-over:
			over <- err
			p.t.Fatalf("%s: %v\n%s", name, err, p.log)
		default:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not listen\n%s", name, p.log)
		}
	}
}

func (p *proxy) nginx() {
	p.t.Helper()
	conf := changed(
		p.t, "proxy/nginx.conf",
		"listen 80;", "listen 127.0.0.1:"+freePort(p.t)+";", "listen [::]:80;", "",
		"listen 443 ssl http2;", "listen 127.0.0.1:"+p.port+" ssl http2;", "listen [::]:443 ssl http2;", "",
		"/etc/letsencrypt/live/jobs.example.com/fullchain.pem", p.dir+"/cert.pem",
		"/etc/letsencrypt/live/jobs.example.com/privkey.pem", p.dir+"/key.pem",
		"/var/log/nginx/nightshift.log", p.dir+"/access.log",
		"127.0.0.1:8700", p.behind,
	)
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	whole := user + "daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += kind + "_temp_path " + filepath.Join(p.dir, kind) + ";\n"
	}
	write(p.t, p.dir, "whole.conf", whole+conf+"}\n")
	p.run("nginx", "-p", p.dir, "-c", "whole.conf")
}

func (p *proxy) caddy() {
	p.t.Helper()
	conf := changed(
		p.t, "proxy/Caddyfile",
		"\njobs.example.com {", "\n{\n\tadmin off\n\thttp_port "+freePort(p.t)+"\n\thttps_port "+p.port+"\n\tauto_https disable_redirects\n}\n"+
			"jobs.example.com {\n\ttls cert.pem key.pem",
		"127.0.0.1:8700", p.behind,
	)
	write(p.t, p.dir, "Caddyfile", conf)
	p.run("caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile")
}

// client calls through the proxy, from another address of this machine than the proxy's own.
func (p *proxy) client() *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, "127.0.0.1:"+p.port)
			},
			TLSClientConfig: &tls.Config{RootCAs: p.roots}, ForceAttemptHTTP2: true, //nolint:gosec // of the test
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call makes a call, with pairs of headers, and gives its answer with what was read of it.
func (p *proxy) call(c *http.Client, method, path string, body []byte, header ...string) (*http.Response, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, "https://"+proxiedName+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, p.log)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res, string(text)
}

var proxies = map[string]func(*proxy){"nginx": (*proxy).nginx, "caddy": (*proxy).caddy}

func TestBehindAProxy(t *testing.T) {
	for name, begin := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, name)
			p := start(t, t.TempDir(), "--url", "https://"+proxiedName, "--trusted-proxy", "127.0.0.1")
			p.put("job", doc{"script": doc{"source": "true"}})
			x := newProxy(t, strings.TrimPrefix(p.url, "http://"))
			begin(x)
			x.signIn(p)
			x.bodies(p)
			x.stream(p)
			x.doors(p)
			x.restart()
		})
	}
}

// signIn signs in by the page, and looks at the session: whose address it is, and how its cookie is kept.
func (p *proxy) signIn(s *process) {
	p.t.Helper()
	c := p.client()
	res, text := p.call(c, "GET", "/sign-in", nil, "Accept", "text/html")
	if res.StatusCode != 200 || !strings.Contains(text, `name="token"`) {
		p.t.Fatalf("the page to sign in: %d %s", res.StatusCode, text)
	}
	if res.Header.Get("Strict-Transport-Security") == "" || res.ProtoMajor != 2 {
		p.t.Errorf("%s %v", res.Proto, res.Header)
	}
	form := url.Values{"token": {s.tokenOf()}}.Encode()
	res, text = p.call(c, "POST", "/sign-in", []byte(form), "Content-Type", "application/x-www-form-urlencoded",
		"Origin", "https://"+proxiedName, "X-Forwarded-For", "203.0.113.9", "X-Forwarded-Host", "evil.example.com")
	cookie := res.Header.Get("Set-Cookie")
	if res.StatusCode != 303 || !strings.HasPrefix(cookie, "__Host-nightshift=ns_") || !strings.Contains(cookie, "Secure") {
		p.t.Fatalf("sign in: %d %s\n%s", res.StatusCode, cookie, text)
	}
	name, _, _ := strings.Cut(cookie, ";")
	res, text = p.call(c, "GET", "/v1/sessions", nil, "Cookie", name)
	if res.StatusCode != 200 || !strings.Contains(text, `"current":true,"from":"127.0.0.2"`) {
		p.t.Errorf("the session is not from the caller's own address: %d %s", res.StatusCode, text)
	}
	if res, text = p.call(c, "GET", "/", nil, "Cookie", name, "Accept", "text/html"); res.StatusCode != 200 {
		p.t.Errorf("the dashboard: %d %s", res.StatusCode, text)
	}
}

// bodies sends large ones: what is too large is refused by Nightshift, as it refuses everything.
func (p *proxy) bodies(s *process) {
	p.t.Helper()
	batch := func(size int) []byte {
		entry := `{"job":"job","payload":{"text":"` + strings.Repeat("x", 200<<10) + `"}}`
		n := size / (len(entry) + 1)
		return []byte(`{"runs":[` + strings.Repeat(entry+",", n-1) + entry + "]}")
	}
	auth := []string{"Authorization", "Bearer " + s.tokenOf(), "Content-Type", "application/json"}
	for size, want := range map[int]int{15 << 20: 202, 33 << 19: 413} {
		res, text := p.call(p.client(), "POST", "/v1/runs/batch", batch(size), auth...)
		if res.StatusCode != want {
			p.t.Errorf("%d bytes: %d %.300s\n%s", size, res.StatusCode, text, p.log)
		}
		if want == 413 && problem(p.t, []byte(text)) != "too-large" {
			p.t.Errorf("it is not Nightshift that refuses: %.300s", text)
		}
	}
	if res, _ := p.call(p.client(), "POST", "/v1/runs/batch", batch(18<<20), auth...); res.StatusCode != 413 {
		p.t.Errorf("18 MiB: %d", res.StatusCode)
	}
}

// stream follows the events: each comes as it happens.
func (p *proxy) stream(s *process) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "https://"+proxiedName+"/v1/events?live=1", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokenOf())
	req.Header.Set("Accept", "text/event-stream")
	res, err := p.client().Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for range 3 {
		id := s.enqueue("job", nil)
		for found := false; !found; {
			if !lines.Scan() {
				p.t.Fatalf("the stream ends: %v", lines.Err())
			}
			found = strings.Contains(lines.Text(), id)
		}
	}
}

// doors calls an address that is as good as a password: the proxy's log does not show it.
func (p *proxy) doors(s *process) {
	p.t.Helper()
	run(p.t, s.dir, "open-sesame\n", []string{"NIGHTSHIFT_SERVER=" + s.url}, "secrets", "set", "DOOR").want(0)
	s.put("door", doc{
		"script":  doc{"source": "true"},
		"inbound": []doc{{"name": "in", "verify": "secret", "secret": "{{ secrets.DOOR }}"}},
	})
	if res, text := p.call(p.client(), "POST", "/in/door/in/open-sesame", []byte("{}")); res.StatusCode != 202 {
		p.t.Fatalf("the door: %d %s", res.StatusCode, text)
	}
	// nginx writes its line when the answer has gone; Caddy keeps no such log.
	if path := filepath.Join(p.dir, "access.log"); strings.HasSuffix(p.t.Name(), "nginx") {
		var log []byte
		s.until("the proxy logs the call", func() bool {
			log, _ = os.ReadFile(path)
			return strings.Contains(string(log), `"POST /in/door/in/***" 202`)
		})
		if strings.Contains(string(log), "sesame") {
			p.t.Errorf("the log of the proxy: %s", log)
		}
	}
	if strings.Contains(p.log.String(), "sesame") {
		p.t.Errorf("the output of the proxy: %s", p.log)
	}
}

// restart restarts a server on a socket that is handed over: nobody who calls through the proxy sees it.
func (p *proxy) restart() {
	p.t.Helper()
	dir, sock := p.t.TempDir(), newSocket(p.t)
	x := newProxy(p.t, sock.addr)
	args := []string{"--url", "https://" + proxiedName, "--trusted-proxy", "127.0.0.1"}
	s := sock.start(dir, nil, args...)
	s.put("job", doc{"script": doc{"source": "true"}})
	s.cli("pause", "job").want(0)
	proxies[strings.TrimPrefix(p.t.Name(), "TestBehindAProxy/")](x)
	var over atomic.Bool
	made := make(chan int, 4)
	token := s.tokenOf()
	for range cap(made) {
		go func() {
			n, c := 0, x.client()
			for ; !over.Load(); n++ {
				req, err := http.NewRequest("POST", "https://"+proxiedName+"/v1/jobs/job/runs", strings.NewReader("{}"))
				if err != nil {
					p.t.Error(err)
					break
				}
				req.Header.Set("Authorization", "Bearer "+token)
				res, err := c.Do(req)
				if err != nil {
					p.t.Errorf("after %d runs: %v", n, err)
					break
				}
				text, _ := io.ReadAll(res.Body)
				if res.Body.Close(); res.StatusCode != 202 {
					p.t.Errorf("after %d runs: %d %s", n, res.StatusCode, text)
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			made <- n
		}()
	}
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		if code := s.stop(syscall.SIGTERM); code != 0 {
			p.t.Errorf("exit code %d\n%s", code, s.log)
		}
		s = sock.start(dir, nil, args...)
	}
	over.Store(true)
	all := 0
	for range cap(made) {
		all += <-made
	}
	if all < 100 {
		p.t.Errorf("only %d runs were made", all)
	}
	p.t.Logf("%d runs through 3 restarts", all)
}

// What a caller claims counts only where the proxy is trusted.
func TestForwardedForCountsFromATrustedProxyAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		header string
		want   string
	}{
		{nil, "203.0.113.9", "127.0.0.1"},
		{[]string{"--trusted-proxy", "10.0.0.0/8"}, "203.0.113.9", "127.0.0.1"},
		{[]string{"--trusted-proxy", "127.0.0.1"}, "203.0.113.9", "203.0.113.9"},
		{[]string{"--trusted-proxy", "127.0.0.1"}, "203.0.113.1, 203.0.113.9, 127.0.0.1", "203.0.113.9"},
	} {
		p := start(t, t.TempDir(), c.args...)
		body, _ := json.Marshal(doc{"token": p.tokenOf()})
		req, err := http.NewRequest("POST", p.url+"/v1/sessions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", c.header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		_, text, err := p.try("GET", "/v1/sessions", nil)
		if want := fmt.Sprintf(`"from":"%s"`, c.want); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, %s: %s, want %s", c.args, c.header, text, want)
		}
		p.stop(syscall.SIGTERM)
	}
}

// A proxy sends the whole body and then reads the answer, over a connection that closes: a reset in between would be all
// that it sees.
func TestRefusalOfABodyArrivesThoughTheConnectionCloses(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	for _, connection := range []string{"close", "keep-alive"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		const size = 17 << 20
		fmt.Fprintf(conn, "POST /v1/runs/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Content-Length: %d\r\nConnection: %s\r\n\r\n", p.tokenOf(), size, connection)
		if _, err := conn.Write(bytes.Repeat([]byte("x"), size)); err != nil {
			t.Errorf("%s: the body: %v", connection, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != 413 {
			t.Errorf("%s: the answer: %v %v", connection, res, err)
		}
	}
}
