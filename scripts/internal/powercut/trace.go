package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// straceArgs make strace write what readTrace reads: every byte as \xHH, descriptors with what
// they stand for, threads and children followed, whole buffers.
var straceArgs = []string{
	"-f", "-yy", "-xx", "-s", "8000000", "-e",
	"trace=openat,creat,pwrite64,write,writev,fsync,fdatasync,ftruncate,unlink,unlinkat,rename," +
		"renameat,renameat2",
}

// call is one system call. A call is told of twice: when it begins, with its arguments, and when
// it has returned.
type call struct {
	name   string
	args   []string // as strace prints them, split at ", "
	result int64    // once it has returned; -1: an error
	mark   any      // left by whoever saw it begin
}

// listener is told of the calls of a trace in the order in which they were seen to happen. As a
// thread that waits for another is let go only after the tracer has seen the other's call
// return, what depends on a call begins after its end.
type listener interface {
	begin(c *call) error
	end(c *call) error
}

// readTrace reads the output of strace.
func readTrace(r io.Reader, l listener) error {
	in := bufio.NewReaderSize(r, 1<<20)
	open := map[string]*call{} // by thread
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if text := strings.TrimRight(line, "\n"); text != "" {
			if err := readLine(text, open, l); err != nil {
				return fmt.Errorf("trace line %d: %w: %.200s", n, err, text)
			}
		}
		if err != nil {
			return nil
		}
	}
}

const (
	unfinished = " <unfinished ...>"
	resumed    = "<... "
)

func readLine(line string, open map[string]*call, l listener) error {
	thread, text, ok := strings.Cut(line, " ")
	text = strings.TrimLeft(text, " ")
	if !ok || strings.HasPrefix(text, "+++ ") || strings.HasPrefix(text, "--- ") {
		return nil
	}
	if strings.HasPrefix(text, resumed) {
		c := open[thread]
		delete(open, thread)
		_, rest, ok := strings.Cut(text, " resumed>")
		if c == nil || !ok {
			return errors.New("resumes what was not begun")
		}
		return finish(c, rest, l)
	}
	name, rest, ok := strings.Cut(text, "(")
	if !ok {
		return errors.New("not a call")
	}
	if args, ok := strings.CutSuffix(rest, unfinished); ok {
		c, err := newCall(name, strings.TrimSuffix(args, ","))
		if err != nil {
			return err
		}
		open[thread] = c
		return l.begin(c)
	}
	end := strings.LastIndex(rest, ") ")
	if end < 0 {
		return errors.New("a call without an end")
	}
	c, err := newCall(name, rest[:end])
	if err != nil {
		return err
	}
	if err := l.begin(c); err != nil {
		return err
	}
	return finish(c, rest[end:], l)
}

func newCall(name, args string) (*call, error) {
	if strings.Contains(args, `"...`) {
		return nil, errors.New("a buffer is cut: raise -s")
	}
	return &call{name: name, args: strings.Split(args, ", ")}, nil
}

// finish reads what follows the arguments: ") = 0", ") = 11</path>", ") = -1 ENOSPC (...)" or
// ") = ?".
func finish(c *call, rest string, l listener) error {
	_, value, ok := strings.Cut(rest, "= ")
	if !ok {
		return errors.New("no result")
	}
	digits := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '<' })
	c.result = -1
	if len(digits) > 0 {
		if n, err := strconv.ParseInt(digits[0], 10, 64); err == nil {
			c.result = n
		}
	}
	return l.end(c)
}

// arg is the nth argument, "" where there is none.
func (c *call) arg(n int) string {
	if n < len(c.args) {
		return c.args[n]
	}
	return ""
}

// descriptor is what the nth argument, a descriptor, stands for: a path or a socket such as
// TCP:[127.0.0.1:8700->127.0.0.1:40000]. deleted is set for a file that has lost its name.
func (c *call) descriptor(n int) (of string, deleted bool) {
	text, deleted := strings.CutSuffix(c.arg(n), "(deleted)")
	_, of, _ = strings.Cut(text, "<")
	of = strings.TrimSuffix(of, ">")
	if strings.Contains(of, `\x`) {
		of = string(unhex(of))
	}
	return of, deleted
}

// path is a path argument; dirAt is the argument that holds the folder a relative one begins at,
// -1 for none.
func (c *call) path(n, dirAt int) string {
	p := string(quoted(c.arg(n)))
	if dirAt >= 0 && !strings.HasPrefix(p, "/") {
		dir, _ := c.descriptor(dirAt)
		p = dir + "/" + p
	}
	return p
}

// data is all bytes that a write call hands over.
func (c *call) data() []byte {
	if c.name != "writev" {
		return quoted(c.arg(1))
	}
	var all []byte
	for _, a := range c.args[1:] {
		if strings.Contains(a, "iov_base=") {
			all = append(all, quoted(a)...)
		}
	}
	return all
}

// number is the nth argument as a number; false where it is none.
func (c *call) number(n int) (int64, bool) {
	v, err := strconv.ParseInt(c.arg(n), 0, 64)
	return v, err == nil
}

// quoted gives the bytes between the first two quotes.
func quoted(arg string) []byte {
	_, rest, ok := strings.Cut(arg, `"`)
	text, _, ok2 := strings.Cut(rest, `"`)
	if !ok || !ok2 {
		return nil
	}
	return unhex(text)
}

// unhex reads \xHH\xHH...; what is not of that form gives nil.
func unhex(text string) []byte {
	digits := bytes.ReplaceAll([]byte(text), []byte(`\x`), nil)
	out := make([]byte, len(digits)/2)
	if _, err := hex.Decode(out, digits); err != nil {
		return nil
	}
	return out
}
