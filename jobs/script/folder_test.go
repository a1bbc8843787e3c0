package script

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

func TestOnlyWhatBearsTheMarkIsCleared(t *testing.T) {
	temp := t.TempDir()
	mine := filepath.Join(temp, claimPrefix+"mine")
	data := filepath.Join(mine, "nightshift.db")
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := claimFolder(temp)
	if err != nil {
		t.Fatal(err)
	}
	if dead, err = markClaim(dead); err != nil {
		t.Fatal(err)
	}
	dead.busy.Close()
	dead.lock.Close() // as the kernel does when a server dies
	k, err := New(Config{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := os.Stat(data); err != nil {
		t.Errorf("a folder that is not the server's was cleared: %v", err)
	}
	if _, err := os.Stat(dead.Path); !os.IsNotExist(err) {
		t.Errorf("the folder of a server that died stands: %v", err)
	}
}

// A shim that kills what its server left must be done before a start takes the run up again.
func TestStartWaitsForTheShimsOfAServerThatDied(t *testing.T) {
	temp := t.TempDir()
	dead, err := claimFolder(temp)
	if err != nil {
		t.Fatal(err)
	}
	if dead, err = markClaim(dead); err != nil {
		t.Fatal(err)
	}
	shim := exec.Command("sleep", "0.3")
	shim.ExtraFiles = []*os.File{dead.busy}
	if err := shim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shim.Wait() }()
	dead.busy.Close()
	dead.lock.Close()
	k, err := New(Config{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if p, ok := processOf(shim.Process.Pid); ok && !p.dead {
		t.Error("it did not wait")
	}
	if _, err := os.Stat(dead.Path); !os.IsNotExist(err) {
		t.Errorf("the folder of a server that died stands: %v", err)
	}
}

// A script that fills its folder's disk fails alone: what it filled is given back. One that cannot
// start meanwhile is worth another try.
func TestFullTempFolderPasses(t *testing.T) { // S4
	temp := t.TempDir()
	if err := unix.Mount("tmpfs", temp, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Unmount(temp, unix.MNT_DETACH) }()
	k := kindAt(t, Config{Temp: temp}, ownCgroup)
	call, log := source(`cat /dev/zero > "$TMPDIR/x" || { echo full; read -r _ < "$FIFO"; exit 1; }`)
	fifo := t.TempDir() + "/fifo"
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	call.Spec.Script.Env = map[string]string{"FIFO": fifo}
	r := begin(t, k, call)
	log.await(t, "full")
	second, _ := source("exit 0")
	rep := begin(t, k, second).end(t)
	if f := rep.Failure; f == nil || f.Kind != jobs.FailSpawn || !strings.HasSuffix(f.Message, ": no space left on device") ||
		rep.Retryable == nil || !*rep.Retryable || len(rep.Notes) != 1 {
		t.Errorf("while it is full: %+v", rep)
	}
	if err := os.WriteFile(fifo, []byte("end\n"), 0); err != nil {
		t.Fatal(err)
	}
	if rep := r.end(t); rep.ExitCode != 1 || rep.Retryable != nil {
		t.Errorf("what filled it: %+v", rep)
	}
	second, _ = source("exit 0")
	wantSuccess(t, begin(t, k, second).end(t))
	if err := unix.Unmount(temp, unix.MNT_DETACH); err != nil {
		t.Error(err)
	}
}

func TestTreesOfEverySortAreRemoved(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(t.TempDir(), "top")
	for _, dir := range []string{"a/b/c", "shut/in", ".moved-1/x", ".moved-2", "wide", "deep"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"file", claimMark, "a/file", "shut/in/file", ".moved-1/x/.moved-1", "a/b/c/" + claimMark} {
		if err := os.WriteFile(filepath.Join(top, file), []byte("x"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1500 {
		if err := os.WriteFile(filepath.Join(top, "wide", strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"link", "a/link"} {
		if err := errors.Join(os.Symlink(outside, filepath.Join(top, link)), os.Symlink("absent", filepath.Join(top, link+"2"))); err != nil {
			t.Fatal(err)
		}
	}
	nest(t, filepath.Join(top, "deep"), 100) // whose path is longer than any call takes
	for _, dir := range []string{"shut/in", "shut"} {
		if err := os.Chmod(filepath.Join(top, dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeTree(top); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(top); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("it followed a link: %v", err)
	}
	if err := removeTree(top); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// nest makes folders within each other.
func nest(t *testing.T, path string, depth int) {
	t.Helper()
	name := strings.Repeat("d", 100)
	at, err := unix.Open(path, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for ; err == nil && depth > 0; depth-- {
		var inner int
		if err = unix.Mkdirat(at, name, 0o700); err == nil {
			inner, err = unix.Openat(at, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		unix.Close(at)
		at = inner
	}
	unix.Close(at)
	if err != nil {
		t.Fatal(err)
	}
}

// Who clears /tmp takes from the scripts that are under way, not from those to come.
func TestScriptsStartThoughTheirFoldersWereRemoved(t *testing.T) {
	temp := t.TempDir()
	k, err := New(Config{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	run := func(source string) jobs.Report {
		call, _ := callOf(jobs.Script{Source: source})
		call.CallbackURL, call.CallbackToken = "http://127.0.0.1:1/v1/callback/x", "nsa_x"
		return k.Run(t.Context(), call)
	}
	for _, source := range []string{
		`rm -rf "` + temp + `"/*`,
		`rm -rf "$(dirname "$(command -v nightshift)")"`,
		`rm "$(command -v nightshift)"`,
		`command -v nightshift`,
	} {
		if rep := run(source); rep.Failure != nil {
			t.Errorf("%s: %v, %q", source, rep.Failure, rep.OutputTail)
		}
	}
	k.Close()
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
