package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestInterpreterIsChosen(t *testing.T) {
	scripts := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(scripts, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(scripts, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/lib.sh", "echo from lib")
	write("a/main.sh", `. "$(dirname "$0")/lib.sh"`)
	write("a.PL", `print "perl $0" =~ /a\.PL/ ? "perl" : "no"`)
	write("plain", "echo plain")
	write("bang.py", "#!/usr/bin/perl -w\nprint \"bang $^W\"")
	copyOf(t, "/bin/echo", filepath.Join(scripts, "program"), 0o755)
	k := kindAt(t, Config{Scripts: scripts}, ownCgroup)
	for name, c := range map[string]struct {
		script jobs.Script
		want   string
	}{
		"given":       {jobs.Script{Source: "#!/no\necho sh", Interpreter: []string{"sh"}}, "sh\n"},
		"bang":        {jobs.Script{Source: "#!/usr/bin/perl -w\nprint \"w$^W\""}, "w1"},
		"bang by env": {jobs.Script{Source: "#! /usr/bin/env perl\nprint 1+1"}, "2"},
		"bang env -S": {jobs.Script{Source: "#!/usr/bin/env -S perl -w\nprint \"w$^W\""}, "w1"},
		"bang CRLF":   {jobs.Script{Source: "#!/usr/bin/perl\r\nprint 3;"}, "3"},
		"shell":       {jobs.Script{Source: "set -o | grep -c '^[ep][ri].*on$'"}, "2\n"},
		"arguments": {
			jobs.Script{Source: `printf '<%s>' "$@"`, Args: []string{"-n", "--", "a\nb", "", "-x"}},
			"<-n><--><a\nb><><-x>",
		},
		"path":       {jobs.Script{Path: "plain"}, "plain\n"},
		"beside":     {jobs.Script{Path: "a/main.sh"}, "from lib\n"},
		"by ending":  {jobs.Script{Path: "a.PL"}, "perl"},
		"bang first": {jobs.Script{Path: "bang.py"}, "bang 1"},
		"program":    {jobs.Script{Path: "program", Args: []string{"-n", "hi"}}, "hi"},
		"dir":        {jobs.Script{Source: "pwd", Dir: "/usr/bin"}, "/usr/bin\n"},
		"PATH of job": {
			jobs.Script{Source: "echo $PATH", Env: map[string]string{"PATH": "/usr/bin:/bin"}},
			"/usr/bin:/bin\n",
		},
		"relative": {
			jobs.Script{Source: "print 5", Interpreter: []string{"./perl"}, Dir: "/usr/bin"}, "5",
		},
		"empty source": {jobs.Script{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			call, log := callOf(c.script)
			wantSuccess(t, begin(t, k, call).end(t))
			if log.String() != c.want {
				t.Errorf("printed %q, want %q", log, c.want)
			}
		})
	}
}

func copyOf(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, mode); err != nil {
		t.Fatal(err)
	}
}

const tooLarge = "args and env are too large to start a program with: 128 KiB each and, " +
	"as a rule, 2 MiB together; give large data in the payload"

func TestWhatCannotBeStartedSaysWhy(t *testing.T) { // S10, S11
	scripts, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{
		outside: "echo", scripts + "/ok": "echo",
		scripts + "/broken": "\x7fELF", scripts + "/noexec": "\x7fELF",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Chmod(scripts+"/broken", 0o755)
	_ = os.Symlink(outside, scripts+"/link")
	_ = mkfifo(scripts + "/fifo")
	_ = os.Mkdir(scripts+"/folder", 0o755)
	k := kindAt(t, Config{Scripts: scripts}, ownCgroup)
	for _, c := range []struct {
		script jobs.Script
		want   string
	}{
		{
			jobs.Script{Interpreter: []string{"ruby9"}},
			"ruby9, which is to run the script, is not installed, or not on the script's PATH",
		},
		{
			jobs.Script{Source: "#!/usr/bin/env Rscript\n", Env: map[string]string{"PATH": "/nowhere:."}},
			"Rscript is not installed: apt install r-base-core",
		},
		{
			jobs.Script{Interpreter: []string{"python3"}, Env: map[string]string{"PATH": "/nowhere"}},
			"python3 is not installed: apt install python3",
		},
		{
			jobs.Script{Source: "#!/opt/none/python3\n"},
			"/opt/none/python3 is not installed: apt install python3",
		},
		{
			jobs.Script{Interpreter: []string{"/opt/none/x"}},
			"/opt/none/x, which is to run the script, does not exist: install it, or name another in " +
				"script.interpreter or the #! line",
		},
		{jobs.Script{Interpreter: []string{"./ok"}, Dir: scripts}, "./ok is not executable: chmod +x it"},
		{jobs.Script{Path: "none"}, `path "none" does not exist in the scripts folder`},
		{jobs.Script{Path: "folder"}, `path "folder" in the scripts folder is not a file`},
		{jobs.Script{Path: "fifo"}, `path "fifo" in the scripts folder is not a file`},
		{jobs.Script{Path: "link"}, `path "link" in the scripts folder: path escapes from parent`},
		{
			jobs.Script{Path: "../secret"},
			`path "../secret" leads out of the scripts folder: want a path below it, ` +
				"such as nightly/sync.py",
		},
		{
			jobs.Script{Path: "/etc/passwd"},
			`path "/etc/passwd" leads out of the scripts folder: want a path below it, ` +
				"such as nightly/sync.py",
		},
		{jobs.Script{Path: "broken"}, "the program is not one for this machine, and has no #! line"},
		{jobs.Script{Path: "noexec"}, scripts + "/noexec is not executable: chmod +x it"},
		{jobs.Script{Dir: "here"}, `dir "here" is not absolute: want a path such as /srv/app`},
		{jobs.Script{Dir: "/nowhere/at all"}, `dir "/nowhere/at all" does not exist`},
		{jobs.Script{Dir: outside}, fmt.Sprintf("dir %q is not a folder", outside)},
		{jobs.Script{Args: []string{"x", "a\x00b"}}, "args[1] " + holdsNUL},
		{jobs.Script{Interpreter: []string{"a\x00b"}}, "interpreter[0] " + holdsNUL},
		{jobs.Script{Env: map[string]string{"A": "\x00"}}, "env.A " + holdsNUL},
		{
			jobs.Script{Env: map[string]string{"A=B": ""}},
			`env: "A=B" is no name: want one without = and NUL`,
		},
		{
			jobs.Script{Args: []string{strings.Repeat("x", 200_000)}},
			tooLarge,
		},
		{
			jobs.Script{Env: map[string]string{"BIG": strings.Repeat("x", 200_000)}},
			tooLarge,
		},
		{
			jobs.Script{Args: slices.Repeat([]string{strings.Repeat("x", 100_000)}, 100)},
			tooLarge,
		},
	} {
		call, log := callOf(c.script)
		rep := begin(t, k, call).end(t)
		wantFailure(t, rep, jobs.FailSpawn, c.want)
		if rep.ExitCode != -1 || rep.Stopped != nil || log.String() != "" || len(rep.Notes) != 0 {
			t.Errorf("%s: %+v, output %q", c.want, rep, log)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(k.temp.Path, "[^.]*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestScriptByPathNeedsAFolder(t *testing.T) {
	call, _ := callOf(jobs.Script{Path: "x.sh"})
	wantFailure(t, begin(t, newKindAny(t), call).end(t), jobs.FailSpawn,
		`path "x.sh": this server has no scripts folder: start it with --scripts DIR`)
	if _, err := New(Config{Scripts: "/nowhere"}); err == nil {
		t.Error("a scripts folder that does not exist is taken")
	}
}

func TestScriptOfAPathIsReadWhenItStarts(t *testing.T) { // S10
	scripts := t.TempDir()
	k := kindAt(t, Config{Scripts: scripts}, ownCgroup)
	for _, word := range []string{"one", "two"} {
		if err := os.WriteFile(scripts+"/x", []byte("echo "+word), 0o600); err != nil {
			t.Fatal(err)
		}
		call, log := callOf(jobs.Script{Path: "x"})
		wantSuccess(t, begin(t, k, call).end(t))
		if log.String() != word+"\n" {
			t.Errorf("printed %q, want %s", log, word)
		}
	}
}

func TestRealInterpretersRun(t *testing.T) {
	k := newKindAny(t)
	for name, text := range map[string]string{
		"python3": "import json,sys,os\nprint(json.load(sys.stdin)['a'], os.environ['NIGHTSHIFT_JOB'])",
		"node":    "console.log(JSON.parse(require('fs').readFileSync(0)).a, process.env.NIGHTSHIFT_JOB)",
		"perl":    `$_ = <STDIN>; /"a":(\d)/; print "$1 $ENV{NIGHTSHIFT_JOB}\n"`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(err)
			}
			call, log := callOf(jobs.Script{Source: text, Interpreter: []string{name}})
			call.Payload = jobs.Raw(`{"a":7}`)
			wantSuccess(t, begin(t, k, call).end(t))
			if log.String() != "7 test\n" {
				t.Errorf("printed %q", log)
			}
		})
	}
}

func TestWithoutProcSaysWhatToDo(t *testing.T) {
	p, err := openProgram(filepath.Join(t.TempDir(), "self", "exe"))
	if err == nil {
		p.close()
		t.Fatal("a binary was opened where there is none")
	}
	for _, want := range []string{"/proc", "--scripts off"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not name %s", err, want)
		}
	}
}
