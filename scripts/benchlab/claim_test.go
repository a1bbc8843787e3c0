package main

import "testing"

func TestClaimsAreReadWithTheirMedianWhereThereIsOne(t *testing.T) {
	out := []byte("goos: linux\n" +
		"BenchmarkClaim/queued=1000-2   \t  300\t  41000 ns/op\t  38000 p50-ns/op\t 12 B/op\n" +
		"BenchmarkClaim/queued=1000000        \t     300\t     52000 ns/op\n" +
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
	got, err := readClaims([]byte("BenchmarkClaim/queued=1000-2 300 41000 ns/op\nPASS\n"))
	if err == nil {
		t.Errorf("got %v, want an error", got)
	}
}
