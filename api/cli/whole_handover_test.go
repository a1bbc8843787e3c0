package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// socket is a listener that outlives the servers on it, as that of systemd does.
type socket struct {
	t    *testing.T
	file *os.File
	addr string
}

func newSocket(t *testing.T) *socket {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	s := &socket{t: t, file: file, addr: ln.Addr().String()}
	_ = ln.Close() // the file holds it open
	t.Cleanup(func() { file.Close() })
	return s
}

// start starts a server on the socket, as sd_listen_fds(3) has it.
func (s *socket) start(dir string, env []string, args ...string) *process {
	s.t.Helper()
	return startCommand(s.t, dir, handing(dir, env, []*os.File{s.file}, args...))
}

// handing is a command that hands files over. The shell knows the process that it becomes.
func handing(dir string, env []string, files []*os.File, args ...string) *exec.Cmd {
	words := append([]string{"-c", `LISTEN_PID=$$ exec "$0" serve "$@"`, binary}, args...)
	cmd := exec.Command("sh", words...)
	cmd.Dir, cmd.ExtraFiles = dir, files
	cmd.Env = environment(append(env, fmt.Sprint("LISTEN_FDS=", len(files)), "LISTEN_FDNAMES=a:b")...)
	return cmd
}

// caller enqueues on one connection after another, by hand: no client library that would call again by itself.
type caller struct {
	addr, token string
	pause       func() time.Duration
	conn        net.Conn
	in          *bufio.Reader
	made        []string // acknowledged runs
	slowest     time.Duration
	conns       int
}

// enqueue makes a run. A connection that the server has closed in time, or says that it closes, is given up.
func (c *caller) enqueue() error {
	if c.conn != nil && c.ended() {
		c.leave()
	}
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return fmt.Errorf("refused: %w", err)
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
		c.conns++
	}
	began := time.Now()
	_ = c.conn.SetDeadline(began.Add(time.Minute))
	_, err := fmt.Fprintf(c.conn, "POST /v1/jobs/job/runs HTTP/1.1\r\nHost: localhost\r\n"+
		"Authorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}", c.token)
	if err != nil {
		return fmt.Errorf("reset as it calls: %w", err)
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("half an answer: %w", err)
	}
	c.slowest = max(c.slowest, time.Since(began))
	var run aRun
	if res.StatusCode != 202 || json.Unmarshal(text, &run) != nil {
		return fmt.Errorf("HTTP %d: %s", res.StatusCode, text)
	}
	c.made = append(c.made, run.ID)
	if res.Close {
		c.leave()
	}
	return nil
}

// ended reports whether the server has closed the connection.
func (c *caller) ended() bool {
	raw, err := c.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	n := 0
	_ = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return n == 0 && err == nil
}

func (c *caller) leave() {
	_ = c.conn.Close()
	c.conn = nil
}

func TestNoCallIsRefusedWhileServersTakeTurnsOnASocket(t *testing.T) {
	t.Parallel()
	restarts := 10
	if testing.Short() {
		restarts = 3
	}
	dir, s := t.TempDir(), newSocket(t)
	answered := newSink(t, func(int, http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Millisecond) })
	p := s.start(dir, nil)
	p.put("job", doc{"webhook": doc{"url": answered.URL}})
	p.put("script", doc{"script": doc{"source": "sleep 0.4"}})
	token, err := os.ReadFile(filepath.Join(dir, "nightshift.db.token"))
	if err != nil {
		t.Fatal(err)
	}
	var (
		over    atomic.Bool
		wg      sync.WaitGroup
		callers []*caller
	)
	upTo := func(d time.Duration) func() time.Duration {
		return func() time.Duration { return time.Duration(rand.Int64N(int64(d))) }
	}
	for i := range 18 {
		c := &caller{addr: s.addr, token: strings.TrimSpace(string(token))}
		switch i % 3 {
		case 0:
			c.pause = upTo(5 * time.Millisecond)
		case 1:
			c.pause = upTo(200 * time.Millisecond)
		case 2:
			c.pause = upTo(4 * time.Second) // longer than answers are the last of their connection
		}
		callers = append(callers, c)
		wg.Go(func() {
			for !over.Load() {
				if err := c.enqueue(); err != nil {
					t.Errorf("after %d runs on %d connections: %v", len(c.made), c.conns, err)
					return
				}
				time.Sleep(c.pause())
			}
		})
	}
	var gap time.Duration
	for range restarts {
		p.enqueue("script", nil)
		time.Sleep(200 * time.Millisecond)
		if code := p.stop(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.log)
		}
		began := time.Now()
		p = s.start(dir, nil)
		gap = max(gap, time.Since(began))
	}
	over.Store(true)
	wg.Wait()
	var made int
	var slowest time.Duration
	for _, c := range callers {
		made, slowest = made+len(c.made), max(slowest, c.slowest)
		for _, id := range c.made {
			p.run(id) // it exists
		}
	}
	t.Logf("%d restarts, %d runs, the slowest call %v, the slowest start %v", restarts, made, slowest, gap)
	if made < 100*restarts {
		t.Errorf("only %d runs were made", made)
	}
}

