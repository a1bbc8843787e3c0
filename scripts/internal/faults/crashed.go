package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // looks at very many copies
)

// crashed is a server that was killed while its log held what it had acknowledged, and the contents of its files.
type crashed struct {
	*site
	files  map[string][]byte // by name in the folder of the data, without the index of the log
	serial int               // runs that one client had acknowledged, one after another
}

// crash makes one.
func (l *lab) crash(ctx context.Context, runs int) (*crashed, error) {
	s, err := l.newSite()
	if err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	c := &crashed{site: s, files: map[string][]byte{}}
	for n := 1; n <= runs; n++ {
		run, _, err := s.server.Enqueue(ctx, "quick", serialKey(n), map[string]string{"text": strings.Repeat("p", 100+37*n%900)})
		if err != nil {
			return nil, err
		}
		c.serial, s.load.keys[serialKey(n)] = n, &sent{job: "quick", id: run.ID}
	}
	if err := s.server.Kill(); err != nil {
		return nil, err
	}
	folder := filepath.Dir(s.server.DB())
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), "-shm") {
			continue
		}
		if c.files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	if len(c.wal()) < 100_000 {
		return nil, fmt.Errorf("the log of the crashed server has %d bytes: this would prove nothing", len(c.wal()))
	}
	return c, nil
}

// serialKey sorts as its number.
func serialKey(n int) string { return fmt.Sprintf("serial-%06d", n) }

const dbName = "nightshift.db"

func (c *crashed) main() []byte { return c.files[dbName] }
func (c *crashed) wal() []byte  { return c.files[dbName+"-wal"] }

// restore puts the files back as they were at the crash, but for one. Each stays the same file: the server remembers
// which it served.
func (c *crashed) restore(changed string, content []byte) error {
	folder := filepath.Dir(c.server.DB())
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, known := c.files[e.Name()]; !known {
			if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	for name, text := range c.files {
		if name == changed {
			text = content
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// prefix opens a file and gives how many of the serial runs are in it: the first so many.
func prefix(ctx context.Context, file string) (int, error) {
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var sound string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check").Scan(&sound); err != nil {
		return 0, fmt.Errorf("quick_check: %w", err)
	}
	if sound != "ok" {
		return 0, fmt.Errorf("quick_check: %s", sound)
	}
	var count int
	var last sql.NullString
	err = db.QueryRowContext(ctx, "SELECT count(*), max(key) FROM runs WHERE key LIKE 'serial-%'").Scan(&count, &last)
	if err != nil {
		return 0, err
	}
	if n, _ := strconv.Atoi(strings.TrimPrefix(last.String, "serial-")); n != count {
		return 0, fmt.Errorf("%d of the runs are there, the last is number %d: these are not the first", count, n)
	}
	return count, nil
}

// attempt starts the server on the files as they are and gives "ready", or how it ended.
func (s *site) attempt(within time.Duration) (outcome string, err error) {
	if err := s.server.Start(); err != nil {
		return "", err
	}
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		select {
		case <-s.server.Ended():
			return s.server.Status(), nil
		default:
		}
		if s.server.Ready() {
			return "ready", nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("neither ready nor ended within %v\n%s", within, s.server.LogTail())
		}
	}
}

// lastLine is what the server said last.
func (s *site) lastLine() string {
	text := strings.TrimSpace(s.server.LogTail())
	return text[strings.LastIndexByte(text, '\n')+1:]
}
