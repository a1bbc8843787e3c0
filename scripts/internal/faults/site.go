package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// site is one server with its file, what it delivers to, and those who call it.
type site struct {
	*lab
	server   *rig.Server
	receiver *receiver
	load     *load
	root     string // its folder
	copies   int
}

// readyWithin is generous: machines that test are busy.
const readyWithin = 20 * time.Second

// newSite makes a server on a new file that has not been started.
func (l *lab) newSite(args ...string) (*site, error) {
	root, err := l.folder()
	if err != nil {
		return nil, err
	}
	server, err := rig.NewServer(l.bin, root, args...)
	if err != nil {
		return nil, err
	}
	r, err := newReceiver()
	if err != nil {
		return nil, err
	}
	s := &site{lab: l, server: server, receiver: r, load: newLoad(server.API, l.random.Uint64()), root: root}
	l.atEnd(func() { server.Close(); r.close() })
	return s, nil
}

// begin starts the server and registers what the load is for.
func (s *site) begin(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	return s.register(ctx)
}

func (s *site) start() error {
	if err := s.server.Start(); err != nil {
		return err
	}
	return s.server.AwaitReady(readyWithin)
}

// register puts the jobs, and a schedule that ticks each second.
func (s *site) register(ctx context.Context) error {
	host := "/v1/dependencies/" + strings.TrimPrefix(s.receiver.url, "http://")
	if _, err := s.server.Do(ctx, http.MethodPut, host, "", map[string]any{"breaker": nil, "concurrency": nil}, nil); err != nil {
		return err
	}
	for _, name := range []string{"quick", "slow", "flaky", "hold", "ticked"} {
		path := "/" + name
		if name == "ticked" {
			path = "/quick"
		}
		err := s.server.Register(ctx, name, map[string]any{
			"webhook": map[string]any{"url": s.receiver.url + path},
			"retry":   map[string]any{"backoff": map[string]any{"kind": "fixed", "base": "100ms"}},
		})
		if err != nil {
			return err
		}
	}
	_, err := s.server.Do(ctx, http.MethodPut, "/v1/schedules/second", "", map[string]any{
		"job": "ticked", "every": "1s", "overlap": "allow", "catch_up": map[string]any{"mode": "latest"},
	}, nil)
	return err
}

// awaitEnd waits until the server has ended by itself and gives its exit status.
func (s *site) awaitEnd(within time.Duration) (status string, err error) {
	select {
	case <-s.server.Ended():
		return s.server.Status(), nil
	case <-time.After(within):
		return "", fmt.Errorf("the server has not ended within %v\n%s", within, s.server.LogTail())
	}
}

// awaitAcks waits until so many more runs were acknowledged.
func (s *site) awaitAcks(ctx context.Context, more int, within time.Duration) error {
	want := s.load.acks() + more
	return s.await(ctx, fmt.Sprintf("%d more acknowledgements", more), within, func() bool { return s.load.acks() >= want })
}

// await waits until something holds, while the server lives.
func (s *site) await(ctx context.Context, what string, within time.Duration, ok func() bool) error {
	deadline := time.Now().Add(within)
	for !ok() {
		select {
		case <-s.server.Ended():
			return fmt.Errorf("waiting for %s: the server ended by itself: %s\n%s", what, s.server.Status(), s.server.LogTail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting for %s: not within %v\n%s", what, within, s.server.LogTail())
		}
	}
	return nil
}

// settle starts the server if it is down, waits until all has ended, stops it and looks into the file.
func (s *site) settle(ctx context.Context) error {
	select {
	case <-s.server.Ended():
		s.server.Wrap = nil
		if err := s.start(); err != nil {
			return fmt.Errorf("start after the fault: %w", err)
		}
	default:
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	if err := s.server.Stop(time.Minute); err != nil {
		s.fault("%v", err)
		_ = s.server.Kill()
	}
	if left := s.server.Leftovers(); len(left) > 0 {
		s.fault("the stop left %s beside the database", strings.Join(left, " "))
	}
	return s.judge(ctx)
}

// drainWithin is how long what was acknowledged may take to end.
const drainWithin = 90 * time.Second

// drain waits until no run is left that has not ended.
func (s *site) drain(ctx context.Context) error {
	_, err := s.server.Do(ctx, http.MethodDelete, "/v1/schedules/second", "", nil, nil)
	if said := saidBy(err); err != nil && said != "404 not-found" {
		return fmt.Errorf("delete the schedule: %w", err)
	}
	var last map[string]int
	err = s.await(ctx, "all runs to end", drainWithin, func() bool {
		var stats struct{ Runs map[string]int }
		if _, err := s.server.Do(ctx, http.MethodGet, "/v1/stats", "", nil, &stats); err != nil {
			return false
		}
		last = stats.Runs
		for _, n := range last {
			if n > 0 {
				pause(ctx, 100*time.Millisecond)
				return false
			}
		}
		return last != nil
	})
	if err != nil && ctx.Err() == nil {
		s.fault("stuck: runs that have not ended: %v: %v", last, err)
		return nil
	}
	return err
}

// judge looks into the file of a server that was stopped.
func (s *site) judge(ctx context.Context) error {
	s.Faults = append(s.Faults, checkFile(ctx, s.server.DB())...)
	s.Faults = append(s.Faults, verified(ctx, s.bin, s.server.DB())...)
	faults, err := s.load.check(ctx, s.server.DB())
	s.Faults = append(s.Faults, faults...)
	return err
}

// tell reports what the clients were answered.
func (s *site) tell() {
	s.Row("answers to writes", s.load.told(s.load.answers))
	s.Row("answers to reads", s.load.told(s.load.reads))
}

// logged are the lines of the server's log that hold a text.
func (s *site) logged(text string) (lines []string) {
	log, _ := os.ReadFile(filepath.Join(s.root, "server.log"))
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// why is what /readyz says; "": that the server takes work.
func (s *site) why() string {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second) // it may wait for a lock
	defer cancel()
	_, err := s.server.Do(ctx, http.MethodGet, "/readyz", "", nil, nil)
	var answer *rig.StatusError
	if err == nil {
		return ""
	}
	if !errors.As(err, &answer) {
		return err.Error()
	}
	var problem struct{ Detail string }
	_ = json.Unmarshal([]byte(answer.Body), &problem)
	return problem.Detail
}

// mount puts a file system on the folder of the database, until the experiment ends.
func (s *site) mount(ctx context.Context, args ...string) error {
	data := filepath.Dir(s.server.DB())
	if err := command(ctx, "mount", append(args, data)...); err != nil {
		return skip("no file system can be mounted: " + err.Error())
	}
	s.atEnd(func() {
		_ = s.server.Kill()
		_ = command(context.Background(), "umount", "-l", data)
	})
	return os.Chmod(data, 0o700)
}
