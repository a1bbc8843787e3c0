package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// completionServer is a server with names to complete, a folder with files, and an environment in which the program
// is found by its name.
func completionServer(t *testing.T) (p *process, env []string) {
	p = start(t, t.TempDir())
	p.cli("apply", "-f", write(t, p.dir, "jobs.yaml", `
queues: {slow: {concurrency: 1}}
dependencies: {stripe: {concurrency: 2}}
jobs:
  nightly-sync: {script: "true", description: "Pull: three 'APIs'", schedules: [{cron: "0 2 * * *"}]}
  weekly: {script: "true"}
  webhook: {webhook: {url: "http://[::1]:4000/x"}}
`)).want(0)
	write(t, p.dir, "some file.yaml", "")
	if err := os.Mkdir(filepath.Join(p.dir, "scripts-here"), 0o700); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(bin, "nightshift")); err != nil {
		t.Fatal(err)
	}
	return p, environment("NIGHTSHIFT_SERVER="+p.url, "PATH="+bin+":"+os.Getenv("PATH"), "TERM=dumb", "HOME="+t.TempDir())
}

// typed are lines, each ended by a Tab, and what they become.
var typedLines = []struct{ line, want string }{
	{"nightshift vers", "nightshift version "},
	{"nightshift runs --stat", "nightshift runs --state "},
	{"nightshift runs --state runn", "nightshift runs --state running "},
	{"nightshift runs --state=runn", "nightshift runs --state=running "},
	{"nightshift run night", "nightshift run nightly-sync "},
	{"nightshift runs list --job wee", "nightshift runs list --job weekly "},
	{"nightshift schedules show nightly-sync:", "nightshift schedules show nightly-sync:default "},
	{"nightshift pause que", "nightshift pause queue/"},
	{"nightshift pause queue/sl", "nightshift pause queue/slow "},
	{"nightshift pause schedule/nightly-sync:d", "nightshift pause schedule/nightly-sync:default "},
	{"nightshift dependencies show str", "nightshift dependencies show stripe "},
	{"nightshift apply -f jo", "nightshift apply -f jobs.yaml "},
	{"nightshift serve --scripts scr", "nightshift serve --scripts scripts-here/"},
	{"nightshift --server http://127.0.0.1:1 run night", "nightshift --server http://127.0.0.1:1 run night"},
	{"nightshift nonsense vers", "nightshift nonsense vers"},
}

// shellOnTerminal runs a shell with a script on a terminal. Ctrl-X prints the line as it stands, in brackets, and
// empties it.
func shellOnTerminal(t *testing.T, dir string, env []string, name string, args ...string) (tab func(line string) string) {
	t.Helper()
	user, program := terminal(t)
	seen := &lockedBuffer{}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(seen, user) // ends as nobody has the other end open
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	p := &process{t: t, out: seen, log: &lockedBuffer{}}
	p.until("the shell is ready", func() bool { return strings.Contains(seen.String(), "READY") })
	return func(line string) string {
		t.Helper()
		from := len(seen.String())
		if _, err := io.WriteString(user, line+"\t\x18"); err != nil {
			t.Fatal(err)
		}
		shown := ""
		p.until("the line is shown", func() bool {
			_, rest, begun := strings.Cut(seen.String()[from:], "LINE[")
			end := ""
			shown, end, _ = strings.Cut(rest, "]ENDS")
			return begun && end != "" || begun && strings.HasSuffix(rest, "]ENDS")
		})
		return shown
	}
}

func TestBashCompletes(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here")
	}
	p, env := completionServer(t)
	rc := write(t, p.dir, ".bashrc", `
source <(nightshift completion bash)
show() { printf '\nLINE[%s]ENDS\n' "$READLINE_LINE"; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\C-x": show'
bind 'set bell-style none'
bind 'set completion-query-items 0'
PS1='$ '
echo READY
`)
	tab := shellOnTerminal(t, p.dir, env, "bash", "--noprofile", "--rcfile", rc, "-i")
	for _, c := range typedLines {
		if got := tab(c.line); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.line, got, c.want)
		}
	}
	if got := tab("nightshift dependencies show ["); got != `nightshift dependencies show \[::1\]:4000 ` {
		t.Errorf("a name in brackets becomes %q", got)
	}
	// All that may stand at a place, as the function gives it.
	text, err := runShell(p.dir, env, "bash", "-c", `source <(nightshift completion bash)
COMP_LINE="nightshift run " COMP_POINT=15 COMP_CWORD=2 COMP_WORDS=(nightshift run "")
_nightshift
printf '%s\n' "${COMPREPLY[@]}"`)
	if got := strings.Fields(text); err != nil || !slices.Equal(got, []string{"nightly-sync", "webhook", "weekly"}) {
		t.Errorf("offered %q, %v", text, err)
	}
}

func TestZshCompletes(t *testing.T) {
	if _, err := exec.LookPath("zsh"); err != nil {
		t.Skip("there is no zsh here")
	}
	p, env := completionServer(t)
	write(t, p.dir, ".zshrc", `
autoload -Uz compinit && compinit -u -D
source <(nightshift completion zsh)
unsetopt beep
show() { print -r -- $'\n'"LINE[$BUFFER]ENDS"; BUFFER= }
zle -N show
bindkey -e
bindkey '^X' show
KEYTIMEOUT=1
PS1='$ '
print READY
`)
	tab := shellOnTerminal(t, p.dir, append(env, "ZDOTDIR="+p.dir), "zsh", "-i")
	for _, c := range typedLines {
		if got := tab(c.line); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.line, got, c.want)
		}
	}
	if got := tab("nightshift dependencies show \\["); got != `nightshift dependencies show \[::1\]:4000 ` {
		t.Errorf("a name in brackets becomes %q", got)
	}
}

func TestFishCompletes(t *testing.T) {
	if _, err := exec.LookPath("fish"); err != nil {
		t.Skip("there is no fish here")
	}
	p, env := completionServer(t)
	for _, c := range typedLines {
		text, err := runShell(p.dir, env, "fish", "--no-config", "-c", "nightshift completion fish | source; complete -C $argv[1]", "--", c.line)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		want := strings.TrimSuffix(c.want[strings.LastIndexByte(strings.TrimSuffix(c.want, " "), ' ')+1:], " ")
		word, _, _ := strings.Cut(strings.TrimSpace(text), "\t")
		if c.want == c.line {
			want = ""
		}
		if word != want {
			t.Errorf("%q offers %q, want %q", c.line, text, want)
		}
	}
	text, err := runShell(p.dir, env, "fish", "--no-config", "-c", "nightshift completion fish | source; complete -C 'nightshift run n'")
	if err != nil || text != "nightly-sync\tPull: three 'APIs'\n" {
		t.Errorf("offered %q, %v", text, err)
	}
}

func runShell(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	text, err := cmd.CombinedOutput()
	return string(text), err
}

func TestCompletionNeedsAShellItKnows(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "", nil, "completion", "tcsh").want(2).has("bash", "zsh", "fish")
	run(t, dir, "", nil, "completion", "--help").want(0).has("~/.bashrc")
	// What waits for a server that does not answer ends soon, and says nothing.
	o := run(t, dir, "", []string{"NIGHTSHIFT_SERVER=http://192.0.2.1:9"}, "__complete", "run", "").want(0)
	if o.stdout != ":words\n" || o.stderr != "" {
		t.Errorf("printed %q and %q", o.stdout, o.stderr)
	}
}