// While it stops a server on a socket that is handed over goes on with calls; those that wait are sent to the next.
func TestServerOnASocketThatIsHandedOverTakesCallsToTheEnd(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSocket(t)
	p := s.start(dir, []string{"NIGHTSHIFT_SHUTDOWN_GRACE=60s"})
	if p.url != "http://"+s.addr {
		t.Fatalf("it serves %s, not %s", p.url, s.addr)
	}
	goOn := filepath.Join(dir, "go")
	p.put("brief", doc{"script": doc{"source": "echo begun; env; ls -l /proc/self/fd; while [ ! -e " + goOn +
		" ]; do sleep 0.05; done; nightshift progress 3 4; echo over"}})
	id := p.enqueue("brief", nil)
	p.until("the script has begun", func() bool { return strings.Contains(p.logOf(id), "begun") })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("it stops", func() bool { return p.call("GET", "/readyz", nil, nil) == 503 })
	p.cli("ready").want(1).has("The server is stopping")
	later := p.enqueue("brief", nil)
	status, text, err := p.try("GET", "/v1/runs/"+id+"?wait=60s", nil)
	if err != nil || status != 503 || problem(t, text) != "stopping" {
		t.Errorf("a call that waits: %d %s %v", status, text, err)
	}
	if run := p.run(id); run.State != "running" {
		t.Errorf("the run is %s", run.State)
	}
	// A run whose end is awaited at the command line is awaited from the next server.
	awaited := make(chan *output, 1)
	go func() { awaited <- p.cli("run", "brief", "--wait", "--json") }()
	write(t, dir, "go", "")
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	// It waits in the kernel meanwhile.
	waited := make(chan *output, 1)
	go func() { waited <- p.cli("ready", "--wait", "60s") }()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	next := s.start(dir, nil)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != 200 {
		t.Errorf("a call between the servers: %v %v", res, err)
	}
	for _, id := range []string{id, later} {
		run := next.end(id)
		if run.State != "succeeded" || len(run.Attempts) != 1 {
			t.Errorf("%s: %s", run.State, run.outcomes())
		}
		log := next.logOf(id)
		for _, text := range []string{"LISTEN_", "NOTIFY_", "WATCHDOG_", "socket:"} {
			if strings.Contains(log, text) {
				t.Errorf("the script inherits %s\n%s", text, log)
			}
		}
	}
	(<-awaited).want(0)
	(<-waited).want(0)
	next.cli("ready", "--token", "of no use").want(0).has("The server takes work.")
	next.cli("ready", "--json").want(0).has(`"ready"`)
}

func TestWhatIsHandedOverMustBeOneListenerWithAPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "s")
	local, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	socket, err := local.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tcp := newSocket(t)
	for want, files := range map[string][]*os.File{
		"2 sockets are handed over (a:b)":                   {tcp.file, tcp.file},
		"what is handed over is no socket that listens":     {file},
		"the socket that is handed over, " + name + ", has": {socket},
	} {
		p := startCommand(t, dir, handing(dir, nil, files))
		if code := p.exit(); code != 1 || !strings.Contains(p.log.String(), want) {
			t.Errorf("want %s: exit code %d\n%s", want, code, p.log)
		}
	}
	for variable, want := range map[string]string{
		"LISTEN_FDS=many":    "LISTEN_FDS is \"many\"",
		"NOTIFY_SOCKET=here": "NOTIFY_SOCKET is \"here\"",
	} {
		cmd := handing(dir, nil, nil, "--listen", "127.0.0.1:0")
		cmd.Env = append(cmd.Env, variable)
		p := startCommand(t, dir, cmd)
		if code := p.exit(); code != 1 || !strings.Contains(p.log.String(), want) {
			t.Errorf("%s: exit code %d\n%s", variable, code, p.log)
		}
	}
	// Those of another process are left alone.
	p := startWith(t, dir, []string{"LISTEN_PID=1", "LISTEN_FDS=1", "NOTIFY_SOCKET=/none"})
	if code := p.stop(syscall.SIGTERM); code != 0 || !strings.Contains(p.log.String(), "cannot be told how it is") {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	// The socket counts, and not --listen.
	p = tcp.start(dir, nil, "--listen", "127.0.0.1:1")
	if p.url != "http://"+tcp.addr || !strings.Contains(p.log.String(), "--listen does not count") {
		t.Errorf("it serves %s\n%s", p.url, p.log)
	}
}

func TestSupervisorIsToldHowTheServerIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	told := &lockedBuffer{}
	go func() {
		b := make([]byte, 1<<10)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			fmt.Fprintf(told, "%s\n--\n", b[:n])
		}
	}()
	p := startWith(t, dir, []string{"NOTIFY_SOCKET=" + name, "WATCHDOG_USEC=300000"}, "--shutdown-grace", "60s")
	p.put("env", doc{"script": doc{"source": "env; while [ ! -e " + filepath.Join(dir, "go") + " ]; do sleep 0.05; done"}})
	p.until("it is ready", func() bool { return strings.Contains(told.String(), "READY=1\nSTATUS=serving\n") })
	if status := p.call("GET", "/readyz", nil, nil); status != 200 {
		t.Errorf("/readyz: %d", status)
	}
	pings := func() int { return strings.Count(told.String(), "WATCHDOG=1") }
	p.until("the watchdog is told", func() bool { return pings() > 3 })
	id := p.enqueue("env", nil)
	p.until("the script has begun", func() bool { return strings.Contains(p.logOf(id), "NIGHTSHIFT_RUN") })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("it stops, and the watchdog is told", func() bool {
		_, after, stopping := strings.Cut(told.String(), "STOPPING=1\nSTATUS=stopping\n")
		return stopping && strings.Contains(after, "WATCHDOG=1")
	})
	write(t, dir, "go", "")
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	if text := told.String(); strings.Count(text, "READY=1") != 1 {
		t.Errorf("it is told:\n%s", text)
	}
	p = start(t, dir)
	if log := p.logOf(id); strings.Contains(log, "NOTIFY_SOCKET") || strings.Contains(log, "WATCHDOG_") {
		t.Errorf("the script inherits\n%s", log)
	}
}
