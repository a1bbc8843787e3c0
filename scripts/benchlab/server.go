package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// benchToken is the admin token of every server that is measured.
const benchToken = "bench-0123456789abcdef0123456789abcdef"

// readyWithin is how long a start on an empty file may take.
const readyWithin = 30 * time.Second

// server is nightshift as a process of its own, on a new file, with its defaults.
type server struct {
	cmd    *exec.Cmd
	addr   string
	db     string
	log    string
	ended  chan error // its exit, once
	remove func()
}

// build compiles nightshift, once.
func (l *lab) build(ctx context.Context) error {
	if l.binary != "" {
		return nil
	}
	binary, err := filepath.Abs(filepath.Join("tmp", "nightshift"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build nightshift: %w: %s", err, tail(out))
	}
	l.binary = binary
	return nil
}

// start starts a server and returns when it is ready.
func (l *lab) start(ctx context.Context) (*server, error) {
	if err := l.build(ctx); err != nil {
		return nil, err
	}
	dir, remove, err := l.folder()
	if err != nil {
		return nil, err
	}
	s := &server{
		db: filepath.Join(dir, "nightshift.db"), log: filepath.Join(dir, "server.log"), remove: remove,
	}
	if err := s.launch(ctx, l); err != nil {
		remove()
		return nil, err
	}
	return s, nil
}

// launch runs the process on the file as it is, and returns when it is ready.
func (s *server) launch(ctx context.Context, l *lab) (err error) {
	if s.addr, err = freeAddr(ctx); err != nil {
		return err
	}
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	dir := filepath.Dir(s.db)
	s.cmd = exec.CommandContext(ctx, l.binary, "serve", "--db", s.db, "--listen", s.addr)
	s.cmd.Dir = dir
	s.cmd.Stdout, s.cmd.Stderr = log, log
	temp := filepath.Join(dir, "tmp") // what other servers of this machine left is not ours to see to
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + temp, "NIGHTSHIFT_TOKEN=" + benchToken,
	}
	endWithParent(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start nightshift: %w", err)
	}
	ended := make(chan error, 1)
	s.ended = ended
	go func(cmd *exec.Cmd) { ended <- cmd.Wait() }(s.cmd)
	if err := s.ready(ctx); err != nil {
		return errors.Join(err, s.kill())
	}
	return nil
}

// again stops the server, has between work on its file, and starts it anew.
func (s *server) again(ctx context.Context, l *lab, between func() error) error {
	if _, err := s.halt(); err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	return s.launch(ctx, l)
}

// freeAddr finds a port of the loopback that nobody listens on.
func freeAddr(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// ready waits until the server takes work.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin,
		fmt.Errorf("nightshift was not ready in %s", readyWithin))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("nightshift ended before it was ready (%v): %s", err, s.complaint())
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), s.complaint())
		case <-tick.C:
		}
	}
}

func (s *server) complaint() []byte {
	text, _ := os.ReadFile(s.log)
	return tail(text)
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop is halt for good: the file goes.
func (s *server) stop() (mib float64, err error) {
	defer s.remove()
	return s.halt()
}

// halt ends the server as an operator would and fails unless it exits with 0, leaving one complete
// file. It gives the size of that file in MiB.
func (s *server) halt() (mib float64, err error) {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, fmt.Errorf("stop nightshift: %w: %s", err, s.complaint())
	}
	select {
	case err := <-s.ended:
		s.ended <- err
		if err != nil {
			return 0, fmt.Errorf("nightshift did not stop well: %w: %s", err, s.complaint())
		}
	case <-time.After(time.Minute):
		return 0, errors.Join(errors.New("nightshift was still there a minute after SIGTERM"), s.kill())
	}
	if wal, err := os.Stat(s.db + "-wal"); err == nil && wal.Size() > 0 {
		return 0, fmt.Errorf("nightshift left %d bytes in a WAL beside its file", wal.Size())
	}
	return fileMiB(s.db)
}

// kill ends the server without asking; for errors. It is safe after stop.
func (s *server) kill() error {
	defer s.remove()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.ended:
		s.ended <- err
		return nil
	case <-time.After(time.Minute):
		return errors.New("nightshift does not die")
	}
}

// with runs f with a server of its own and gives the size of the file that it left, in MiB.
func (l *lab) with(ctx context.Context, f func(*server) error) (mib float64, err error) {
	s, err := l.start(ctx)
	if err != nil {
		return 0, err
	}
	if err := f(s); err != nil {
		return 0, errors.Join(fmt.Errorf("%w; the server's log ends: %s", err, s.complaint()), s.kill())
	}
	return s.stop()
}
