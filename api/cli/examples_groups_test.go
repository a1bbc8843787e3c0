package cli_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

// groupsExample starts a server with the jobs of examples/groups and their receiver.
func groupsExample(t *testing.T) (p *process, url string) {
	t.Helper()
	url = receiving(t, "groups/receiver.py")
	file := calling(t, "groups/jobs.yaml", "http://127.0.0.1:8905", url)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	quick := strings.ReplaceAll(string(text), "base: 1s", "base: 50ms") // who tries it by hand wants to see it
	p = start(t, t.TempDir())
	p.cli("apply", "-f", write(t, t.TempDir(), "jobs.yaml", quick)).want(0)
	return p, url
}

// become lets a source be down or well.
func become(t *testing.T, url, source, state string) {
	t.Helper()
	answer, err := http.Post(url+"/become/"+source+"/"+state, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != 200 {
		t.Fatalf("become %s %s: %s", source, state, answer.Status)
	}
}

// groupNow is how a group stands by nightshift groups show.
type groupNow struct {
	Run     aRun
	Members struct {
		Items []struct {
			Name, Run, State string
			Error            *anError
		}
	}
	Merges []aRun
}

func (p *process) group(id string) (g groupNow) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.cli("groups", "show", id, "--json").want(0).stdout), &g); err != nil {
		p.t.Fatal(err)
	}
	return g
}

func (p *process) nightlySync() (id string) {
	p.t.Helper()
	id, _ = p.cli("run", "nightly-sync", "--json").want(0).json()["id"].(string)
	return id
}

func TestGroupsExampleMergesWhatCameAndTheRestNextMorning(t *testing.T) {
	p, url := groupsExample(t)
	good := p.nightlySync()
	p.wantResult(good, `{"rows":{"orders":1402,"stock":311,"prices":92},"without":[]}`)

	become(t, url, "stock", "down")
	id := p.nightlySync()
	p.wantResult(id, `{"rows":{"orders":1402,"prices":92},"without":["stock"]}`)
	p.cli("groups", "show", id).want(0).has("It succeeded. Of its 3 members 2 succeeded; not good: stock (failed).",
		"http: 500 Internal Server Error", "merge-sources", "2 of 3")
	g := p.group(id)
	if len(g.Merges) != 1 || len(g.Members.Items) != 3 || g.Members.Items[1].State != "failed" {
		t.Fatalf("%+v", g)
	}
	p.cli("events").want(0).has("group.partial", "nightly-sync goes on with 2 of 3 members; failed: stock")

	p.until("somebody is told of both", func() bool { return len(told(t, url)) == 2 })
	partial, given := told(t, url)["group.partial"], told(t, url)["run.failed"]
	if len(partial) != 1 || len(given) != 1 {
		t.Fatalf("told %s, %s", partial, given)
	}
	for _, want := range []string{`"subject": "run/` + id, `"job": "nightly-sync"`, `"team": "data"`, `"stock"`} {
		if !strings.Contains(string(partial[0]), want) {
			t.Errorf("%s: want %s", partial[0], want)
		}
	}
	if run := g.Members.Items[1].Run; !strings.Contains(string(given[0]), run) || !strings.Contains(string(given[0]), `"team": "data"`) {
		t.Errorf("%s: want run %s and its labels", given[0], run)
	}

	become(t, url, "stock", "well")
	failed := g.Members.Items[1].Run
	said := p.cli("requeue", failed).want(0).has("It takes the place of member stock of group "+id, "groups remerge "+id)
	again, _, _ := strings.Cut(said.stdout, " ")
	if run := p.end(again); run.State != "succeeded" {
		t.Fatalf("the stock of next morning: %s %+v", run.State, run.Error)
	}
	p.cli("groups", "remerge", id, "--wait").want(0)
	if g = p.group(id); len(g.Merges) != 2 || g.Run.State != "succeeded" {
		t.Fatalf("after the remerge: %+v", g)
	}
	p.wantResult(g.Merges[1].ID, `{"rows":{"orders":1402,"stock":311,"prices":92},"without":[]}`)
	p.cli("groups").want(0).has(id, good, "nightly-sync")
	p.cli("runs", "show", again).want(0).has("It succeeded. It is member stock of group " + id + ".")
	p.cli("runs", "show", g.Merges[1].ID).want(0).has("It is the merge of group " + id + ".")
}

func TestGroupsExampleRunsTheGroupAgainAndKeepsWhatWasGood(t *testing.T) {
	p, url := groupsExample(t)
	for _, source := range []string{"stock", "prices"} {
		become(t, url, source, "down")
	}
	id := p.nightlySync()
	run := p.end(id)
	if run.State != "failed" || run.Error.Kind != "group" || len(p.group(id).Merges) != 0 {
		t.Fatalf("with one good of three: %s %+v", run.State, run.Error)
	}
	p.cli("groups", "show", id).want(0).has("It failed: group: ", "not good: stock (failed), prices (failed)")
	for _, source := range []string{"stock", "prices"} {
		become(t, url, source, "well")
	}
	said := p.cli("requeue", id).want(0).has("Of its 3 members 1 succeeded: their results are kept, and 2 run again.")
	again, _, _ := strings.Cut(said.stdout, " ")
	p.wantResult(again, `{"rows":{"orders":1402,"stock":311,"prices":92},"without":[]}`)
	if kept, was := p.group(again).Members.Items[0].Run, p.group(id).Members.Items[0].Run; kept != was {
		t.Errorf("orders was run again: %s, %s", kept, was)
	}
}

// told are the messages that somebody got, by their type.
func told(t *testing.T, url string) map[string][]json.RawMessage {
	t.Helper()
	answer, err := http.Get(url + "/told")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all []json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	by := map[string][]json.RawMessage{}
	for _, text := range all {
		var event struct{ Type string }
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		by[event.Type] = append(by[event.Type], text)
	}
	return by
}
