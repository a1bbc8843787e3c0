package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/runtime"
	"nightshift/store"
)

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// receiver counts heartbeats, and answers as it is told to.
type receiver struct {
	calls  atomic.Int64
	answer func(ctx context.Context, n int64) error
}

func (r *receiver) beat(ctx context.Context) error { return r.answer(ctx, r.calls.Add(1)) }

func TestHeartbeatIsCalledEachMinuteWhileTheServerIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		r := &receiver{answer: func(context.Context, int64) error { return nil }}
		s := newServer(t, succeed)
		st := &watched{Store: s.st}
		s.reviveAs(st, func(cfg *runtime.Config) {
			cfg.Heartbeat, cfg.Log = r.beat, slog.New(slog.NewTextHandler(&log, nil))
		})
		s.rt.Start()
		until(minutes(5) + time.Second)
		if n := r.calls.Load(); n != 6 {
			t.Errorf("%d calls within five minutes and a moment", n)
		}
		st.probe.Store(failure{fmt.Errorf("%w: sorry", store.ErrBusy)})
		until(minutes(8) + time.Second)
		if n := r.calls.Load(); n != 6 || !strings.Contains(log.String(), "no heartbeat is sent") {
			t.Errorf("%d calls while the store cannot be written; the log is\n%s", n, log.String())
		}
		st.probe.Store(failure{})
		until(minutes(9) + time.Second)
		if n := r.calls.Load(); n != 7 {
			t.Errorf("%d calls once it can", n)
		}
		s.stop()
		until(minutes(12))
		if n := r.calls.Load(); n != 7 {
			t.Errorf("%d calls after the end", n)
		}
	})
}

func TestHeartbeatStopsWithTheTicker(t *testing.T) { // case 148
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(context.Context, int64) error { return nil }}
		s := newServer(t, succeed)
		st := &stalled{Store: s.st, by: minutes(10)}
		s.reviveAs(st, func(cfg *runtime.Config) { cfg.Heartbeat = r.beat })
		s.rt.Start()
		synctest.Wait()
		s.put(scheduled("a", everyMinute))
		until(30 * time.Second)
		st.once.Store(true)
		until(minutes(2) + 30*time.Second)
		if err := s.rt.Health(context.Background()); err == nil || !strings.Contains(err.Error(), "the scheduling loop stands still") {
			t.Errorf("health is %v", err)
		}
		until(minutes(10))
		if n := r.calls.Load(); n != 1 {
			t.Errorf("%d calls, want that of the start alone", n)
		}
		until(minutes(12) + time.Second)
		if n := r.calls.Load(); n != 3 { // at 00:11 and 00:12
			t.Errorf("%d calls once it goes on", n)
		}
		s.stop()
	})
}

// A receiver that hangs or fails delays no tick, and is told of once.
func TestReceiverOfHeartbeatsDelaysNothing(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context) error{
		"hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"fails": func(context.Context) error { return errors.New("HTTP 500") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lockedBuffer
				var took time.Duration
				r := &receiver{answer: func(ctx context.Context, n int64) error {
					if n > 3 {
						return nil
					}
					began := time.Now()
					defer func() { took = max(took, time.Since(began)) }()
					return answer(ctx)
				}}
				s := newServer(t, succeed)
				s.reviveAs(s.st, func(cfg *runtime.Config) {
					cfg.Heartbeat, cfg.Log = r.beat, slog.New(slog.NewTextHandler(&log, nil))
				})
				s.put(scheduled("a", `{"cron":"*/5 * * * * *"}`))
				s.rt.Start()
				until(minutes(4) + 2*time.Second)
				if took > 10*time.Second {
					t.Errorf("a call took %s", took)
				}
				late := 0
				for _, run := range s.runsFor("a:default") {
					if run.StartedAt.Sub(run.ScheduledFor) > 0 {
						late++
					}
				}
				if n := len(s.runsFor("a:default")); n != 48 || late > 0 {
					t.Errorf("%d runs, %d of them late", n, late)
				}
				for _, line := range []string{"the heartbeat cannot be sent", "the heartbeat is sent again"} {
					if n := strings.Count(log.String(), line); n != 1 {
						t.Errorf("%q is %d times in the log", line, n)
					}
				}
				s.stop()
			})
		})
	}
}
