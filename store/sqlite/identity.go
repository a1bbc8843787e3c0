package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"nightshift/store"
)

// What the header of a file says it is (PRAGMA application_id).
const (
	appServed = 0x4E534846 // "NSHF": one that was served
	appBackup = 0x4E534842 // "NSHB": a backup, until it is served
)

// head is what the header of the main file says, whatever its log holds. It tells which start wrote the file
// last: each start gives it a number of its own (PRAGMA user_version), which a copy has too.
type head struct {
	app   int64 // appServed, appBackup; 0: none, as before there were any
	start int64
}

// readHead reads the header of the main file as it lies there, and nothing else: a checkpoint that was cut off leaves
// pages of two ages, which only the log mends, and SQLite calls such a file malformed. No connection of this process
// has the file open yet, whose locks closing it would drop.
func readHead(path string) (h head, err error) {
	text, err := readStart(path, 100)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return h, errors.New(notOurs)
	} else if errors.Is(err, os.ErrPermission) {
		return h, fmt.Errorf("this user must be able to read and write the file: %w", err)
	} else if err != nil {
		return h, fmt.Errorf("read the header: %w", err)
	}
	if !bytes.HasPrefix(text, []byte("SQLite format 3\x00")) {
		return h, errors.New(notOurs)
	}
	// https://sqlite.org/fileformat2.html#the_database_header
	h.start = int64(int32(binary.BigEndian.Uint32(text[60:])))
	h.app = int64(int32(binary.BigEndian.Uint32(text[68:])))
	if h.app != 0 && h.app != appServed && h.app != appBackup {
		return h, errors.New(notOurs)
	}
	return h, nil
}

// servedNote is kept beside the file, and so is in no copy of it: which file this path served last.
type servedNote struct {
	Start int64  `json:"start"` // that the file says
	Path  string `json:"path"`
	Inode uint64 `json:"inode"`
	Clean bool   `json:"clean"` // the server stopped and left one complete file
	// Begun: the main file may still say Was, for the start that gives it a new number is not through.
	Begun bool  `json:"begun,omitempty"`
	Was   int64 `json:"was,omitempty"`
	// Hold: the file is to be held for that, which it may not say itself yet.
	Hold store.HeldWhy `json:"hold,omitempty"`
}

func notePath(path string) string { return path + ".served" }

