package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"nightshift/scripts/internal/rig"
)

// copying copies latest.db.
type copying struct {
	*plan
	report *rig.Report
	made   int
	states map[int64]bool // as of when
	oldest time.Duration
	looked int
}

func (c *copying) fault(format string, args ...any) {
	c.report.Faults = append(c.report.Faults, fmt.Sprintf(format, args...))
}

// round makes copies of one file.
func (c *copying) round(ctx context.Context, s *rig.Server, l *load) error {
	latest := filepath.Join(filepath.Dir(s.DB()), "backups", "latest.db")
	copied := filepath.Join(filepath.Dir(filepath.Dir(s.DB())), "copied.db")
	for range min(c.perRound, c.copies-c.made) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(100 * time.Millisecond) // so that it is published meanwhile
		if out, err := exec.CommandContext(ctx, "cp", latest, copied).CombinedOutput(); err != nil {
			return fmt.Errorf("cp: %w: %s", err, out)
		}
		at := time.Now()
		c.made++
		if err := c.look(ctx, copied, at, l.all()); err != nil {
			c.fault("copy %d: %v", c.made, err)
		}
	}
	return nil
}

// look demands that a copy is whole and holds what was acknowledged before it says it is of.
func (c *copying) look(ctx context.Context, path string, at time.Time, acks []ack) error {
	ids, err := rig.Inspect(ctx, path)
	if err != nil {
		return err
	}
	rows, err := rig.Rows(ctx, path, "SELECT value FROM meta WHERE name = 'as_of'")
	if err != nil || len(rows) != 1 {
		return fmt.Errorf("it does not say as of when it is: %v, %w", rows, err)
	}
	ms, err := strconv.ParseInt(rows[0][0], 10, 64)
	if err != nil {
		return fmt.Errorf("as of: %w", err)
	}
	asOf := time.UnixMilli(ms)
	c.states[ms], c.oldest = true, max(c.oldest, at.Sub(asOf))
	for _, a := range acks {
		if a.at.Before(asOf) {
			c.looked++
			if !ids[a.id] {
				return fmt.Errorf("run %s was acknowledged at %s, it is as of %s and does not hold it", a.id, a.at, asOf)
			}
		}
	}
	return nil
}

// asking has backups made.
type asking struct {
	*plan
	report *rig.Report
}

// round makes the backups of one file.
func (b *asking) round(ctx context.Context, s *rig.Server, l *load) error {
	if err := b.fill(ctx, s); err != nil {
		return err
	}
	type span struct{ from, to time.Time }
	var during []span
	quiet := time.Now()
	var longest time.Duration
	size := int64(0)
	for n := range b.backups {
		time.Sleep(300 * time.Millisecond) // without one, to compare with
		dest := filepath.Join(filepath.Dir(filepath.Dir(s.DB())), fmt.Sprintf("backup-%d.db", n))
		before, began := l.all(), time.Now()
		cmd := exec.CommandContext(ctx, b.bin, "backup", "--json", dest)
		cmd.Env = append(os.Environ(), "NIGHTSHIFT_SERVER=http://"+s.Addr, "NIGHTSHIFT_TOKEN="+rig.Token)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("backup %d: %w: %s", n+1, err, out)
		}
		during = append(during, span{began, time.Now()})
		longest = max(longest, time.Since(began))
		var said struct{ Size int64 }
		if err := json.Unmarshal(out, &said); err != nil {
			return fmt.Errorf("backup %d: %w: %s", n+1, err, out)
		}
		size = said.Size
		ids, err := rig.Inspect(ctx, dest)
		if err != nil {
			b.report.Faults = append(b.report.Faults, fmt.Sprintf("backup %d: %v", n+1, err))
			continue
		}
		for _, a := range before {
			if !ids[a.id] {
				b.report.Faults = append(b.report.Faults,
					fmt.Sprintf("backup %d: run %s was acknowledged before it was asked for", n+1, a.id))
			}
		}
		if out, err := exec.CommandContext(ctx, b.bin, "verify", dest).CombinedOutput(); err != nil {
			b.report.Faults = append(b.report.Faults, fmt.Sprintf("verify of backup %d: %v: %s", n+1, err, out))
		}
		if err := os.Remove(dest); err != nil {
			return err
		}
	}
	var with, without []time.Duration
	for _, a := range l.all() {
		began, busy := a.at.Add(-a.took), false
		for _, d := range during {
			busy = busy || began.Before(d.to) && a.at.After(d.from)
		}
		switch {
		case busy:
			with = append(with, a.took)
		case began.After(quiet):
			without = append(without, a.took)
		}
	}
	b.report.Row("backups under load", b.backups)
	b.report.Row("  of a file of", fmt.Sprintf("%d MiB", size>>20))
	b.report.Row("  the longest took", longest.Round(time.Millisecond))
	b.report.Row("  enqueue, p50 and p99 meanwhile", fmt.Sprint(at(with, 50), " ", at(with, 99), " of ", len(with)))
	b.report.Row("  enqueue, p50 and p99 between", fmt.Sprint(at(without, 50), " ", at(without, 99), " of ", len(without)))
	return nil
}

// fill makes runs of a job that is paused.
func (b *asking) fill(ctx context.Context, s *rig.Server) error {
	if err := s.Register(ctx, "stored", map[string]any{"webhook": map[string]any{"url": "http://127.0.0.1:9/"}}); err != nil {
		return err
	}
	if _, err := s.Do(ctx, "POST", "/v1/jobs/stored/pause", "", map[string]any{}, nil); err != nil {
		return err
	}
	const step = 5000
	for left := b.loaded; left > 0; left -= step {
		entries := make([]rig.Entry, min(step, left))
		for i := range entries {
			entries[i] = rig.Entry{Job: "stored", Payload: map[string]int{"n": i}, Key: fmt.Sprint(left, "-", i)}
		}
		if _, err := s.Batch(ctx, entries); err != nil {
			return err
		}
	}
	return nil
}
