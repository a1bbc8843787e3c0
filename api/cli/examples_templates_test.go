package cli_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// receiving starts the receiver of an example on any free port and gives its URL.
func receiving(t testing.TB, script string) string {
	t.Helper()
	needs(t, "python3")
	receiver := exec.Command("python3", "-B", example(t, script), "0")
	receiver.Stderr = io.Discard
	said, err := receiver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = receiver.Process.Kill()
		_ = receiver.Wait()
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "receiving on "))
}

// calling is the file of an example, its webhooks pointed at another address.
func calling(t testing.TB, file, inFile, url string) string {
	t.Helper()
	text, err := os.ReadFile(example(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), inFile) {
		t.Fatalf("no job calls %s", inFile)
	}
	return write(t, t.TempDir(), "jobs.yaml", strings.ReplaceAll(string(text), inFile, url))
}

const warehouseSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// templates starts a server with the jobs of examples/templates and their receiver.
func templates(t *testing.T) *process {
	t.Helper()
	url := receiving(t, "templates/receiver.py")
	p := start(t, t.TempDir())
	run(t, p.dir, warehouseSecret, []string{"NIGHTSHIFT_SERVER=" + p.url}, "secrets", "set", "WAREHOUSE").want(0)
	p.cli("apply", "-f", calling(t, "templates/jobs.yaml", "http://127.0.0.1:8901", url)).want(0)
	return p
}

// wantRun runs a job of the examples and compares its result.
func (p *process) wantRun(job, payload, result string) map[string]any {
	p.t.Helper()
	args := []string{"run", job, "--wait", "--json"}
	if payload != "" {
		args = append(args, "--payload", payload)
	}
	made := p.cli(args...).want(0).json()
	var want any
	if err := json.Unmarshal([]byte(result), &want); err != nil {
		p.t.Fatal(err)
	}
	if !reflect.DeepEqual(made["result"], want) {
		p.t.Errorf("%s: result %v, want %v", job, made["result"], want)
	}
	return made
}

func TestTemplatesExampleFitsEachEndpoint(t *testing.T) {
	p := templates(t)
	p.wantRun("look-up-stock", "", `{"article":"desk lamp/red","warehouse":"Köln & Bonn","left":7}`)
	p.wantRun("probe", "", `null`)
	p.wantRun("charge-card", "", `{"amount":"1990","currency":"eur","customer":"Smith & Sons"}`)
	p.wantRun("charge-card", `{"cents":5,"customer":"a=1&amount=0"}`,
		`{"amount":"5","currency":"eur","customer":"a=1&amount=0"}`)
	p.wantRun("tell-erp", `{"number":9,"lamps":2,"desks":1}`, `"<accepted number='9' pieces='3'/>"`)
	p.wantRun("place-order", "", `{
		"got": {"total": 19.90, "lines": [{"article": "lamp", "quantity": 2}], "express": true,
			"reference": "order 7 of Ada", "note": null, "literal": "{{ left as it is }}"},
		"types": {"total": "float", "lines": "list", "express": "bool", "reference": "str",
			"note": "NoneType", "literal": "str"},
		"sender": "place-order, attempt 1"}`)
	p.wantRun("place-old-order", "", `{"got":{"total":1},"types":{"total":"int"},"sender":null}`)
}

func TestTemplatesExampleRefundsAnOrderOnce(t *testing.T) {
	p := templates(t)
	p.wantRun("refund", "", `{"key":"refund-7","refund":1,"repeated":false}`)
	p.wantRun("refund", "", `{"key":"refund-7","refund":1,"repeated":true}`)
	p.wantRun("refund", `{"order":8}`, `{"key":"refund-8","refund":2,"repeated":false}`)
}

func TestTemplatesExampleLooksIntoTheAnswer(t *testing.T) {
	p := templates(t)
	p.wantRun("ask-legacy", "", `{"state":"accepted"}`)
	p.cli("run", "ask-legacy", "--payload", `{"quantity":11}`, "--wait").want(1).has(
		"200 OK, but success is not true: http.status == 200", "it was refused")
}

func TestTemplatesExampleIsSignedByItsSecret(t *testing.T) {
	p := templates(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	made := p.cli("run", "tell-warehouse", "--payload", `{"order":9}`, "--wait", "--json").want(0).json()
	result, _ := made["result"].(map[string]any)
	if result["id"] == nil || result["id"] != made["operation_id"] {
		t.Errorf("result %v of operation %v", made["result"], made["operation_id"])
	}
	run(t, p.dir, "whsec_c29tZXRoaW5nIGVsc2UuLi4=", []string{"NIGHTSHIFT_SERVER=" + p.url},
		"secrets", "set", "WAREHOUSE").want(0)
	p.cli("run", "tell-warehouse", "--wait").want(1).has("401 Unauthorized")
}

// A value that cannot be rendered is the payload's fault: the run says which field.
func TestTemplatesExampleSaysWhatIsMissing(t *testing.T) {
	p := templates(t)
	p.cli("run", "tell-erp", "--payload", `{"number":9}`, "--wait").want(1).has(
		"webhook.body: line 2", "gives nil, which has no text")
}
