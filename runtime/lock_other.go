//go:build !unix

package runtime

import (
	"os"
	"path/filepath"
)

// lockFolder keeps nobody out: nobody knows here how to ask this system.
func lockFolder(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
}
