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

// Log copies what is kept of a run's output to w, attempt after attempt. Where follow is true it
// goes on with what comes until the run has ended, calling flush after each piece.
func (r *Runtime) Log(ctx context.Context, id jobs.ID, w io.Writer, follow bool, flush func()) error {
	changed, stop := r.hub.watch(id)
	defer stop()
	lw := &logWriter{w: w}
	for {
		live := r.active.find(id)
		if live != nil && live.printed() == nil {
			live = nil // nothing of its output is in memory
		}
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
			return r.finishLog(ctx, id, lw)
		}
		run, err := r.store.Run(ctx, id)
		if err != nil {
			return ignoreNotFound(err)
		}
		if run.State.Terminal() {
			return errors.Join(r.copyStored(ctx, id, lw, nil), r.finishLog(ctx, id, lw))
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

// finishLog ends a log. Of one that is empty it says why, where it was pruned.
func (r *Runtime) finishLog(ctx context.Context, id jobs.ID, lw *logWriter) error {
	if err := lw.finish(); err != nil || lw.wrote {
		return err
	}
	run, err := r.store.Run(ctx, id)
	if err != nil || run.LogPruned == 0 {
		return ignoreNotFound(err)
	}
	return lw.put(fmt.Appendf(nil, "[... %d bytes pruned: more was kept of all logs than --keep-logs says ...]\n", run.LogPruned))
}

// copyStored writes the stored output of attempts not yet written, but of the one that is live.
func (r *Runtime) copyStored(ctx context.Context, id jobs.ID, lw *logWriter, live *underway) error {
	from := lw.attempt
	return r.store.Log(ctx, id, func(p store.LogPiece) error {
		if p.Attempt < from || p.Attempt == from && p.Offset+int64(len(p.Data)) <= lw.next {
			return nil
		}
		if live != nil && p.Attempt >= live.fence.Number {
			return nil
		}
		return lw.write(p.Attempt, p.Offset, p.Data)
	})
}

// copyLive writes the output of an attempt under way from memory.
func copyLive(ctx context.Context, live *underway, lw *logWriter, follow bool, flush func()) error {
	number, printed := live.fence.Number, live.printed()
	if lw.attempt < number {
		lw.begin(number)
	}
	for {
		data, next, more, over := printed.read(lw.next)
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
