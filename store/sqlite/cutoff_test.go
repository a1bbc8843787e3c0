package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"nightshift/store"
)

// A kill within a checkpoint leaves a main file with pages of two ages. The log is whole, and the file starts.
func TestFileOfACheckpointThatWasCutOffStarts(t *testing.T) {
	path := killedAfter(t, func(s store.Store) {
		for n := range 60 { // so that the file grows
			saveJob(t, s, fmt.Sprint("more-", n))
		}
	})
	files := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", ".served"} {
		text, err := os.ReadFile(path + suffix)
		check(t, err)
		files[suffix] = text
	}
	// SQLite copies the newest of each page back, in the order of their numbers.
	const frame = 24 + 4096
	newest := map[uint32][]byte{}
	log := files["-wal"]
	for at := 32; at+frame <= len(log); at += frame {
		if slices.Equal(log[at+8:at+16], log[16:24]) { // of this log, not an older one
			newest[binary.BigEndian.Uint32(log[at:])] = log[at+24 : at+frame]
		}
	}
	pages := slices.Sorted(maps.Keys(newest))
	if len(pages) < 5 {
		t.Fatalf("the log has %d pages: this proves nothing", len(pages))
	}
	main := slices.Clone(files[""])
	for n, page := range pages {
		end := int(page) * 4096
		if end > len(main) {
			main = append(main, make([]byte, end-len(main))...)
		}
		copy(main[end-4096:], newest[page])
		if n%5 != 0 && n > 4 {
			continue
		}
		for suffix, text := range files {
			if suffix == "" {
				text = main
			}
			check(t, os.WriteFile(path+suffix, text, 0o600))
		}
		if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, Config{})
		if err != nil {
			t.Fatalf("%d of %d pages were copied back: %v", n+1, len(pages), err)
		}
		if _, err := s.Job(t.Context(), "b"); err != nil {
			t.Errorf("%d of %d pages were copied back: what was in the log: %v", n+1, len(pages), err)
		}
		check(t, s.Close())
	}
}
