package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSupervisorIsToldNothingGoodOfAServerThatIsNotWell(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var mu sync.Mutex
	var told []string
	go func() {
		b := make([]byte, 1<<10)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			mu.Lock()
			told = append(told, string(b[:n]))
			mu.Unlock()
		}
	}()
	until := func(what string, holds func(all string) bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			all := strings.Join(told, "\n--\n")
			mu.Unlock()
			if holds(all) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("in vain: %s\n%s", what, all)
			}
		}
	}
	log := &strings.Builder{}
	env := map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000"}
	sup, err := supervisorOf(func(name string) string { return env[name] }, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var notReady, stuck atomic.Bool
	notReady.Store(true)
	looks := atomic.Int64{}
	sup.follow(func(context.Context) error {
		if notReady.Load() {
			return errors.New("the disk is\nfull")
		}
		return nil
	}, func() error {
		looks.Add(1)
		if stuck.Load() {
			return errors.New("it stands still")
		}
		return nil
	})
	until("it asks for time", func(all string) bool {
		return strings.Contains(all, "STATUS=not ready: the disk is full\nEXTEND_TIMEOUT_USEC=30000000")
	})
	until("the watchdog is told", func(all string) bool { return strings.Count(all, "WATCHDOG=1") > 2 })
	until("it is not ready", func(all string) bool { return !strings.Contains(all, "READY=1") })
	notReady.Store(false)
	until("it is ready", func(all string) bool { return strings.Contains(all, "READY=1") })
	stuck.Store(true)
	until("it is stuck", func(all string) bool { return strings.HasSuffix(all, "STATUS=not well: it stands still") })
	for n := looks.Load(); looks.Load() < n+5; {
		time.Sleep(time.Millisecond)
	}
	until("nothing more is told", func(all string) bool { return strings.HasSuffix(all, "STATUS=not well: it stands still") })
	stuck.Store(false)
	until("it is well", func(all string) bool { return strings.Contains(all, "WATCHDOG=1\nSTATUS=well again") })
	stuck.Store(true)
	until("it is stuck again", func(all string) bool { return strings.HasSuffix(all, "STATUS=not well: it stands still") })
	sup.tellStopping()
	until("it stops, with the watchdog quiet", func(all string) bool {
		_, after, found := strings.Cut(all, "STOPPING=1")
		return found && strings.Contains(after, "WATCHDOG=1")
	})
	sup.close()
	if n := strings.Count(log.String(), "the watchdog is told nothing"); n != 2 {
		t.Errorf("told %d times:\n%s", n, log)
	}
}
