package web

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"nightshift/api/client"
	"nightshift/jobs"
)

// plainer makes output fit for a page: escape sequences of terminals (ECMA-48) and control characters are left out,
// and where a line was to be written over a new one begins. Its output may come in pieces.
type plainer struct{ in escape }

// escape is where in an escape sequence a text stands.
type escape int

const (
	noEscape      escape = iota
	escapeBegun          // ESC
	escapeControl        // CSI: until a final byte
	escapeText           // OSC and its like: until BEL or ST
	escapeTextEnd        // ESC within it
)

func (p *plainer) plain(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for i, r := range s {
		switch p.in {
		case escapeBegun:
			p.in = noEscape
			switch {
			case r == '[':
				p.in = escapeControl
			case strings.ContainsRune("]PX^_", r):
				p.in = escapeText
			case r >= ' ' && r <= '/': // one more follows
				p.in = escapeBegun
			}
			continue
		case escapeControl:
			if r >= '@' && r <= '~' {
				p.in = noEscape
			}
			continue
		case escapeText, escapeTextEnd:
			switch {
			case r == '\a' || p.in == escapeTextEnd && r == '\\':
				p.in = noEscape
			case r == '\x1b':
				p.in = escapeTextEnd
			default:
				p.in = escapeText
			}
			continue
		}
		switch {
		case r == '\x1b':
			p.in = escapeBegun
		case r == '\r':
			if !strings.HasPrefix(s[i+1:], "\n") {
				out.WriteByte('\n')
			}
		case r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f):
			out.WriteRune(r)
		}
	}
	return out.String()
}

// followRun is the stream of the page of a run: events log with what it prints, changed when it has changed, and end
// when it has ended. ?from= is where in its output to go on.
func followRun(v *view, id jobs.ID) error {
	from, _ := strconv.ParseInt(v.query("from"), 10, 64)
	if at, err := strconv.ParseInt(v.r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		from = at
	}
	if _, err := v.API.Run(v.ctx(), id, 0); err != nil {
		return err
	}
	out, err := openStream(v.w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(v.ctx())
	defer cancel()
	changes := make(chan struct{}, 1)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel()
	loops.Go(func() { v.followChanges(ctx, changes, about{Run: id}) })
	loops.Go(func() {
		defer cancel() // what ended the log ends the stream
		v.followLog(ctx, id, &logStream{out: out, at: max(0, from)})
	})
	return out.tell(ctx, changes)
}

// followLog sends the output of a run until it has ended.
func (v *view) followLog(ctx context.Context, id jobs.ID, log *logStream) {
	state, _, err := v.API.Follow(ctx, id, log.at, log)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		_ = log.out.send("end", "", struct {
			State string `json:"state"`
		}{state})
	case !errors.Is(err, client.ErrCut):
		v.site.cfg.Log.Warn("a page cannot follow the output of a run", "run", id.String(), "error", err)
	}
}

// logStream writes output as events, each with where the next begins as its id.
type logStream struct {
	out  *stream
	at   int64
	text plainer
}

// logPause lets short pieces join: a page need not draw each line alone.
const logPause = 50 * time.Millisecond

func (l *logStream) Write(p []byte) (int, error) {
	l.at += int64(len(p))
	if text := l.text.plain(string(p)); text != "" {
		err := l.out.send("log", strconv.FormatInt(l.at, 10), struct {
			Text string `json:"text"`
		}{text})
		if err != nil {
			return 0, err
		}
		time.Sleep(logPause)
	}
	return len(p), nil
}
