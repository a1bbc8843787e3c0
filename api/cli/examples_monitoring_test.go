package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// tokenOf is the token that the first start of a server has made.
func (p *process) tokenOf() string {
	p.t.Helper()
	token, err := os.ReadFile(filepath.Join(p.dir, "nightshift.db.token"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// metrics reads /metrics as text.
func (p *process) metrics() string {
	p.t.Helper()
	req, err := http.NewRequest("GET", p.url+"/metrics", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.tokenOf())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		p.t.Fatalf("metrics: %d %v %s", res.StatusCode, err, text)
	}
	return string(text)
}

// lived is a server that has done some of everything that metrics tell of.
func lived(t *testing.T) *process {
	t.Helper()
	p := start(t, t.TempDir())
	file := filepath.Join(p.dir, "jobs.yaml")
	err := os.WriteFile(file, []byte(`
jobs:
  good: {script: "true", schedules: [{every: 1s}]}
  bad: {script: "exit 3"}
  again: {script: "exit 75", retry: {max_attempts: 2, backoff: {kind: fixed, base: 10ms}}}
dependencies:
  stripe: {concurrency: 3, breaker: {failures: 5, open_for: 1h}}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p.cli("apply", "-f", file).want(0)
	for range 3 {
		p.cli("run", "bad", "--wait").want(1)
	}
	p.cli("run", "again", "--wait").want(1)
	p.cli("dependencies", "trip", "stripe").want(0)
	p.until("a tick to have run", func() bool {
		return strings.Contains(p.metrics(), `jobs_processed_total{job="good",outcome="succeeded"}`)
	})
	return p
}

func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	needs(t, "promtool")
	p := lived(t)
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(p.metrics())
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}, {"check", "config", "--syntax-only", "prometheus.yml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = example(t, "monitoring")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// metricName finds the metrics that an expression reads.
var metricName = regexp.MustCompile(`\b(?:jobs?|nightshift|process)_[a-z_]+\b`)

func TestWhatRulesAndDashboardReadIsThere(t *testing.T) {
	p := lived(t)
	text := p.metrics()
	for _, file := range []string{"rules.yml", "grafana.json"} {
		body, err := os.ReadFile(filepath.Join(example(t, "monitoring"), file))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(file) == ".json" && !json.Valid(body) {
			t.Errorf("%s is no JSON", file)
		}
		found := metricName.FindAllString(string(body), -1)
		if len(found) < 8 {
			t.Errorf("%s reads %v", file, found)
		}
		for _, name := range found {
			if !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") {
				t.Errorf("%s reads %s, which there is not", file, name)
			}
		}
	}
}

func TestPrometheusScrapesAServer(t *testing.T) {
	needs(t, "prometheus")
	p := lived(t)
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(example(t, "monitoring"), "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.1:8700", strings.TrimPrefix(p.url, "http://"), ": 15s", ": 1s").Replace(string(config))
	token := p.cli("tokens", "create", "prometheus", "--scope", "read").want(0)
	rules, err := os.ReadFile(filepath.Join(example(t, "monitoring"), "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"prometheus.yml": text, "token": token.stdout, "rules.yml": string(rules)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	_ = ln.Close()
	cmd := exec.Command("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+address)
	cmd.Dir = dir
	log := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	want := map[string]string{
		`jobs_processed_total{job="bad",outcome="failed"}`:   "3",
		`jobs_retry_total{job="again"}`:                      "1",
		`nightshift_failures_open`:                           "4",
		`nightshift_dependency_state{state="open"}`:          "1",
		`up{job="nightshift"}`:                               "1",
		`count(count by (job) (job_duration_seconds_count))`: "3",
	}
	for query, value := range want {
		p.until(fmt.Sprintf("Prometheus to know that %s is %s", query, value), func() bool {
			return askPrometheus(address, query) == value
		})
	}
}

// askPrometheus is the value of an expression that has one; "": it has none yet.
func askPrometheus(address, query string) string {
	res, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if json.NewDecoder(res.Body).Decode(&answer) != nil || len(answer.Data.Result) != 1 {
		return ""
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}
