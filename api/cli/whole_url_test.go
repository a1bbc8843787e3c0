package cli_test

import (
	"strings"
	"syscall"
	"testing"
)

func TestCallbacksThatNobodyElseCanReachAreWarnedOf(t *testing.T) {
	const (
		saved  = "a job waits for a callback to an address of this machine alone: give --url"
		stands = "jobs wait for callbacks to an address of this machine alone: give --url"
	)
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  far: {webhook: {url: 'https://example.com/hooks', completion: callback}}
  near: {webhook: {url: 'http://127.0.0.1:9/hooks', completion: callback}}
  plain: {webhook: 'https://example.com/hooks'}
`)
	p := start(t, dir)
	p.cli("apply", "-f", file, "--dry-run").want(0).has("far", "start the server with --url")
	if strings.Contains(p.log.String(), "--url") {
		t.Errorf("the log warns of what was not saved:\n%s", p.log)
	}
	got := p.cli("apply", "-f", file).want(0).has("far", "start the server with --url")
	if n := strings.Count(got.stdout+got.stderr, "--url"); n != 1 {
		t.Errorf("%d warnings:\n%s%s", n, got.stdout, got.stderr)
	}
	if !strings.Contains(p.log.String(), saved) || !strings.Contains(p.log.String(), `"job":"far","callback":"`+p.url+`"`) {
		t.Errorf("the log does not warn:\n%s", p.log)
	}
	p.stop(syscall.SIGTERM)

	p = start(t, dir)
	if !strings.Contains(p.log.String(), stands) || !strings.Contains(p.log.String(), `"jobs":"far","count":1`) {
		t.Errorf("the log of the start does not warn:\n%s", p.log)
	}
	p.stop(syscall.SIGTERM)
	p = start(t, dir, "--apply", file)
	if strings.Contains(p.log.String(), stands) || !strings.Contains(p.log.String(), saved) {
		t.Errorf("the log of a start that saves them warns otherwise:\n%s", p.log)
	}
	p.stop(syscall.SIGTERM)
	p = start(t, dir, "--url", "https://jobs.example.com")
	p.cli("apply", "-f", file).want(0)
	if strings.Contains(p.log.String(), "--url") {
		t.Errorf("with --url the log warns:\n%s", p.log)
	}
}
