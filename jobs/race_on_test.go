//go:build race

package jobs

// raced: the race detector makes all several times slower.
const raced = true
