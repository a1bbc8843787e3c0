package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is USER_HZ, the unit of times in /proc, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// cpuOf is the CPU time, user and system, that a process has used (proc(5): /proc/PID/stat).
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time: %w", err)
	}
	// The name in parentheses may hold anything; utime and stime are fields 14 and 15.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("read the CPU time: /proc/%d/stat has %d fields", pid, len(fields)+2)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("read the CPU time: %w", err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// ownCPU is the CPU time of this process, finer than /proc tells.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // cannot happen: the arguments are right
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakOf is the most memory a process has held, in MiB (VmHWM of /proc/PID/status).
func peakOf(pid int) (float64, error) { return memoryOf(pid, "VmHWM:") }

// residentOf is the memory that a process holds now, in MiB.
func residentOf(pid int) (float64, error) { return memoryOf(pid, "VmRSS:") }

func memoryOf(pid int, key string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(line, key)
		if !ok {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		if err != nil {
			return 0, fmt.Errorf("read the memory: %w", err)
		}
		return kib / 1024, nil
	}
	return 0, fmt.Errorf("read the memory: no %s in /proc/%d/status", key, pid)
}

// fileMiB is the size of a file.
func fileMiB(path string) (float64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / (1 << 20), nil
}

// refuseMemory fails where dir is on a file system kept in memory: a commit there costs nothing.
func refuseMemory(dir string) error {
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	if kind := uint32(stat.Type); kind == tmpfs || kind == ramfs {
		abs, _ := filepath.Abs(dir)
		return fmt.Errorf("%s is in memory: name a folder on a disk with --dir", abs)
	}
	return nil
}
