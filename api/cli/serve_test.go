package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFirstStartMakesAnAdminToken(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	token := filepath.Join(dir, "nightshift.db.token")
	for _, path := range []string{token, filepath.Join(dir, "nightshift.db.key"), filepath.Join(dir, "nightshift.db")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}
	secret, _ := os.ReadFile(token)
	if strings.Contains(p.log.String(), strings.TrimSpace(string(secret))) {
		t.Error("the log holds the token")
	}
	if !strings.Contains(p.log.String(), token) {
		t.Error("the log does not say where the token is")
	}
	p.cli("tokens").want(0).has("admin")
	res, err := http.Get(p.url + "/v1/jobs")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("without a token: %d", res.StatusCode)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "nightshift.db-*")); left != nil {
		t.Errorf("it left %v", left)
	}

	again := start(t, dir)
	if after, _ := os.ReadFile(token); string(after) != string(secret) {
		t.Error("the second start made another token")
	}
	again.cli("jobs").want(0)
	if code := again.stop(syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTokenOfTheEnvironmentCountsInstead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("NIGHTSHIFT_TOKEN", "x") // the helper drops it
	const secret = "a-secret-of-the-environment"
	serve := func(secret string) *process {
		path := write(t, dir, "serve.sh", "#!/bin/sh\nexport NIGHTSHIFT_TOKEN="+secret+"\nexec "+binary+" \"$@\"\n")
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		old := binary
		binary = path
		defer func() { binary = old }()
		return start(t, dir)
	}
	p := serve(secret)
	if _, err := os.Stat(filepath.Join(dir, "nightshift.db.token")); err == nil {
		t.Error("a token file was written")
	}
	p.cli("jobs").want(1).has("A valid token is needed", "NIGHTSHIFT_TOKEN")
	p.cli("jobs", "--token", secret).want(0)
	p.stop(syscall.SIGTERM)
	p = serve("another-secret-of-the-environment")
	p.cli("jobs", "--token", secret).want(1)
	p.cli("jobs", "--token", "another-secret-of-the-environment").want(0)
	p.stop(syscall.SIGTERM)
	p = serve("short")
	if code := p.exit(); code != 1 || !strings.Contains(p.log.String(), "NIGHTSHIFT_TOKEN: want at least") {
		t.Errorf("a short secret: exit code %d\n%s", code, p.log)
	}
	// Without the variable its token is gone, and the server makes one.
	p = start(t, dir)
	p.cli("jobs", "--token", "another-secret-of-the-environment").want(1)
	p.cli("jobs").want(0)
	p.stop(syscall.SIGTERM)
	// It is given to clients by the same name.
	made, err := os.ReadFile(filepath.Join(dir, "nightshift.db.token"))
	if err != nil {
		t.Fatal(err)
	}
	client := strings.TrimSpace(string(made))
	p = serve(client)
	p.cli("tokens", "--token", client).want(0).has("admin")
	narrow := p.cli("tokens", "create", "narrow", "--scope", "read", "--json", "--token", client).want(0).json()["secret"]
	p.stop(syscall.SIGTERM)
	p = serve(fmt.Sprint(narrow))
	if code := p.exit(); code != 1 || !strings.Contains(p.log.String(), "NIGHTSHIFT_TOKEN is the token narrow, which may not do everything") {
		t.Errorf("a token that may read: exit code %d\n%s", code, p.log)
	}
}

func TestSecondServerOnTheFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	key, _ := os.ReadFile(filepath.Join(dir, "nightshift.db.key"))
	if err := os.Symlink("nightshift.db", filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	for _, db := range []string{"nightshift.db", "link.db", filepath.Join(dir, "nightshift.db")} {
		second := start(t, dir, "--db", db)
		if code := second.exit(); code != 1 {
			t.Errorf("--db %s: exit code %d\n%s", db, code, second.log)
		}
	}
	if err := os.Link(filepath.Join(dir, "nightshift.db"), filepath.Join(dir, "hard.db")); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, "--db", "hard.db")
	if code := second.exit(); code != 1 || !strings.Contains(second.log.String(), "2 hard links") {
		t.Errorf("a hard link: exit code %d\n%s", code, second.log)
	}
	p.cli("jobs").want(0)
	if after, _ := os.ReadFile(filepath.Join(dir, "nightshift.db.key")); string(after) != string(key) {
		t.Error("the key changed")
	}
}

