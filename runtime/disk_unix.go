//go:build linux || darwin

package runtime

import (
	"fmt"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// DiskOf tells how full the disk of a folder is: what is free for others than root.
func DiskOf(folder string) func() (jobs.Disk, error) {
	return func() (jobs.Disk, error) {
		var st unix.Statfs_t
		if err := unix.Statfs(folder, &st); err != nil {
			return jobs.Disk{}, fmt.Errorf("ask how full the disk of %s is: %w", folder, err)
		}
		size := int64(st.Bsize)
		return jobs.Disk{Path: folder, Free: int64(st.Bavail) * size, Total: int64(st.Blocks) * size}, nil
	}
}
