package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// modes are schedules of all modes, as often as given seconds.
func modes(seconds int64) []*schedule {
	return []*schedule{
		{name: "all", job: "quick", text: every(seconds), overlap: "queue", mode: "all"},
		{name: "few", job: "quick", text: every(seconds), overlap: "allow", mode: "all", limit: 2},
		{name: "latest", job: "quick", text: secondly(), overlap: "queue", mode: "latest"},
		{name: "slow", job: "slow", text: every(seconds), overlap: "replace", mode: "all"},
		{name: "none", job: "quick", text: every(seconds), overlap: "skip", mode: "none"},
		{name: "minutely", job: "quick", text: stepping("* * * * *", 0, 60), overlap: "queue", mode: "all"},
		{name: "paused", job: "quick", text: every(1), overlap: "allow", mode: "all"},
	}
}

// begun starts the server with schedules of all modes, one of them paused after a while.
func (l *lab) begun(ctx context.Context, seconds int64) error {
	if err := l.start(); err != nil {
		return err
	}
	for _, job := range []string{"quick", "slow"} {
		if err := l.register(ctx, job, "/"+job, nil); err != nil {
			return err
		}
	}
	if err := l.add(ctx, modes(seconds)...); err != nil {
		return err
	}
	if err := l.sleep(ctx, about(l.random, 2*time.Second, time.Second)); err != nil {
		return err
	}
	return l.pause(ctx, l.schedules[len(l.schedules)-1], true)
}

// stall stops the server for a time, in the middle of what it does, and lets it go on.
func stall(ctx context.Context, l *lab) error {
	if err := l.begun(ctx, 5); err != nil {
		return err
	}
	if err := l.server.Freeze(); err != nil {
		return err
	}
	o := outage{down: time.Now()}
	if err := l.sleep(ctx, l.stall); err != nil {
		return err
	}
	o.up = time.Now()
	if err := l.server.Thaw(); err != nil {
		return err
	}
	l.outages, l.ready = append(l.outages, o), o.up
	l.note("stopped for", o.up.Sub(o.down).Round(time.Millisecond))
	if err := l.resume(ctx); err != nil {
		return err
	}
	return l.settle(ctx)
}

// resume resumes what is paused, and lets it tick.
func (l *lab) resume(ctx context.Context) error {
	for _, s := range l.schedules {
		if s.paused() {
			if err := l.pause(ctx, s, false); err != nil {
				return err
			}
		}
	}
	return l.sleep(ctx, 1500*time.Millisecond)
}

// restore takes the server back to a copy of its file that it has gone on from.
func restore(ctx context.Context, l *lab) error {
	if err := l.begun(ctx, 2); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	copied := time.Now()
	older := l.server.DB() + ".copy"
	if err := copyFile(l.server.DB(), older); err != nil {
		return err
	}
	if err := l.start(); err != nil {
		return err
	}
	if err := l.sleep(ctx, 6*time.Second); err != nil {
		return err
	}
	if err := l.server.Kill(); err != nil {
		return err
	}
	// What it did since is not known to the copy: it was down all the time.
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(l.server.DB() + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if err := copyFile(older, l.server.DB()); err != nil {
		return err
	}
	l.receiver.forget(copied)
	l.outages = []outage{{down: copied}}
	l.server.Env = []string{"NIGHTSHIFT_RESUME=true"} // an older copy is held until somebody has looked
	if err := l.start(); err != nil {
		return err
	}
	l.note("went back by", fmt.Sprint(time.Since(copied).Round(time.Millisecond)))
	if err := l.resume(ctx); err != nil {
		return err
	}
	return l.settle(ctx)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
