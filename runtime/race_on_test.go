//go:build race

package runtime_test

// raced: the race detector makes all several times slower.
const raced = true
