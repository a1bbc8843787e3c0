package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A job really fails at a receiver; then other rules are tried on what was recorded.
func TestRulesAreTriedOnFailuresThatHappened(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/gone" {
			w.WriteHeader(404)
			_, _ = w.Write([]byte(`{"code":"no_such_user"}`))
			return
		}
		w.WriteHeader(503)
	}))
	t.Cleanup(receiver.Close)
	p := start(t, t.TempDir())
	p.put("shop", doc{
		"webhook": doc{"url": receiver.URL + "/down"},
		"retry":   doc{"max_attempts": 3, "backoff": quick},
	})
	p.unguarded(receiver.URL)
	var down []string
	for range 2 {
		down = append(down, p.end(p.enqueue("shop", doc{})).ID)
	}
	p.put("shop", doc{
		"webhook": doc{"url": receiver.URL + "/gone"},
		"retry":   doc{"max_attempts": 3, "backoff": quick},
	})
	gone := p.end(p.enqueue("shop", doc{})).ID
	made := calls.Load()

	p.cli("rules", "backtest", "--job", "shop").want(0).
		has("Nothing would change: 7 failed attempts replayed.")
	rules := write(t, p.dir, "rules.yaml", `
rules:
  - {if: 'http.status == 503', then: fail}
  - {if: 'http.body.code == "no_such_user"', then: retry, after: 2m, max_attempts: 4, reason: they come later}
`)
	out := p.cli("rules", "backtest", "--job", "shop", "--rules", rules, "--since", "7d").want(0)
	out.has("3 decisions would change, of 7 failed attempts replayed.")
	lines := strings.Split(out.stdout, "\n")
	if f := strings.Fields(lines[1]); len(f) != 8 || strings.Join(f[:6], " ") != "retry fail job rule 1 2" ||
		f[6] != down[1] || f[7] != down[0] {
		t.Errorf("first change: %q", lines[1])
	}
	if f := strings.Fields(lines[2]); len(f) != 7 || strings.Join(f[:6], " ") != "fail retry job rule 2 1" || f[6] != gone {
		t.Errorf("second change: %q", lines[2])
	}
	out.has("4 attempts would not have been made.")
	shown := p.cli("rules", "backtest", "--job", "shop", "--rules", rules, "--json").want(0).json()
	if shown["attempts"] != 7.0 || shown["changed"] != 3.0 || shown["spared"] != 4.0 {
		t.Errorf("as JSON: %v", shown)
	}
	p.cli("rules", "backtest", "--job", "shop", "--since", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)).
		want(0).has("No failed attempt of this job is recorded for that time.")

	p.cli("rules", "check", "--run", gone, "--rules", rules).want(0).
		has("retry, by job rule 2", "they come later", "2m × 3 (3, in all 6m; jitter at its middle)",
			"fail, by max_attempts: job rule 2 (they come later) says retry; failure 4 of 4 under this rule")
	p.cli("rules", "check", "--run", down[0], "--attempt", "1").want(0).
		has("retry, by policy default rule 2", "attempt 1 of 3 failed")
	p.cli("rules", "check", "--job", "shop", "--error", `{"http": {"status": 418}}`).want(0).
		has("fail, by otherwise")
	told := write(t, p.dir, "error.json", `{"kind": "http", "http": {"status": 400, "body": {"code": "no_such_user"}}}`)
	check := p.cli("rules", "check", "--job", "shop", "--rules", rules, "--error", told, "--json").want(0).json()
	if check["action"] != "retry" || check["by"] != "job rule 2" || len(check["waits"].([]any)) != 3 {
		t.Errorf("of an error in a file: %v", check)
	}
	if calls.Load() != made {
		t.Error("trying rules called the receiver")
	}
}

func TestMistakesInTriedRulesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("shop", doc{"script": doc{"source": "true"}})
	rules := write(t, p.dir, "rules.yaml", "- {if: 'true', then: retry}\n- {then: fail, if: 'htp.status == 1'}\n")
	for _, args := range [][]string{
		{"rules", "backtest", "--job", "shop", "--rules", "rules.yaml"},
		{"rules", "check", "--job", "shop", "--rules", rules, "--error", `{"kind":"exit"}`},
	} {
		p.cli(args...).want(1).has("rules.yaml:2:20: [1].if: line 1, column 1: unknown name htp")
	}
	write(t, p.dir, "broken.yaml", "- {if: 'true', than: retry}\n")
	p.cli("rules", "backtest", "--job", "shop", "--rules", "broken.yaml").want(1).
		has("broken.yaml:1:16: [0].than: unknown")
	p.cli("rules", "backtest", "--job", "absent").want(1).has("no such job")
	p.cli("rules", "backtest").want(2).has("--job")
	p.cli("rules", "backtest", "--job", "shop", "--rules", "absent.yaml").want(1).has("absent.yaml")
	p.cli("rules", "backtest", "--job", "shop", "--since", "monday").want(1).has("body.since: want a time")
	p.cli("rules", "check", "--job", "shop").want(2).has("either --error or --run")
	p.cli("rules", "check", "--job", "shop", "--error", `{"kid": "exit"}`).want(2).has("--error: kid: unknown")
	p.cli("rules", "check", "--error", `{"kind": "exit"}`).want(2).has("--job or --rules")
	p.cli("rules", "check", "--job", "shop", "--error", `{}`, "--attempt", "1").want(2).has("--attempt is of use with --run")
	p.cli("rules", "check", "--run", "x").want(2).has("is not the id of a run")
}

func TestHostileRulesAreRefusedWhereTheyAreTried(t *testing.T) { // case 59
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("shop", doc{"script": doc{"source": "exit 1"}})
	p.end(p.enqueue("shop", doc{}))
	before := p.rss()
	for name, cond := range hostile {
		rules := []doc{{"if": cond, "then": "fail"}}
		for path, body := range map[string]doc{
			"/v1/rules/check":    {"rules": rules, "error": doc{"kind": "exit"}},
			"/v1/rules/backtest": {"job": "shop", "rules": rules},
		} {
			text, _ := json.Marshal(body)
			status, answer, err := p.try("POST", path, string(text))
			if err != nil || status != 422 || !strings.Contains(string(answer), `"body.rules[0].if"`) {
				t.Errorf("%s, %s: %d %s %v", path, name, status, answer, err)
			}
		}
	}
	if grown := p.rss() - before; grown > 64<<20 {
		t.Errorf("the server grew by %d MiB", grown>>20)
	}
}
