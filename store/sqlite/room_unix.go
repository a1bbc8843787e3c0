//go:build linux || darwin

package sqlite

import "golang.org/x/sys/unix"

// freeOn is how many bytes are free on the disk of a folder for others than root.
func freeOn(folder string) (n int64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
