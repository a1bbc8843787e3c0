package main

import (
	"slices"
	"time"
)

// at is a percentile.
func at(list []time.Duration, percent int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(len(list)-1, len(list)*percent/100)].Round(10 * time.Microsecond)
}
