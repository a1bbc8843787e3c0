package rig

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a fault script until it has judged, or a signal ends it, and then ends the process: with 0
// where run found all to be right.
func Main(name string, bin *string, keep bool, run func(ctx context.Context, dir string) (ok bool, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := inFolder(ctx, name, bin, keep, run)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// inFolder gives run a folder of its own, which stays where keep says so or not all is right, and the
// binary to test: it is built there where none is named.
func inFolder(
	ctx context.Context, name string, bin *string, keep bool,
	run func(ctx context.Context, dir string) (ok bool, err error),
) (ok bool, err error) {
	dir, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return false, err
	}
	defer func() {
		if keep || !ok {
			fmt.Println("kept:", dir)
			return
		}
		_ = os.RemoveAll(dir)
	}()
	if *bin == "" {
		if *bin, err = Build(ctx, dir); err != nil {
			return false, err
		}
	}
	return run(ctx, dir)
}
