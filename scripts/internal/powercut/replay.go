package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// replay follows a trace: what it does to the disk, and when the server answers. Before the server
// begins to write an answer that names runs or schedules it calls cut with their ids and names. Checkpoints
// are saved one after another, and nothing else is answered with 204: the nth of these is the nth's.
type replay struct {
	disk   *disk
	server string   // host:port it listens on
	sqlite []string // names of the files that SQLite writes
	saved  int      // checkpoints answered so far
	cut    func(ids []string) error
}

// newReplay follows a server of the database db that listens on host:port.
func newReplay(db, server string, cut func(ids []string) error) *replay {
	name := filepath.Base(db)
	return &replay{
		disk: newDisk(filepath.Dir(db)), server: server, cut: cut,
		sqlite: []string{name, name + "-wal", name + "-journal"},
	}
}

var (
	acknowledged = regexp.MustCompile(
		`"id": ?"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"|"name": ?"(` + schedulePrefix + `[0-9]+)"`)
	status = regexp.MustCompile(`^HTTP/1\.1 (\d\d\d)`)
)

func (r *replay) begin(c *call) error {
	switch c.name {
	case "write", "writev":
		if of, _ := c.descriptor(0); strings.HasPrefix(of, "TCP:["+r.server+"->") {
			return r.answer(c.data())
		}
	case "fsync", "fdatasync":
		// What is written while it runs may be missed by it.
		of, deleted := c.descriptor(0)
		name, ok := r.disk.name(of)
		switch {
		case ok && !deleted:
			c.mark = r.disk.promise(r.disk.file(name))
			r.disk.syncs++
			r.disk.syncsOf[name]++
		case ok || of == r.disk.folder:
			c.mark = r.disk.promise(nil)
			r.disk.syncs++
		}
	}
	return nil
}

// answer looks for runs, schedules and checkpoints in what the server sends to a client.
func (r *replay) answer(data []byte) error {
	if s := status.FindSubmatch(data); s != nil {
		switch {
		case string(s[1]) == "204":
			r.saved++
			return r.cut([]string{savedName(r.saved)})
		case s[1][0] != '2':
			return nil
		}
	}
	var ids []string
	for _, m := range acknowledged.FindAllSubmatch(data, -1) {
		ids = append(ids, string(m[1])+string(m[2]))
	}
	if len(ids) == 0 {
		return nil
	}
	return r.cut(ids)
}

func (r *replay) end(c *call) error {
	if c.result < 0 {
		return nil
	}
	switch c.name {
	case "openat", "creat":
		r.open(c)
	case "pwrite64", "write", "writev", "ftruncate":
		return r.write(c)
	case "fsync", "fdatasync":
		if p, ok := c.mark.(promise); ok {
			r.disk.keep(p)
		}
	case "unlink", "unlinkat", "rename", "renameat", "renameat2":
		r.rename(c)
	}
	return nil
}

func (r *replay) open(c *call) {
	path, flags := c.path(1, 0), c.arg(2)
	if c.name == "creat" {
		path, flags = c.path(0, -1), "O_CREAT|O_TRUNC"
	}
	name, ok := r.disk.name(path)
	if !ok {
		return
	}
	if strings.Contains(flags, "O_CREAT") {
		r.disk.file(name)
	}
	if strings.Contains(flags, "O_TRUNC") {
		r.disk.file(name).write(0, nil)
	}
}

func (r *replay) write(c *call) error {
	of, deleted := c.descriptor(0)
	name, ok := r.disk.name(of)
	if !ok || deleted {
		return nil
	}
	f := r.disk.file(name)
	switch c.name {
	case "ftruncate":
		length, ok := c.number(1)
		if !ok {
			return fmt.Errorf("ftruncate to %q", c.arg(1))
		}
		f.write(length, nil)
	case "pwrite64":
		offset, ok := c.number(3)
		data := c.data()
		if !ok || int64(len(data)) < c.result {
			return fmt.Errorf("pwrite64 at %q of %d bytes, returned %d", c.arg(3), len(data), c.result)
		}
		f.write(offset, data[:c.result])
		r.disk.bytes += c.result
		if offset == 0 {
			r.disk.begun[name]++
		}
	default:
		// Where a plain write lands is not in the trace. SQLite does not write so; other files of the
		// folder are only appended to.
		if slices.Contains(r.sqlite, name) {
			return fmt.Errorf("%s of %s: only pwrite64 is understood", c.name, name)
		}
		f.write(int64(f.length()), c.data()[:c.result])
	}
	r.disk.writes++
	return nil
}

func (r *replay) rename(c *call) {
	var from, to string
	switch c.name {
	case "unlink":
		from = c.path(0, -1)
	case "unlinkat":
		from = c.path(1, 0)
	case "rename":
		from, to = c.path(0, -1), c.path(1, -1)
	default:
		from, to = c.path(1, 0), c.path(3, 2)
	}
	gone, ok := r.disk.name(from)
	if !ok {
		gone = ""
	}
	name, ok := r.disk.name(to)
	if !ok {
		name = ""
	}
	file := r.disk.names[gone]
	if file == nil {
		file = &inode{} // it came from another folder
	}
	if gone != "" || name != "" {
		r.disk.change(gone, name, file)
	}
}
