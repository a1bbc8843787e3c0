package cli_test

import (
	"strings"
	"testing"
)

const sharingJobs = `
jobs:
  a: {script: "true", queue: mail, dependencies: [stripe]}
  b: {script: "true"}
`

func sharing(t *testing.T) *process {
	t.Helper()
	dir := t.TempDir()
	return start(t, dir, "--apply", write(t, dir, "jobs.yaml", sharingJobs))
}

func TestPauseTakesAJobAQueueOrADependency(t *testing.T) {
	p := sharing(t)
	p.cli("pause", "a", "--note", "why").want(0).has("a is paused")
	p.cli("resume", "job/a").want(0).has("a is not paused")
	p.cli("pause", "job/a").want(0).has("a is paused")
	p.cli("resume", "a").want(0).has("a is not paused")
	p.cli("pause", "queue/mail", "--note", "it moves").want(0).has("The queue mail is paused: it moves.")
	p.cli("queues").want(0).has("mail", "paused: it moves", "default")
	id := strings.Fields(p.cli("run", "a").want(0).stdout)[0]
	p.cli("runs", "show", id).want(0).has("It has not started: the queue mail is paused: it moves.")
	p.cli("runs").want(0).has("the queue mail is paused: it moves")
	p.cli("queues", "show", "mail").want(0).has("The queue mail is paused: it moves.", "queued", "oldest due")
	p.cli("pause", "dependency/stripe").want(0).has("The dependency stripe is paused.")
	p.cli("resume", "queue/mail").want(0).has("The queue mail is not paused.")
	p.until("it is held by what comes next", func() bool {
		return strings.Contains(p.cli("runs", "show", id).stdout, "It has not started: the dependency stripe is paused.")
	})
	p.cli("dependencies", "show", "stripe").want(0).has("The dependency stripe is paused.", "breaker", "opens after 5")
	p.cli("dependencies", "resume", "stripe").want(0).has("The dependency stripe is closed: calls flow.")
	p.until("it ends", func() bool { return strings.Contains(p.cli("runs", "show", id).stdout, "It succeeded.") })

	p.cli("pause", "queue/absent").want(1).has("there is no such queue: a job that names it")
	p.cli("pause", "api.example.com:443").want(2).has("say dependency/api.example.com:443")
	p.cli("pause", "dependency/API.example.com:443").want(2).has(`want it as "api.example.com:443"`)
	p.cli("pause", "alert/x").want(2).has("want a job's name, or job/NAME, schedule/NAME, queue/NAME, dependency/NAME")
	p.cli("pause", "queue/").want(2).has("is no queue's name")
	p.cli("pause").want(2)
	p.cli("pause", "--help").want(0).has("dependency/HOST:PORT", "queue/NAME")
}

func TestDependenciesAreTrippedResetAndDropped(t *testing.T) {
	p := sharing(t)
	p.cli("dependencies").want(0).has("stripe", "closed")
	p.cli("dependencies", "trip", "stripe", "--for", "2h", "--note", "they asked").want(0).
		has("The dependency stripe is open: tripped: they asked; the next probe may start in ", ", at ")
	p.cli("dependencies").want(0).has("open", "they asked")
	id := strings.Fields(p.cli("run", "a").want(0).stdout)[0]
	p.cli("runs", "show", id).want(0).has("It has not started: the dependency stripe is held by its breaker", "; it may start in ", ", at ")
	p.cli("runs").want(0).has("the dependency stripe is held by its breaker")
	p.cli("dependencies", "reset", "stripe", "--note", "back").want(0).has("The dependency stripe is closed: calls flow.")
	p.until("it ends", func() bool { return strings.Contains(p.cli("runs", "show", id).stdout, "It succeeded.") })
	write(t, p.dir, "limits.json", `{"dependencies":{"stripe":{"concurrency":3,"rate":{"limit":100,"per":"1m"},"breaker":null}},
"queues":{"mail":{"concurrency":2}}}`)
	p.cli("apply", "-f", "limits.json").want(0)
	p.cli("dependencies").want(0).has("0 of 3", "100 in 1m")
	p.cli("queues").want(0).has("0 of 2")
	p.cli("dependencies", "trip", "stripe").want(1).has("pause it, or give it one")
	p.cli("dependencies", "delete", "stripe").want(0).has("The dependency stripe is as it is built in.")
	p.cli("queues", "delete", "mail").want(0).has("The queue mail is as it is built in.")
	p.cli("dependencies", "show", "stripe").want(0).has("concurrency", "none")
	p.cli("dependencies", "trip", "stripe", "--for", "-1m").want(2)
	p.cli("dependencies", "show", "absent").want(1).has("there is no such dependency")
	p.cli("queues", "show", "absent").want(1).has("there is no such queue")
	for _, args := range [][]string{
		{"queues"},
		{"queues", "list"},
		{"queues", "show", "mail"},
		{"queues", "pause", "mail"},
		{"queues", "resume", "mail"},
		{"queues", "delete", "mail"},
		{"pause", "queue/mail"},
		{"resume", "queue/mail"},
		{"dependencies"},
		{"dependencies", "show", "stripe"},
		{"dependencies", "trip", "stripe"},
		{"dependencies", "reset", "stripe"},
		{"dependencies", "pause", "stripe"},
		{"dependencies", "resume", "stripe"},
		{"dependencies", "delete", "stripe"},
		{"pause", "dependency/stripe"},
		{"resume", "dependency/stripe"},
	} {
		p.cli(append(args, "--json")...).want(0).json()
	}
}
