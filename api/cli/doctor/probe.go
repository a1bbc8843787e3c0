package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Place says what is to be looked at.
type Place struct {
	Now           time.Time
	DB            string // the resolved path
	Backups       string // the folder of snapshots
	Scripts       string // the folder of --scripts; "": none
	NoScripts     bool
	Force         bool
	Keys          bool
	Workers       int
	ScriptWorkers int
	Program       Program
}

// Probe finds what a start needs to know: it asks the file system and the kernel, and waits for nobody.
func Probe(p Place) *Facts {
	mounts := readMounts()
	folder := filepath.Dir(p.DB)
	f := &Facts{
		Now: p.Now, DB: p.DB, Force: p.Force, Keys: p.Keys, User: userOf(os.Geteuid()),
		Folder: mountOf(folder, mounts), Program: p.Program, Clock: askKernel(),
		Limits:  ownLimits(p),
		Scripts: Scripts{Off: p.NoScripts},
	}
	f.Cgroup = readCgroup(os.DirFS("/"), "self", mounts)
	f.Cgroup.Container = containerOf(os.DirFS("/"), os.Getenv, mounts)
	if p.Scripts != "" && !p.NoScripts {
		m := mountOf(p.Scripts, mounts)
		f.Scripts.Folder = &m
	}
	f.Files = filesOf(p.DB, p.Backups)
	f.Disks = disksOf(folder, p.Backups)
	return f
}

// filesOf looks at all files that belong to a database, but opens none.
func filesOf(db, backups string) (files []File) {
	add := func(role, path string) {
		if file, there := fileAt(role, path); there {
			files = append(files, file)
		}
	}
	add(RoleFolder, filepath.Dir(db))
	add(RoleFile, db)
	add(RoleWAL, db+"-wal")
	add(RoleSHM, db+"-shm")
	add(RoleKey, db+".key")
	add(RoleToken, db+".token")
	add(RoleDamage, db+".damaged")
	add(RoleOther, db+".served")
	add(RoleOther, db+".lock")
	if backups == "" {
		return files
	}
	add(RoleBackups, backups)
	entries, _ := os.ReadDir(backups) // why it cannot be read its own entry tells
	for i, e := range entries {
		if e.Type().IsRegular() && i < 1000 {
			add(RoleBackup, filepath.Join(backups, e.Name()))
		}
	}
	return files
}

func fileAt(role, path string) (file File, there bool) {
	file = File{Role: role, Path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if role != RoleFolder {
			return file, false
		}
		file.Err = "there is no such folder: make it first"
		return file, true
	}
	if err != nil {
		file.Err = reason(err)
		return file, true
	}
	file.Mode, file.Size, file.At = info.Mode(), info.Size(), info.ModTime()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		file.Owner, file.Links = userOf(int(st.Uid)), uint64(st.Nlink)
	}
	file.Deny = denied(path, info.IsDir(), role == RoleBackup)
	return file, true
}

// denied is what this process may not do with a file that it has to work with.
func denied(path string, folder, reading bool) string {
	asks := []struct {
		mode uint32
		what string
	}{{unix.R_OK, "read"}, {unix.W_OK, "write"}}
	if folder {
		asks = append(asks, struct {
			mode uint32
			what string
		}{unix.X_OK, "enter"})
	}
	if reading {
		asks = asks[:1]
	}
	for _, ask := range asks {
		if err := unix.Faccessat(unix.AT_FDCWD, path, ask.mode, unix.AT_EACCESS); err != nil {
			return ask.what
		}
	}
	return ""
}

func userOf(id int) User {
	u := User{ID: id}
	if known, err := user.LookupId(strconv.Itoa(id)); err == nil {
		u.Name = known.Username
	}
	return u
}

// disksOf are that of the database and, where it is another one, that of its backups.
func disksOf(folder, backups string) []Disk {
	first := diskOf(folder)
	first.Backups = true
	if backups == "" || sameDevice(folder, backups) {
		return []Disk{first}
	}
	second := diskOf(backups)
	if first.Backups, second.Backups = false, true; second.Err != "" {
		return []Disk{first}
	}
	return []Disk{first, second}
}

func diskOf(folder string) Disk {
	d := Disk{Path: folder}
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		d.Err = reason(err)
		return d
	}
	d.Free, d.Total = int64(st.Bavail)*st.Bsize, int64(st.Blocks)*st.Bsize
	d.Nodes, d.MaxNodes = st.Ffree, st.Files
	return d
}

// sameDevice reports whether two folders are on one disk; what is not there is on that of its parent.
func sameDevice(a, b string) bool {
	var sa, sb unix.Stat_t
	if unix.Stat(a, &sa) != nil || unix.Stat(b, &sb) != nil {
		return true
	}
	return sa.Dev == sb.Dev
}

// askKernel asks whether something keeps the wall clock right.
func askKernel() Clock {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return Clock{Err: reason(err)}
	}
	return Clock{
		Known: true, Synced: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxError: time.Duration(t.Maxerror) * time.Microsecond,
	}
}

// ProbeNetwork asks for the name localhost and listens on loopback addresses.
func ProbeNetwork(ctx context.Context) *Network {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	n := &Network{V4: listens(ctx, "127.0.0.1:0"), V6: listens(ctx, "[::1]:0")}
	var err error
	if n.Localhost, err = net.DefaultResolver.LookupHost(ctx, "localhost"); err != nil {
		n.LocalhostErr = err.Error()
	}
	return n
}

func listens(ctx context.Context, addr string) string {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return reason(err)
	}
	_ = ln.Close()
	return ""
}

// ProbePrograms looks for interpreters on PATH.
func ProbePrograms(f *Facts) {
	for _, name := range Interpreters {
		if onPath(name) {
			f.Scripts.Found = append(f.Scripts.Found, name)
		} else {
			f.Scripts.Missed = append(f.Scripts.Missed, name)
		}
	}
}

func onPath(name string) bool {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
			return true
		}
	}
	return false
}

// ofServer takes limits and user from the process that serves the file.
func (f *Facts) ofServer(pid int, mounts []mount) {
	if l, err := limitsOf(pid); err == nil {
		l.Workers, l.ScriptWorkers = f.Limits.Workers, f.Limits.ScriptWorkers
		f.Limits = &l
	}
	if uid, ok := userIDOf(pid); ok && uid != f.User.ID {
		f.User = userOf(uid)
		for i := range f.Files { // that was of who asks
			f.Files[i].Deny = ""
		}
	}
	container := f.Cgroup.Container
	if c := readCgroup(os.DirFS("/"), strconv.Itoa(pid), mounts); c.Err == "" {
		f.Cgroup = c
		f.Cgroup.Container = container
	}
}

// FindServer looks who holds the lock of the file, and takes the limits of that process as those
// that hold.
func FindServer(f *Facts) {
	f.Server = &Server{}
	if f.Server.Held, f.Server.PID = holder(f.DB + ".lock"); f.Server.PID > 0 {
		f.ofServer(f.Server.PID, readMounts())
	}
}

// reason leaves paths and names of calls out of an error.
func reason(err error) string {
	if no := syscall.Errno(0); errors.As(err, &no) {
		return no.Error()
	}
	return fmt.Sprint(err)
}
