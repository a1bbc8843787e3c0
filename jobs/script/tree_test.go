package script

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
)

// leavers are the ways in which a script leaves a process behind that sleeps $mark seconds; up
// waits until there is one.
var leavers = map[string]string{
	"background":    `sleep $mark & up`,
	"session":       `setsid sleep $mark >/dev/null 2>&1 & up`,
	"output held":   `setsid sleep $mark & up`,
	"daemon":        `(setsid sh -c "sleep $mark & exit 0" &); up`,
	"nohup":         `nohup sleep $mark >/dev/null 2>&1 & up`,
	"stopped":       `sleep $mark & up; kill -STOP $!`,
	"ignores TERM":  `(trap '' TERM HUP; exec sleep $mark) & up`,
	"no environ":    `env -i setsid sleep $mark >/dev/null 2>&1 & up`,
	"no output":     `setsid sleep $mark <&- >&- 2>&- & up`,
	"deep":          `sh -c 'sh -c "setsid sh -c \"sleep $mark & wait\" & wait" & wait' & up`,
	"stopped group": `setsid sh -c "sleep $mark & wait" & up; kill -STOP -$!`,
	"many":          `for i in $(seq 100); do sleep $mark & done; up`,
}

// leaver is a script that leaves a process behind and then goes on.
func leaver(leave, mark, then string) string {
	return `export mark=` + mark + `
up() { until grep -qsz "^$mark$" /proc/[0-9]*/cmdline; do sleep 0.01; done; }
` + leave + "\n" + then
}

func TestNothingLivesOnWhenAScriptSucceeds(t *testing.T) { // S1, S5
	eachLevel(t, func(t *testing.T, k *Kind) {
		for name, leave := range leavers {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := mark()
				call, log := source(leaver(leave, m, "echo hi"))
				rep := begin(t, k, call).end(t)
				wantSuccess(t, rep)
				nothingLeft(t, m)
				if log.String() != "hi\n" {
					t.Errorf("output %q", log)
				}
				if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "left behind") {
					t.Errorf("notes %q", rep.Notes)
				}
			})
		}
	})
}

func TestNothingLivesOnWhenAScriptIsStopped(t *testing.T) { // S1, S2
	eachLevel(t, func(t *testing.T, k *Kind) {
		for name, leave := range leavers {
			t.Run(name, func(t *testing.T) {
				m := mark()
				call, log := source(leaver(leave, m, "echo up; sleep 600"))
				r := begin(t, k, call)
				log.await(t, "up")
				r.stop(jobs.ErrCancelled)
				if name == "ignores TERM" { // it is in the group: the grace is its
					close(r.kill)
				}
				rep := r.end(t)
				nothingLeft(t, m)
				if !errors.Is(rep.Stopped, jobs.ErrCancelled) {
					t.Errorf("stopped: %v", rep.Stopped)
				}
			})
		}
	})
}

func TestKilledShimFailsItsAttemptAndLeavesNothing(t *testing.T) { // S9
	eachLevel(t, func(t *testing.T, k *Kind) {
		for name, leave := range leavers {
			t.Run(name, func(t *testing.T) {
				m := mark()
				call, _ := source(leaver(leave, m, "kill -9 $PPID; sleep 600"))
				rep := begin(t, k, call).end(t)
				nothingLeft(t, m)
				wantFailure(t, rep, jobs.FailSignal, "the process that watches over the script was "+
					"killed, by the script itself (kill $PPID?) or from outside; all that it had "+
					"started was killed")
				if f := rep.Failure; f == nil || f.Exit == nil || f.Exit.Signal != "SIGKILL" {
					t.Errorf("failure %+v", rep.Failure)
				}
			})
		}
	})
}

func TestKilledShimDoesNotDisturbOtherAttempts(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kind) {
		m := mark()
		other, log := source("setsid sleep " + m + " & echo up; wait")
		r := begin(t, k, other)
		log.await(t, "up")
		for range 5 {
			call, _ := source("sleep 600 & kill -9 $PPID; sleep 600")
			if rep := begin(t, k, call).end(t); rep.Failure == nil {
				t.Error("success with a killed shim")
			}
		}
		if len(marked(m)) == 0 {
			t.Error("the other attempt's process is gone")
		}
		r.stop(jobs.ErrCancelled)
		r.end(t)
		nothingLeft(t, m)
	})
}

// Signals that a script sends to its parent, in error or on purpose, do not end the shim.
func TestShimOutlivesSignals(t *testing.T) {
	call, log := source(`for s in TERM INT HUP QUIT USR1 ALRM TSTP PIPE ABRT
do kill -$s $PPID; done; echo fine`)
	rep := begin(t, newKindAny(t), call).end(t)
	wantSuccess(t, rep)
	if log.String() != "fine\n" {
		t.Errorf("output %q", log)
	}
}

func TestStoppedShimIsWokenToStop(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kind) {
		m := mark()
		call, log := source("setsid sleep " + m + " & kill -STOP $PPID; echo up; sleep " + m)
		r := begin(t, k, call)
		log.await(t, "up")
		r.stop(jobs.ErrTimeout)
		rep := r.end(t)
		nothingLeft(t, m)
		if !errors.Is(rep.Stopped, jobs.ErrTimeout) {
			t.Errorf("stopped: %v", rep.Stopped)
		}
	})
}

// A shim that is stopped again and again is killed, and the server goes on in its place.
func TestShimThatCannotWorkIsReplaced(t *testing.T) {
	m := mark()
	call, log := source("setsid sleep " + m + " & echo up\n" +
		"(while :; do kill -STOP $PPID; done) & sleep " + m)
	r := begin(t, newKindAny(t), call)
	log.await(t, "up")
	r.stop(jobs.ErrTimeout)
	close(r.kill)
	rep := r.end(t)
	nothingLeft(t, m)
	if !errors.Is(rep.Stopped, jobs.ErrTimeout) {
		t.Errorf("stopped: %v", rep.Stopped)
	}
}

func TestForkBombEnds(t *testing.T) { // S7
	k := newKindAny(t)
	if k.cgroup.Path == "" {
		t.Skip("this needs a cgroup")
	}
	m := mark()
	call, log := source("f() { sleep " + m + " & sleep 0.05; f & f & }\n" +
		"ulimit -u 2000; f; sleep 0.3; echo up; sleep 600")
	r := begin(t, k, call)
	log.await(t, "up")
	r.stop(jobs.ErrTimeout)
	close(r.kill)
	r.end(t)
	nothingLeft(t, m)
}

func TestProcessesAreFoundByDescent(t *testing.T) {
	all := []process{
		{pid: 2, parent: 1}, {pid: 3, parent: 2}, {pid: 5, parent: 4}, {pid: 6, parent: 3},
	}
	var pids []int
	for _, p := range below(all, 2) {
		pids = append(pids, p.pid)
	}
	if !slices.Equal(pids, []int{3, 6}) {
		t.Errorf("below 2: %v", pids)
	}
}
