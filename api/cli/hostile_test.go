package cli_test

import (
	"fmt"
	"strings"
	"testing"
)

// Files that cost much where nothing bounds them, or that say two things at once.
func TestHostileFilesAreRefusedByApply(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	job := "jobs:\n  - name: a\n    webhook: {url: 'https://example.com/'}\n"
	var bomb strings.Builder
	bomb.WriteString("l0: &l0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "l%d: &l%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d,", i), 9))
	}
	for name, c := range map[string]struct{ text, says string }{
		"bomb.yaml":     {bomb.String() + job, "aliases stand for"},
		"itself.yaml":   {"jobs: &a [*a]\n", "itself.yaml:1:7:"},
		"deep.yaml":     {"jobs: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "deep"},
		"deep.json":     {`{"jobs":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "deep"},
		"twice.yaml":    {job + "    queue: a\n    queue: b\n", "twice.yaml:5:"},
		"twice.json":    {`{"jobs":[{"name":"a","queue":"a","queue":"b","webhook":{"url":"https://h/"}}]}`, "twice.json:1:"},
		"payload.yaml":  {job + "    payload: {a: 1, a: 2}\n", "payload.yaml:4:"},
		"two.yaml":      {job + "---\n" + strings.ReplaceAll(job, "name: a", "name: b"), "two.yaml"},
		"two.json":      {`{"jobs":[]}{"jobs":[]}`, "two.json:1:"},
		"nul.yaml":      {strings.ReplaceAll(job, "name: a", "name: a\x00"), "nul.yaml"},
		"escaped.yaml":  {strings.ReplaceAll(job, "name: a", `name: "a\0"`), "jobs[0].name"},
		"bytes.yaml":    {strings.ReplaceAll(job, "name: a", "name: \xff\xfe"), "bytes.yaml"},
		"path.yaml":     {strings.ReplaceAll(job, "name: a", "name: ../../etc/passwd"), "jobs[0].name"},
		"alike.yaml":    {strings.ReplaceAll(job, "name: a", "name: \u0430"), "jobs[0].name"},
		"tag.yaml":      {strings.ReplaceAll(job, "name: a", "name: !!python/object:os.system a"), "tag.yaml:2:"},
		"large.yaml":    {job + strings.Repeat("# "+strings.Repeat("x", 1022)+"\n", 16<<10), "at most"},
		"octal.yaml":    {job + "    priority: 010\n", "octal.yaml:4:"},
		"same.yaml":     {job + strings.TrimPrefix(job, "jobs:\n"), "same.yaml:4:"},
		"nested.yaml":   {job + "    retry: {rules: [{if: '" + strings.Repeat("(", 3000) + "', then: fail}]}\n", "nested.yaml:4:"},
		"template.yaml": {strings.ReplaceAll(job, "example.com/", "example.com/{{ "+strings.Repeat("!", 3000)+"1 }}"), "template.yaml:3:"},
	} {
		write(t, dir, name, c.text)
		got := p.cli("apply", "-f", name)
		if got.code != 1 || !strings.Contains(got.stderr, c.says) || len(got.stderr) > 16<<10 {
			t.Errorf("%s: exit code %d, want 1 and %q: %.1000s", name, got.code, c.says, got.stderr)
		}
	}
	if list := p.cli("jobs", "--json").want(0).stdout; strings.Contains(list, "example.com") {
		t.Errorf("a file that was refused left a job: %s", list)
	}
	p.cli("apply", "-f", write(t, dir, "good.yaml", job)).want(0)
}

func TestServeListensOnLoopbackUnlessTold(t *testing.T) { // case 176
	p := start(t, t.TempDir())
	p.cli("serve", "--help").want(0).has("127.0.0.1:8700")
}
