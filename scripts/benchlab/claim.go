package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// claimSizes are the backlogs that BenchmarkClaim of store/sqlite claims a batch of 64 from.
const (
	claimSmall = 1_000
	claimLarge = 1_000_000
)

// claimLine is a line such as
// "BenchmarkClaim/queued=1000/lanes=1-2  1306  818055 ns/op  727.0 p50-µs  2460 p99-µs".
var claimLine = regexp.MustCompile(`^BenchmarkClaim/queued=(\d+)/lanes=1(?:-\d+)?\s+\d+\s+(.*)$`)

// claim runs the store's benchmark with one lane and gives its medians.
func (l *lab) claim(ctx context.Context) (values, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkClaim$/queued=(1000|1000000)$/lanes=1$",
		"-timeout", "30m", "./store/sqlite")
	cmd.Env = append(os.Environ(), "NIGHTSHIFT_BENCH_LARGE=1", "TMPDIR="+l.dir) // on the disk that is measured
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench Claim: %w: %s", err, tail(out))
	}
	found, err := readClaims(out)
	if err != nil {
		return nil, err
	}
	return values{"small_us": found[claimSmall], "large_us": found[claimLarge]}, nil
}

// readClaims takes the µs of a claim by backlog out of what go test printed.
func readClaims(out []byte) (map[int]float64, error) {
	found := map[int]float64{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		m := claimLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		queued, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		of := map[string]float64{}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if of[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
				return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
			}
		}
		found[queued] = of["p50-µs"]
	}
	if found[claimSmall] == 0 || found[claimLarge] == 0 {
		return nil, fmt.Errorf("store/sqlite has no BenchmarkClaim with queued=%d and queued=%d: %s",
			claimSmall, claimLarge, tail(out))
	}
	return found, lines.Err()
}
