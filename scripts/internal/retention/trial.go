package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// outputBytes is how much each run leaves, and fileBytes about what it takes in the file: a result of that size has a
// page of its own.
const (
	outputBytes = 2000
	fileBytes   = 4500
)

// sink is called by the webhooks.
type sink struct {
	server *http.Server
	url    string
}

func newSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	answer := []byte(`{"x":"` + strings.Repeat("x", outputBytes-8) + `"}`)
	s := &sink{url: "http://" + l.Addr().String(), server: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})}}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *sink) close() { _ = s.server.Close() }

// trial is one server under load.
type trial struct {
	*plan
	name               string
	lasts, retain      time.Duration
	keepRuns, keepLogs int64

	server  *rig.Server
	mu      sync.Mutex
	took    []time.Duration // of enqueues
	late    int             // enqueues that were not made, since those before took too long
	refused []string
	samples []sample
}

// sample is how large the file was at one time.
type sample struct {
	at         time.Duration
	size       int64
	kept, free int64
	logs       int64
}

// state is what is read of GET /v1/server.
type state struct {
	Database struct {
		Size, Free int64
		Kept       []struct {
			Kind  string
			Bytes int64
		}
	}
}

func (t *trial) run(ctx context.Context, dir string, s *sink) (faults []string, err error) {
	dir = filepath.Join(dir, t.name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	args := []string{"--log-level", "warn", "--snapshot-every", "off", "--backup-every", "off", "--script-workers", "8"}
	if t.keepRuns > 0 {
		args = append(args, "--keep-runs", fmt.Sprint(t.keepRuns, "B"), "--keep-logs", fmt.Sprint(t.keepLogs, "B"))
	}
	if t.server, err = rig.NewServer(t.bin, dir, args...); err != nil {
		return nil, err
	}
	defer t.server.Close()
	if err := t.server.Start(); err != nil {
		return nil, err
	}
	if err := t.server.AwaitReady(30 * time.Second); err != nil {
		return nil, err
	}
	retain := map[string]any{"succeeded": fmt.Sprint(t.retain.Milliseconds(), "ms")}
	for name, job := range map[string]map[string]any{
		"hook":   {"webhook": map[string]any{"url": s.url}},
		"script": {"script": map[string]any{"source": "#!/bin/sh\nprintf %02000d 1\n"}},
	} {
		job["retain"] = retain
		if err := t.server.Register(ctx, name, job); err != nil {
			return nil, err
		}
	}
	fmt.Printf("%s: %d runs a second for %s\n", t.name, t.rate, t.lasts)
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	faults = t.judge(ctx)
	return faults, t.server.Stop(60 * time.Second)
}

// load makes runs at an even rate, and looks at the file each second.
func (t *trial) load(ctx context.Context) error {
	const callers = 32
	work := make(chan string, t.rate)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for job := range work {
				t.enqueue(ctx, job)
			}
		})
	}
	defer all.Wait()
	defer close(work)
	began := time.Now()
	each := time.NewTicker(50 * time.Millisecond)
	defer each.Stop()
	made, looked := 0, time.Duration(0)
	for {
		select {
		case <-each.C:
		case <-t.server.Ended():
			return fmt.Errorf("the server ended by itself\n%s", t.server.LogTail())
		case <-ctx.Done():
			return ctx.Err()
		}
		since := time.Since(began)
		if since > t.lasts {
			return nil
		}
		for want := int(since.Seconds() * float64(t.rate)); made < want; made++ {
			job := "hook"
			if made*t.scripts/t.rate != (made+1)*t.scripts/t.rate {
				job = "script"
			}
			select {
			case work <- job:
			default:
				t.late++
			}
		}
		if since-looked >= time.Second {
			looked = since
			if err := t.look(ctx, since); err != nil {
				return err
			}
		}
	}
}

func (t *trial) enqueue(ctx context.Context, job string) {
	began := time.Now()
	_, _, err := t.server.Enqueue(ctx, job, "", map[string]string{"x": strings.Repeat("p", 100)})
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.took = append(t.took, took); err != nil && len(t.refused) < 5 {
		t.refused = append(t.refused, err.Error())
	}
}

