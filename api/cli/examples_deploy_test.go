package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Units are looked at by systemd itself: nothing unknown in them, and little that the service could do to the machine.
func TestUnitsAreAsSystemdWantsThem(t *testing.T) {
	needs(t, "systemd-analyze")
	dir := t.TempDir()
	var units []string
	for file, program := range map[string]string{
		"systemd/nightshift.service":       "/usr/local/bin/nightshift",
		"systemd/nightshift.socket":        "",
		"backup/nightshift-backup.service": "/usr/local/lib/nightshift/backup.sh",
		"backup/nightshift-backup.timer":   "",
		"litestream/litestream.service":    "/usr/local/bin/litestream",
	} {
		var pairs []string
		if program != "" {
			pairs = []string{program, binary}
		}
		units = append(units, write(t, dir, filepath.Base(file), changed(t, file, pairs...)))
	}
	verified(t, dir, units)
	exposed(t, units, "25")
	if err := os.Mkdir(filepath.Join(dir, "nightshift.service.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "nightshift.service.d"), "script-users.conf", changed(t, "systemd/script-users.conf"))
	verified(t, dir, units)
	exposed(t, units, "35")
}

func verified(t *testing.T, dir string, units []string) {
	t.Helper()
	verify := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, units...)...)
	// The units of this machine are none of the test's business.
	if out, err := verify.CombinedOutput(); err != nil || strings.Contains(string(out), dir) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// exposed has systemd score what the service may do: 0 is nothing, 100 all.
func exposed(t *testing.T, units []string, most string) {
	t.Helper()
	for _, unit := range units {
		if filepath.Base(unit) != "nightshift.service" {
			continue
		}
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+most, unit).CombinedOutput()
		if err != nil {
			t.Errorf("systemd-analyze security: %v\n%s", err, out)
		}
	}
}

// What is in the unit's environment file are flags of serve.
func TestVariablesOfTheExamplesAreFlags(t *testing.T) {
	help := run(t, t.TempDir(), "", nil, "serve", "--help").want(0).stdout
	besides := map[string]bool{"NIGHTSHIFT_KEY": true, "NIGHTSHIFT_SMTP_PASSWORD": true}
	for _, file := range []string{"systemd/nightshift.env", "docker/compose.yaml", "docker/Dockerfile"} {
		found := regexp.MustCompile(`\bNIGHTSHIFT_[A-Z_]+\b`).FindAllString(changed(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s names no variable", file)
		}
		for _, name := range found {
			if !besides[name] && !strings.Contains(help, name) {
				t.Errorf("%s: %s is no flag of serve", file, name)
			}
		}
	}
}

// The script makes copies at any time, and the drill restores one: held, with all that was acknowledged.
func TestBackupIsCopiedAndRestoredInADrill(t *testing.T) {
	t.Parallel()
	needs(t, "od")
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(binary, filepath.Join(bin, "nightshift")); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	p.put("job", doc{"script": doc{"source": "true"}})
	p.end(p.enqueue("job", nil))
	id := p.enqueue("job", doc{"delay": "1h"})
	run(t, dir, "a value of a secret\n", []string{"NIGHTSHIFT_SERVER=" + p.url}, "secrets", "set", "KEPT").want(0)
	p.cli("backup", filepath.Join(dir, "backups", "latest.db")).want(0) // which the server does by itself now and then
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "scripts"), "a.sh", "true\n")
	script := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(example(t, "deploy"), "backup", name), args...)
		cmd.Env = append(environment("KEEP=2", "PORT="+freePort(t)), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	copies := t.TempDir()
	for _, old := range []string{"2026-01-01T000000Z", "2026-01-02T000000Z"} {
		if err := os.Mkdir(filepath.Join(copies, old), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	said := script("backup.sh", filepath.Join(dir, "nightshift.db"), copies, filepath.Join(dir, "scripts"))
	made := said[strings.LastIndexByte(said, '\n')+1:]
	for _, file := range []string{"nightshift.db", "nightshift.db.key", "scripts/a.sh"} {
		if _, err := os.Stat(filepath.Join(made, file)); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(copies, "*")); len(left) != 2 || strings.Contains(strings.Join(left, " "), "01-01") {
		t.Errorf("kept: %v", left)
	}
	if out := script("drill.sh", made); !strings.Contains(out, "It can be restored.") || !strings.Contains(out, id[:13]) {
		t.Errorf("the drill: %s", out)
	}
	// A copy that is damaged is no copy.
	if err := os.Truncate(filepath.Join(dir, "backups", "latest.db"), 20<<10); err != nil {
		t.Fatal(err)
	}
	bad := exec.Command(filepath.Join(example(t, "deploy"), "backup", "backup.sh"), filepath.Join(dir, "nightshift.db"), copies)
	bad.Env = append(environment(), "PATH="+bin+":"+os.Getenv("PATH"))
	var mailed strings.Builder // what cron mails
	bad.Stderr = &mailed
	if err := bad.Run(); err == nil || !strings.Contains(mailed.String(), "WRONG") {
		t.Errorf("half a copy: %v, it says %q", err, mailed.String())
	}
	if left, _ := filepath.Glob(filepath.Join(copies, "*.part")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
