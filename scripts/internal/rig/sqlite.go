package rig

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Inspect opens a database with the sqlite3 tool, which is not the SQLite inside the server, runs
// integrity_check and gives the ids of all runs in it. A damaged file is an error.
func Inspect(ctx context.Context, db string) (map[string]bool, error) {
	out, err := ask(ctx, db, "PRAGMA integrity_check; SELECT seq, tail FROM runs")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if lines[0] != "ok" {
		return nil, fmt.Errorf("integrity_check of %s: %s", db,
			strings.Join(lines[:min(len(lines), 10)], "; "))
	}
	ids := make(map[string]bool, len(lines)-1)
	for _, line := range lines[1:] {
		id, err := RunID(line)
		if err != nil {
			return nil, fmt.Errorf("runs of %s: %w", db, err)
		}
		ids[id] = true
	}
	return ids, nil
}

// Slots counts the attempts under way that a database knows of, once for each limit they count
// against.
func Slots(ctx context.Context, db string) (int, error) {
	out, err := ask(ctx, db, "SELECT COUNT(*) FROM slots")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// Rows gives what a statement finds in a database, as text, column by column. No value may hold "|" or a line
// break.
func Rows(ctx context.Context, db, query string) (rows [][]string, err error) {
	out, err := ask(ctx, db, query)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "|"))
	}
	return rows, nil
}

func ask(ctx context.Context, db, query string) (string, error) {
	cmd := exec.CommandContext(ctx, "sqlite3", "-batch", "-noheader", "-list", "-init", "/dev/null", db,
		query)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sqlite3 %s: %w: %s%s", db, err, out, stderr.String())
	}
	return string(out), nil
}

// RunID reads "seq|tail" of a run: the first 64 bits of a UUIDv7 less its version (48 bits of milliseconds,
// 12 bits of counter), and the last 64 bits as a signed number.
func RunID(row string) (string, error) {
	first, second, ok := strings.Cut(row, "|")
	seq, err1 := strconv.ParseInt(first, 10, 64)
	tail, err2 := strconv.ParseInt(second, 10, 64)
	if !ok || errors.Join(err1, err2) != nil {
		return "", fmt.Errorf("row %q: want seq|tail", row)
	}
	text := make([]byte, 0, 16)
	for shift := 52; shift >= 12; shift -= 8 {
		text = append(text, byte(seq>>shift))
	}
	text = append(text, 0x70|byte(seq>>8)&0x0f, byte(seq))
	for shift := 56; shift >= 0; shift -= 8 {
		text = append(text, byte(tail>>shift))
	}
	h := hex.EncodeToString(text)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"), nil
}
