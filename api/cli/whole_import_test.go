package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// nightshiftOnPath is what the server adds to the PATH of a script.
var nightshiftOnPath = regexp.MustCompile(`:/[^:\]]*/nightshift-attempts-[^:\]]*/bin`)

func TestImportedLinesRunAsUnderCron(t *testing.T) {
	home := t.TempDir()
	p := start(t, t.TempDir())
	server := []string{"NIGHTSHIFT_SERVER=" + p.url}
	crontab := `A = "x y"  
B =  unquoted  $A {{ not }} # c  
TZ=Asia/Tokyo
HOME=` + home + `
0 5 1 1 * /bin/cat; printf '[\%s]\n' "\\x" "$A" "$B" "$TZ" "$HOME" "$SHELL" "$PATH"; pwd % in1%in\%2\\x\\\%y\\%%last\
0 6 1 1 * /usr/bin/wc -c; false; true | false | true; echo "went on"
0 7 1 1 * ./own-program && exit 3
SHELL=/bin/bash
0 8 31 2 * shopt -q login_shell || declare -p BASH_VERSINFO | cut -c 1-10 # as a comment
`
	write(t, home, "own-program", "#!/bin/sh\necho \"in $PWD\"\n")
	if err := os.Chmod(filepath.Join(home, "own-program"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := run(t, p.dir, crontab, nil, "import", "crontab", "-", "--timezone", "Europe/Berlin").want(0)
	if want := "stdin: 4 jobs, 1 note, which stand as comments in the file too:\n" +
		"  line 9: 0 8 31 2 * never comes: the job has no schedule, and is run by hand\n"; o.stderr != want {
		t.Errorf("told %q", o.stderr)
	}
	run(t, p.dir, o.stdout, server, "apply", "-f", "-").want(0).has("cat created", "wc created", "own-program created")
	run(t, p.dir, o.stdout, server, "apply", "-f", "-").want(0).has("cat unchanged")

	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	for job, want := range map[string]string{
		"cat": " in1\nin%2\\\\x\\\\%y\\%\nlast\\\n[\\x]\n[x y]\n[unquoted  $A {{ not }} # c]\n[Asia/Tokyo]\n[" + home +
			"]\n[/bin/sh]\n[/usr/bin:/bin]\n" + real + "\n",
		"wc":    "0\nwent on\n",
		"shopt": "declare -a\n",
	} {
		got := p.cli("run", job, "--wait").want(0).stdout
		if got = nightshiftOnPath.ReplaceAllString(got, ""); got != want {
			t.Errorf("%s printed %q, want %q", job, got, want)
		}
	}
	failed := p.cli("run", "own-program", "--wait", "--json").want(1).json()
	attempts, _ := failed["attempts"].([]any)
	if len(attempts) != 1 {
		t.Errorf("%d attempts", len(attempts))
	}
	p.cli("logs", "own-program").want(0).has("in " + real)
	p.cli("schedules").want(0).has("cat:default", "wc:default")
}

func TestImportTellsWhatItCannotUse(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, dir, "bad", "# x\nnot a line of cron at all\n")
	tab := write(t, dir, "tab", "0 5 * * * ada /bin/x\n0 0 L * * ada /bin/y\n")
	run(t, dir, "", nil, "import", "crontab", bad).want(2).has(bad + ":2: cron cannot read \"not\" as minute")
	run(t, dir, "", nil, "import", "crontab", filepath.Join(dir, "none")).want(2).has("there is no file")
	run(t, dir, "", nil, "import", "crontab", dir).want(1)
	run(t, dir, "", nil, "import", "crontab", tab, "--timezone", "Mars").want(2).has("--timezone: ", "Mars")
	run(t, dir, "", nil, "import", "crontab", tab, "--home", "x").want(2).has("--home: want an absolute path")
	run(t, dir, "", nil, "import", "crontab", tab, "--prefix", "A").want(2).has("--prefix: want")
	run(t, dir, "", nil, "import", "vercel", bad).want(2).has(bad + ":1:1: not JSON")
	run(t, dir, "", nil, "import", "vercel", bad, "--url", "example.com").want(2).has("--url: want the address of a project")
	run(t, dir, strings.Repeat("#", 1<<20)+"\n", nil, "import", "crontab", "-").want(2).has("want at most 1048576 bytes")

	o := run(t, dir, "", nil, "import", "crontab", tab, "--system", "--prefix", "web-").want(0)
	o.has("  web-x:\n", "      user: ada\n", "the server has to run as root", "tab: 1 job, 1 line not carried over", "line 2 is not carried over: cron cannot read \"L\"")
	jobs, _ := run(t, dir, "", nil, "import", "crontab", tab, "--json").want(0).json()["jobs"].([]any)
	if len(jobs) != 1 || jobs[0].(map[string]any)["name"] != "ada-x" {
		t.Errorf("%v", jobs)
	}
}

func TestLinesOfASystemCrontabRunAsTheirUserOrAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs scripts as others")
	}
	crontab := "0 5 1 1 * daemon whoami; pwd; echo \"$HOME $LOGNAME\"\n0 6 1 1 * bin id -un\n"
	file := write(t, t.TempDir(), "jobs.yaml", run(t, t.TempDir(), crontab, nil, "import", "crontab", "--system", "-").want(0).stdout)
	p := start(t, t.TempDir())
	p.cli("apply", "-f", file).want(0).has("whoami created", "id created")
	for job, user := range map[string]string{"whoami": "daemon\n/usr/sbin\n/usr/sbin daemon\n", "id": "bin\n"} {
		p.cli("run", job, "--wait").want(0).has(user)
	}
	dir := t.TempDir()
	plain := startCommand(t, dir, asPlainUser(t, dir))
	plain.cli("apply", "-f", file).want(1).has("jobs.id.script.user: this server may not run scripts as another user", "start it as root")
	if o := plain.cli("jobs", "--json").want(0); strings.Contains(o.stdout, "whoami") {
		t.Errorf("part of it was applied: %s", o.stdout)
	}
}
