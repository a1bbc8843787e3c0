package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRunTellsThatAnEarlierRunStandsAndUntilWhen(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  day: {script: "true", unique: {while: 24h}}
  wait: {script: "true", unique: {key: payload.k, while: queued, on_conflict: replace}}
  one: {script: 'while [ ! -e `+filepath.Join(dir, "go")+` ]; do sleep 0.05; done', unique: {while: active}}
  no: {script: "true", unique: {while: active, on_conflict: reject}}
  first: {script: "true", on_success: [{job: one}]}
`)
	p := start(t, dir, "--apply", file)
	id := func(args ...string) string {
		return strings.Fields(p.cli(append([]string{"run"}, args...)...).want(0).stdout)[0]
	}
	day := id("day", "--delay", "1h")
	p.cli("run", "day").want(0).has(day + " scheduled (an earlier run, which stands until 2")
	p.cli("cancel", day).want(0)
	p.cli("run", "day").want(0).has(day + " cancelled (an earlier run, which stands until 2")
	p.cli("run", "day", "--wait").want(1).has("run "+day+" of day (an earlier run, which stands until 2", "It was cancelled")

	p.cli("jobs", "pause", "wait").want(0)
	waits := id("wait", "--payload", `{"k":1}`)
	p.cli("run", "wait", "--payload", `{"k":1,"n":2}`, "--key", "x").want(0).
		has(waits + " queued (an earlier run, which stands until it starts; it has taken the payload)")
	p.cli("run", "wait", "--payload", `{"k":1,"n":2}`, "--key", "x").want(0).has("(it was made before, with the same key)")
	p.cli("runs", "show", waits).want(0).has(`{"k":1,"n":2}`)

	one := id("one")
	p.until("it runs", func() bool { return strings.Contains(p.cli("runs", "show", one).stdout, "It runs since") })
	p.cli("run", "one").want(0).has(one + " running (an earlier run, which stands until it ends)")
	p.cli("run", "first", "--wait").want(0)
	p.cli("runs", "show", one).want(0).has("1 not made as it stood, the last by chain from ")
	write(t, dir, "go", "")

	refused := id("no", "--delay", "1h")
	p.cli("run", "no").want(1).has("run " + refused + " of job no stands for it until it ends")
}
