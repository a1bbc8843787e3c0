package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// firstHanded is the descriptor of the first socket that is handed over (sd_listen_fds(3)).
const firstHanded = 3

// supervisorVariables are those by which systemd speaks to the process that it starts, and to no other.
var supervisorVariables = []string{
	"LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
}

// takeSupervisor reads those variables and drops them, so that nothing that the server starts takes them for its own.
func takeSupervisor() func(string) string {
	values := map[string]string{}
	for _, name := range supervisorVariables {
		values[name] = os.Getenv(name)
		_ = os.Unsetenv(name)
	}
	return func(name string) string { return values[name] }
}

// handed is the listener that whoever started the server has opened for it (socket activation, sd_listen_fds(3));
// nil: there is none. Nothing that the server starts may inherit it.
func handed(env func(string) string) (net.Listener, error) {
	if env("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil // they are another process's
	}
	n, err := strconv.Atoi(env("LISTEN_FDS"))
	if err != nil || n < 0 || n > 1000 {
		return nil, fmt.Errorf("LISTEN_FDS is %q: want how many sockets are handed over", env("LISTEN_FDS"))
	}
	for fd := firstHanded; fd < firstHanded+n; fd++ {
		syscall.CloseOnExec(fd)
	}
	switch {
	case n == 0:
		return nil, nil
	case n > 1:
		return nil, fmt.Errorf("%d sockets are handed over (%s): the server listens on one, "+
			"so leave one ListenStream= in the .socket unit; [::]:8700 takes IPv4 too", n, env("LISTEN_FDNAMES"))
	}
	f := os.NewFile(firstHanded, "handed over")
	defer f.Close() // the listener has a descriptor of its own
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("what is handed over is no socket that listens: want ListenStream= and Accept=no "+
			"in the .socket unit: %w", err)
	}
	if _, tcp := ln.(*net.TCPListener); !tcp {
		name := ln.Addr().String()
		_ = ln.Close()
		return nil, fmt.Errorf("the socket that is handed over, %s, has no port: scripts and receivers call the "+
			"server by its address, so want such as ListenStream=127.0.0.1:8700 in the .socket unit", name)
	}
	return ln, nil
}

// supervisor is who started the server and wants to know how it is: systemd, by sd_notify(3). Nil: nobody does.
type supervisor struct {
	conn     *net.UnixConn
	log      *slog.Logger
	watchdog time.Duration // it kills a server that says nothing for that long; 0: it does not
	mute     atomic.Bool   // it could not be told, which has been said

	stopping, ended context.Context
	stop, end       context.CancelFunc
	ready, watching sync.WaitGroup
}

// supervisorOf finds who wants to know.
func supervisorOf(env func(string) string, log *slog.Logger) (*supervisor, error) {
	path := env("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' {
		return nil, fmt.Errorf("NOTIFY_SOCKET is %q: want a path, or a name behind @", path)
	}
	sup := &supervisor{log: log}
	if pid, text := env("WATCHDOG_PID"), env("WATCHDOG_USEC"); text != "" && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/1000 {
			return nil, fmt.Errorf("WATCHDOG_USEC is %q: want microseconds", text)
		}
		sup.watchdog = time.Duration(n) * time.Microsecond
	}
	var err error
	if sup.conn, err = net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
		// The variable may be meant for another process, which passed it on.
		log.Warn("whoever started the server cannot be told how it is", "error", fmt.Errorf("NOTIFY_SOCKET: %w", err))
		return nil, nil
	}
	sup.stopping, sup.stop = context.WithCancel(context.Background())
	sup.ended, sup.end = context.WithCancel(context.Background())
	return sup, nil
}

// tell sends assignments, such as READY=1.
func (sup *supervisor) tell(assignments ...string) {
	_ = sup.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := sup.conn.Write([]byte(strings.Join(assignments, "\n")))
	if err != nil && !sup.mute.Swap(true) {
		sup.log.Warn("whoever started the server cannot be told how it is", "error", err)
	}
}

// status is an assignment that people see in systemctl status.
func status(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", " ") }

const (
	// readyLook is how often it is looked whether the server takes work.
	readyLook = 50 * time.Millisecond
	// readyTold is how often it is told why it does not, and readyMore for how much time it asks then.
	readyTold = 5 * time.Second
	readyMore = 30 * time.Second
)

// follow tells how the server is from now on: ready says whether it takes work, turning whether its loops go round.
func (sup *supervisor) follow(ready func(context.Context) error, turning func() error) {
	if sup == nil {
		return
	}
	sup.ready.Go(func() { sup.awaitReady(ready) })
	if sup.watchdog > 0 {
		sup.watching.Go(func() { sup.watch(turning) })
	}
}

// awaitReady tells once the server is ready, as /readyz has it. Until then it says why not, and asks for time: the
// server answers, and to start it once more would change nothing.
func (sup *supervisor) awaitReady(ready func(context.Context) error) {
	var told time.Time
	for {
		err := ready(sup.stopping)
		switch {
		case sup.stopping.Err() != nil:
			return
		case err == nil:
			sup.tell("READY=1", status("serving"))
			return
		case time.Since(told) >= readyTold:
			told = time.Now()
			sup.tell(status("not ready: "+err.Error()), fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", readyMore.Microseconds()))
		}
		select {
		case <-sup.stopping.Done():
			return
		case <-time.After(readyLook):
		}
	}
}

// watch keeps the watchdog quiet while the loops of the server go round, and while it stops, which has bounds of its own.
func (sup *supervisor) watch(turning func() error) {
	tick := time.NewTicker(max(sup.watchdog/3, time.Millisecond))
	defer tick.Stop()
	for well := true; ; {
		err := turning()
		switch {
		case sup.stopping.Err() != nil || err == nil && well:
			sup.tell("WATCHDOG=1")
		case err == nil:
			sup.tell("WATCHDOG=1", status("well again"))
		case well:
			sup.log.Error("the watchdog is told nothing: the server is not well", "error", err)
			sup.tell(status("not well: " + err.Error()))
		}
		well = err == nil
		select {
		case <-sup.ended.Done():
			return
		case <-tick.C:
		}
	}
}

// tellStopping tells that the server stops.
func (sup *supervisor) tellStopping() {
	if sup == nil || sup.stopping.Err() != nil {
		return
	}
	sup.stop()
	sup.ready.Wait() // so that it is not ready after that
	sup.tell("STOPPING=1", status("stopping"))
}

// close ends what follow began.
func (sup *supervisor) close() {
	if sup == nil {
		return
	}
	sup.stop()
	sup.end()
	sup.ready.Wait()
	sup.watching.Wait()
	_ = sup.conn.Close()
}

// meetSupervisor takes what whoever started the server has for it.
func (sv *serving) meetSupervisor() (err error) {
	env := takeSupervisor()
	if sv.sup, err = supervisorOf(env, sv.log); err != nil {
		return err
	}
	if sv.ln, err = handed(env); err != nil {
		return err
	}
	if sv.taken = sv.ln != nil; sv.taken && sv.cmd.Listen != defaultListen {
		sv.log.Warn("--listen does not count: a socket is handed over", "listen", sv.ln.Addr().String())
	}
	return nil
}

// ready says why the server is not; nil: it is. One that is held waits for a person, and not for the end of its start.
func (sv *serving) ready(ctx context.Context) error {
	if sv.rt.Restored() != nil {
		return nil
	}
	return sv.rt.Health(ctx)
}
