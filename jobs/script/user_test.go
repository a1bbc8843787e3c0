package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
)

// other is a user that every system has, and that may do nothing.
const other = "nobody"

// asOther leaves a test out where the tests may not run scripts as another user.
func asOther(t *testing.T) {
	t.Helper()
	if err := mayBecomeOthers(); err != nil {
		t.Skip(err)
	}
}

// open is a folder for attempts that all may reach.
func open(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "script-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestScriptRunsAsItsUser(t *testing.T) {
	asOther(t)
	u, err := user.Lookup(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{"job's": {}, "server's": {User: other}} {
		cfg.Temp = open(t)
		k := kindAt(t, cfg, ownCgroup)
		t.Run(name, func(t *testing.T) {
			call, log := callOf(jobs.Script{User: other, Source: `
id -u; id -g; id -G; echo "$HOME $USER $LOGNAME"; umask
stat -c '%U %G %a' . "$TMPDIR" "$NIGHTSHIFT_PAYLOAD" "$NIGHTSHIFT_CHECKPOINT" "$0"
cat; cat "$NIGHTSHIFT_PAYLOAD" "$NIGHTSHIFT_CHECKPOINT"; cat < /dev/stdin
echo out > /dev/stdout; echo err > /dev/stderr
touch here "$TMPDIR/there"; mkdir -p a/b; chmod 0 a/b a; nightshift said
ulimit -c; grep CapEff /proc/self/status; cat /proc/$$/oom_score_adj`})
			if name == "server's" {
				call.Spec.Script.User = ""
			}
			call.Payload, call.Checkpoint = jobs.Raw("[1]\n"), jobs.Raw("7\n")
			call.CallbackURL = "http://127.0.0.1:8700/v1/callback/x"
			rep := begin(t, k, call).end(t)
			wantSuccess(t, rep)
			group, err := user.LookupGroupId(u.Gid)
			if err != nil {
				t.Fatal(err)
			}
			whose := other + " " + group.Name
			want := strings.Join([]string{
				u.Uid, u.Gid, u.Gid, u.HomeDir + " nobody nobody", "0077",
				whose + " 700", whose + " 700", whose + " 600", whose + " 600", whose + " 700",
				"[1]", "[1]", "7", "[1]", "out", "err", "this is it: said", "0", "CapEff:\t0000000000000000", "500\n",
			}, "\n")
			if log.String() != want {
				t.Errorf("printed %q\nwant %q", log, want)
			}
			if left, _ := filepath.Glob(filepath.Join(k.temp.Path, "[0-9]*")); len(left) != 0 || len(rep.Notes) != 0 {
				t.Errorf("left %v, notes %q", left, rep.Notes)
			}
		})
	}
}

func TestGroupsOfAUserAreThoseOfTheSystem(t *testing.T) {
	raw, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(raw)) {
		name, _, _ := strings.Cut(line, ":")
		out, err := exec.Command("id", "-G", name).Output()
		if err != nil {
			continue
		}
		id, err := lookUp(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, got := strings.Fields(string(out)), strings.Fields(strings.Trim(fmt.Sprint(append([]uint32{id.gid}, id.groups...)), "[]"))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s has the groups %v, want %v", name, got, want)
		}
	}
}