func TestWrongFlagsAreUsageErrors(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"--run-all: needs --apply":        {"serve", "--run-all"},
		"--workers: want 1 to 10000":      {"serve", "--workers", "0"},
		"--db: want the path of a file":   {"serve", "--db", ""},
		"--listen: want an address and":   {"serve", "--listen", ""},
		"--url: want an address":          {"serve", "--url", "jobs.example.com"},
		"--trusted-proxy: \"proxy\"":      {"serve", "--trusted-proxy", "proxy"},
		"--log-level: want debug, info":   {"serve", "--log-level", "loud"},
		"--shutdown-grace":                {"serve", "--shutdown-grace", "soon"},
		"unknown flag --nonsense":         {"jobs", "--nonsense"},
		"unexpected argument nonsense":    {"nonsense"},
		"is not the id of a run":          {"runs", "show", "x"},
		"--payload: not JSON":             {"run", "a", "--payload", "{"},
		"expected \"<job>\"":              {"run"},
		"--server: want an address":       {"jobs", "--server", "localhost"},
		"neither the id of a run nor the": {"logs", "A B"},
		"--run-at:":                       {"run", "a", "--run-at", "tomorrow"},
		"--since:":                        {"runs", "--since", "yesterday"},
		"missing flags: --file":           {"apply"},
		"missing flags: --scope":          {"tokens", "create", "a"},
	} {
		run(t, dir, "", nil, args...).want(2).has(want)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("they left %v", left)
	}
	run(t, dir, "", nil, "--help").want(0).has("serve", "NIGHTSHIFT_SERVER")
	run(t, dir, "", nil).want(0).has("Usage: nightshift")
	run(t, dir, "", nil, "version").want(0).has("nightshift ")
	if v := run(t, dir, "", nil, "version", "--json").want(0).json(); v["version"] == "" {
		t.Error("no version")
	}
}

func TestStartFailsWithAClearMessage(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, dir, "bad.yaml", "jobs:\n  a:\n    webhook: http://h/\n    retry:\n      rules:\n        - {if: 'nope ==', then: fail}\n")
	write(t, dir, "text.db", strings.Repeat("this is no database\n", 100))
	for want, args := range map[string][]string{
		"bad.yaml:6:":                     {"--apply", bad},
		"absent.yaml":                     {"--apply", "absent.yaml"},
		"not a Nightshift database":       {"--db", "text.db"},
		"webhook-private":                 {"--webhook-private", "sometimes"},
		"scripts folder":                  {"--scripts", "absent"},
		"--script-user: there is no user": {"--script-user", "nosuchuser"},
		"--smtp: want a URL":              {"--smtp", "mail.example.com"},
		"--smtp: want no password":        {"--smtp", "smtp://ada:secret@mail.example.com"},
		"--mail-from: want":               {"--mail-from", "nobody"},
	} {
		p := start(t, dir, args...)
		if code := p.exit(); code != 1 {
			t.Errorf("%v: exit code %d", args, code)
		}
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("%v: %s, want %s", args, p.log, want)
		}
	}
	p := start(t, dir)
	second := run(t, dir, "", nil, "serve", "--listen", strings.TrimPrefix(p.url, "http://"), "--db", "other.db")
	second.want(1).has("listen on")
}

func TestScriptsCanBeSwitchedOff(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  a: {script: 'true'}\n")
	p := start(t, dir, "--scripts", "off", "--apply", file)
	p.cli("run", "a", "--wait").want(1).has("--scripts off")
}

func TestSignalLetsAttemptsEndWithinTheGrace(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  brief:\n    script: 'echo begun; while [ ! -e "+
		filepath.Join(dir, "go")+" ]; do sleep 0.05; done; echo over'\n")
	p := start(t, dir, "--apply", file, "--shutdown-grace", "60s")
	id, _ := p.cli("run", "brief", "--json").want(0).json()["id"].(string)
	p.until("the script has begun", func() bool { return strings.Contains(p.cli("logs", id).stdout, "begun") })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("it takes no more calls", func() bool { return p.cli("jobs").code == 1 })
	p.cli("jobs").want(1).has("The server is stopping")
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200} {
		if status := p.call("GET", path, nil, nil); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	write(t, dir, "go", "")
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	p = start(t, dir)
	p.cli("runs", "show", id).want(0).has("It succeeded.")
	p.cli("logs", id).want(0).has("begun\nover\n")
}

func TestSecondSignalCutsTheGraceShort(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  long: {script: \"trap '' TERM; echo begun; while :; do sleep 0.1; done\"}\n")
	p := start(t, dir, "--apply", file, "--shutdown-grace", "10m")
	id, _ := p.cli("run", "long", "--json").want(0).json()["id"].(string)
	p.until("the script has begun", func() bool { return strings.Contains(p.cli("logs", id).stdout, "begun") })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("it forces", func() bool {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		return strings.Contains(p.log.String(), "stopping at once")
	})
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	// Interrupted, it is no failure: the next start runs it again.
	p = start(t, dir)
	p.until("it runs again", func() bool {
		run := p.cli("runs", "show", id, "--json").want(0).json()
		attempts, _ := run["attempts"].([]any)
		return len(attempts) == 2 && attempts[0].(map[string]any)["outcome"] == "interrupted"
	})
	p.cli("cancel", id).want(0)
}

