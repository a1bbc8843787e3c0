package doctor

import (
	"io/fs"
	"strings"
	"testing"
	"time"
)

// well are facts of a machine on which all is as it should be.
func well() *Facts {
	now := time.Date(2031, 3, 4, 5, 6, 7, 0, time.UTC)
	me := User{ID: 1000, Name: "nightshift"}
	told := true
	file := func(role, path string, mode fs.FileMode) File {
		return File{Role: role, Path: path, Mode: mode, Owner: me, Links: 1, Size: 100 << 20, At: now.Add(-time.Minute)}
	}
	return &Facts{
		Now: now, DB: "/data/n.db", User: me,
		Server: &Server{Held: true, PID: 77, Address: "http://127.0.0.1:8700", Answers: true, Version: "1.2.3", DB: "/data/n.db", Told: &told},
		Folder: Mount{Path: "/data", Magic: 0xef53, Type: "ext4", Source: "/dev/vda1", On: "/data"},
		Files: []File{
			file(RoleFolder, "/data", fs.ModeDir|0o700), file(RoleFile, "/data/n.db", 0o600),
			file(RoleWAL, "/data/n.db-wal", 0o600), file(RoleSHM, "/data/n.db-shm", 0o600),
			file(RoleKey, "/data/n.db.key", 0o600), file(RoleToken, "/data/n.db.token", 0o600),
			file(RoleBackups, "/data/backups", fs.ModeDir|0o700), file(RoleBackup, "/data/backups/latest.db", 0o600),
		},
		Inside:  &Inside{Schema: 3, Newest: now.Add(-time.Hour)},
		Program: Program{Version: "1.2.3", SQLite: "3.53.0", Schema: 3},
		Clock:   Clock{Known: true, Synced: true, MaxError: 20 * time.Millisecond},
		Disks:   []Disk{{Path: "/data", Free: 50 << 30, Total: 100 << 30, Nodes: 1_000_000, MaxNodes: 2_000_000, Backups: true}},
		Limits: &Limits{
			Of: "this process", NoFile: 524288, FSize: Unlimited, NProc: 63000, Core: 0, Workers: 64, ScriptWorkers: 4,
		},
		Cgroup:  Cgroup{Memory: Unlimited, Pids: Unlimited},
		Network: &Network{Localhost: []string{"127.0.0.1", "::1"}},
		Scripts: Scripts{Level: "as nightshift; cgroup: ...", Found: Interpreters},
		Mail:    &Mail{SMTP: true},
	}
}

func TestAWellMachineHasNothingButOK(t *testing.T) {
	all := Examine(well())
	for _, f := range all {
		if f.Level != OK {
			t.Errorf("%s: %s: %s", f.Check, f.Level, f.Found)
		}
	}
	if len(all) != len(checks)-1 { // no scripts folder is named
		t.Errorf("%d findings of %d checks", len(all), len(checks))
	}
	if wrong := AtStart(well()); len(wrong) > 0 {
		t.Errorf("a start tells %v", wrong)
	}
}

