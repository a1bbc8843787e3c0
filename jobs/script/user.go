package script

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// An identity is the user that a script runs as, where that is not the server's own.
type identity struct {
	name     string
	home     string
	uid, gid uint32
	groups   []uint32 // gid among them
}

// needed are the capabilities that it takes to run scripts as others: to become them, to give them their files,
// to kill what they leave and to clear away what they wrote. Root has them.
var needed = []struct {
	name   string
	number uintptr
}{
	{"CAP_SETUID", unix.CAP_SETUID},
	{"CAP_SETGID", unix.CAP_SETGID},
	{"CAP_CHOWN", unix.CAP_CHOWN},
	{"CAP_KILL", unix.CAP_KILL},
	{"CAP_DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE},
}

// mayBecomeOthers gives what this process lacks to run scripts as others.
func mayBecomeOthers() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("this server cannot tell what it may: %w", err)
	}
	var all, missing []string
	for _, c := range needed {
		all = append(all, c.name)
		if data[c.number/32].Effective&(1<<(c.number%32)) == 0 {
			missing = append(missing, c.name)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("this server may not run scripts as another user (it lacks %s): start it as root, "+
		"or with %s", strings.Join(missing, ", "), strings.Join(all, ", "))
}

// identityOf finds a user by its name, and refuses one that this server may not become. It is nil
// for the server's own.
func (k *Kind) identityOf(name string) (*identity, error) {
	id, err := lookUp(name)
	switch {
	case err != nil:
		return nil, err
	case int(id.uid) == os.Geteuid():
		return nil, nil
	case k.alone != nil:
		return nil, k.alone
	}
	return id, nil
}

// lookUp finds a user as the system does: in its files, or where nsswitch.conf says.
func lookUp(name string) (*identity, error) {
	var groups []string
	u, err := user.Lookup(name)
	switch unknown := user.UnknownUserError(""); {
	case err == nil:
		groups, err = u.GroupIds()
	case errors.As(err, &unknown):
		u, groups, err = askSystem(name)
	}
	if err != nil {
		return nil, fmt.Errorf("the user %q cannot be looked up: %w", name, err)
	}
	if u == nil {
		return nil, fmt.Errorf("there is no user %q on this machine", name)
	}
	numbers := make([]uint32, 0, 2+len(groups))
	for _, text := range append([]string{u.Uid, u.Gid}, groups...) {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the user %q cannot be looked up: %q is no number", name, text)
		}
		numbers = append(numbers, uint32(n))
	}
	return &identity{
		name: u.Username, home: u.HomeDir, uid: numbers[0], gid: numbers[1], groups: numbers[2:],
	}, nil
}

// askSystem looks beyond the files, which a binary without the C library knows alone. A nil user is
// one that does not exist.
func askSystem(name string) (*user.User, []string, error) {
	getent, err := exec.LookPath("getent")
	if err != nil {
		return nil, nil, nil
	}
	line, err := exec.Command(getent, "passwd", name).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	f := strings.Split(strings.TrimSpace(string(line)), ":")
	if len(f) != 7 || f[0] != name { // a number finds the user that has it
		return nil, nil, nil
	}
	groups, err := exec.Command("id", "-G", name).Output()
	return &user.User{Username: f[0], Uid: f[2], Gid: f[3], HomeDir: f[5]},
		strings.Fields(string(groups)), err
}

// may reports whether the user can reach a file and do with it what the bits say (4 read, 1 pass or
// execute), as far as modes tell. Access lists may say otherwise: the kernel has the last word.
func (id *identity) may(path string, bits uint32) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil || id.uid == 0 {
		return err == nil
	}
	for ; ; path, bits = filepath.Dir(path), 1 {
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil {
			return false
		}
		granted := st.Mode
		switch {
		case st.Uid == id.uid:
			granted >>= 6
		case st.Gid == id.gid || slices.Contains(id.groups, st.Gid):
			granted >>= 3
		}
		if granted&bits != bits {
			return false
		}
		if path == "/" {
			return true
		}
	}
}

// credential is what its script is started with.
func (id *identity) credential() *syscall.Credential {
	if id == nil {
		return nil
	}
	return &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: id.groups}
}

func (id *identity) own(path string) error { return os.Lchown(path, int(id.uid), int(id.gid)) }

// capabilities are what a shim is to have on top of what a start gives it.
func (id *identity) capabilities() []uintptr {
	if id == nil || os.Geteuid() == 0 {
		return nil
	}
	var list []uintptr
	for _, c := range needed {
		list = append(list, c.number)
	}
	return list
}

// identity is whom the job, or else the server's configuration, lets the script run as.
func (a *attempt) identity() (*identity, *jobs.Failure) {
	name := a.call.Spec.Script.User
	if name == "" {
		name = a.kind.cfg.User
	}
	if name == "" {
		return nil, nil
	}
	id, err := a.kind.identityOf(name)
	if err != nil {
		return nil, spawnFailure("user: %v", err)
	}
	return id, nil
}
