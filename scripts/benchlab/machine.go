package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// machine is what the figures were measured on.
type machine struct {
	CPU       string  `json:"cpu"`
	Cores     int     `json:"cores"`
	MemoryGiB float64 `json:"memory_gib"`
	Kernel    string  `json:"kernel"`
	Go        string  `json:"go"`
	SyncUS    float64 `json:"fdatasync_us"` // median, of a 4 KiB append where the databases are
	Load      float64 `json:"load"`         // what else ran: the load average of the minute before
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %.0f GiB, Linux %s, %s, fdatasync %.0f µs, load before %.1f",
		m.CPU, m.Cores, m.MemoryGiB, m.Kernel, m.Go, m.SyncUS, m.Load)
}

// readMachine looks at the machine; what it cannot find out stays empty.
func readMachine(dir string) machine {
	m := machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), Go: runtime.Version()}
	cpus, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpus)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.Kernel = strings.TrimSpace(string(kernel))
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		m.MemoryGiB = float64(info.Totalram) * float64(info.Unit) / (1 << 30)
		m.Load = float64(info.Loads[0]) / (1 << 16) // SI_LOAD_SHIFT
	}
	m.SyncUS = syncCost(filepath.Join(dir, "sync"))
	return m
}

// syncCost is the median of 200 appends of 4 KiB, each made durable; 0 where it cannot be told.
func syncCost(path string) float64 {
	file, err := os.Create(path)
	if err != nil {
		return 0
	}
	defer os.Remove(path)
	defer file.Close()
	took := make([]time.Duration, 200)
	page := make([]byte, 4096)
	for i := range took {
		started := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0
		}
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return 0
		}
		took[i] = time.Since(started)
	}
	return quantile(took, 0.5) * 1000
}

// commit names the sources: the commit, with + where files differ from it.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain").Output()
	if err != nil || len(changed) > 0 {
		name += "+"
	}
	return name
}