// A user beyond the files (LDAP and the like) is found as the system finds it.
func TestSystemIsAskedForUsersBeyondTheFiles(t *testing.T) {
	if _, err := exec.LookPath("getent"); err != nil {
		t.Skip(err)
	}
	want, err := user.Lookup(other)
	if err != nil {
		t.Fatal(err)
	}
	got, groups, err := askSystem(other)
	if err != nil || got == nil || got.Uid != want.Uid || got.Gid != want.Gid || got.HomeDir != want.HomeDir ||
		!slices.Contains(groups, want.Gid) {
		t.Errorf("%+v %v %v, want %+v", got, groups, err, want)
	}
	for _, name := range []string{"nosuchuser", want.Uid} {
		if got, _, err := askSystem(name); got != nil || err != nil {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
}

func TestUserThatCannotBeIsRefused(t *testing.T) {
	k := newKindAny(t)
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	lacking := newKindAny(t)
	lacking.alone = errors.New("it may not")
	strange := "daemon"
	if self.Username == strange {
		strange = other
	}
	for _, c := range []struct {
		kind       *Kind
		user, want string
	}{
		{k, "nosuchuser", `there is no user "nosuchuser" on this machine`},
		{k, "4294967295", `there is no user "4294967295" on this machine`},
		{lacking, strange, "it may not"},
		{lacking, self.Username, ""},
		{lacking, "", ""},
	} {
		spec := jobs.Spec{Script: &jobs.Script{Source: ":", User: c.user}}
		faults := c.kind.Check(spec)
		if c.want == "" {
			if faults != nil {
				t.Errorf("%q is refused: %v", c.user, faults)
			}
			continue
		}
		if want := []jobs.Fault{{Location: "script.user", Message: c.want}}; !slices.Equal(faults, want) {
			t.Errorf("%q: %v, want %v", c.user, faults, want)
		}
		call, _ := callOf(*spec.Script)
		wantFailure(t, begin(t, c.kind, call).end(t), jobs.FailSpawn, "user: "+c.want)
	}
	if faults := k.Check(jobs.Spec{}); faults != nil {
		t.Errorf("no script: %v", faults)
	}
	if _, err := New(Config{User: "nosuchuser", Temp: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "--script-user: there is no user") {
		t.Errorf("--script-user: %v", err)
	}
}

// What a script of another user finds of the server, its shim and the attempts of others: nothing.
func TestScriptOfAnotherUserReadsNothingOfOthers(t *testing.T) { // S8
	asOther(t)
	k := kindAt(t, Config{Temp: open(t)}, ownCgroup)
	mine, log := callOf(jobs.Script{
		Source: "touch secret; echo up $$; sleep 600", Env: map[string]string{"KEY": "canary"},
	})
	r := begin(t, k, mine)
	log.await(t, "up")
	call, found := callOf(jobs.Script{User: other, Source: `
look() { if "$@" >/dev/null 2>&1; then echo "found: $*"; fi; }
temp=$(dirname "$(dirname "$PWD")")
look ls "$temp"
look test -r "$temp/.nightshift-attempts"
for n in 1 2 3; do
	[ "$temp/$n/work" = "$PWD" ] && continue
	for f in . work payload checkpoint script work/secret tmp; do look test -r "$temp/$n/$f"; look ls "$temp/$n/$f"; done
done
shim=$PPID; server=$(cut -d' ' -f4 /proc/$shim/stat)
for p in $server $shim $ROOTS; do
	for f in environ mem maps fd/0 exe cwd; do look cat /proc/$p/$f; look readlink /proc/$p/$f; done
	look ls /proc/$p/fd
	look kill -0 $p
done
look env KEY
echo end`})
	call.Spec.Script.Env = map[string]string{"ROOTS": strings.TrimPrefix(strings.TrimSpace(log.String()), "up ")}
	wantSuccess(t, begin(t, k, call).end(t))
	if found.String() != "end\n" {
		t.Error(found)
	}
	r.stop(jobs.ErrCancelled)
	r.end(t)
}

func TestNothingOfAnotherUserLivesOn(t *testing.T) {
	asOther(t)
	for name, group := range map[string]func() (string, error){"subreaper": noCgroup, "own": ownCgroup} {
		k := kindAt(t, Config{Temp: open(t)}, group)
		for _, how := range []string{"output held", "ignores TERM", "stopped group"} {
			t.Run(name+" "+how, func(t *testing.T) {
				m := mark()
				call, _ := callOf(jobs.Script{User: other, Source: leaver(leavers[how], m, "echo hi")})
				rep := begin(t, k, call).end(t)
				wantSuccess(t, rep)
				nothingLeft(t, m)
				call, log := callOf(jobs.Script{User: other, Source: leaver(leavers[how], m, "echo up; sleep 600")})
				r := begin(t, k, call)
				log.await(t, "up")
				r.stop(jobs.ErrCancelled)
				close(r.kill)
				r.end(t)
				nothingLeft(t, m)
			})
		}
	}
}

// A server needs not be root for it; what it may, the script may not.
func TestServerWithCapabilitiesRunsScriptsOfOthers(t *testing.T) {
	asOther(t)
	m := mark()
	s := startServer(t, "id -un; grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | tr -d '\\n'; echo\n"+
		"echo out > /dev/stdout; mkdir a; chmod 0 a; setsid sleep "+m+" & exit 0", 65534, "CAPABLE=1", "SCRIPT_USER=daemon")
	if line := s.line(t); line != "daemon" {
		t.Error(line)
	}
	if line := s.line(t); strings.Count(line, "0000000000000000") != 4 {
		t.Error(line)
	}
	if line := s.line(t); line != "out" {
		t.Error(line)
	}
	if line := s.line(t); !strings.Contains(line, "Failure:<nil>") || strings.Contains(line, "folder") {
		t.Error(line)
	}
	_, _ = io.Copy(io.Discard, s.out)
	nothingLeft(t, m)
	if left, err := os.ReadDir(s.temp); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestServerWithoutCapabilitiesSaysWhatItLacks(t *testing.T) {
	asOther(t)
	s := startServer(t, "echo never", 65534, "SCRIPT_USER=daemon")
	want := "this server may not run scripts as another user (it lacks CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_KILL, " +
		"CAP_DAC_OVERRIDE): start it as root, or with CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_KILL, CAP_DAC_OVERRIDE"
	if line := s.line(t); !strings.Contains(line, want) {
		t.Error(line)
	}
}

func TestNothingOfAnotherUserOutlivesTheServer(t *testing.T) {
	asOther(t)
	m := mark()
	s := startServer(t, leaver(leavers["daemon"], m, "echo up; trap '' TERM; sleep 600"), 0, "NO_CGROUP=1", "SCRIPT_USER="+other)
	if line := s.line(t); line != "up" {
		t.Fatal(line)
	}
	s.kill(t)
	await(t, "the end of all", func() bool { return len(marked(m)) == 0 })
	await(t, "the folder's removal", func() bool {
		left, err := filepath.Glob(s.temp + "/nightshift-*/[0-9]*")
		return err == nil && len(left) == 0
	})
}

func TestUserGetsACopyOfWhatItMayNotRead(t *testing.T) {
	asOther(t)
	scripts := open(t)
	write := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(scripts, name), []byte(`echo "$0"`), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("open.sh", 0o644)
	write("private.sh", 0o600)
	k := kindAt(t, Config{Scripts: scripts, Temp: open(t)}, ownCgroup)
	for path, want := range map[string]string{
		"open.sh":    filepath.Join(scripts, "open.sh"),
		"private.sh": filepath.Join(k.temp.Path, "*", "script.sh"),
	} {
		call, log := callOf(jobs.Script{Path: path, User: other})
		wantSuccess(t, begin(t, k, call).end(t))
		if ok, err := filepath.Match(want+"\n", log.String()); !ok || err != nil {
			t.Errorf("%s: it is %q, want %q", path, log, want)
		}
	}
}

func TestWhatAUserMayNotSaysWhichAndWhere(t *testing.T) {
	asOther(t)
	private := t.TempDir() // 0755, in a folder that is 0700
	copyOf(t, "/bin/sh", filepath.Join(private, "sh"), 0o755)
	closed := open(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	copyOf(t, "/bin/sh", filepath.Join(closed, "sh"), 0o755)
	k := kindAt(t, Config{Temp: open(t)}, ownCgroup)
	for _, c := range []struct {
		kind   *Kind
		script jobs.Script
		want   string
	}{
		{k, jobs.Script{Dir: closed}, fmt.Sprintf("dir %q may not be entered by nobody", closed)},
		{
			k,
			jobs.Script{Interpreter: []string{closed + "/sh"}},
			closed + "/sh may not be executed by nobody",
		},
		{
			kindAt(t, Config{Temp: closed}, ownCgroup),
			jobs.Script{},
			"TEMP, where scripts have their folders, may not be entered by nobody: set TMPDIR of the " +
				"server to a folder that all may enter, such as /tmp",
		},
	} {
		c.script.User = other
		call, _ := callOf(c.script)
		rep := begin(t, c.kind, call).end(t)
		wantFailure(t, rep, jobs.FailSpawn, strings.ReplaceAll(c.want, "TEMP", c.kind.temp.Path))
	}
	// Of what is on the PATH the first counts that the user may execute.
	call, log := callOf(jobs.Script{
		User: other, Source: "command -v sh", Interpreter: []string{"sh"},
		Env: map[string]string{"PATH": closed + ":/usr/bin:/bin"},
	})
	wantSuccess(t, begin(t, k, call).end(t))
	if log.String() != "/usr/bin/sh\n" {
		t.Errorf("it is %q", log)
	}
}
