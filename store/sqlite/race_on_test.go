//go:build race

package sqlite

// raced: the race detector makes all many times slower.
const raced = true