func (t *trial) look(ctx context.Context, at time.Duration) error {
	var now state
	if _, err := t.server.Do(ctx, "GET", "/v1/server", "", nil, &now); err != nil {
		return err
	}
	file, err := os.Stat(t.server.DB())
	if err != nil {
		return err
	}
	s := sample{at: at, size: file.Size(), free: now.Database.Free}
	for _, k := range now.Database.Kept {
		switch k.Kind {
		case "runs":
			s.kept = k.Bytes
		case "logs":
			s.logs = k.Bytes
		}
	}
	t.samples = append(t.samples, s)
	if n := len(t.samples); n%max(1, int(t.lasts.Seconds())/12) == 0 {
		fmt.Printf("  %6s  file %6.1f MB, free %5.1f MB, runs kept %6.1f MB, logs %5.1f MB\n", at.Round(time.Second), mb(s.size), mb(s.free),
			mb(s.kept), mb(s.logs))
	}
	return nil
}

func mb(n int64) float64 { return float64(n) / 1e6 }

// largest is the largest that the file was in a time.
func (t *trial) largest(of func(sample) int64, from, until time.Duration) (most int64) {
	for _, s := range t.samples {
		if s.at >= from && s.at < until {
			most = max(most, of(s))
		}
	}
	return most
}

func (t *trial) judge(ctx context.Context) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, t.name+": "+fmt.Sprintf(format, args...)) }
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.took) == 0 || len(t.samples) < 9 {
		fault("%d runs were made and the file was looked at %d times: the test proves nothing", len(t.took), len(t.samples))
		return faults
	}
	size := func(s sample) int64 { return s.size }
	third := t.lasts / 3
	before, after := t.largest(size, third, 2*third), t.largest(size, 2*third, t.lasts)
	written := int64(len(t.took)) * fileBytes
	slices.Sort(t.took)
	report := &rig.Report{}
	report.Row("runs", len(t.took))
	report.Row("runs that came too late to be made", t.late)
	report.Row("enqueue p50, p99, most", fmt.Sprint(t.took[len(t.took)/2].Round(time.Microsecond), ", ",
		t.took[len(t.took)*99/100].Round(time.Microsecond), ", ", t.took[len(t.took)-1].Round(time.Microsecond)))
	report.Row("what all would take", fmt.Sprintf("%.1f MB", mb(written)))
	report.Row("the file in the second third and the last, at most", fmt.Sprintf("%.1f MB, %.1f MB", mb(before), mb(after)))
	report.Print()
	for _, text := range t.refused {
		fault("a run was refused: %s", text)
	}
	if t.late > len(t.took)/10 {
		fault("%d of %d runs could not be made at that rate: the machine is too slow for it", t.late, len(t.took)+t.late)
	}
	if float64(after) > float64(before)*t.grows {
		fault("the file grew from %.1f MB to %.1f MB", mb(before), mb(after))
	}
	if after > written*2/3 {
		fault("the file holds %.1f MB of %.1f MB that were written: nothing shows that it is bounded", mb(after), mb(written))
	}
	if t.keepRuns > 0 {
		// A round deletes what is past the bound, and the next one comes some seconds later.
		over := int64(t.rate) * fileBytes * 12
		if kept := t.largest(func(s sample) int64 { return s.kept }, third, t.lasts); kept > t.keepRuns+over {
			fault("%.1f MB of runs were kept where %.1f MB may be", mb(kept), mb(t.keepRuns))
		}
		if logs := t.largest(func(s sample) int64 { return s.logs }, third, t.lasts); t.scripts > 0 && logs > t.keepLogs+over {
			fault("%.1f MB of logs were kept where %.1f MB may be", mb(logs), mb(t.keepLogs))
		}
	}
	found, err := rig.Inspect(ctx, t.server.DB())
	if err != nil {
		fault("the file is damaged: %v", err)
	}
	_ = found
	return faults
}
