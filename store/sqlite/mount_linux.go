package sqlite

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkMount refuses a file that is mounted by itself: through that name and the one that it has in its folder SQLite
// would make two logs. Where the system does not tell, as before Linux 5.8, nothing is refused.
func checkMount(path string) error {
	file, ok := mountOf(path)
	folder, ok2 := mountOf(filepath.Dir(path))
	if ok && ok2 && file != folder {
		return fmt.Errorf("%s is mounted as a single file (a bind mount, or a volume of a container): SQLite would keep a "+
			"separate log for each name of it; mount its folder instead", path)
	}
	return nil
}

func mountOf(path string) (id uint64, ok bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return st.Mnt_id, err == nil && st.Mask&unix.STATX_MNT_ID != 0
}
