package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// flipBits flips one bit of the database or of its log, many times, and starts the server on that. It may refuse the
// file and say what to do, find the damage later and end, so that the next start refuses the file, or find nothing:
// then all it answers is as if nothing were, or, of a flip in the
// log, as it was before. It never ends by a signal or a panic, nor again and again, and never hangs.
func flipBits(ctx context.Context, l *lab) error {
	c, err := l.crash(ctx, pick(l, 25, 40))
	if err != nil {
		return err
	}
	outcomes := map[string]int{}
	begun := time.Now()
	flips := pick(l, 6, 300)
	if l.tried {
		flips = 60
	}
	for n := 0; n < flips && (!l.short || l.tried || time.Since(begun) < 25*time.Second); n++ {
		name := []string{dbName, dbName + "-wal"}[l.random.IntN(2)]
		content := slices.Clone(c.files[name])
		at, bit := l.random.IntN(len(content)), l.random.IntN(8)
		if page := at / pageSize * pageSize; l.random.IntN(2) == 0 { // heads of pages are hit too seldom by chance
			at = page + l.random.IntN(min(16, len(content)-page))
		}
		content[at] ^= 1 << bit
		if err := c.restore(name, content); err != nil {
			return err
		}
		outcome, err := c.live(ctx)
		if err != nil {
			return fmt.Errorf("bit %d of byte %d of %s: %w", bit, at, name, err)
		}
		outcomes[outcome]++
		if strings.HasPrefix(outcome, "BAD") {
			c.fault("bit %d of byte %d of %s: %s: %s", bit, at, name, outcome, c.lastLine())
			_ = os.CopyFS(filepath.Join(c.root, fmt.Sprintf("bad-%s-%d-%d", name, at, bit)), os.DirFS(filepath.Dir(c.server.DB())))
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		c.Row(outcome, outcomes[outcome])
	}
	return nil
}

// live starts the server, uses it, and starts it again where it ends by itself.
func (c *crashed) live(ctx context.Context) (outcome string, err error) {
	defer func() {
		if killed := c.server.Kill(); err == nil {
			err = killed
		}
	}()
	for start := 1; start <= 3; start++ {
		outcome, err := c.attempt(readyWithin)
		switch {
		case err != nil:
			return "BAD: " + firstLine(err), nil
		case outcome != "ready":
			return refusedWith(start, outcome, c.lastLine()), nil
		}
		failed := c.use(ctx)
		select {
		case <-c.server.Ended():
			if said := c.lastLine(); !strings.Contains(said, "restore") || !strings.HasPrefix(c.server.Status(), "exit status ") {
				return fmt.Sprintf("BAD: ended by %s in the middle of its work, and did not say what to do", c.server.Status()), nil
			}
			continue
		case <-time.After(pick(c.lab, 50*time.Millisecond, 300*time.Millisecond)):
		}
		if err := c.server.Kill(); err != nil {
			return "", err
		}
		if n, err := prefix(ctx, c.server.DB()); err == nil && n < c.serial {
			return "served as it was before the flip: what the log has after that is gone", nil
		}
		if failed > 0 {
			if len(c.logged("restore")) == 0 {
				return "BAD: calls failed, and the log does not say what to do", nil
			}
			return "served, some calls failed and the log says what to do", nil
		}
		return "harmless", nil
	}
	return "BAD: it ends by itself over and over", nil
}

// refusedWith judges a start that failed.
func refusedWith(start int, status, said string) string {
	if !strings.HasPrefix(status, "exit status ") || strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
		return fmt.Sprintf("BAD: start %d ended by %s", start, status)
	}
	if !strings.Contains(said, "restore") {
		return fmt.Sprintf("BAD: start %d was refused, and does not say what to do", start)
	}
	return fmt.Sprintf("refused at start %d, and says what to do", start)
}

// use makes a few calls and gives how many failed.
func (c *crashed) use(ctx context.Context) (failed int) {
	for _, path := range []string{"/v1/runs?limit=100", "/v1/jobs", "/v1/schedules", "/v1/failures", "/v1/audit"} {
		short, cancel := context.WithTimeout(ctx, 15*time.Second)
		if _, err := c.server.Do(short, http.MethodGet, path, "", nil, nil); err != nil {
			failed++
		}
		cancel()
	}
	for n := range 3 {
		short, cancel := context.WithTimeout(ctx, 15*time.Second)
		if _, _, err := c.server.Enqueue(short, "quick", fmt.Sprint("after-", n), map[string]string{"text": strings.Repeat("q", 9000)}); err != nil {
			failed++
		}
		cancel()
	}
	return failed
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
