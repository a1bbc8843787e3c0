package cli_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// shareExample starts a server with the jobs of examples/sharing and their receiver.
func shareExample(t *testing.T) (p *process, host string, become func(state string)) {
	t.Helper()
	url := receiving(t, "sharing/receiver.py")
	p = start(t, t.TempDir())
	host = strings.TrimPrefix(url, "http://")
	file := calling(t, "sharing/jobs.yaml", "127.0.0.1:8902", host)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Who tries it by hand wants to see it held.
	quick := strings.Replace(string(text), "open_for: 5s", "open_for: 500ms", 1)
	if err := os.WriteFile(file, []byte(quick), 0o600); err != nil || quick == string(text) {
		t.Fatalf("the breaker of billing: %v", err)
	}
	p.cli("apply", "-f", file).want(0)
	p.cli("apply", "-f", file, "--dry-run").want(0).has("6 unchanged")
	return p, host, func(state string) {
		p.t.Helper()
		answer, err := http.Post(url+"/become/"+state, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != 200 {
			t.Fatalf("become %s: %s", state, answer.Status)
		}
	}
}

func TestSharingExampleChargesAnOrderOnce(t *testing.T) {
	p, _, _ := shareExample(t)
	p.cli("pause", "dependency/billing", "--note", "they move house").want(0)
	order := []string{"run", "charge", "--payload", `{"order": 7, "cents": 1990}`, "--json"}
	first, second := p.cli(order...).want(0).json(), p.cli(order...).want(0).json()
	if first["id"] != second["id"] || first["duplicate"] != false || second["duplicate"] != true {
		t.Errorf("first %v, second %v", first["id"], second["id"])
	}
	id, _ := first["id"].(string)
	p.cli("runs", "show", id).want(0).has("It has not started: the dependency billing is paused: they move house.")
	for _, color := range []string{"red", "green"} {
		p.cli("run", "index", "--payload", `{"article": "lamp", "color": "`+color+`"}`).want(0)
	}
	p.cli("resume", "dependency/billing").want(0)
	if run := p.end(id); run.State != "succeeded" {
		t.Errorf("run %s: %+v", run.State, run.Error)
	}
	index := p.runsOf("job=index")
	if len(index) != 1 || !strings.Contains(string(p.end(index[0].ID).Result), `"color": "green"`) {
		t.Errorf("of two changes: %+v", index)
	}
	p.wantRun("charge", `{"order":8}`, `{"got":{"order":8},"calls":2}`)
}

func TestSharingExampleHoldsASickServiceForAllJobs(t *testing.T) {
	p, host, become := shareExample(t)
	become("down")
	for _, order := range []string{"1", "2", "3"} {
		p.cli("run", "charge", "--payload", `{"order": `+order+`}`).want(0)
	}
	p.until("the breaker has opened", func() bool {
		return strings.Contains(p.cli("events").want(0).stdout, "dependency.opened")
	})
	p.cli("run", "index", "--payload", `{"article": "lamp"}`).want(0)
	become("well")
	p.until("all have ended", func() bool { return len(p.runsOf("state=succeeded")) == 4 })
	p.cli("events").want(0).has("dependency/billing", "held: 3 errors in a row", "flows again: the probe succeeded")

	become("busy")
	p.cli("run", "charge").want(0)
	p.until("it is held", func() bool {
		return strings.Contains(p.cli("dependencies").want(0).stdout, "it has asked to be left alone (Retry-After)")
	})
	become("well")
	p.cli("dependencies", "reset", "billing").want(0).has("The dependency billing is closed: calls flow.")
	p.cli("dependencies", "reset", host).want(0).has("The host " + host + " is closed: calls flow.")
	p.cli("run", "index", "--payload", `{"article": "desk"}`, "--wait").want(0)
}

func TestSharingExampleKeepsCustomersApart(t *testing.T) {
	p, _, _ := shareExample(t)
	report := func(customer string) string {
		t.Helper()
		made := p.cli("run", "report", "--payload", `{"customer": "`+customer+`", "seconds": 60}`, "--json").want(0).json()
		id, _ := made["id"].(string)
		return id
	}
	running := func(n int) func() bool {
		return func() bool { return len(p.runsOf("state=running")) == n }
	}
	all := []string{report("acme"), report("acme")}
	p.until("one runs", running(1))
	p.cli("runs", "show", all[1]).want(0).has(`It has not started: the key "acme" of job report has 1 of 1 running.`)
	all = append(all, report("small"))
	p.until("one of each runs", running(2))
	all = append(all, report("third"))
	p.cli("runs", "show", all[3]).want(0).has("It has not started: the queue reports has 2 of 2 running.")
	p.cli("queues").want(0).has("2 of 2")
	for _, id := range all {
		p.cli("cancel", id).want(0)
	}
}
