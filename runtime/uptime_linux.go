package runtime

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// MachineUptime is the Uptime of this machine, which counts the time it sleeps.
func MachineUptime() (boot string, up time.Duration, ok bool) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(strings.Fields(string(id))) != 1 {
		return "", 0, false
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return "", 0, false
	}
	boot = strings.TrimSpace(string(id))
	// A container may have an uptime of its own, which is not that of another one.
	if own, err := os.Readlink("/proc/self/ns/time"); err == nil {
		boot += "/" + own
	}
	return boot, time.Duration(ts.Nano()), true
}
