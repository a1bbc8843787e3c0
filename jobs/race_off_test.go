//go:build !race

package jobs

const raced = false
