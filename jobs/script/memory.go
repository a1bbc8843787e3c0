package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"nightshift/jobs"
)

// The memory of a script's whole tree is bounded by the kernel where its cgroup has the memory
// controller. Elsewhere the shim looks, the more often the nearer the limit is, and kills the tree.

// fill is how fast memory can be filled, in bytes per second: what is free of a limit lasts so long.
const fill = 4 << 30

// Bounds of how long the shim waits between two looks.
const (
	shortestWait = 20 * time.Millisecond
	longestWait  = 500 * time.Millisecond
	// waitOfCost bounds what looking costs, to a part in so many of one core.
	waitOfCost = 30
)

// measure looks at what the script's tree holds until that is more than it may, which it tells.
func (s *shim) measure() {
	limit, used := s.order.Memory, int64(0)
	for cost := time.Duration(0); ; {
		time.Sleep(max(untilFull(limit-used), waitOfCost*cost))
		began := time.Now()
		if used = residentBelow(os.Getpid(), limit); used > limit {
			s.over <- used
			return
		}
		cost = time.Since(began)
	}
}

func untilFull(free int64) time.Duration {
	wait := time.Duration(float64(free) / fill * float64(time.Second))
	return min(max(wait, shortestWait), longestWait)
}

// residentBelow is the resident memory of all that descends from a process. What several share counts
// once; that costs more to find out, so it is done where it matters: past the limit.
func residentBelow(root int, limit int64) (used int64) {
	all, err := processes()
	if err != nil {
		return 0
	}
	tree := below(all, root)
	for _, p := range tree {
		used += p.resident
	}
	if used <= limit {
		return used
	}
	used = 0
	for _, p := range tree {
		used += p.share()
	}
	return used
}

// share is the resident memory of a process, of what it shares its part, proc_pid_smaps(5). Where that
// is not to be had (before Linux 4.14) it is all of it.
func (p process) share() int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/smaps_rollup")
	if err == nil {
		var kib int64
		_, after, _ := strings.Cut(string(raw), "\nPss:")
		if _, err = fmt.Sscan(after, &kib); err == nil {
			return kib << 10
		}
	}
	if now, ok := processOf(p.pid); !ok || now.dead {
		return 0
	}
	return p.resident
}

// limitMemory bounds what a cgroup may hold. What passes that is killed whole, and swap is no way out.
func limitMemory(cgroup string, limit jobs.Size) error {
	for _, file := range []struct{ name, value string }{
		{"memory.oom.group", "1"},
		{"memory.swap.max", "0"}, // missing where the kernel has no swap
		{"memory.max", strconv.FormatInt(int64(limit), 10)},
	} {
		err := put(filepath.Join(cgroup, file.name), file.value)
		if err != nil && (file.name == "memory.max" || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// outOfMemory tells what the kernel has killed in a cgroup for want of memory, and whether on account
// of the cgroup's own limit; then used is the most that it held. known is false without the controller.
func outOfMemory(cgroup string) (killed, used int64, own, known bool) {
	raw, err := os.ReadFile(filepath.Join(cgroup, "memory.events"))
	if err != nil {
		return 0, 0, false, false
	}
	events := map[string]int64{}
	for line := range strings.Lines(string(raw)) {
		var name string
		var n int64
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			events[name] = n
		}
	}
	if killed = events["oom_kill"]; killed == 0 || events["oom"] == 0 {
		return killed, 0, false, true
	}
	for _, file := range []string{"memory.peak", "memory.max"} { // the first since Linux 5.19
		raw, err := os.ReadFile(filepath.Join(cgroup, file))
		if used, _ = strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && used > 0 {
			break
		}
	}
	return killed, used, true, true
}

// oomKills counts what the out-of-memory killer has taken since boot; -1: unknown.
func oomKills() int64 {
	raw, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	_, after, ok := strings.Cut(string(raw), "\noom_kill ")
	if !ok {
		return -1
	}
	word, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// An oomCount gives oomKills to those who start: to read it costs a part of what a start does.
type oomCount struct {
	read func() int64

	mu sync.Mutex
	at time.Time
	n  int64
}

// recent is what was read within the last second, or now.
func (c *oomCount) recent() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) > time.Second {
		c.n, c.at = c.read(), now
	}
	return c.n
}

// sized writes a number of bytes for people.
func sized(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.size {
			return strconv.FormatFloat(float64(n)/float64(unit.size), 'f', 1, 64) + unit.name
		}
	}
	return strconv.FormatInt(n>>10, 10) + "KiB"
}
