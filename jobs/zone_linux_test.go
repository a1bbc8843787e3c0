package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// emptyRoot, in the environment, makes the test program a child that has but an empty directory.
const emptyRoot = "NIGHTSHIFT_TEST_EMPTY_ROOT"

// loadedAll is what the child says when all went well.
const loadedAll = "every zone was loaded"

// TestZonesNeedNoHost loads each zone in a child process without a zone database: its root is an
// empty directory, and ZONEINFO and TZ lead nowhere.
func TestZonesNeedNoHost(t *testing.T) { // case 41
	if root := os.Getenv(emptyRoot); root != "" {
		zonesInEmptyRoot(t, root)
		return
	}
	for _, env := range [][]string{
		nil, {"ZONEINFO=/nowhere", "TZ=Nowhere/Atall"}, {"ZONEINFO=/", "TZ=Australia/Sydney"},
	} {
		self := exec.Command(os.Args[0], "-test.run=^TestZonesNeedNoHost$", "-test.v")
		self.Env = append(env, emptyRoot+"="+t.TempDir())
		if os.Getuid() != 0 {
			self.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			}
		}
		out, err := self.CombinedOutput()
		if strings.Contains(string(out), "--- SKIP") || len(out) == 0 && err != nil {
			t.Skipf("the root cannot be changed here: %v %s", err, out)
		}
		if err != nil || !strings.Contains(string(out), loadedAll) {
			t.Errorf("%v: %v\n%s", env, err, out)
		}
	}
}

// zonesInEmptyRoot is the child's part.
func zonesInEmptyRoot(t *testing.T, root string) {
	if err := syscall.Chroot(root); err != nil {
		t.Skip("chroot:", err)
	}
	if err := os.Chdir("/"); err != nil {
		t.Fatal(err)
	}
	if found, err := os.ReadDir("/"); err != nil || len(found) > 0 {
		t.Fatalf("the root has %v, %v", found, err)
	}
	for _, name := range zoneNames() {
		if _, err := LoadZone(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	berlin, err := LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2027, 7, 1, 12, 0, 0, 0, berlin).UTC().Format(time.RFC3339)
	if at != "2027-07-01T10:00:00Z" {
		t.Errorf("noon in Berlin is %s", at)
	}
	if _, err := LoadZone("Europe/Berln"); err == nil {
		t.Error("Europe/Berln is a zone")
	}
	if !t.Failed() {
		fmt.Println(loadedAll)
	}
}
