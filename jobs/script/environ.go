package script

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"nightshift/jobs"
)

// defaultPath is a script's PATH where the server has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const holdsNUL = "holds a NUL byte: no program can be given that"

// An environment is what a program is started with.
type environment map[string]string

// list is sorted, so that equal attempts are started alike.
func (e environment) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

// baseEnvironment is what every script gets: PATH, LANG and TZ of the server, the rest of the user.
func baseEnvironment() environment {
	env := environment{"PATH": defaultPath, "HOME": "/", "PYTHONUNBUFFERED": "1"}
	for _, name := range []string{"PATH", "LANG", "TZ"} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	if u, err := user.Current(); err == nil {
		env["HOME"], env["USER"], env["LOGNAME"] = u.HomeDir, u.Username, u.Username
	}
	return env
}

// environment is built from empty: the base, what the call says, then the job's own, which wins.
// What a call does not have is left out.
func (a *attempt) environment() (environment, *jobs.Failure) {
	c := a.call
	env := maps.Clone(a.kind.base)
	if u := a.user; u != nil {
		env["HOME"], env["USER"], env["LOGNAME"] = u.home, u.name, u.name
	}
	env["TMPDIR"] = a.temp()
	env["NIGHTSHIFT_PAYLOAD"] = a.payload()
	env["NIGHTSHIFT_CHECKPOINT"] = a.checkpoint()
	if c.Results != nil {
		env["NIGHTSHIFT_RESULTS"] = a.results()
	}
	env["NIGHTSHIFT_JOB"] = c.Job
	env["NIGHTSHIFT_RUN"] = c.Run.String()
	env["NIGHTSHIFT_OPERATION"] = c.Operation.String()
	env["NIGHTSHIFT_ATTEMPT"] = strconv.Itoa(c.Attempt)
	env["NIGHTSHIFT_MAX_ATTEMPTS"] = strconv.Itoa(c.MaxAttempts)
	env["NIGHTSHIFT_CATCH_UP"] = strconv.FormatBool(c.CatchUp)
	for name, value := range map[string]string{
		"NIGHTSHIFT_SCHEDULED_FOR":  c.ScheduledFor.String(),
		"NIGHTSHIFT_DEADLINE":       jobs.TimeOf(c.Deadline).String(),
		"NIGHTSHIFT_CALLBACK":       c.CallbackURL,
		"NIGHTSHIFT_CALLBACK_TOKEN": c.CallbackToken,
		"TRACEPARENT":               c.Traceparent,
	} {
		if value != "" {
			env[name] = value
		}
	}
	for name, value := range c.Spec.Script.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, spawnFailure("env: %q is no name: want one without = and NUL", name)
		}
		env[name] = value
	}
	a.addProgram(env)
	for name, value := range env {
		if strings.IndexByte(value, 0) >= 0 {
			return nil, spawnFailure("env.%s %s", name, holdsNUL)
		}
	}
	return env, nil
}

// addProgram puts the folder of nightshift on the PATH, where there is somebody that it could call:
// before the server's folders, behind those that a job names itself.
func (a *attempt) addProgram(env environment) {
	if a.call.CallbackURL == "" {
		return
	}
	folder, err := a.kind.program.forScripts(a.claim.Path)
	if err != nil {
		a.notes = append(a.notes, fmt.Sprintf("%s is not on its PATH: %v", programName, reason(err)))
		return
	}
	switch own, set := a.call.Spec.Script.Env["PATH"]; {
	case !set:
		env["PATH"] = folder + ":" + env["PATH"]
	case own != "":
		env["PATH"] = own + ":" + folder
	}
}
