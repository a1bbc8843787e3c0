package cli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"nightshift/api/cli"
	"nightshift/jobs"
	"nightshift/store"
)

// Ctrl-C, or the timeout of a cron line, leaves no hidden half of a large copy.
func TestBackupAndRestoreEndInGoodOrder(t *testing.T) {
	db := filepath.Join(t.TempDir(), "n.db")
	if err := os.WriteFile(db, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := 0
	long := func(ctx context.Context) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			ended++
		case <-time.After(10 * time.Second):
		}
		return ctx.Err()
	}
	parts := cli.Parts{Files: cli.FileTools{
		Destination: func(path string) (string, error) { return path, nil },
		Backup: func(ctx context.Context, _, _ string, _ jobs.Time) (store.Copy, error) {
			return store.Copy{}, long(ctx)
		},
		Restore: func(ctx context.Context, _, _ string, _ jobs.Time) (store.Verified, string, error) {
			return store.Verified{}, "", long(ctx)
		},
	}}
	for _, args := range [][]string{
		{"backup", db + ".copy", "--db", db, "--server", "http://127.0.0.1:1"},
		{"restore", db + ".copy", "--db", db},
	} {
		if code := cli.Main(t.Context(), args, io.Discard, io.Discard, parts); code != 1 {
			t.Errorf("%v: exit %d", args, code)
		}
	}
	if ended != 2 {
		t.Errorf("%d of 2 were ended", ended)
	}
}
