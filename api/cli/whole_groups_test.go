package cli_test

import (
	"strings"
	"testing"
)

// aGroup registers two jobs, of which one ends as its payload says and the other waits for the file go, and
// runs a group of both.
func aGroup(t *testing.T) (p *process, id string) {
	t.Helper()
	p = start(t, t.TempDir())
	p.put("fetch", doc{"script": doc{"source": "cat; grep -q fail \"$NIGHTSHIFT_PAYLOAD\" && exit 1; exit 0"}, "retry": doc{"max_attempts": 1}})
	p.put("slow", doc{"script": doc{"source": pauses(p, "here", "go"), "grace": "100ms"}})
	p.put("merge", doc{"script": doc{"source": `nightshift result "$(cat)"`}})
	file := write(t, t.TempDir(), "group.yaml", `members:
  - {name: a, job: fetch, payload: {n: "{{ payload.n }}"}}
  - {name: b, job: slow}
merge: {job: merge}
need: all
payload: {n: 1}
`)
	said := p.cli("groups", "run", "-f", file, "--payload", `{"n": 7.50}`, "--key", "one", "--json").want(0).json()
	id, _ = said["id"].(string)
	p.cli("groups", "run", "-f", file, "--payload", `{"n": 7.50}`, "--key", "one").want(0).has(id, "it was made before, with the same key")
	p.until("b runs", func() bool {
		g := p.group(id)
		return len(g.Members.Items) == 2 && g.Members.Items[0].State == "succeeded" && g.Members.Items[1].State == "running"
	})
	return p, id
}

func TestAGroupTellsOnTheCommandLineWhatItWaitsFor(t *testing.T) {
	p, id := aGroup(t)
	for _, args := range [][]string{{"groups", "show", id}, {"runs", "show", id}} {
		p.cli(args...).want(0).has("It waits: 1 of its 2 members has not ended: b runs since ", "1 succeeded, it needs 2.")
	}
	p.cli("groups", "members", id).want(0).has("MEMBER", "fetch", "slow", "running")
	p.cli("groups", "--state", "waiting").want(0).has(id, "_group")
	p.cli("groups", "remerge", id).want(1).has("the group is waiting: only one that has ended can be merged again")
	first := p.group(id).Members.Items[0].Run
	p.cli("runs", "show", first).want(0).has("It is member a of group " + id + ".")
	p.cli("logs", first).want(0).has(`{"n":7.50}`)
	p.cli("groups", "show", first).want(1).has("which is no group: it is a member of the group of run " + id)
	p.mark("go")
	if run := p.end(id); run.State != "succeeded" || !strings.Contains(string(run.Result), `"succeeded":["a","b"]`) {
		t.Errorf("%s %s %+v", run.State, run.Result, run.Error)
	}
	p.cli("groups", "show", id).want(0).has("It succeeded. Of its 2 members 2 succeeded.", "MERGE")
	p.cli("groups", "remerge", id, "--wait").want(0)
}

func TestCancelAndRequeueSayWhatBecomesOfMembers(t *testing.T) {
	p, id := aGroup(t)
	p.cli("cancel", id).want(0).has(id+" It is being cancelled since ", "it ends when 1 of its 2 members has ended")
	if run := p.end(id); run.State != "cancelled" {
		t.Fatalf("%s", run.State)
	}
	p.cli("cancel", id).want(0).has("It was cancelled. Of its 2 members 1 succeeded; not good: b (missing).")
	kept := p.group(id).Members.Items[0].Run
	said := p.cli("requeue", id).want(0).has("Of its 2 members 1 succeeded: their results are kept, and 1 run again.")
	again, _, _ := strings.Cut(said.stdout, " ")
	p.mark("go")
	if run := p.end(again); run.State != "succeeded" {
		t.Fatalf("%s %+v", run.State, run.Error)
	}
	if g := p.group(again); g.Members.Items[0].Run != kept || len(g.Merges) != 1 {
		t.Errorf("%+v", g)
	}
	said = p.cli("requeue", again, "--payload", `{"n": 8}`).want(0).has("All of its 2 members run again.")
	anew, _, _ := strings.Cut(said.stdout, " ")
	p.end(anew)
}

func TestAGroupFileThatIsWrongIsToldWithItsPlaces(t *testing.T) {
	p := start(t, t.TempDir())
	p.put("fetch", doc{"script": doc{"source": "true"}})
	file := write(t, t.TempDir(), "group.yaml", `members:
  - {name: a, job: fetch}
  - {name: a, job: nobody}
need: 3
`)
	p.cli("groups", "run", "-f", file).want(1).has("group.yaml:3:12: ", "group.yaml:3:20: ", "there is no job nobody", "group.yaml:4:7: ")
	p.cli("groups", "run", "-f", write(t, t.TempDir(), "bad.yaml", "members: []\nsteps: []\n")).want(1).
		has("bad.yaml:2:", `want "members"`)
	p.cli("groups", "run", "-f", file, "--payload", "{").want(2)
	p.cli("groups", "show", "x").want(2)
}
