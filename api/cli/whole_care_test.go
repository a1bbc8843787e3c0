package cli_test

import (
	"os"
	"strings"
	"testing"
)

func TestScriptsRunAsTheUserOfTheJobElseOfTheServer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs scripts as others")
	}
	p := start(t, t.TempDir(), "--script-user", "nobody")
	look := `id -un; cat; for f in "$DB" "$DB.token" "$DB.key"; do [ ! -r "$f" ]; done
nightshift checkpoint set 7; nightshift result "$(nightshift checkpoint get)"`
	env := doc{"DB": p.dir + "/nightshift.db"}
	p.put("server", doc{"script": doc{"source": look, "env": env}})
	p.put("own", doc{"script": doc{"source": look, "env": env, "user": "daemon"}})
	for job, want := range map[string]string{"server": "nobody\n{}", "own": "daemon\n{}"} {
		id := p.enqueue(job, nil)
		if run := p.end(id); run.State != "succeeded" || p.logOf(id) != want || string(run.Result) != "7" {
			t.Errorf("%s: %s with %q and %s", job, run.State, p.logOf(id), run.Result)
		}
	}
	status, text, err := p.try("PUT", "/v1/jobs/wrong", doc{"script": doc{"source": "true", "user": "nosuchuser"}})
	if err != nil || status != 422 || !strings.Contains(string(text), `"location":"body.script.user"`) ||
		!strings.Contains(string(text), "there is no user") {
		t.Errorf("a user that does not exist: %d %s %v", status, text, err)
	}
}

func TestScriptPastItsMemoryFailsAndSaysHowMuch(t *testing.T) { // S7
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("greedy", doc{
		"script": doc{"source": `$x = "x" x (60 << 20); sleep 600`, "interpreter": []string{"perl"}, "memory": "40MiB"},
	})
	run := p.end(p.enqueue("greedy", nil))
	if run.State != "failed" || run.Error.Kind != "memory" || len(run.Attempts) != 1 ||
		!strings.Contains(run.Error.Message, "script.memory allows 40MiB") {
		t.Errorf("%s: %+v", run.State, run.Error)
	}
	if pids := living("NIGHTSHIFT_RUN=" + run.ID); pids != nil {
		t.Errorf("processes %v live on", pids)
	}
}
