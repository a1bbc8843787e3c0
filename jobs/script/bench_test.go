package script

import (
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// BenchmarkStart runs an empty script: wall time, and the server's own CPU time.
func BenchmarkStart(b *testing.B) {
	for name, group := range map[string]func() (string, error){
		"cgroup": ownCgroup, "subreaper": noCgroup,
	} {
		b.Run(name, func(b *testing.B) {
			k := kindAt(b, Config{}, group)
			before := ownCPU(b)
			for b.Loop() {
				call, _ := callOf(jobs.Script{Source: ":", Interpreter: []string{"sh"}})
				if rep := k.Run(b.Context(), call); rep.Failure != nil {
					b.Fatal(rep.Failure)
				}
			}
			b.ReportMetric(float64((ownCPU(b)-before).Microseconds())/float64(b.N), "server-µs/op")
		})
	}
}

func ownCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
