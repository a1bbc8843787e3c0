//go:build race

package storetest

// raced: the race detector makes all many times slower.
const raced = true
