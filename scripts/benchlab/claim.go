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

// claimLine is a line such as "BenchmarkClaim/queued=1000-2  300  41000 ns/op  38000 p50-ns/op".
var claimLine = regexp.MustCompile(`^BenchmarkClaim\w*/\S*?(\d+)(?:-\d+)?\s+\d+\s+(.*)$`)

// claim runs the store's benchmark. It gives the p50 where the benchmark reports one, as the unit
// p50-ns/op, else the mean.
func (l *lab) claim(ctx context.Context) (values, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkClaim",
		"-timeout", "30m", "./store/sqlite")
	cmd.Env = append(os.Environ(), "TMPDIR="+l.dir) // on the disk that is measured
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
		ns := map[string]float64{}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if ns[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
				return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
			}
		}
		best, ok := ns["p50-ns/op"]
		if !ok {
			best = ns["ns/op"]
		}
		found[queued] = best / 1000
	}
	if found[claimSmall] == 0 || found[claimLarge] == 0 {
		return nil, fmt.Errorf("store/sqlite has no BenchmarkClaim with queued=%d and queued=%d: %s",
			claimSmall, claimLarge, tail(out))
	}
	return found, lines.Err()
}
