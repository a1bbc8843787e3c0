//go:build race

package api

// raced: the race detector makes all several times slower.
const raced = true
