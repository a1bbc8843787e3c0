package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestWhatIsNotInstalledIsNamedWhereItIsKnown(t *testing.T) {
	for line, want := range map[string]string{
		"/tmp/x/script: line 1: python3: command not found":                         " (apt install python3)",
		"/tmp/x/script: 12: php: not found":                                         " (apt install php-cli)",
		"zsh:1: command not found: node":                                            " (apt install nodejs)",
		"/usr/bin/env: ‘ruby’: No such file or directory":                           " (apt install ruby)",
		"env: 'java': No such file or directory":                                    " (apt install default-jre-headless)",
		"jq: command not found":                                                     " (apt install jq)",
		"script: line 1: ourtool: command not found":                                "",
		"the user was not found":                                                    "",
		"php: the page was not found":                                               "",
		"/usr/bin/env: ‘python3\\r’: No such file or directory":                     " (the #! line of that file ends in CRLF: save it with LF)",
		"script: line 1: ./x.sh: /bin/bash^M: bad interpreter: No such file or dir": " (the #! line of that file ends in CRLF: save it with LF)",
		"script: line 1: ./x: Permission denied":                                    "",
		"":                                                                          "",
	} {
		if got := hintOf(line); got != want {
			t.Errorf("%q gives %q, want %q", line, got, want)
		}
	}
}

// What the shells of this machine print is what is looked for.
func TestShellsPrintWhatIsLookedFor(t *testing.T) {
	bin := t.TempDir()
	for name, text := range map[string]string{
		"wanted": "#!/usr/bin/env ruby\n", "other": "#!/usr/bin/env ruby\r\n", "bad": "#!/bin/bash\r\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k := newKindAny(t)
	for _, shell := range []string{"/bin/bash", "/bin/dash"} {
		if _, err := os.Stat(shell); err != nil {
			t.Log(err)
			continue
		}
		for source, want := range map[string]string{
			"ruby x":        "(apt install ruby)",
			bin + "/wanted": "(apt install ruby)",
			bin + "/other":  "ends in CRLF",
		} {
			call, _ := callOf(jobs.Script{
				Source: source, Interpreter: []string{shell}, Env: map[string]string{"PATH": bin},
			})
			rep := begin(t, k, call).end(t)
			if rep.Failure == nil || rep.ExitCode != 127 || !strings.Contains(rep.Failure.Message, want) {
				t.Errorf("%s %s: %+v", shell, source, rep.Failure)
			}
		}
	}
	if _, err := exec.LookPath("bash"); err == nil {
		call, _ := callOf(jobs.Script{Source: bin + "/bad", Interpreter: []string{"bash"}})
		if rep := begin(t, k, call).end(t); rep.Failure == nil || !strings.Contains(rep.Failure.Message, "CRLF") {
			t.Errorf("%+v", rep.Failure)
		}
	}
}

func TestShellScriptWithCRLFIsToldSo(t *testing.T) {
	scripts := t.TempDir()
	if err := os.WriteFile(filepath.Join(scripts, "x.sh"), []byte("#!/bin/sh\r\nfalse\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k := kindAt(t, Config{Scripts: scripts}, ownCgroup)
	for name, c := range map[string]struct {
		script jobs.Script
		told   bool
	}{
		"source":       {jobs.Script{Source: "echo a\r\nfalse\r\n"}, true},
		"path":         {jobs.Script{Path: "x.sh"}, true},
		"not a shell":  {jobs.Script{Source: "#!/usr/bin/perl\r\nexit 1;\r\n"}, false},
		"line feeds":   {jobs.Script{Source: "printf 'a\\r\\n'\nfalse\n"}, false},
		"that is well": {jobs.Script{Source: ": \r\n:"}, false},
	} {
		call, _ := callOf(c.script)
		rep := begin(t, k, call).end(t)
		if slices.Contains(rep.Notes, crlfNote) != c.told || name != "that is well" && rep.Failure == nil {
			t.Errorf("%s: failure %v, notes %q", name, rep.Failure, rep.Notes)
		}
	}
}