// Kill -9 in between: neither a pause nor a key is forgotten, a drain is.
func TestPauseAndKeysOutliveAKillADrainDoesNot(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  held: {script: echo ran}\n  free: {script: echo ran}\n")
	p := start(t, dir, "--apply", file)
	p.cli("pause", "held", "--note", "until monday").want(0)
	p.cli("drain").want(0)
	id, _ := p.cli("run", "held", "--key", "k", "--json").want(0).json()["id"].(string)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
	p = start(t, dir, "--apply", file)
	p.cli("run", "free", "--wait").want(0).has("ran")
	p.cli("runs", "show", id).want(0).has("It has not started: the job held is paused (until monday).")
	p.cli("run", "held", "--key", "k").want(0).has(id, "made before")
	p.cli("run", "held", "--key", "k", "--payload", "1").want(1).has("used with another payload")
	p.cli("resume", "held").want(0)
	p.until("it ends", func() bool { return strings.Contains(p.cli("runs", "show", id).stdout, "It succeeded.") })
}

func TestGraceThatIsOverInterruptsAndExitsWithZero(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  long:
    script: {source: "trap 'echo told' TERM; echo begun; while :; do sleep 0.05; done", grace: 500ms}
    retry: {max_attempts: 1}
`)
	p := start(t, dir, "--apply", file, "--shutdown-grace", "1s")
	id, _ := p.cli("run", "long", "--json").want(0).json()["id"].(string)
	p.until("the script has begun", func() bool { return strings.Contains(p.cli("logs", id).stdout, "begun") })
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	p = start(t, dir, "--apply", file)
	p.until("it runs again, with nothing used up", func() bool {
		run := p.cli("runs", "show", id, "--json").want(0).json()
		attempts, _ := run["attempts"].([]any)
		if len(attempts) != 2 {
			return false
		}
		first, _ := attempts[0].(map[string]any)
		cause, _ := first["error"].(map[string]any)
		return first["outcome"] == "interrupted" && cause["kind"] == "shutdown" && run["attempt"] == 1.0
	})
	p.cli("logs", id).want(0).has("begun", "told")
	p.cli("cancel", id).want(0)
}

func TestEveryFlagOfServeIsAVariable(t *testing.T) {
	dir := t.TempDir()
	help := strings.Join(strings.Fields(run(t, dir, "", nil, "serve", "--help").want(0).stdout), " ")
	_, own, _ := strings.Cut(help, "--json Print JSON.")
	flags := 0
	for _, text := range strings.Split(own, " --")[1:] {
		name, _, _ := strings.Cut(strings.FieldsFunc(text, func(r rune) bool { return r == '=' || r == ' ' })[0], "=")
		variable := "NIGHTSHIFT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if flags++; !strings.Contains(own, "("+variable+")") {
			t.Errorf("--%s: %s is not said", name, variable)
		}
	}
	if flags < 12 {
		t.Errorf("%d flags in %s", flags, own)
	}
	for variable, want := range map[string]string{
		"NIGHTSHIFT_DB=": "--db", "NIGHTSHIFT_LISTEN=": "--listen", "NIGHTSHIFT_URL=x": "--url",
		"NIGHTSHIFT_RUN_ALL=1": "--run-all", "NIGHTSHIFT_LOG_LEVEL=loud": "--log-level: want debug, info, warn or error",
		"NIGHTSHIFT_WORKERS=0": "--workers", "NIGHTSHIFT_SCRIPT_WORKERS=-1": "--script-workers",
		"NIGHTSHIFT_SHUTDOWN_GRACE=soon": "--shutdown-grace", "NIGHTSHIFT_TRUSTED_PROXY=x": "--trusted-proxy",
	} {
		run(t, dir, "", []string{variable}, "serve").want(2).has(want)
	}
	for variable, want := range map[string]string{
		"NIGHTSHIFT_APPLY=absent.yaml": "absent.yaml", "NIGHTSHIFT_SCRIPTS=absent": "scripts folder",
		"NIGHTSHIFT_WEBHOOK_PRIVATE=x": "webhook-private", "NIGHTSHIFT_SMTP=x": "--smtp",
		"NIGHTSHIFT_MAIL_FROM=x": "--mail-from", "NIGHTSHIFT_SCRIPT_USER=nosuchuser": "--script-user",
		"NIGHTSHIFT_SMTP_PASSWORD=x": "needs --smtp",
	} {
		run(t, dir, "", []string{variable}, "serve", "--listen", "127.0.0.1:0").want(1).has(want)
	}
}
