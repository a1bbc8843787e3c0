package script

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nightshift/jobs"
)

func TestStaleFoldersAreRemovedAndLivingOnesKept(t *testing.T) {
	temp := t.TempDir()
	living := kindAt(t, Config{Temp: temp}, ownCgroup)
	stale := filepath.Join(temp, claimPrefix+"1", "2", "work")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	old, err := markClaim(claim{Path: filepath.Join(temp, claimPrefix+"1")})
	if err != nil {
		t.Fatal(err)
	}
	old.busy.Close()
	if err := os.WriteFile(filepath.Join(temp, claimPrefix+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kindAt(t, Config{Temp: temp}, ownCgroup)
	if _, err := os.Stat(filepath.Dir(filepath.Dir(stale))); !os.IsNotExist(err) {
		t.Errorf("stale: %v", err)
	}
	if _, err := os.Stat(living.temp.Path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(temp, claimPrefix+"file")); err != nil {
		t.Error(err)
	}
	call, _ := source("exit 0")
	wantSuccess(t, begin(t, living, call).end(t))
}

func TestCloseLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	k, err := New(Config{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	group := k.cgroup.Path
	call, _ := source("sleep 600 & exit 0")
	wantSuccess(t, begin(t, k, call).end(t))
	k.Close()
	k.Close()
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(group); group != "" && !os.IsNotExist(err) {
		t.Errorf("cgroup: %v", err)
	}
}

func TestLevelSaysWhatIsInUse(t *testing.T) {
	self, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	if level := kindAt(t, Config{}, noCgroup).Level(); level != "as "+self.Username+
		"; subreaper: what a script leaves is found by descent and killed (no cgroup: "+
		"cgroup v2 is not mounted)" {
		t.Error(level)
	}
	plain := func() (string, error) { return t.TempDir(), nil } // not a cgroup: no cgroup.kill
	level := kindAt(t, Config{User: self.Username}, plain).Level()
	if !strings.HasPrefix(level, "as "+self.Username+"; subreaper: ") {
		t.Error(level)
	}
}

// An attempt goes on without a cgroup where none can be made for it, and says so.
func TestMissingCgroupIsNoted(t *testing.T) {
	k := newKindAny(t)
	if k.cgroup.Path == "" {
		t.Skip(k.Level())
	}
	if err := os.Remove(k.cgroup.Path); err != nil {
		t.Fatal(err)
	}
	call, _ := source("exit 0")
	rep := begin(t, k, call).end(t)
	wantSuccess(t, rep)
	if len(rep.Notes) != 1 || !strings.HasPrefix(rep.Notes[0], "no cgroup could be made") {
		t.Errorf("notes %q", rep.Notes)
	}
}

func TestOwnCgroupIsFound(t *testing.T) {
	const unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ name, cgroups, mounts, want string }{
		{"unit", "0::/system.slice/n.service\n", unified, "/sys/fs/cgroup/system.slice/n.service"},
		{"container", "0::/\n", unified, "/sys/fs/cgroup"},
		{
			"hybrid", "5:cpu:/a\n0::/b\n",
			"25 23 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
				"26 23 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified/b",
		},
		{"bind", "0::/a/b\n", "30 23 0:26 /a /mnt rw - cgroup2 cgroup2 rw\n", "/mnt/b"},
		{"elsewhere", "0::/c\n", "30 23 0:26 /a /mnt rw - cgroup2 cgroup2 rw\n", ""},
		{"version 1", "5:cpu:/a\n", unified, ""},
		{"none", "", "", ""},
	} {
		got, err := cgroupFolder(c.cgroups, c.mounts)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestOrderSurvivesTheWire(t *testing.T) {
	for _, o := range []order{
		{Path: "/bin/sh", Dir: "/", Args: []string{"sh", "", "a\nb\xff"}, Env: []string{"A=b", "C="}},
		{Path: "p", Cgroup: "c", Folder: "f", Args: []string{"x"}, Env: nil},
		{Path: "p", User: &syscall.Credential{Uid: 1000, Gid: 1<<32 - 2, Groups: []uint32{4, 27}}, Args: []string{"x"}},
		{Path: "p", User: &syscall.Credential{}, Args: []string{"x"}},
	} {
		got, err := readOrder(strings.NewReader(string(o.encode())))
		if err != nil || string(got.encode()) != string(o.encode()) || len(got.Args) != len(o.Args) {
			t.Errorf("%+v came as %+v, %v", o, got, err)
		}
	}
	for _, bad := range []string{
		"", "\x00\x00\x00\x02a", "\x00\x00\x00\x01a", "\x00\x00\x00\x0aa\x00b\x00c\x00d\x00\x009",
		"\x00\x00\x00\x0da\x00b\x00c\x00d\x001\x001\x00e", "\x00\x00\x00\x0fa\x00b\x00c\x00d\x001 x\x001\x00e",
	} {
		if _, err := readOrder(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestLinesOfTheShimAreHeard(t *testing.T) {
	var got told
	for _, line := range []string{
		"stopping 0", "exited 256", "left 3", "nonsense", "exited x", "failed",
	} {
		got.hear(line)
	}
	want := told{stopping: true, exited: true, status: 256, over: true, left: 3}
	if got != want {
		t.Errorf("heard %+v, want %+v", got, want)
	}
	if rep := (&attempt{failure: spawnFailure("x")}).report(); rep.Failure.Kind != jobs.FailSpawn {
		t.Errorf("%+v", rep)
	}
}