func TestWhatIsWrongIsFoundWithWhatToDo(t *testing.T) {
	notTold := false
	cases := []struct {
		name   string
		change func(*Facts)
		check  string
		level  Level
		found  string // part of it
		advice string // part of it; "": any, but one
	}{
		{
			"NFS", func(f *Facts) { f.Folder.Magic, f.Folder.Type, f.Folder.Source = 0x6969, "nfs4", "box:/x" },
			"file system", Error, "/data is on nfs4 of box:/x, mounted on /data", "--force-network-filesystem",
		},
		{
			"NFS, unknown to the mount table", func(f *Facts) { f.Folder = Mount{Path: "/data", Magic: 0x6969} },
			"file system", Error, "/data is on nfs:", "local disk",
		},
		{"NFS, forced", func(f *Facts) { f.Folder.Magic, f.Force = 0x6969, true }, "file system", Warning, "forced", "one machine alone"},
		{"CIFS", func(f *Facts) { f.Folder.Magic = 0xff534d42 }, "file system", Error, "", ""},
		{"SMB2", func(f *Facts) { f.Folder.Magic = 0xfe534d42 }, "file system", Error, "", ""},
		{"FUSE", func(f *Facts) { f.Folder.Magic = 0x65735546 }, "file system", Error, "", ""},
		{"9p", func(f *Facts) { f.Folder.Magic = 0x01021997 }, "file system", Error, "", ""},
		{"AFS", func(f *Facts) { f.Folder.Magic = 0x5346414f }, "file system", Error, "", ""},
		{"Ceph", func(f *Facts) { f.Folder.Magic = 0x00c36400 }, "file system", Error, "", ""},
		{"Lustre", func(f *Facts) { f.Folder.Magic = 0x0bd00bd0 }, "file system", Error, "", ""},
		{"GFS2", func(f *Facts) { f.Folder.Magic = 0x01161970 }, "file system", Error, "", ""},
		{"tmpfs", func(f *Facts) { f.Folder.Magic = 0x01021994 }, "file system", Warning, "gone after a restart", "volume"},
		{"overlay", func(f *Facts) { f.Folder.Magic = 0x794c7630 }, "file system", Warning, "gone after a restart", "volume"},
		{"exfat", func(f *Facts) { f.Folder.Magic = 0x2011bab0 }, "file system", Warning, "no owners", ""},
		{"mounted read-only", func(f *Facts) { f.Folder.ReadOnly = true }, "file system", Error, "read-only", "kernel's log"},
		{"not known", func(f *Facts) { f.Folder.Err = "permission denied" }, "file system", Warning, "not known", ""},
		{"scripts on NFS", func(f *Facts) { f.Scripts.Folder = &Mount{Path: "/s", Magic: 0x6969} }, "scripts folder", Warning, "", "rename"},
		{"scripts on tmpfs", func(f *Facts) { f.Scripts.Folder = &Mount{Path: "/s", Magic: 0x01021994} }, "scripts folder", Warning, "", "image"},
		{"no scripts folder", func(f *Facts) { f.Scripts.Folder = &Mount{Path: "/s", Err: "no such file or directory"} }, "scripts folder", Error, "", "--scripts"},

		{"no folder", func(f *Facts) { f.Files[0].Err = "there is no such folder: make it first" }, "permissions", Error, "no such folder", ""},
		{"folder for all", func(f *Facts) { f.Files[0].Mode = fs.ModeDir | 0o777 }, "permissions", Error, "everybody may write the folder /data (0777)", "chmod o-w /data"},
		{"folder like /tmp", func(f *Facts) { f.Files[0].Mode = fs.ModeDir | fs.ModeSticky | 0o777 }, "permissions", Warning, "(1777)", "folder of its own"},
		{"folder of the group", func(f *Facts) { f.Files[0].Mode = fs.ModeDir | 0o770 }, "permissions", Warning, "its group may write", "chmod g-w"},
		{"folder of another", func(f *Facts) { f.Files[0].Owner = User{7, "bob"} }, "permissions", Warning, "/data belongs to bob", "chown nightshift /data"},
		{"folder not writable", func(f *Facts) { f.Files[0].Deny = "write" }, "permissions", Error, "nightshift may not write /data", "chmod u+rwX"},
		{"file for all", func(f *Facts) { f.Files[1].Mode = 0o644 }, "permissions", Warning, "everybody may read /data/n.db (0644)", "chmod 0600 /data/n.db"},
		{"file of the group", func(f *Facts) { f.Files[1].Mode = 0o640 }, "permissions", Warning, "its group may read", ""},
		{"file to be written by all", func(f *Facts) { f.Files[1].Mode = 0o666 }, "permissions", Error, "may write /data/n.db", ""},
		{"log for all", func(f *Facts) { f.Files[2].Mode = 0o644 }, "permissions", Warning, "/data/n.db-wal", ""},
		{"shm for all", func(f *Facts) { f.Files[3].Mode = 0o604 }, "permissions", Warning, "/data/n.db-shm", ""},
		{"key for the group", func(f *Facts) { f.Files[4].Mode = 0o640 }, "permissions", Error, "opens all secrets", "rotate-key"},
		{"token for all", func(f *Facts) { f.Files[5].Mode = 0o604 }, "permissions", Error, "opens the whole server", "revoke"},
		{"backups for all", func(f *Facts) { f.Files[6].Mode = fs.ModeDir | 0o777 }, "permissions", Error, "/data/backups", ""},
		{"backup for all", func(f *Facts) { f.Files[7].Mode = 0o644 }, "permissions", Warning, "/data/backups/latest.db", ""},
		{
			"file of another", func(f *Facts) { f.Files[1].Owner, f.Files[1].Deny = User{7, "bob"}, "read" },
			"permissions", Error, "nightshift may not read /data/n.db, which belongs to bob", "serve as bob, or chown nightshift /data/n.db",
		},
		{"file of another that lets us", func(f *Facts) { f.Files[1].Owner = User{7, ""} }, "permissions", Warning, "belongs to user 7", ""},
		{
			"root on the file of another", func(f *Facts) { f.User = User{0, "root"}; f.Files[1].Owner = User{7, "bob"} },
			"permissions", Warning, "belongs to bob, and root would serve it", "serve as bob",
		},
		{"read-only file", func(f *Facts) { f.Files[1].Deny = "write" }, "permissions", Error, "may not write /data/n.db (0600)", "immutable"},

		{"hard links", func(f *Facts) { f.Files[1].Links = 2 }, "file", Error, "2 hard links", "-samefile"},
		{"a folder", func(f *Facts) { f.Files[1].Mode = fs.ModeDir | 0o700 }, "file", Error, "not a file", ""},
		{"died", func(f *Facts) { f.Server = &Server{} }, "file", Warning, "it died", "start the server"},
		{
			"damaged", func(f *Facts) {
				f.Files = append(f.Files, File{Role: RoleDamage, Path: "/data/n.db.damaged", Owner: f.User, Mode: 0o600})
			},
			"file", Error, "has met damage", "nightshift verify /data/n.db",
		},
		{"a backup", func(f *Facts) { f.Inside.Held = "backup" }, "file", Warning, "starts held: it is a backup", "nightshift resume"},
		{"log alone", func(f *Facts) { f.Files = f.Files[2:3] }, "file", Error, "is not there, its log", ""},
		{"no key", func(f *Facts) { f.Files[4].Role = RoleOther }, "file", Warning, "/data/n.db.key is not there", "put back the key"},
		{"newer schema", func(f *Facts) { f.Inside.Schema = 4 }, "file", Error, "newer Nightshift (schema 4, this one knows 3)", "start the newer one"},
		{"older schema", func(f *Facts) { f.Inside.Schema = 2 }, "file", Warning, "schema 2, this Nightshift 3", "brings it up to date"},
		{"not ours", func(f *Facts) { f.Inside = &Inside{Err: "not a database"} }, "file", Error, "not a database", "--db"},

		{"disk full", func(f *Facts) { f.Disks[0].Free = 10 << 20 }, "disk", Error, "10 MiB of 100 GiB", "507"},
		{"no room for a snapshot", func(f *Facts) { f.Disks[0].Free = 120 << 20 }, "disk", Error, "a snapshot has no room", "44 MiB more"},
		{"under 1 GiB", func(f *Facts) { f.Disks[0].Free, f.Disks[0].Total = 900<<20, 10<<30 }, "disk", Warning, "under 1 GiB or 5 %", "retain"},
		{"under 5 %", func(f *Facts) { f.Disks[0].Free = 4 << 30 }, "disk", Warning, "under 1 GiB or 5 %", ""},
		{"few inodes", func(f *Facts) { f.Disks[0].Nodes = 5000 }, "disk", Warning, "5000 of 2000000 inodes", "df -i"},
		{"no inodes", func(f *Facts) { f.Disks[0].Nodes = 0 }, "disk", Error, "0 of 2000000 inodes", ""},
		{"disk not known", func(f *Facts) { f.Disks[0].Err = "stale file handle" }, "disk", Warning, "stale", "df"},
		{"disk of backups", func(f *Facts) {
			f.Disks[0].Backups = false
			f.Disks = append(f.Disks, Disk{Path: "/b", Free: 90 << 20, Total: 1 << 30, Backups: true})
		}, "disk", Error, "in /b, less than the file's 100 MiB", ""},
		{"small disk of backups", func(f *Facts) {
			f.Disks[0].Backups = false
			f.Disks = append(f.Disks, Disk{Path: "/b", Free: 63 << 20, Total: 70 << 20, Backups: true})
		}, "disk", Error, "63 MiB are free in /b", "no backup"},

		{"not synchronised", func(f *Facts) { f.Clock.Synced = false }, "clock", Warning, "will drift", "timedatectl"},
		{"kernel bound", func(f *Facts) { f.Clock.MaxError = 31 * time.Second }, "clock", Error, "wrong by 31s", ""},
		{"kernel not asked", func(f *Facts) { f.Clock = Clock{Err: "operation not permitted"} }, "clock", Warning, "not known", ""},
		{"behind", func(f *Facts) { f.Clock.Offset = &Offset{By: 31 * time.Second, From: "time.example.com"} }, "clock", Error, "31s behind time.example.com", "timedatectl"},
		{"ahead", func(f *Facts) { f.Clock.Offset = &Offset{By: -2 * time.Minute, From: "time.example.com"} }, "clock", Error, "2m0s ahead of time", ""},
		{"no answer", func(f *Facts) { f.Clock.OffErr = "i/o timeout" }, "clock", Warning, "i/o timeout", "--ntp"},
		{"before the newest row", func(f *Facts) { f.Inside.Newest = f.Now.Add(time.Hour) }, "clock", Error, "1h0m0s after now", "set the clock right"},
		{"a little before it", func(f *Facts) { f.Inside.Newest = f.Now.Add(20 * time.Second) }, "clock", Warning, "20s after now", ""},

		{"too few files for workers", func(f *Facts) { f.Limits.NoFile = 100 }, "limits", Error, "100 files may be open", "LimitNOFILE=4096"},
		{"few files", func(f *Facts) { f.Limits.NoFile = 256 }, "limits", Warning, "with callers want", "LimitNOFILE"},
		{"files of many workers", func(f *Facts) { f.Limits.NoFile, f.Limits.Workers = 1024, 10000 }, "limits", Error, "10000 webhooks", "LimitNOFILE=20368"},
		{"file size", func(f *Facts) { f.Limits.FSize = 1 << 30 }, "limits", Warning, "no file may grow past 1.0 GiB", "LimitFSIZE"},
		{"file size reached", func(f *Facts) { f.Limits.FSize = 101 << 20 }, "limits", Error, "the database has 100 MiB", ""},
		{"few processes", func(f *Facts) { f.Limits.NProc = 200 }, "limits", Warning, "200 processes", "LimitNPROC=4096"},
		{"no processes", func(f *Facts) { f.Limits.NProc = 20 }, "limits", Error, "20 processes", ""},
		{"core files without scripts", func(f *Facts) { f.Limits.Core, f.Scripts.Off = Unlimited, true }, "limits", Warning, "core file", "LimitCORE=0"},
		{"no memory", func(f *Facts) { f.Cgroup.Memory = 64 << 20 }, "cgroup", Error, "64 MiB of memory", "MemoryMax="},
		{"little memory", func(f *Facts) { f.Cgroup.Memory = 256 << 20 }, "cgroup", Warning, "256 MiB of memory", "384 MiB"},
		{"few pids", func(f *Facts) { f.Cgroup.Pids = 100 }, "cgroup", Warning, "100 processes and threads", "TasksMax="},
		{"no pids", func(f *Facts) { f.Cgroup.Pids = 10 }, "cgroup", Error, "", "--pids-limit"},
		{"cgroup not known", func(f *Facts) { f.Cgroup.Err = "permission denied" }, "cgroup", Warning, "permission denied", ""},

		{"no loopback", func(f *Facts) { f.Network.V4 = "cannot assign requested address" }, "network", Error, "127.0.0.1", "lo up"},
		{"no localhost", func(f *Facts) { f.Network.LocalhostErr = "no such host" }, "network", Warning, "no such host", "/etc/hosts"},
		{"localhost by IPv6 alone, which is off", func(f *Facts) { f.Network.Localhost, f.Network.V6 = []string{"::1"}, "off" }, "network", Warning, "localhost is ::1", "/etc/hosts"},

		{"no scripts", func(f *Facts) { f.Scripts.Err = "no shell" }, "scripts", Error, "no shell", "--scripts off"},
		{"no sh", func(f *Facts) { f.Scripts.Found, f.Scripts.Missed = nil, Interpreters }, "interpreters", Error, "not there: sh", "install"},
		{"no bash", func(f *Facts) { f.Scripts.Found, f.Scripts.Missed = []string{"sh"}, []string{"bash"} }, "interpreters", Warning, "not there: bash", "sh -e"},
		{"nobody is told", func(f *Facts) { f.Server.Told = &notTold }, "alerts", Warning, "nobody is told", "alerts setup"},
		{"old SQLite", func(f *Facts) { f.Program.SQLite = "3.51.2" }, "sqlite", Error, "3.51.2", ""},

		{
			"nothing answers", func(f *Facts) { f.Server = &Server{Held: true, PID: 77, Address: "http://x", Err: "refused"} },
			"server", Error, "process 77 serves /data/n.db, and http://x answers nothing: refused", "--server",
		},
		{"the lock is gone", func(f *Facts) { f.Server.Held = false }, "server", Error, "no process of this machine holds its lock", "stop it"},
		{"another file is served there", func(f *Facts) { f.Server.DB = "/other" }, "server", Warning, "another file, /other", "--server"},
		{"not ready", func(f *Facts) { f.Server.Ready = "the disk is full" }, "server", Error, "takes no work: the disk is full", "log"},
		{"a drain", func(f *Facts) { f.Server.Idle = "it was drained" }, "server", Warning, "starts nothing: it was drained", "nightshift resume"},
		{"another version", func(f *Facts) { f.Server.Version = "1.2.2" }, "server", Warning, "is 1.2.2, this binary 1.2.3", "restart"},
		{"a token too small", func(f *Facts) { f.Server.Version, f.Server.Err = "", "Unauthorized" }, "server", Warning, "Unauthorized", "--token"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := well()
			c.change(f)
			var got []Finding
			for _, found := range Examine(f) {
				if found.Level != OK {
					got = append(got, found)
				}
				if strings.Contains(found.Found+found.Advice, "\n") {
					t.Errorf("more than one line: %+v", found)
				}
			}
			for _, found := range got {
				if found.Check == c.check && found.Level == c.level && strings.Contains(found.Found, c.found) &&
					strings.Contains(found.Advice, c.advice) && found.Advice != "" {
					return
				}
			}
			t.Errorf("found %+v", got)
		})
	}
}

