package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"nightshift/jobs"
	"nightshift/store"
)

// AwaitEnd blocks until the run has ended or ctx is done, and reports whether it has ended.
func (r *Runtime) AwaitEnd(ctx context.Context, id jobs.ID) (bool, error) {
	changed, stop := r.hub.watch(id)
	defer stop()
	for {
		run, err := r.store.Run(ctx, id)
		if ctx.Err() != nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if run.State.Terminal() {
			return true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, nil
		case <-r.stopping.Done():
			return false, nil
		}
	}
}

// Run reads a run whole, with HeldBy and the attempt that is under way.
func (r *Runtime) Run(ctx context.Context, id jobs.ID) (*jobs.Run, error) {
	run, err := r.store.Run(ctx, id)
	if err == nil {
		r.explain(run)
	}
	return run, err
}

// Runs lists runs, newest first, with HeldBy.
func (r *Runtime) Runs(ctx context.Context, f store.RunFilter, p store.Page) ([]*jobs.Run, string, error) {
	list, next, err := r.store.Runs(ctx, f, p)
	for _, run := range list {
		r.explain(run)
	}
	return list, next, err
}

// MaxAttempts is the run's own, else that of its job as it stands; 0 where the job is gone.
func (r *Runtime) MaxAttempts(ctx context.Context, run *jobs.Run) (int, error) {
	if run.MaxAttempts > 0 {
		return run.MaxAttempts, nil
	}
	e, err := r.plans.get(ctx, run.Job)
	if err != nil || e.deleted {
		return 0, err
	}
	return e.plan.MaxAttempts(0), nil
}

// explain says what a queued run waits for, where the store cannot know.
func (r *Runtime) explain(run *jobs.Run) {
	if run.State != jobs.Queued || run.HeldBy != nil &&
		(run.HeldBy.Kind == jobs.HeldPaused || run.HeldBy.Kind == jobs.HeldSecret) {
		return
	}
	switch {
	case r.draining.Load():
		run.HeldBy = &jobs.HeldBy{Kind: jobs.HeldDrain, Name: "server", Reason: "the server is drained: nothing starts until it is resumed"}
	case r.stopping.Err() != nil:
		run.HeldBy = &jobs.HeldBy{Kind: jobs.HeldDrain, Name: "server", Reason: "the server is stopping"}
	case r.diskFull.Load():
		run.HeldBy = &jobs.HeldBy{Kind: jobs.HeldDisk, Name: "database", Reason: "the database cannot be written: nothing starts until it can"}
	default:
		running, limit := r.active.count(), r.workersInAll()
		run.HeldBy = &jobs.HeldBy{
			Kind: jobs.HeldWorkers, Name: run.Queue,
			Reason: fmt.Sprintf("waits for its turn: %d attempts run, of %d workers in all", running, limit),
		}
	}
}

// Cancel decides at its commit: Cancelled where nothing ran, Running where the attempt is being
// stopped; store.ErrState where the run had ended otherwise.
func (r *Runtime) Cancel(ctx context.Context, id jobs.ID, by store.By) (jobs.State, error) {
	by.Now = r.Now()
	state, err := r.store.Cancel(ctx, id, by)
	if r.wrote(err) != nil {
		return state, err
	}
	if state == jobs.Running {
		r.launching.Lock()
		a := r.active.get(id)
		r.launching.Unlock()
		if a != nil {
			a.stop(jobs.ErrCancelled)
		}
	}
	r.hub.changed(id)
	return state, nil
}

// RunNow drops what is left of a delay or backoff.
func (r *Runtime) RunNow(ctx context.Context, id jobs.ID, by store.By) error {
	by.Now = r.Now()
	err := r.wrote(r.store.RunNow(ctx, id, by))
	r.hub.changed(id)
	return err
}

// Requeue makes a new run in place of an ended one.
func (r *Runtime) Requeue(ctx context.Context, rq store.Requeue) (store.Submitted, error) {
	if len(rq.Payload) > jobs.MaxPayload {
		return store.Submitted{}, &jobs.TooLargeError{Location: "payload", Size: len(rq.Payload), Limit: jobs.MaxPayload}
	}
	if err := r.hostOfRequeue(ctx, &rq); err != nil {
		return store.Submitted{}, err
	}
	rq.By.Now = r.Now()
	rq.ID = r.ids.Next(rq.By.Now.Std())
	rq.Trigger = jobs.TriggerRequeue
	out, err := r.store.Requeue(ctx, rq)
	r.hub.changed(rq.Of)
	return out, r.wrote(err)
}

// hostOfRequeue refuses what Submit would refuse: a payload from which the webhook's host cannot be
// read. What else is wrong the store finds.
func (r *Runtime) hostOfRequeue(ctx context.Context, rq *store.Requeue) error {
	run, err := r.store.Run(ctx, rq.Of)
	if err != nil {
		return ignoreNotFound(err)
	}
	job, err := r.plans.live(ctx, run.Job)
	if err != nil || !run.State.Terminal() {
		return ignoreNotFound(err)
	}
	payload := rq.Payload
	if payload == nil {
		payload = run.Payload
	}
	if _, failure := job.host(payload); failure != nil {
		return jobs.Invalid([]jobs.Fault{{Location: "payload", Message: failure.Message}})
	}
	return nil
}