// readNote gives nil where there is none, or none that can be read: that is as if it were not there.
func readNote(path string) (*servedNote, error) {
	text, err := readSmall(notePath(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which file was served here last: %w", err)
	}
	n := &servedNote{}
	if json.Unmarshal(text, n) != nil {
		return nil, nil
	}
	return n, nil
}

// write replaces the note, whole or not at all.
func (n *servedNote) write(path string) error {
	text, err := json.Marshal(n)
	if err == nil {
		err = writeWhole(notePath(path), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note which file is served here: %w", err)
	}
	return nil
}

// fileFacts is what can be known of a file before it is opened.
type fileFacts struct {
	path  string
	empty bool // there is none, or nothing in it
	inode uint64
	log   int64 // size of its log; -1: there is none
	head  head
	note  *servedNote
	saved string // see savedOf
}

func (d *db) lookAt() (f fileFacts, err error) {
	f.path, f.log = d.path, -1
	if f.note, err = readNote(d.path); err != nil {
		return f, err
	}
	if info, err := os.Stat(d.path + "-wal"); err == nil {
		f.log = info.Size()
	} else if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	f.saved = savedOf(d.path)
	info, err := os.Stat(d.path)
	if errors.Is(err, os.ErrNotExist) {
		f.empty = true
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if f.inode, f.empty = inodeOf(info), info.Size() == 0; !f.empty {
		f.head, err = readHead(d.path)
	}
	return f, err
}

func inodeOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// judge tells why a file that has history is to be held; "": it is the one that was served here last. A log that
// is not the file's own is an error: with it SQLite would make a file that is damaged.
func (f *fileFacts) judge() (store.HeldWhy, error) {
	hasLog, n := f.log > 0, f.note
	sameFile := n != nil && n.Inode == f.inode
	begun := sameFile && n.Begun && n.Was == f.head.start
	ours := begun || sameFile && f.head.app == appServed && n.Start == f.head.start
	switch {
	case f.empty && n != nil && !begun:
		return "", f.gone()
	case f.empty, n == nil && f.head.app == 0: // new, or made before there were notes
		return "", nil
	case ours && n.Hold != "":
		return n.Hold, nil
	case ours && n.Path != f.path:
		return store.HeldElsewhere, nil
	case ours && !begun && !n.Clean && f.log < 0:
		return store.HeldNoLog, nil
	case ours:
		return "", nil
	case hasLog && (n != nil || f.head.app == appBackup):
		return "", fmt.Errorf("%[1]s is not the file that was served here last, and the log of that one, %[1]s-wal, is "+
			"still beside it: SQLite would mix the two and damage the file. Move %[1]s-wal and %[1]s-shm away (keep "+
			"them: they hold the last writes of the file that was here), then start again%[2]s", f.path, f.orSaved())
	case f.head.app == appBackup:
		return store.HeldBackup, nil
	}
	return store.HeldElsewhere, nil
}

// gone says what to do where a file was served that is not there any more: a new one would look as if all were well.
func (f *fileFacts) gone() error {
	from, beside := "BACKUP", ""
	if f.saved != "" {
		from = f.saved
	}
	if f.log > 0 {
		beside = fmt.Sprintf(", and its log %s-wal is still there", f.path)
	}
	return fmt.Errorf("the database file that was served here is gone or empty%[2]s. Put the file back where it came from, or "+
		"restore it: nightshift restore %[3]s --db %[1]s. To begin with nothing, move what is left of it away: %[1]s.served, -wal, -shm",
		f.path, beside, from)
}

// orSaved names what was saved of the file that was here.
func (f *fileFacts) orSaved() string {
	if f.saved == "" {
		return ""
	}
	return fmt.Sprintf("; or go on with what was saved of that file: nightshift restore %s --db %s", f.saved, f.path)
}

// savedOf is the newest file in which a server has saved what it had open when that was removed, since the note of its
// start was written; "": there is none.
func savedOf(path string) string {
	note, err := os.Stat(notePath(path))
	if err != nil {
		return ""
	}
	newest, at := "", note.ModTime()
	for n := 1; ; n++ {
		name := fmt.Sprint(path, rescuedSuffix, n)
		info, err := os.Stat(name)
		if err != nil {
			return newest
		}
		if info.Size() > 0 && info.ModTime().After(at) {
			newest, at = name, info.ModTime()
		}
	}
}

// begin gives the file the number of this start. hold writes that it is held, if it is: first, so that no crash in
// between loses it.
func (d *db) begin(ctx context.Context, start int64, was head, hold func() error) error {
	if start = start & (1<<31 - 1); start == 0 {
		start = was.start%(1<<31-1) + 1
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	note := servedNote{
		Start: start, Path: d.path, Inode: inodeOf(info), Begun: true, Was: was.start, Hold: d.why,
	}
	if err := note.write(d.path); err != nil {
		return err // that of the start before stands
	}
	d.note = note
	if err := hold(); err != nil {
		return err
	}
	d.note.Hold = ""
	err = d.w.do(ctx, &call{tidy: func(c *conn) error {
		for _, query := range []string{
			fmt.Sprintf("PRAGMA application_id = %d", appServed),
			fmt.Sprintf("PRAGMA user_version = %d", d.note.Start),
		} {
			if _, err := c.Exec(query); err != nil {
				return err
			}
		}
		d.numbered = true
		if err := checkpointNow(c, "TRUNCATE"); err != nil {
			return err
		}
		_, left, err := walPages(c)
		d.note.Begun = left > 0 // where somebody outside reads, the header is still in the log
		return err
	}})
	if err != nil {
		return fmt.Errorf("give the file the number of this start: %w", err)
	}
	return d.note.write(d.path)
}

// end notes that the file is complete. The note is written over: that needs no room, on a full disk either.
func (d *db) end() error {
	if _, err := os.Stat(d.path + "-wal"); d.numbered && errors.Is(err, os.ErrNotExist) {
		d.note.Begun = false
	}
	return d.note.complete(d.path)
}

func (n *servedNote) complete(path string) error {
	n.Clean = true
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	err = writeOver(notePath(path), text)
	if errors.Is(err, os.ErrNotExist) { // removed meanwhile
		return n.write(path)
	}
	if err != nil {
		return fmt.Errorf("note that the file is complete: %w", err)
	}
	return nil
}

// leave ends a start that was refused. Where it has copied back the log that a crash had left, and so removed it,
// the note says that the file is complete: else the next start would miss the log.
func (d *db) leave() error {
	n := d.found.note
	if n == nil || n.Clean || d.why != "" || d.found.log < 0 || isThere(d.path+"-wal") {
		return nil
	}
	return n.complete(d.path)
}
