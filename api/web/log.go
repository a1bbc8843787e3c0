package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"nightshift/api/client"
	"nightshift/jobs"
)

// plainer makes the output of programs fit for a page, over pieces that may cut anything: escape sequences
// (ECMA-48) and control characters are left out, and what would write over a line begins a new one.
type plainer struct {
	state  escape
	length int  // of the sequence so far
	cr     bool // a carriage return came last
}

// escape is where in an escape sequence a text stands.
type escape int

const (
	outside escape = iota
	begun          // ESC has come
	control        // ESC [ has come
	command        // ESC ] or the like has come: it ends with BEL or ESC \
	ending         // ESC within that
	charset        // one more character comes
)

// maxEscape bounds a sequence: what never ends is text again.
const maxEscape = 4096

func (p *plainer) plain(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if p.within(r) {
			continue
		}
		if p.cr {
			p.cr = false
			b.WriteByte('\n')
			if r == '\n' {
				continue
			}
		}
		switch {
		case r == '\r':
			p.cr = true
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) || turns(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// within takes a character that is part of a sequence.
func (p *plainer) within(r rune) bool {
	if p.length++; p.length > maxEscape {
		p.state = outside
	}
	switch p.state {
	case outside:
		if p.length = 0; r != 0x1b && r != 0x9b {
			return false
		}
		p.state = begun
		if r == 0x9b {
			p.state = control
		}
	case begun:
		switch {
		case r == '[':
			p.state = control
		case strings.ContainsRune("]PX^_", r):
			p.state = command
		case strings.ContainsRune("()*+-./#% ", r):
			p.state = charset
		case r < ' ' || r >= utf8.RuneSelf: // nothing that follows ESC
			p.state = outside
			return false
		default:
			p.state = outside
		}
	case control:
		if r < ' ' || r >= utf8.RuneSelf {
			p.state = outside
			return false
		}
		if r >= '@' {
			p.state = outside
		}
	case command:
		switch r {
		case 0x07, 0x9c:
			p.state = outside
		case 0x1b:
			p.state = ending
		}
	case ending:
		if p.state = command; r == '\\' {
			p.state = outside
		}
	case charset:
		p.state = outside
	}
	return true
}

// turns reports whether a character turns the direction of what follows.
func turns(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
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
	ctx, cancel := context.WithCancel(v.ctx())
	changes, over := v.followChanges(ctx, about{Run: id})
	defer func() { cancel(); <-over }()
	out, err := openStream(v.w)
	if err != nil {
		return err
	}
	var log sync.WaitGroup
	defer log.Wait()
	defer cancel()
	log.Go(func() {
		defer cancel() // what ended the log ends the stream
		v.followLog(ctx, id, out, max(0, from))
	})
	return out.tell(ctx, changes)
}

// followLog sends the output of a run until it has ended.
func (v *view) followLog(ctx context.Context, id jobs.ID, out *stream, from int64) {
	var p plainer
	state, err := v.API.FollowLog(ctx, id, from, func(text string, behind int64) error {
		if text = p.plain(text); text == "" {
			return nil
		}
		err := out.send("log", strconv.FormatInt(behind, 10), struct {
			Text string `json:"text"`
		}{text})
		if err == nil {
			time.Sleep(logPause)
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err == nil:
		_ = out.send("end", "", struct {
			State string `json:"state"`
		}{state})
	case !errors.Is(err, client.ErrCut):
		v.site.cfg.Log.Warn("a page cannot follow the output of a run", "page", v.r.URL.Path, "error", err)
	}
}

// logPause lets short pieces join: a page need not draw each line alone.
const logPause = 50 * time.Millisecond

// shownLog is the end of what a run has printed, as far as a page holds it.
type shownLog struct {
	Text string
	Cut  int64 // bytes before it
	At   int64 // where what comes next begins
}

// maxShownLog is how much of a log stands in a page; the rest can be downloaded.
const maxShownLog = 64 << 10

func (v *view) readLog(ctx context.Context, id jobs.ID) (shownLog, error) {
	end := &tailOf{limit: maxShownLog}
	if err := v.API.Log(ctx, id, end); err != nil {
		return shownLog{}, err
	}
	kept := end.kept()
	cut := end.all - int64(len(kept))
	if line := bytes.IndexByte(kept, '\n'); cut > 0 && line >= 0 { // it begins with a whole line
		kept, cut = kept[line+1:], cut+int64(line)+1
	}
	var p plainer
	return shownLog{Text: p.plain(string(bytes.ToValidUTF8(kept, []byte("\uFFFD")))), Cut: cut, At: end.all}, nil
}

// tailOf keeps the end of what is written to it.
type tailOf struct {
	limit int
	all   int64
	buf   []byte
}

func (t *tailOf) Write(p []byte) (int, error) {
	t.all += int64(len(p))
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.limit:]...)
	}
	return len(p), nil
}

func (t *tailOf) kept() []byte { return t.buf[max(0, len(t.buf)-t.limit):] }

// downloadLog gives the log as the run printed it.
func downloadLog(v *view, id jobs.ID) error {
	if _, err := v.API.Run(v.ctx(), id, 0); err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+id.String()+`.log"`)
	if err := v.API.Log(v.ctx(), id, patient{v.w}); err != nil && v.ctx().Err() == nil {
		v.site.cfg.Log.Warn("the log of a run could not be sent whole", "run", id.String(), "error", err)
		panic(http.ErrAbortHandler) // whoever gets it must see that the rest is missing
	}
	return nil
}

// patient gives each write of a long answer a deadline of its own.
type patient struct{ w http.ResponseWriter }

func (p patient) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(writeWithin))
	return p.w.Write(b)
}
