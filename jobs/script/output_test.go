package script

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"nightshift/jobs"
)

func TestOutputOfBothStreamsIsKept(t *testing.T) {
	call, log := source("echo out; echo err >&2; exit 1")
	rep := begin(t, newKindAny(t), call).end(t)
	if want := "out\nerr\n"; log.String() != want || rep.OutputTail != want {
		t.Errorf("log %q, tail %q", log, rep.OutputTail)
	}
}

func TestOutputComesWhileTheScriptRuns(t *testing.T) {
	call, log := source(`echo one; read -r _ < "$FIFO"; echo two`)
	fifo := t.TempDir() + "/fifo"
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	call.Spec.Script.Env = map[string]string{"FIFO": fifo}
	r := begin(t, newKindAny(t), call)
	log.await(t, "one\n")
	if err := os.WriteFile(fifo, []byte("go on\n"), 0); err != nil {
		t.Fatal(err)
	}
	wantSuccess(t, r.end(t))
	if log.String() != "one\ntwo\n" {
		t.Errorf("output %q", log)
	}
}

func TestOutputIsPassedOnByteForByte(t *testing.T) { // S6
	call, log := source(`printf '\377\376 ok\n\000\033[1m<script>\342\200\250'
printf '\377\376 ok\n' >&2`)
	rep := begin(t, newKindAny(t), call).end(t)
	const want = "\xff\xfe ok\n\x00\x1b[1m<script>\u2028\xff\xfe ok\n"
	if log.String() != want {
		t.Errorf("log %q", log)
	}
	if rep.OutputTail != strings.ToValidUTF8(want, "\uFFFD") {
		t.Errorf("tail %q", rep.OutputTail)
	}
}

func TestLongLineComesWhole(t *testing.T) { // S3
	call, log := source(`head -c 5000000 /dev/zero | tr '\0' x; echo END`)
	rep := begin(t, newKindAny(t), call).end(t)
	wantSuccess(t, rep)
	if s := log.String(); len(s) != 5000004 || !strings.HasSuffix(s, "xEND\n") {
		t.Errorf("%d bytes", len(s))
	}
	if len(rep.OutputTail) != jobs.MaxOutput || !strings.HasSuffix(rep.OutputTail, "xEND\n") {
		t.Errorf("tail of %d bytes", len(rep.OutputTail))
	}
}

// counter takes in any amount.
type counter struct{ n, largest atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	c.largest.Store(max(c.largest.Load(), int64(len(p))))
	return len(p), nil
}

func TestMemoryIsFlatUnderEndlessOutput(t *testing.T) { // S3
	const size = 400 << 20
	call, _ := source(fmt.Sprintf(`head -c %d /dev/zero`, size))
	var log counter
	call.Log = &log
	k := newKindAny(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantSuccess(t, begin(t, k, call).end(t))
	runtime.ReadMemStats(&after)
	if log.n.Load() != size || log.largest.Load() > chunk {
		t.Errorf("%d bytes, %d at once", log.n.Load(), log.largest.Load())
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func TestTailIsBoundedValidAndTheEnd(t *testing.T) {
	for _, size := range []int{0, 1, 100, chunk - 1, chunk, chunk + 1, 3*kept + 7} {
		for _, unit := range []string{"x", "é", "日", "\xff", "\xf0\x9f\x98"} {
			all := strings.Repeat(unit, 300_000)[:100_000]
			var tl tail
			for rest := all; rest != ""; {
				n := min(max(size, 1), len(rest))
				_, _ = tl.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			last, text := tl.last(), tl.text()
			shrinks := !utf8.ValidString(unit) // what is not valid is replaced, a run at a time
			if len(last) > jobs.MaxOutput || len(last) < jobs.MaxOutput-4 && !shrinks ||
				!utf8.ValidString(last) {
				t.Errorf("%q by %d: a tail of %d bytes", unit, size, len(last))
			}
			if len(text) > kept || len(text) < kept-4 && !shrinks || !utf8.ValidString(text) {
				t.Errorf("%q by %d: a text of %d bytes", unit, size, len(text))
			}
			if len(tl.b) > 2*kept || cap(tl.b) > 4*kept {
				t.Errorf("%q by %d: %d bytes held", unit, size, cap(tl.b))
			}
			if valid := strings.ToValidUTF8(all, "\uFFFD"); !strings.HasSuffix(valid, text) {
				t.Errorf("%q by %d: not the end", unit, size)
			}
		}
	}
}

// Output that somebody out of reach holds open does not hold the attempt: what is there is taken.
func TestHeldOutputIsDrained(t *testing.T) {
	var p pipes
	if err := p.openOutput(); err != nil {
		t.Fatal(err)
	}
	defer p.closeTheirs()
	var log bytes.Buffer
	o := newOutput(&p, &jobs.Call{Log: &log})
	if _, err := io.WriteString(p.stdoutEnd, strings.Repeat("y", 50_000)); err != nil {
		t.Fatal(err)
	}
	go o.copy()
	if o.finish() {
		t.Error("it counts as ended")
	}
	if log.Len() != 50_000 {
		t.Errorf("%d bytes", log.Len())
	}
}

// The stream that was written to first comes first, each in its own order, however late they are read.
func TestStreamsComeInTheOrderTheyWereWrittenTo(t *testing.T) {
	var p pipes
	if err := p.openOutput(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := newOutput(&p, &jobs.Call{Log: &log})
	raw, err := o.wake.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, chunk)
	out, errs := p.stdoutEnd, p.stderrEnd
	want := ""
	for range 3 {
		for _, order := range [][]*os.File{{out, errs}, {errs, out}, {out, out}, {out, errs, out}, {errs, errs, out}} {
			texts := map[*os.File]string{}
			var first, last *os.File
			for i, f := range order {
				text := fmt.Sprintf("%d\n", i)
				_, _ = io.WriteString(f, text)
				texts[f] += text
				if first == nil {
					first = f
				}
				if f != first {
					last = f
				}
			}
			want += texts[first] + texts[last]
			for rest := order; len(rest) > 0; rest = rest[1:] {
				if err := raw.Control(func(fd uintptr) { o.poll(int(fd)) }); err != nil {
					t.Fatal(err)
				}
				if len(o.line) > 0 {
					o.read(buf)
				}
			}
		}
	}
	if log.String() != want {
		t.Errorf("log %q, want %q", log.String(), want)
	}
	p.closeTheirs()
	go o.copy()
	if !o.finish() {
		t.Error("it does not count as ended")
	}
}
