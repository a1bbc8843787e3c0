package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// powerCut has scripts/internal/powercut cut the power at each of some acknowledgements: of what was not synced a
// random part is kept each time, down to sectors of 512 bytes.
func powerCut(ctx context.Context, l *lab) error {
	args := []string{
		"run", "-buildvcs=false", "./scripts/internal/powercut", "--bin", l.bin, "--seed", fmt.Sprint(l.seed),
		"--acks", fmt.Sprint(pick(l, 10, 400)), "--random", fmt.Sprint(pick(l, 4, 8)), "--payload", fmt.Sprint(pick(l, 20<<10, 200<<10)),
	}
	if l.keep {
		args = append(args, "--keep")
	}
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	failed := cmd.Run()
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "VIOLATION: "):
			l.fault("%s", strings.TrimPrefix(line, "VIOLATION: "))
		case !strings.HasPrefix(line, "powercut:"):
			what, value, _ := strings.Cut(line, "  ")
			l.Row(what, strings.TrimSpace(value))
		}
	}
	if failed != nil && len(l.Faults) == 0 {
		return fmt.Errorf("powercut: %w: %s", failed, stderr.String())
	}
	return nil
}