func TestWhatIsNotWrongIsNotTold(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"a folder of root":        func(f *Facts) { f.Files[0].Owner = User{0, "root"}; f.Files[0].Mode = fs.ModeDir | 0o755 },
		"root serves":             func(f *Facts) { f.User = User{0, "root"}; ownAll(f, f.User); f.Limits.NProc = 5 },
		"keys of the environment": func(f *Facts) { f.Files[4].Role, f.Keys = RoleOther, true },
		"no file yet":             func(f *Facts) { f.Files, f.Inside, f.Server = f.Files[:1], nil, &Server{} },
		"a log that is empty":     func(f *Facts) { f.Server = &Server{}; f.Files[2].Size = 0 },
		"core files with scripts": func(f *Facts) { f.Limits.Core = Unlimited },
		"no IPv6":                 func(f *Facts) { f.Network.V6, f.Network.Localhost = "off", []string{"127.0.0.1"} },
		"no mail":                 func(f *Facts) { f.Mail = &Mail{} },
		"scripts off":             func(f *Facts) { f.Scripts = Scripts{Off: true, Missed: Interpreters}; f.Cgroup.Memory = 200 << 20 },
		"a disk without inodes":   func(f *Facts) { f.Disks[0].Nodes, f.Disks[0].MaxNodes = 0, 0 },
		"a clock a bit behind": func(f *Facts) {
			f.Clock.Offset = &Offset{By: 29 * time.Second}
			f.Inside.Newest = f.Now.Add(time.Second)
		},
		"another server": func(f *Facts) { f.Server.Held, f.Server.DB = false, "/other"; f.Files[2].Size = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			change(f)
			for _, found := range Examine(f) {
				if found.Level != OK {
					t.Errorf("told: %+v", found)
				}
			}
		})
	}
}

func ownAll(f *Facts, u User) {
	for i := range f.Files {
		f.Files[i].Owner = u
	}
}

func TestOnlyNetworkFileSystemsAreRefused(t *testing.T) {
	for magic, k := range kinds {
		m := Mount{Path: "/data", Magic: magic}
		if got := m.Refusal(); (got != "") != (k.is == network) {
			t.Errorf("%s: %q", k.name, got)
		}
	}
	for _, magic := range []int64{0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0} {
		if got := (&Mount{Path: "/data", Magic: magic}).Refusal(); got != "" {
			t.Errorf("%#x: %q", magic, got)
		}
	}
}
