//go:build !linux && !darwin

package runtime

import "nightshift/jobs"

// DiskOf is nil: nobody knows here how to ask this system.
func DiskOf(string) func() (jobs.Disk, error) { return nil }
