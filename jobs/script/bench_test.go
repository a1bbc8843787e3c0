package script

import (
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// BenchmarkStart runs an empty script, as the runtime does: wall time, the CPU time of the server
// itself, and that of the shim and the script.
func BenchmarkStart(b *testing.B) {
	for name, group := range map[string]func() (string, error){
		"cgroup": ownCgroup, "subreaper": noCgroup,
	} {
		b.Run(name, func(b *testing.B) {
			k := kindAt(b, Config{}, group)
			self, below := cpuOf(b, syscall.RUSAGE_SELF), cpuOf(b, syscall.RUSAGE_CHILDREN)
			for b.Loop() {
				call, _ := callOf(jobs.Script{Source: "true", Interpreter: []string{"sh"}})
				call.CallbackURL, call.CallbackToken = "http://127.0.0.1:8700/v1/callback/x", "t"
				call.Say = func(*jobs.Note) string { return "" }
				if rep := k.Run(b.Context(), call); rep.Failure != nil {
					b.Fatal(rep.Failure)
				}
			}
			per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
			b.ReportMetric(per(cpuOf(b, syscall.RUSAGE_SELF)-self), "server-µs/op")
			b.ReportMetric(per(cpuOf(b, syscall.RUSAGE_CHILDREN)-below), "script-µs/op")
		})
	}
}

func cpuOf(b *testing.B, who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
