package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// mostLog is how large the log may grow (contract 13).
const mostLog = 64 << 20

// longReader reads without a pause under load. Reads of the server itself, over the API, keep the log within its
// bound. A reader in another process that holds one snapshot all the time keeps the log from being begun anew: it
// grows with what is written, which the server cannot prevent; when that reader has ended the log is within its bound
// again.
func longReader(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.size, s.load.clients, s.load.groups = 200<<10, 8, 0
	s.load.pause = pick(l, 30*time.Millisecond, 100*time.Millisecond)
	s.load.begin(ctx)
	long := pick(l, 8*time.Second, 10*time.Minute)
	if l.tried {
		long = 40 * time.Second
	}

	stop, readers := make(chan struct{}), &sync.WaitGroup{}
	var reads atomic.Int64
	for range 6 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.server.Do(ctx, http.MethodGet, "/v1/runs?limit=1000&q=nothing", "", nil, nil); err == nil {
					reads.Add(1)
				}
			}
		})
	}
	ours, err := s.largestLog(ctx, long)
	close(stop)
	readers.Wait()
	if err != nil {
		return err
	}
	s.Row("reads over the API", fmt.Sprintf("%d in %v; the log grew to %.1f MiB", reads.Load(), long, mib(ours)))
	if ours > mostLog {
		s.fault("the log grew to %.1f MiB with readers of the server alone; want at most 64", mib(ours))
	}

	foreign, err := s.holdRead(ctx)
	if err != nil {
		return err
	}
	acks := s.load.acks()
	theirs, err := s.largestLog(ctx, long)
	if err != nil {
		return err
	}
	s.Row("a reader of another process", fmt.Sprintf("%v; the log grew to %.1f MiB while %d runs were acknowledged", long, mib(theirs), s.load.acks()-acks))
	if s.load.acks() == acks {
		s.fault("while another process reads nothing is acknowledged")
	}
	before, err := s.logNumber()
	if err != nil {
		return err
	}
	if err := foreign.end(); err != nil {
		return err
	}
	begun := time.Now()
	err = s.await(ctx, "the log to be begun anew", 90*time.Second, func() bool {
		pause(ctx, 100*time.Millisecond)
		number, err := s.logNumber()
		return err == nil && number != before
	})
	if err != nil {
		return err
	}
	s.Row("  when it has ended the log is begun anew within", time.Since(begun).Round(100*time.Millisecond))
	s.load.stop(drainWithin)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	if s.load.answers["2xx"] == 0 || len(s.load.answers) > 1 {
		s.fault("while others read, writes were answered with %s", s.load.told(s.load.answers))
	}
	return s.settle(ctx)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// largestLog watches the log for a while.
func (s *site) largestLog(ctx context.Context, long time.Duration) (most int64, err error) {
	for end := time.Now().Add(long); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
		info, err := os.Stat(s.server.DB() + "-wal")
		if err != nil {
			return most, err
		}
		most = max(most, info.Size())
	}
	return most, ctx.Err()
}

// logNumber is how often the log was begun, as its head says; the file stays as large as it was.
func (s *site) logNumber() (uint32, error) {
	f, err := os.Open(s.server.DB() + "-wal")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, 16)
	_, err = f.ReadAt(head, 0)
	return binary.BigEndian.Uint32(head[12:]), err
}

// foreignReader is another process that reads one snapshot.
type foreignReader struct {
	cmd  *exec.Cmd
	stop func() error
}

func (s *site) holdRead(ctx context.Context) (*foreignReader, error) {
	cmd := exec.CommandContext(ctx, "sqlite3", "-batch", "-init", "/dev/null", s.server.DB())
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := in.Write([]byte("BEGIN; SELECT count(*) > 0 FROM runs;\n")); err != nil {
		return nil, err
	}
	if _, err := out.Read(make([]byte, 2)); err != nil {
		return nil, fmt.Errorf("sqlite3, which reads: %w", err)
	}
	return &foreignReader{cmd, in.Close}, nil
}

func (f *foreignReader) end() error {
	if err := f.stop(); err != nil {
		return err
	}
	return f.cmd.Wait()
}