// Remove deletes an ended run.
func (r *Runtime) Remove(ctx context.Context, id jobs.ID, by store.By) error {
	by.Now = r.Now()
	err := r.wrote(r.store.Remove(ctx, id, by))
	r.hub.changed(id)
	return err
}

// Log copies what is kept of a run's output to w, attempt after attempt. Where follow is true it
// goes on with what comes until the run has ended, calling flush after each piece.
func (r *Runtime) Log(ctx context.Context, id jobs.ID, w io.Writer, follow bool, flush func()) error {
	changed, stop := r.hub.watch(id)
	defer stop()
	lw := &logWriter{w: w}
	for {
		live := r.active.get(id)
		if err := r.copyStored(ctx, id, lw, live); err != nil {
			return err
		}
		flush()
		if live != nil {
			if err := copyLive(ctx, live, lw, follow, flush); err != nil {
				return err
			}
			if follow {
				continue
			}
		}
		if !follow {
			return lw.finish()
		}
		run, err := r.store.Run(ctx, id)
		if err != nil {
			return ignoreNotFound(err)
		}
		if run.State.Terminal() {
			return errors.Join(r.copyStored(ctx, id, lw, nil), lw.finish())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stopping.Done():
			return nil
		}
	}
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// copyStored writes the stored output of attempts not yet written, but of the one that is live.
func (r *Runtime) copyStored(ctx context.Context, id jobs.ID, lw *logWriter, live *attempt) error {
	from := lw.attempt
	return r.store.Log(ctx, id, func(p store.LogPiece) error {
		if p.Attempt < from || p.Attempt == from && p.Offset+int64(len(p.Data)) <= lw.next {
			return nil
		}
		if live != nil && p.Attempt >= live.lease.Run.Counts.Number {
			return nil
		}
		return lw.write(p.Attempt, p.Offset, p.Data)
	})
}

// copyLive writes the output of an attempt under way from memory.
func copyLive(ctx context.Context, a *attempt, lw *logWriter, follow bool, flush func()) error {
	number := a.lease.Run.Counts.Number
	if lw.attempt < number {
		lw.begin(number)
	}
	for {
		data, next, more, over := a.output.read(lw.next)
		if len(data) > 0 {
			if err := lw.write(number, next-int64(len(data)), data); err != nil {
				return err
			}
			flush()
			continue
		}
		if over || !follow {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// logWriter writes pieces in order, marks what is missing and cuts at characters.
type logWriter struct {
	w       io.Writer
	attempt int
	next    int64  // offset in the attempt's output
	held    []byte // the begin of a character whose rest has not come
	wrote   bool
	ended   bool // the last byte written was a line feed
}

func (l *logWriter) begin(attempt int) {
	l.attempt, l.next, l.held = attempt, 0, nil
}

func (l *logWriter) write(attempt int, offset int64, data []byte) error {
	if attempt != l.attempt {
		if err := l.finish(); err != nil {
			return err
		}
		l.begin(attempt)
	}
	if skip := l.next - offset; skip > 0 {
		if skip >= int64(len(data)) {
			return nil
		}
		data, offset = data[skip:], l.next
	}
	if err := l.head(attempt); err != nil {
		return err
	}
	if missing := offset - l.next; missing > 0 {
		cut := leadingContinuation(data)
		mark := fmt.Sprintf("\n[... %d bytes missing ...]\n", missing+int64(cut+len(l.held)))
		data, offset, l.held = data[cut:], offset+int64(cut), nil
		if err := l.put([]byte(mark)); err != nil {
			return err
		}
	}
	l.next = offset + int64(len(data))
	data = append(l.held, data...)
	whole := len(data) - trailingBegin(data)
	l.held = append([]byte(nil), data[whole:]...)
	return l.put(data[:whole])
}

// head says which attempt's output begins, but for the first.
func (l *logWriter) head(attempt int) error {
	if l.next != 0 || attempt == 1 {
		return nil
	}
	text := fmt.Sprintf("--- attempt %d ---\n", attempt)
	if l.wrote && !l.ended {
		text = "\n" + text
	}
	return l.put([]byte(text))
}

// finish writes what was held back: the output ended within a character.
func (l *logWriter) finish() error {
	held := l.held
	l.held = nil
	return l.put(held)
}

func (l *logWriter) put(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	l.wrote, l.ended = true, data[len(data)-1] == '\n'
	_, err := l.w.Write(data)
	return err
}

// leadingContinuation counts the bytes of a character that began in what is missing.
func leadingContinuation(data []byte) int {
	n := 0
	for n < len(data) && n < utf8.UTFMax-1 && !utf8.RuneStart(data[n]) {
		n++
	}
	return n
}

// trailingBegin counts the bytes at the end that begin a character but do not end it.
func trailingBegin(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if b := data[len(data)-n:]; utf8.RuneStart(b[0]) {
			if b[0] >= utf8.RuneSelf && !utf8.FullRune(b) {
				return n
			}
			return 0
		}
	}
	return 0
}
