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

// claimCase is a sub-benchmark of BenchmarkClaim in store/sqlite, which claims a batch of 64: how
// many runs are queued, over how many lanes, and how many of these are behind a gate that is shut.
type claimCase struct{ queued, lanes, closed int }

// claimSmall is the backlog beside which the large one is put.
const claimSmall = 1_000

// claimCases are those that are measured; the first two are compared.
func claimCases(large int) []claimCase {
	return []claimCase{
		{claimSmall, 1, 0},
		{large, 1, 0},
		{large, 100, 0},
		{large, 1_000, 0},
		{large, 1_000, 999},
		{large, 10_000, 0},
		{large, 10_000, 9_999},
	}
}

func (c claimCase) key() string {
	return fmt.Sprintf("queued_%d_lanes_%d_closed_%d_us", c.queued, c.lanes, c.closed)
}

// pattern is the case for go test -bench.
func (c claimCase) pattern() string {
	return fmt.Sprintf("^BenchmarkClaim$/^queued=%d$/^lanes=%d$/^closed=%d$", c.queued, c.lanes, c.closed)
}

func (c claimCase) label() string {
	lanes := grouped(float64(c.lanes))
	if c.closed == 0 {
		return "  over " + lanes + " lanes, all open"
	}
	return "  over " + lanes + " lanes, " + grouped(float64(c.closed)) + " of them closed"
}

func claimProbe(at scale) probe {
	cases, n := claimCases(at.claimed), grouped(float64(at.claimed))
	rows := []row{{
		key: cases[1].key(), peer: cases[0].key(), unit: "µs", target: atMost(1.3),
		label: fmt.Sprintf("claim of 64, %s queued (beside: %s)", n, grouped(claimSmall)),
	}}
	for _, c := range cases[2:] {
		r := row{key: c.key(), label: c.label(), unit: "µs"}
		if c.lanes == 1_000 && c.closed > 0 {
			r.target = within(5_000)
		}
		rows = append(rows, r)
	}
	return probe{
		name:  "claim",
		about: "claim of a batch of 64 with " + n + " queued, by lanes, open or closed (go test -bench)",
		reps:  1,
		own:   true,
		vs:    "claim",
		setup: func(l *lab) (ours, peer measurement) { return l.claim(cases, at.claims), nil },
		rows:  rows,
	}
}

// claimLine is a line such as
// "BenchmarkClaim/queued=1000/lanes=1/closed=0-2  1306  818055 ns/op  727.0 p50-µs  2460 p99-µs".
var claimLine = regexp.MustCompile(
	`^BenchmarkClaim/queued=(\d+)/lanes=(\d+)/closed=(\d+)(?:-\d+)?\s+\d+\s+(.*)$`)

// claim runs the store's benchmark, each case for as long as benchTime says, and gives its medians.
func (l *lab) claim(cases []claimCase, benchTime string) measurement {
	return func(ctx context.Context) (values, error) {
		patterns := make([]string, len(cases))
		for i, c := range cases {
			patterns[i] = c.pattern()
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", strings.Join(patterns, "|"),
			"-benchtime", benchTime, "-timeout", "60m", "./store/sqlite")
		cmd.Env = append(os.Environ(), "NIGHTSHIFT_BENCH_LARGE=1", "TMPDIR="+l.dir) // on the disk that is measured
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("go test -bench Claim: %w: %s", err, tail(out))
		}
		return readClaims(out, cases)
	}
}

// readClaims takes the µs of the cases out of what go test printed.
func readClaims(out []byte, cases []claimCase) (values, error) {
	found := values{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		m := claimLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		c, err := readClaimCase(m[1:4])
		if err == nil {
			found[c.key()], err = claimMedian(m[4])
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
	}
	for _, c := range cases {
		if found[c.key()] == 0 {
			return nil, fmt.Errorf("store/sqlite has no benchmark %s: %s", c.pattern(), tail(out))
		}
	}
	return found, lines.Err()
}

func readClaimCase(numbers []string) (c claimCase, err error) {
	for i, to := range []*int{&c.queued, &c.lanes, &c.closed} {
		if *to, err = strconv.Atoi(numbers[i]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// claimMedian reads pairs such as "818055 ns/op 727.0 p50-µs".
func claimMedian(metrics string) (float64, error) {
	fields := strings.Fields(metrics)
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "p50-µs" {
			return strconv.ParseFloat(fields[i], 64)
		}
	}
	return 0, fmt.Errorf("there is no p50-µs")
}
