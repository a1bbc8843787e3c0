package doctor

import (
	"fmt"
	"math"
)

// Unlimited is a limit that is none.
const Unlimited = math.MaxUint64

// Limits are those of resources (getrlimit(2)), and what is to be done within them.
type Limits struct {
	Of     string // whose they are, such as "this shell"
	Server bool   // they are those of the server itself
	NoFile uint64
	FSize  uint64
	NProc  uint64
	Core   uint64

	Workers, ScriptWorkers int
}

// What the server needs of descriptors: for the database, its log and listening; for each webhook its
// connection; for each script its pipes, descriptors of its processes and its callback; for callers and
// followers.
const (
	baseFiles    = 64
	callerFiles  = 256
	webhookFiles = 2
	scriptFiles  = 12
)

func (l *Limits) files() (least, wanted uint64) {
	least = uint64(baseFiles + l.Workers + l.ScriptWorkers*scriptFiles)
	return least, uint64(baseFiles + callerFiles + l.Workers*webhookFiles + l.ScriptWorkers*scriptFiles)
}

// scriptProcs is how many processes and threads a script should be able to start.
const scriptProcs = 32

// baseProcs are the threads of the server.
const baseProcs = 128

func (l *Limits) procs() uint64 { return uint64(baseProcs + l.ScriptWorkers*scriptProcs) }

func checkLimits(f *Facts) []Finding {
	const check = "limits"
	l := f.Limits
	if l == nil {
		return nil
	}
	var wrong []Finding
	add := func(level Level, advice, format string, args ...any) {
		wrong = append(wrong, Finding{check, level, fmt.Sprintf(format, args...) + " (limits of " + l.Of + ")", advice})
	}
	least, wanted := l.files()
	raise := fmt.Sprintf("set LimitNOFILE=%d in the systemd unit, or ulimit -n, or lower --workers", max(4096, wanted))
	switch {
	case l.NoFile < least:
		add(Error, raise, "%d files may be open, %d webhooks and %d scripts at a time need %d",
			l.NoFile, l.Workers, l.ScriptWorkers, least)
	case l.NoFile < wanted:
		add(Warning, raise, "%d files may be open, %d webhooks and %d scripts at a time with callers want %d",
			l.NoFile, l.Workers, l.ScriptWorkers, wanted)
	}
	size := int64(0)
	if file := f.file(RoleFile); file != nil {
		size = file.Size
	}
	if l.FSize != Unlimited {
		level, text := Warning, "no file may grow past %s, the database has %s"
		if l.FSize < uint64(size)+uint64(logRoom) {
			level = Error
		}
		add(level, "set LimitFSIZE=infinity in the systemd unit, or ulimit -f unlimited", text,
			bytes(int64(min(l.FSize, math.MaxInt64))), bytes(size))
	}
	if need := l.procs(); l.NProc != Unlimited && l.NProc < need && f.User.ID != 0 {
		level := Warning
		if l.NProc < baseProcs {
			level = Error
		}
		add(level, fmt.Sprintf("set LimitNPROC=%d in the systemd unit, or ulimit -u, or lower --script-workers", max(4096, need)),
			"%s may have %d processes and threads, %d scripts at a time want %d", f.User, l.NProc, l.ScriptWorkers, need)
	}
	if l.Core > 0 && f.Scripts.Off {
		add(Warning, "set LimitCORE=0 in the systemd unit, or ulimit -c 0",
			"a crash may write a core file, with secrets in it")
	}
	return orOK(check, wrong, fmt.Sprintf("%s files, %s processes, files of any size (limits of %s)",
		limit(l.NoFile), limit(l.NProc), l.Of))
}

func limit(n uint64) string {
	if n == Unlimited {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

// Cgroup is what a control group, often that of a container, leaves to the server.
type Cgroup struct {
	Container string // what kind of container this is; "": none that shows
	Memory    uint64 // bytes
	Pids      uint64
	Err       string
}

// Memory that the server takes by itself, and that a script should have.
const (
	leastMemory  = 128 << 20
	scriptMemory = 64 << 20
)

func checkCgroup(f *Facts) []Finding {
	const check = "cgroup"
	c := &f.Cgroup
	if c.Err != "" {
		return one(check, Warning, "what memory and processes the server may have is not known: "+c.Err, "see systemd-cgls")
	}
	scripts := 0
	if f.Limits != nil && !f.Scripts.Off {
		scripts = f.Limits.ScriptWorkers
	}
	var wrong []Finding
	add := func(level Level, advice, format string, args ...any) {
		wrong = append(wrong, Finding{check, level, fmt.Sprintf(format, args...), advice})
	}
	wanted := uint64(leastMemory + scripts*scriptMemory)
	switch {
	case c.Memory < leastMemory:
		add(Error, fmt.Sprintf("give it %s: MemoryMax= of the unit, --memory of the container", bytes(int64(wanted))),
			"the server and its scripts may have %s of memory in all, it alone takes up to %s", bytes(int64(c.Memory)), bytes(leastMemory))
	case c.Memory < wanted:
		add(Warning, fmt.Sprintf("give it %s, or lower --script-workers, or set script.memory in jobs", bytes(int64(wanted))),
			"the server and %d scripts at a time may have %s of memory in all: past it the kernel kills one of them",
			scripts, bytes(int64(c.Memory)))
	}
	if need := uint64(baseProcs + scripts*scriptProcs); c.Pids < need {
		level := Warning
		if c.Pids < baseProcs/2 {
			level = Error
		}
		add(level, fmt.Sprintf("allow %d: TasksMax= of the unit, --pids-limit of the container", need),
			"%d processes and threads may run in all, the server and %d scripts at a time want %d", c.Pids, scripts, need)
	}
	well := "memory " + limitBytes(c.Memory) + ", processes " + limit(c.Pids)
	if c.Container != "" {
		well = "in a container (" + c.Container + "): " + well
	}
	return orOK(check, wrong, well)
}

func limitBytes(n uint64) string {
	if n > math.MaxInt64/2 {
		return "unlimited"
	}
	return bytes(int64(n))
}
