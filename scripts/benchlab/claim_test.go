package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestClaimsAreReadByTheirMedian(t *testing.T) {
	out := []byte("goos: linux\n" +
		"BenchmarkClaim/queued=1000/lanes=1/closed=0-2   \t  300\t  41000 ns/op\t  38.00 p50-µs\t 99 p99-µs\n" +
		"BenchmarkClaim/queued=1000000/lanes=1000/closed=999  \t  300\t  62000 ns/op\t  52.00 p50-µs\t 99 p99-µs\n" +
		"PASS\n")
	small, large := claimCase{1_000, 1, 0}, claimCase{1_000_000, 1_000, 999}
	got, err := readClaims(out, []claimCase{small, large})
	if err != nil {
		t.Fatal(err)
	}
	if got[small.key()] != 38 || got[large.key()] != 52 {
		t.Errorf("got %v, want 38 µs at 1,000 and 52 µs at 1,000,000", got)
	}
}

func TestABenchmarkWithoutAllItsCasesIsAnError(t *testing.T) {
	line := "BenchmarkClaim/queued=1000/lanes=1/closed=0-2 300 41000 ns/op 38.00 p50-µs\nPASS\n"
	got, err := readClaims([]byte(line), claimCases(1_000_000))
	if err == nil {
		t.Errorf("got %v, want an error", got)
	}
	got, err = readClaims([]byte(strings.Replace(line, "p50", "p51", 1)), []claimCase{{1_000, 1, 0}})
	if err == nil {
		t.Errorf("without a median: got %v, want an error", got)
	}
}

func TestACaseIsAskedForByNameAlone(t *testing.T) {
	asked := strings.Split(claimCase{1_000, 1, 0}.pattern(), "/")
	match := func(name string) bool {
		for i, part := range strings.Split(name, "/") {
			if !regexp.MustCompile(asked[i]).MatchString(part) {
				return false
			}
		}
		return true
	}
	if !match("BenchmarkClaim/queued=1000/lanes=1/closed=0") {
		t.Errorf("%v does not ask for its own case", asked)
	}
	for _, other := range []string{
		"BenchmarkClaim/queued=1000000/lanes=1/closed=0", "BenchmarkClaim/queued=1000/lanes=100/closed=0",
		"BenchmarkClaim/queued=1000/lanes=1/closed=01",
	} {
		if match(other) {
			t.Errorf("%v asks for %s too", asked, other)
		}
	}
}
