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
	cmd := exec.CommandContext(ctx, "sqlite3", "-batch", "-noheader", "-list", "-init", "/dev/null",
		db, "PRAGMA integrity_check; SELECT seq, tail FROM runs")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sqlite3 %s: %w: %s%s", db, err, out, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if lines[0] != "ok" {
		return nil, fmt.Errorf("integrity_check of %s: %s", db,
			strings.Join(lines[:min(len(lines), 10)], "; "))
	}
	ids := make(map[string]bool, len(lines)-1)
	for _, line := range lines[1:] {
		id, err := idOf(line)
		if err != nil {
			return nil, fmt.Errorf("runs of %s: %w", db, err)
		}
		ids[id] = true
	}
	return ids, nil
}

// idOf reads "seq|tail": the first 64 bits of a UUIDv7 less its version (48 bits of milliseconds,
// 12 bits of counter), and the last 64 bits as a signed number.
func idOf(row string) (string, error) {
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
