package cli_test

import (
	"strings"
	"testing"
)

const longJobs = `jobs:
  taken-on:
    webhook: {url: 'https://example.com/', completion: callback, heartbeat_timeout: 90s}
    checkpoint: {ttl: 48h, key: payload.batch}
  at-once:
    webhook: {url: 'https://example.com/', completion: response}
    checkpoint: {}
  bounded:
    script: {source: x, memory: 0.5 gib}
`

func TestLongWorkRoundTripsThroughFiles(t *testing.T) {
	p := start(t, t.TempDir())
	p.cli("apply", "-f", write(t, p.dir, "jobs.yaml", longJobs)).want(0)
	p.cli("apply", "-f", write(t, p.dir, "jobs.yaml", longJobs)).want(0).has("taken-on unchanged", "at-once unchanged", "bounded unchanged")
	export := p.cli("export").want(0).has("completion: callback\n", `heartbeat_timeout: "1m30s"`, `memory: "512MiB"`,
		"checkpoint:\n      ttl: \"2d\"\n      key: payload.batch\n")
	for name, text := range map[string]string{
		"export.yaml": export.stdout, "export.json": p.cli("export", "--json").want(0).stdout,
	} {
		p.cli("apply", "-f", write(t, p.dir, name, text), "--prune", "--dry-run").want(0).has("nothing was changed: 3 unchanged.")
	}
	changed := strings.NewReplacer("90s", "2m", "48h", "1h", "payload.batch", "payload.day", "0.5 gib", "1GiB").Replace(longJobs)
	o := p.cli("apply", "-f", write(t, p.dir, "jobs.yaml", changed), "--dry-run").want(0)
	o.has(`~ heartbeat_timeout: "1m30s" → "2m"`, `~ ttl: "2d" → "1h"`, `~ key: "payload.batch" → "payload.day"`, `~ memory: "512MiB" → "1GiB"`)
}

func TestFaultsOfLongWorkAreToldWithTheirPlace(t *testing.T) {
	p := start(t, t.TempDir())
	for text, want := range map[string]string{
		"webhook: {url: 'http://h/', completion: later}":                               ":3:45: jobs.a.webhook.completion: want response: the answer tells",
		"webhook: {url: 'http://h/', heartbeat_timeout: 1m}":                           "jobs.a.webhook.heartbeat_timeout: want it with completion callback alone",
		"webhook: {url: 'http://h/', completion: callback, heartbeat_timeout: 2d}":     "jobs.a.webhook.heartbeat_timeout: want more than 0s and at most 24h",
		"webhook: {url: 'http://h/', completion: callback, nightshift_headers: false}": "jobs.a.webhook.nightshift_headers: with completion callback",
		"script: {source: x, memory: 512}":                                             "jobs.a.script.memory: want a string, got a number",
		"script: {source: x, memory: 512 megs}":                                        "jobs.a.script.memory: \"512 megs\" is not a size: want one such as",
		"script: {source: x, memory: 1kB}":                                             "jobs.a.script.memory: want at least 1MiB",
		"script: {source: x, user: 'a b'}":                                             "jobs.a.script.user: want the name of a user",
		"{script: x, checkpoint: {ttl: 0s}}":                                           "jobs.a.checkpoint.ttl: want more than 0s",
		"{script: x, checkpoint: {key: payload.}}":                                     "jobs.a.checkpoint.key: ",
		"{script: x, checkpoint: {key: secrets.A}}":                                    "jobs.a.checkpoint.key: ",
	} {
		file := write(t, p.dir, "bad.yaml", "jobs:\n  a:\n    "+text+"\n")
		p.cli("apply", "-f", file).want(1).has(want)
	}
}
