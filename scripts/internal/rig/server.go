// Package rig runs the real nightshift binary as a process of its own for the fault scripts: it
// builds it, starts it on a fresh file, knows when it is ready, kills and stops it, and speaks to
// its HTTP API. It uses nothing of the server's packages: what it checks is what a user sees.
package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Token is the admin token of every server that a rig starts.
const Token = "fault-lab-0123456789abcdef0123456789abcdef"

// tempName is the folder of temporary files of a server. A start sees to what dead servers left in there: of
// others on the same machine that is not ours to see to.
const tempName = "tmp"

// Build compiles the binary of the module in the working directory into dir and gives its path.
func Build(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "nightshift")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released: it needs nothing from the host
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
}

// Server is one database and the process that serves it, started as often as one likes.
// Its methods are called by one goroutine; the API may be used by many.
type Server struct {
	API

	// Wrap, where not empty, is a command that gets the server's as its last arguments.
	Wrap []string

	// Env is added to the environment of the next starts.
	Env []string

	command []string
	dir     string
	db      string
	log     *os.File
	process *process
}

type process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{}
	err  error // of Wait, once done is closed
}

// NewServer prepares a server that runs the command serve of a binary on a new file in dir.
// args are added to the command line.
func NewServer(bin, dir string, args ...string) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "server.log"),
		os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	db := filepath.Join(dir, "data", "nightshift.db")
	for _, folder := range []string{filepath.Dir(db), filepath.Join(dir, tempName)} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return &Server{
		API:     NewAPI(addr),
		command: append([]string{bin, "serve", "--db", db, "--listen", addr}, args...),
		dir:     dir,
		db:      db,
		log:     log,
	}, nil
}

// freeAddr finds a loopback port below those that the kernel gives to clients: a client that
// calls a server which is down could else be connected to itself.
func freeAddr() (string, error) {
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(12000+rand.IntN(18000)))
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no free port between 12000 and 30000 on 127.0.0.1")
}

// DB is the path of the database.
func (s *Server) DB() string { return s.db }

// PID is the process that Start started last.
func (s *Server) PID() int { return s.process.pid }

// Start starts the process and returns at once.
func (s *Server) Start() error {
	pidFile := filepath.Join(s.dir, "pid")
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// The shell tells the pid of the server, which a wrapper would hide, and becomes it.
	shell := append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, pidFile}, s.command...)
	line := append(append([]string{}, s.Wrap...), shell...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "NIGHTSHIFT_TOKEN="+Token, "TMPDIR="+filepath.Join(s.dir, tempName))
	cmd.Env = append(cmd.Env, s.Env...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	// Of its own group: an interrupt at the terminal reaches the script alone, which then ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", line[0], err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	s.process = p
	return s.readPID(p, pidFile)
}

func (s *Server) readPID(p *process, pidFile string) error {
	return s.poll(10*time.Second, "the shell to tell its pid", func() bool {
		text, err := os.ReadFile(pidFile)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			return false
		}
		p.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
}

// poll waits until ok holds. It fails where that takes too long and where the server ends.
func (s *Server) poll(within time.Duration, what string, ok func() bool) error {
	deadline := time.Now().Add(within)
	for !ok() {
		select {
		case <-s.process.done:
			return fmt.Errorf("waiting for %s: the server ended by itself: %v\n%s",
				what, s.process.cmd.ProcessState, s.LogTail())
		case <-time.After(3 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting for %s: not within %v\n%s", what, within, s.LogTail())
		}
	}
	return nil
}

// AwaitReady returns when /readyz answers 200.
func (s *Server) AwaitReady(within time.Duration) error {
	return s.poll(within, "/readyz", s.Ready)
}

// Ended is closed when the process that Start started last is over.
func (s *Server) Ended() <-chan struct{} { return s.process.done }

// Kill sends SIGKILL to the server, to no child of it, and returns when it is gone.
func (s *Server) Kill() error {
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.done:
		return nil
	default:
	}
	if err := syscall.Kill(s.process.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %d: %w", s.process.pid, err)
	}
	<-s.process.done
	return nil
}

// Freeze sends SIGSTOP to the server and returns when it stands still.
func (s *Server) Freeze() error {
	if err := syscall.Kill(s.process.pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop %d: %w", s.process.pid, err)
	}
	return s.poll(time.Minute, "it to stand still", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.pid))
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return err == nil && bytes.HasPrefix(state, []byte("T"))
	})
}

// Thaw lets the server go on.
func (s *Server) Thaw() error {
	if err := syscall.Kill(s.process.pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue %d: %w", s.process.pid, err)
	}
	return nil
}

// Stop sends SIGTERM and returns when the server is gone; another exit status than 0 is an error.
func (s *Server) Stop(within time.Duration) error {
	if err := syscall.Kill(s.process.pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("terminate %d: %w", s.process.pid, err)
	}
	select {
	case <-s.process.done:
	case <-time.After(within):
		return fmt.Errorf("SIGTERM: still running after %v\n%s", within, s.LogTail())
	}
	if s.process.err != nil {
		return fmt.Errorf("SIGTERM: want exit 0, got: %w\n%s", s.process.err, s.LogTail())
	}
	return nil
}

// Close ends the server if it still runs.
func (s *Server) Close() {
	_ = s.Kill()
	_ = s.log.Close()
}

// LogTail is the end of what the server printed.
func (s *Server) LogTail() string {
	const most = 4 << 10
	size, err := s.log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	tail := make([]byte, min(size, most))
	n, _ := s.log.ReadAt(tail, size-int64(len(tail)))
	return "the end of the server's log:\n" + string(tail[:n])
}

// Leftovers are the files beside the database that a stop must not leave.
func (s *Server) Leftovers() []string {
	var left []string
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Stat(s.db + suffix); err == nil {
			left = append(left, filepath.Base(s.db)+suffix)
		}
	}
	return left
}

// Orphans are the processes whose environment holds an entry, such as those of scripts
// that a dead server left.
func Orphans(entry string) []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range dirs {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(entry)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// Status is how the process that Start started last has ended.
func (s *Server) Status() string {
	select {
	case <-s.process.done:
		return s.process.cmd.ProcessState.String()
	default:
		return "running"
	}
}
