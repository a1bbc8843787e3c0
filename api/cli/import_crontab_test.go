package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheMachineSaysItsZone(t *testing.T) {
	etc := t.TempDir()
	check := func(zone, from string) {
		t.Helper()
		if z, f := machineZone(etc); z != zone || !strings.HasPrefix(f, from) || (from == "") != (f == "") {
			t.Errorf("%s, %q; want %s, %q", z, f, zone, from)
		}
	}
	check("UTC", "this machine, which has no")
	zones := filepath.Join(t.TempDir(), "zoneinfo", "Europe")
	if err := os.MkdirAll(zones, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(etc, "localtime"), "TZif")
	check("UTC", "")
	put(filepath.Join(etc, "timezone"), "Mars/Base\n")
	check("UTC", "")
	put(filepath.Join(etc, "timezone"), "Asia/Tokyo\n")
	check("Asia/Tokyo", "this machine, /etc/timezone")
	put(filepath.Join(zones, "Berlin"), "TZif")
	_ = os.Remove(filepath.Join(etc, "localtime"))
	if err := os.Symlink(filepath.Join(zones, "Berlin"), filepath.Join(etc, "localtime")); err != nil {
		t.Fatal(err)
	}
	check("Europe/Berlin", "this machine, /etc/localtime")
}

func TestSystemCrontabsAreKnownByTheirPlaceAlone(t *testing.T) {
	for path, want := range map[string]bool{
		"/etc/crontab": true, "/etc/cron.d/x": true, "/etc/cron.d/../crontab": true, "-": false, "/tmp/etc/crontab": false,
		"/etc/cron.d/x/y": false, "/var/spool/cron/crontabs/ada": false,
	} {
		if isSystemCrontab(path) != want {
			t.Error(path)
		}
	}
}
