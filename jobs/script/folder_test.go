package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
