package runtime

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// served is where the server is reached, "" where it is not.
type served struct{ url, local string }

// ServeAt tells where the server is reached: at url by receivers (--url, else where it listens), at
// local by what runs on this machine. It is called once, before Start.
func (r *Runtime) ServeAt(url, local string) {
	r.served = served{strings.TrimRight(url, "/"), strings.TrimRight(local, "/")}
}

// callback is the base of what an attempt of a run may call.
func (s *served) callback(run jobs.ID, kind string) string {
	base := s.url
	if kind == jobs.KindScript {
		base = s.local
	}
	if base == "" {
		return ""
	}
	return base + "/v1/callback/" + run.String()
}

// Hear takes in that an attempt has called, whatever becomes of its call: it is alive.
func (r *Runtime) Hear(f store.Fence) { r.waits.beat(f, r.clock.ran()) }

// The calls of a callback. Each is a heartbeat. Of an attempt that is over they change nothing and give
// a *store.OverError. What is wrong with what is said is a *jobs.InvalidError or *jobs.TooLargeError.

// Heartbeat says that the attempt is alive.
func (r *Runtime) Heartbeat(ctx context.Context, f store.Fence) error {
	if _, sure := r.waits.beat(f, r.clock.ran()); sure {
		return nil
	}
	if a := r.active.get(f.Run); a != nil && a.fence == f && a.open() {
		return nil
	}
	_, err := r.store.Lease(ctx, f) // between two slices, just being ended, or over
	return err
}

// Checkpoint is what the operation has saved, and what this attempt has; nil: nothing.
func (r *Runtime) Checkpoint(ctx context.Context, f store.Fence) (jobs.Raw, error) {
	if err := r.Heartbeat(ctx, f); err != nil {
		return nil, err
	}
	if u := r.active.find(f.Run); u != nil && u.fence == f {
		if value := u.pending(); value != nil {
			return given(*value), nil
		}
	}
	value, err := r.store.Checkpoint(ctx, f.Run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &store.OverError{}
	}
	return given(value), err
}

// given is nil for null: there is none any more.
func given(value jobs.Raw) jobs.Raw {
	if bytes.Equal(value, []byte("null")) {
		return nil
	}
	return value
}

// SaveCheckpoint has it on disk when it returns.
func (r *Runtime) SaveCheckpoint(ctx context.Context, f store.Fence, value jobs.Raw) error {
	if err := jobs.CheckCheckpoint(value); err != nil {
		return err
	}
	for {
		a := r.active.get(f.Run)
		if a == nil || a.fence != f { // nothing is judged just now: the store knows whether it is over
			r.waits.beat(f, r.clock.ran())
			return r.wrote(r.store.SaveCheckpoint(context.WithoutCancel(ctx), f, value, r.Now()))
		}
		open, err := r.saveHeld(ctx, a.underway, value)
		if open || err != nil {
			return err
		}
		if err := a.await(ctx); err != nil {
			return err
		}
	}
}

// saveHeld saves it before the attempt can be judged; open is false where that has been done. A
// checkpoint said before by a line, and not on disk, gives way.
func (r *Runtime) saveHeld(ctx context.Context, u *underway, value jobs.Raw) (open bool, err error) {
	if err := u.hold(ctx); err != nil {
		return false, err
	}
	if !u.open() {
		u.letGo()
		return false, nil
	}
	before := u.pending()
	u.swap(before, nil)
	// What was begun is written whoever waits for it: else nobody knows which of two stands.
	err = r.wrote(r.store.SaveCheckpoint(context.WithoutCancel(ctx), u.fence, value, r.Now()))
	if err != nil {
		u.swap(nil, before)
	} else {
		u.hasSaved()
	}
	n, _ := u.due(r.clock.ran(), false)
	if n.Progress == nil || err != nil {
		u.letGo()
		return true, err
	}
	// One that saves all the time would keep the writer of notes away.
	if err := r.keepThese([]*underway{u}, []store.Note{n}); err != nil {
		r.log.Warn("progress could not be kept yet", "error", err)
	}
	return true, nil
}

// await waits until it is known what became of an attempt that is being judged.
func (u *underway) await(ctx context.Context) error {
	select {
	case <-u.settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Progress is taken in; it is on disk within 2 s.
func (r *Runtime) Progress(ctx context.Context, f store.Fence, p jobs.Progress) error {
	for {
		u, err := r.reach(ctx, f, false)
		if err != nil {
			return err
		}
		said := p
		said.Note = u.masked().Text(said.Note)
		if err := said.Bound(); err != nil {
			return err
		}
		n := &jobs.Note{Progress: &said}
		if u.hear(n, r.clock.ran()) {
			r.heard(u, n)
			return nil
		}
		if err := u.await(ctx); err != nil {
			return err
		}
	}
}

// AppendLog adds text to the output of the attempt, on disk within 2 s.
func (r *Runtime) AppendLog(ctx context.Context, f store.Fence, text []byte) error {
	if len(text) == 0 {
		return r.Heartbeat(ctx, f)
	}
	for {
		u, err := r.reach(ctx, f, true)
		if err != nil {
			return err
		}
		line := u.masked().Bytes(text)
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			line = append(bytes.Clone(line), '\n')
		}
		if u.write(line, r.clock.ran()) {
			return nil
		}
		if err := u.await(ctx); err != nil {
			return err
		}
	}
}

// DropCheckpoint forgets what a run's operation has saved.
func (r *Runtime) DropCheckpoint(ctx context.Context, run jobs.ID, by store.By) error {
	by.Now = r.Now()
	u := r.active.find(run)
	if u == nil {
		return r.wrote(r.store.DropCheckpoint(ctx, run, by))
	}
	if err := u.hold(ctx); err != nil {
		return err
	}
	defer u.letGo()
	before := u.pending()
	u.swap(before, nil)
	err := r.wrote(r.store.DropCheckpoint(context.WithoutCancel(ctx), run, by))
	switch {
	case before != nil && errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		u.swap(nil, before)
	}
	return err
}

// reach gives what is in memory of an attempt under way, for which it reads what the store has where
// no worker has it. printed: its output too.
func (r *Runtime) reach(ctx context.Context, f store.Fence, printed bool) (*underway, error) {
	if waits, sure := r.waits.beat(f, r.clock.ran()); waits && !sure {
		if _, err := r.store.Lease(ctx, f); err != nil {
			return nil, err
		}
	}
	u := r.active.reach(f)
	if u == nil {
		l, err := r.store.Lease(ctx, f)
		switch {
		case err != nil:
			return nil, err
		case r.over.Err() != nil:
			return nil, store.ErrClosed
		}
		return nil, &store.OverError{State: l.Run.State}
	}
	return u, r.read(ctx, u, printed)
}

// read takes in what the store has, once.
func (r *Runtime) read(ctx context.Context, u *underway, printed bool) error {
	if u.has(printed) {
		return nil
	}
	if err := u.hold(ctx); err != nil {
		return err
	}
	defer u.letGo()
	if u.has(printed) {
		return nil
	}
	l, err := r.store.Lease(ctx, u.fence)
	if err != nil {
		r.active.abandon(u)
		return err
	}
	u.load(l)
	u.use(r.maskOf(l))
	u.touch(r.clock.ran())
	if printed {
		u.print(l)
		r.hub.changed(u.fence.Run) // who follows the output goes on here
	}
	return nil
}
