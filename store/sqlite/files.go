package sqlite

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
)

// Every file that is opened here, but for the lock, is opened in this file. None of them is a database that this process
// serves, nor its log: closing a descriptor of these drops SQLite's locks.

// readStart reads the first bytes of a file: of a database too, before this process has it open.
func readStart(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, n)
	_, err = io.ReadFull(f, text)
	return text, err
}

func readSmall(path string) ([]byte, error) { return os.ReadFile(path) }

// writeWhole replaces a small file, which only its owner may read, whole or not at all.
func writeWhole(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	return err
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// writeOver writes over the beginning of a small file, and blanks over the rest of it: that needs no room, on a full
// disk either. What is written must not be longer than what is there.
func writeOver(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && int64(len(text)) < info.Size() {
		text = append(text, bytes.Repeat([]byte(" "), int(info.Size())-len(text))...)
		text[len(text)-1] = '\n'
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// syncFile has what was written to a file reach the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
