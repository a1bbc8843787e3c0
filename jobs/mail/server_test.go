package mail

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// python is Debian's: others on the PATH may not see its packages.
const python = "/usr/bin/python3"

var haveServer = sync.OnceValue(func() error {
	return exec.Command(python, "-c", "import aiosmtpd").Run()
})

// options of the mail server; see testdata/smtpd.py.
type options struct {
	TLS  string   `json:"tls,omitempty"`
	Cert string   `json:"cert,omitempty"`
	Key  string   `json:"key,omitempty"`
	Auth string   `json:"auth,omitempty"`
	Ways []string `json:"ways,omitempty"`
	Hang string   `json:"hang,omitempty"`
	Drop string   `json:"drop,omitempty"`
	Echo bool     `json:"echo,omitempty"`
}

// event is what the mail server saw.
type event struct {
	Box                              int
	Event, Stage, Name, Address, Way string
	TLS                              bool
	Envelope                         struct {
		From string
		To   []string
	}
	Headers [][2]string
	Defects []string
	Body    string
	Raw     string
	User    string
}

func (e event) header(name string) string {
	var found []string
	for _, h := range e.Headers {
		if strings.EqualFold(h[0], name) {
			found = append(found, h[1])
		}
	}
	return strings.Join(found, " AND ")
}

// postbox is a mail server under test.
type postbox struct {
	t      testing.TB
	number int
	port   string
	office *office
}

// office is a process that holds mail servers.
type office struct {
	mu     sync.Mutex
	events []event
}

// startBox starts a mail server for the test.
func startBox(t testing.TB, o options) *postbox {
	t.Helper()
	return startBoxes(t, o)[0]
}

// startBoxes starts several in one process.
func startBoxes(t testing.TB, all ...options) []*postbox {
	t.Helper()
	if err := haveServer(); err != nil {
		t.Skipf("%s has no module aiosmtpd (Debian: python3-aiosmtpd): %v; what a mail server "+
			"would see is not tested", python, err)
	}
	config, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "testdata/smtpd.py", string(config))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(stdout, 1<<20)
	ports, err := lines.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the mail servers did not start: %v\n%s", err, &stderr)
	}
	o := &office{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		o.read(lines)
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-read
		_ = cmd.Wait()
		if stderr.Len() > 0 {
			t.Errorf("the mail servers: %s", &stderr)
		}
	})
	var boxes []*postbox
	for i, port := range strings.Fields(ports) {
		boxes = append(boxes, &postbox{t: t, number: i, port: port, office: o})
	}
	return boxes
}

func (o *office) read(lines io.Reader) {
	dec := json.NewDecoder(lines)
	for {
		var e event
		if dec.Decode(&e) != nil {
			return
		}
		o.mu.Lock()
		o.events = append(o.events, e)
		o.mu.Unlock()
	}
}

// of is the same server for a subtest.
func (b *postbox) of(t testing.TB) *postbox {
	c := *b
	c.t = t
	return &c
}

func (b *postbox) all(kind string) []event {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.office.events), func(e event) bool {
		return e.Box != b.number || e.Event != kind
	})
}

// messages are what it took or refused at the end, after the client has gone.
func (b *postbox) messages() []event {
	b.t.Helper()
	b.until("the connections to be closed", b.idle)
	return b.all("message")
}

func (b *postbox) idle() bool { return len(b.all("open")) == len(b.all("closed")) }

func (b *postbox) until(what string, holds func() bool) {
	b.t.Helper()
	until(b.t, what, holds)
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(kindtest.Patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", kindtest.Patience, what)
		}
	}
}

func (b *postbox) url(scheme, user, query string) string {
	if user != "" {
		user += "@"
	}
	return fmt.Sprintf("%s://%slocalhost:%s%s", scheme, user, b.port, query)
}

// inClear is a kind that sends to the mail server without TLS.
func (b *postbox) inClear() *Kind {
	return newKind(b.t, Config{SMTP: b.url("smtp", "", "?tls=none"), From: "jobs@here.test"})
}

func newKind(t testing.TB, cfg Config) *Kind {
	t.Helper()
	k, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mailTo(to ...string) jobs.Spec {
	return jobs.Spec{Mail: &jobs.Mail{To: to, Subject: "Night report", Body: "All is well.\n"}}
}

func run(t testing.TB, k *Kind, call *jobs.Call) jobs.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), kindtest.Patience)
	defer cancel()
	rep := k.Run(ctx, call)
	kindtest.CheckReport(t, rep)
	return rep
}

func send(t testing.TB, k *Kind, spec jobs.Spec) jobs.Report {
	t.Helper()
	return run(t, k, kindtest.NewCall(spec))
}

func wantSent(t testing.TB, rep jobs.Report) {
	t.Helper()
	if rep.Failure != nil || rep.Stopped != nil {
		t.Fatalf("failure %v, stopped %v: want neither", rep.Failure, rep.Stopped)
	}
}

// wantFailure checks kind and type, and that each text is part of the message.
func wantFailure(t testing.TB, rep jobs.Report, kind jobs.FailureKind, typ string, texts ...string) {
	t.Helper()
	f := rep.Failure
	if rep.Stopped != nil || f == nil || f.Kind != kind || f.Type != typ {
		t.Fatalf("failure %+v, stopped %v: want %s %s", f, rep.Stopped, kind, typ)
	}
	for _, text := range texts {
		if !strings.Contains(f.Message, text) {
			t.Errorf("message %q: want %q in it", f.Message, text)
		}
	}
}
