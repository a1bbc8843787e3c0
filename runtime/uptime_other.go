//go:build !linux

package runtime

import "time"

// MachineUptime tells nothing: this system has no clock that is known to run on.
func MachineUptime() (boot string, up time.Duration, ok bool) { return "", 0, false }
