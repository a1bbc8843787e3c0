package main

import "testing"

func TestClaimsAreReadByTheirMedian(t *testing.T) {
	out := []byte("goos: linux\n" +
		"BenchmarkClaim/queued=1000/lanes=1-2   \t  300\t  41000 ns/op\t  38.00 p50-µs\t 99 p99-µs\n" +
		"BenchmarkClaim/queued=1000000/lanes=1  \t  300\t  62000 ns/op\t  52.00 p50-µs\t 99 p99-µs\n" +
		"PASS\n")
	got, err := readClaims(out)
	if err != nil {
		t.Fatal(err)
	}
	if got[claimSmall] != 38 || got[claimLarge] != 52 {
		t.Errorf("got %v, want 38 µs at 1,000 and 52 µs at 1,000,000", got)
	}
}

func TestABenchmarkWithoutBothBacklogsIsAnError(t *testing.T) {
	got, err := readClaims([]byte("BenchmarkClaim/queued=1000/lanes=1-2 300 41000 ns/op 38.00 p50-µs\nPASS\n"))
	if err == nil {
		t.Errorf("got %v, want an error", got)
	}
}
