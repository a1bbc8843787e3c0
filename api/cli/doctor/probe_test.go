package doctor

import (
	"encoding/binary"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

func TestMountTablesAreRead(t *testing.T) {
	mounts := parseMounts(strings.Join([]string{
		"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard",
		`36 22 0:33 / /mnt/two\040words rw - fuse.sshfs me@box:/a\040b rw,user_id=0`,
		"37 22 0:34 /sub /mnt ro,noatime shared:2 master:1 - nfs4 box:/x rw,vers=4.2",
		"38 22 0:35 /x /mnt rw - xfs /dev/vdb rw",
		"a line of something else",
		"39 - ext4",
		"",
	}, "\n"))
	if len(mounts) != 4 {
		t.Fatalf("read %+v", mounts)
	}
	cases := []struct {
		id                      int
		folder, typ, source, on string
	}{
		{0, "/var/lib", "ext4", "/dev/vda", "/"},
		{0, "/mnt/two words/deep", "fuse.sshfs", "me@box:/a b", "/mnt/two words"},
		{0, "/mnt/x", "xfs", "/dev/vdb", "/mnt"}, // the later one covers the other
		{0, "/mntx", "ext4", "/dev/vda", "/"},
		{37, "/mnt/x", "nfs4", "box:/x", "/mnt"},
		{99, "/mnt", "xfs", "/dev/vdb", "/mnt"},
	}
	for _, c := range cases {
		m := findMount(mounts, c.id, c.folder)
		if m == nil || m.typ != c.typ || m.source != c.source || m.on != c.on {
			t.Errorf("%d %s: %+v", c.id, c.folder, m)
		}
	}
	if m := findMount(nil, 0, "/x"); m != nil {
		t.Errorf("of no table: %+v", m)
	}
}

func TestLocksAreFoundInTheTable(t *testing.T) {
	const table = `1: POSIX  ADVISORY  WRITE 10 fe:00:1311 0 EOF
2: FLOCK  ADVISORY  READ 11 fe:00:1311 0 EOF
2: -> FLOCK  ADVISORY  WRITE 12 fe:00:1311 0 EOF
3: FLOCK  ADVISORY  WRITE 13 fe:00:1312 0 EOF
4: FLOCK  ADVISORY  WRITE 14 fe:00:1311 0 EOF
`
	if pid := findLock(table, 0xfe, 0, 1311); pid != 14 {
		t.Errorf("process %d", pid)
	}
	if pid := findLock(table, 0xfe, 1, 1311); pid != 0 {
		t.Errorf("of another disk: process %d", pid)
	}
}

func TestTheHolderOfALockIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db.lock")
	if held, _ := holder(path); held {
		t.Error("a file that is not there is held")
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if held, _ := holder(path); held {
		t.Error("a file that nobody holds is held")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if held, pid := holder(path); !held || pid != 0 && pid != os.Getpid() {
		t.Errorf("held: %t, by %d, want by %d", held, pid, os.Getpid())
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if held, _ := holder(path); held {
		t.Error("it is held when it is let go")
	}
}

func TestLimitsOfAProcessAreRead(t *testing.T) {
	l := parseLimits(`Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max file size             1048576              unlimited            bytes     
Max core file size        0                    unlimited            bytes     
Max processes             96365                96365                processes 
Max open files            1024                 524288               files     
`)
	if l.FSize != 1<<20 || l.Core != 0 || l.NProc != 96365 || l.NoFile != 1024 {
		t.Errorf("read %+v", l)
	}
	if l := parseLimits("Max file size             unlimited            unlimited            bytes\n"); l.FSize != Unlimited || l.NoFile != Unlimited {
		t.Errorf("read %+v", l)
	}
	own, err := limitsOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if here := ownLimits(Place{}); own.NoFile != here.NoFile || own.FSize != here.FSize || own.NProc != here.NProc || own.Core != here.Core {
		t.Errorf("the kernel says %+v, its table %+v", here, own)
	}
	if id, ok := userIDOf(os.Getpid()); !ok || id != os.Geteuid() {
		t.Errorf("user %d, %t", id, ok)
	}
}

func TestTheLeastOfAllGroupsAboveHolds(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	v2 := parseMounts("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
	inside := parseMounts("30 1 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
	v1 := parseMounts("31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 1 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids")
	cases := []struct {
		name         string
		mounts       []mount
		root         fstest.MapFS
		memory, pids uint64
	}{
		{"second version", v2, fstest.MapFS{
			"proc/self/cgroup": file("0::/system.slice/n.service\n"),
			"sys/fs/cgroup/system.slice/n.service/memory.max":        file("max\n"),
			"sys/fs/cgroup/system.slice/n.service/pids.max":          file("500\n"),
			"sys/fs/cgroup/system.slice/memory.max":                  file("1073741824\n"),
			"sys/fs/cgroup/system.slice/pids.max":                    file("9000\n"),
			"sys/fs/cgroup/system.slice/n.service/deeper/memory.max": file("1\n"),
		}, 1 << 30, 500},
		{"a part of the tree is mounted", inside, fstest.MapFS{
			"proc/self/cgroup":                file("0::/docker/abc/n\n"),
			"sys/fs/cgroup/memory.max":        file("268435456\n"),
			"sys/fs/cgroup/n/memory.max":      file("max\n"),
			"sys/fs/cgroup/docker/memory.max": file("1\n"),
		}, 256 << 20, Unlimited},
		{"first version", v1, fstest.MapFS{
			"proc/self/cgroup":                             file("5:memory:/a\n4:pids:/a/b\n0::/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("536870912\n"),
			"sys/fs/cgroup/pids/a/pids.max":                file("64\n"),
			"sys/fs/cgroup/pids/a/b/pids.max":              file("max\n"),
		}, 512 << 20, 64},
		{"first version without limits", v1, fstest.MapFS{
			"proc/self/cgroup":                             file("5:memory:/a\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("9223372036854771712\n"),
		}, Unlimited, Unlimited},
		{"no groups", nil, fstest.MapFS{}, Unlimited, Unlimited},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := readCgroup(c.root, "self", c.mounts); got.Memory != c.memory || got.Pids != c.pids || got.Err != "" {
				t.Errorf("read %+v, want %d and %d", got, c.memory, c.pids)
			}
		})
	}
}

func TestContainersAreKnownByTheirMarks(t *testing.T) {
	overlay := parseMounts("1 0 0:30 / / rw - overlay overlay rw")
	for want, c := range map[string]struct {
		root   fstest.MapFS
		env    map[string]string
		mounts []mount
	}{
		"":                       {mounts: parseMounts("1 0 8:1 / / rw - ext4 /dev/sda1 rw")},
		"Docker":                 {root: fstest.MapFS{".dockerenv": {}}, mounts: overlay},
		"Podman":                 {root: fstest.MapFS{"run/.containerenv": {}}},
		"Kubernetes":             {env: map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, root: fstest.MapFS{".dockerenv": {}}},
		"lxc":                    {root: fstest.MapFS{"run/systemd/container": {Data: []byte("lxc\n")}}},
		"systemd-nspawn":         {env: map[string]string{"container": "systemd-nspawn"}},
		"its root is an overlay": {mounts: overlay},
	} {
		if got := containerOf(c.root, func(name string) string { return c.env[name] }, c.mounts); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

func TestFilesAreSeenAsTheyLie(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "n.db")
	for name, mode := range map[string]fs.FileMode{
		"n.db": 0o644, "n.db-wal": 0o600, "n.db.key": 0o640, "n.db.token": 0o600, "backups/latest.db": 0o666, "unrelated": 0o666,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	if err := os.Link(db, filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f := Probe(Place{Now: time.Now(), DB: db, Backups: filepath.Join(dir, "backups"), Workers: 1})
	f.Server = &Server{}
	var told []string
	for _, found := range append(checkPermissions(f), checkFile(f)...) {
		told = append(told, string(found.Level)+" "+strings.ReplaceAll(found.Found, dir, "DIR"))
	}
	want := []string{
		"error everybody may write the folder DIR (0777) and so put another file in the place of any here",
		"warning everybody may read DIR/n.db (0644): payloads, results and logs are in it",
		"error others than its owner may read DIR/n.db.key (0640), which opens all secrets in the file",
		"error others than its owner may write DIR/backups/latest.db (0666)",
		"error DIR/n.db has 2 hard links: SQLite would keep a log for each name",
		"warning the server was not stopped, it died: DIR/n.db-wal with 5 bytes lies beside the file",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if f.Disks[0].Err != "" || f.Disks[0].Total <= 0 || f.Folder.Err != "" || f.Folder.Type == "" {
		t.Errorf("disk %+v, mount %+v", f.Disks[0], f.Folder)
	}
}

func TestWhatMayNotBeDoneIsSaid(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may do everything; the test of the program tries it as another user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "n.db")
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if got := denied(path, false, false); got != "write" {
		t.Errorf("denied: %q", got)
	}
	if got := denied(path, false, true); got != "" {
		t.Errorf("denied to read: %q", got)
	}
}

func TestRealFileSystemsAreTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	under := t.TempDir()
	cases := []struct {
		typ    string
		is     nature
		mount  func(on string) *exec.Cmd
		umount []string
	}{
		{"tmpfs", volatile, func(on string) *exec.Cmd {
			return exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "scratch", on)
		}, []string{"umount"}},
		{"overlay", volatile, func(on string) *exec.Cmd {
			dirs := t.TempDir()
			for _, name := range []string{"low", "up", "work"} {
				if err := os.Mkdir(filepath.Join(dirs, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			return exec.Command("mount", "-t", "overlay", "overlay", "-o",
				"lowerdir="+dirs+"/low,upperdir="+dirs+"/up,workdir="+dirs+"/work", on)
		}, []string{"umount"}},
		{"fuse", network, func(on string) *exec.Cmd { return exec.Command("bindfs", under, on) }, []string{"umount"}},
	}
	for _, c := range cases {
		t.Run(c.typ, func(t *testing.T) {
			on := filepath.Join(t.TempDir(), "a b")
			if err := os.Mkdir(on, 0o700); err != nil {
				t.Fatal(err)
			}
			if out, err := c.mount(on).CombinedOutput(); err != nil {
				t.Skipf("this machine cannot mount %s: %v %s", c.typ, err, out)
			}
			defer func() {
				if out, err := exec.Command(c.umount[0], on).CombinedOutput(); err != nil {
					t.Errorf("%v %s", err, out)
				}
			}()
			m := mountOf(on, readMounts())
			if m.Type != c.typ || m.On != on || kinds[m.Magic].is != c.is || m.Err != "" {
				t.Errorf("it is %+v", m)
			}
			if refused := m.Refusal() != ""; refused != (c.is == network) {
				t.Errorf("refused: %t", refused)
			}
		})
	}
}

func TestTheTimeIsAskedFor(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const ahead = 90 * time.Second
	var stratum atomic.Uint32
	stratum.Store(2)
	go func() {
		for {
			var ask [48]byte
			n, from, err := server.ReadFrom(ask[:])
			if err != nil {
				return
			}
			if n != 48 || ask[0] != 0x23 {
				t.Errorf("asked %d bytes, % x", n, ask[:4])
			}
			var answer [48]byte
			answer[0], answer[1] = 4<<3|4, byte(stratum.Load())
			stamp := func(at time.Time) uint64 {
				return uint64(at.Unix()+ntpEpoch)<<32 | uint64(at.Nanosecond())<<32/1e9
			}
			binary.BigEndian.PutUint64(answer[32:], stamp(time.Now().Add(ahead)))
			binary.BigEndian.PutUint64(answer[40:], stamp(time.Now().Add(ahead)))
			_, _ = server.WriteTo(answer[:], from) // answers another question: to be left out
			copy(answer[24:32], ask[40:48])
			_, _ = server.WriteTo(answer[:], from)
		}
	}()
	off, err := AskTime(t.Context(), server.LocalAddr().String(), time.Now)
	if err != nil || (off.By-ahead).Abs() > 5*time.Second {
		t.Errorf("it says %v, %v", off, err)
	}
	stratum.Store(0)
	if off, err := AskTime(t.Context(), server.LocalAddr().String(), time.Now); err == nil {
		t.Errorf("a server that does not know the time says %v", off)
	}
	if got := ntpTime([]byte{0, 0, 0, 1, 0x80, 0, 0, 0}); !got.Equal(time.Date(2036, 2, 7, 6, 28, 17, 5e8, time.UTC)) {
		t.Errorf("after the count began anew: %v", got.UTC())
	}
}

func TestProbingThisMachineEndsAndKnowsIt(t *testing.T) {
	f := Probe(Place{Now: time.Now(), DB: filepath.Join(t.TempDir(), "n.db"), Workers: 64, ScriptWorkers: 4})
	FindServer(f)
	ProbePrograms(f)
	f.Network = ProbeNetwork(t.Context())
	if f.Server.Held || f.Network.V4 != "" || len(f.Scripts.Found)+len(f.Scripts.Missed) != len(Interpreters) {
		t.Errorf("%+v %+v %+v", f.Server, f.Network, f.Scripts)
	}
	for _, found := range Examine(f) {
		if found.Found == "" || found.Level != OK && found.Advice == "" {
			t.Errorf("%+v", found)
		}
	}
}
