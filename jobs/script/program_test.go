package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

func TestRunningBinaryIsOnThePATH(t *testing.T) {
	k := newKindAny(t)
	for name, c := range map[string]struct {
		path *string
		want string
	}{
		"server's": {nil, "BIN:" + os.Getenv("PATH")},
		"its own":  {new("/usr/bin:/bin"), "/usr/bin:/bin:BIN"},
		"none":     {new(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			call, log := callOf(jobs.Script{
				Source: `echo "$PATH"; [ -z "$PATH" ] || nightshift said`, Interpreter: []string{"/bin/sh", "-e"},
			})
			call.CallbackURL = "http://127.0.0.1:8700/v1/callback/x"
			if c.path != nil {
				call.Spec.Script.Env = map[string]string{"PATH": *c.path}
			}
			wantSuccess(t, begin(t, k, call).end(t))
			want := strings.ReplaceAll(c.want, "BIN", filepath.Join(k.temp.Path, "bin")) + "\n"
			if c.want != "" {
				want += "this is it: said\n"
			}
			if log.String() != want {
				t.Errorf("printed %q, want %q", log, want)
			}
		})
	}
}

// Whether it can be given a second name or must be copied: it is the file that was started.
func TestUpgradeDoesNotChangeTheProgramOfScripts(t *testing.T) {
	folder := t.TempDir()
	started := filepath.Join(folder, "server")
	if err := os.WriteFile(started, []byte("#!/bin/sh\necho old\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o755, 0o700} {
		if err := os.Chmod(started, mode); err != nil {
			t.Fatal(err)
		}
		p, err := openProgram(started)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		if err := os.WriteFile(started+".new", []byte("#!/bin/sh\necho new\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(started+".new", started); err != nil {
			t.Fatal(err)
		}
		bin, err := p.forScripts(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(bin, programName))
		if err != nil {
			t.Fatal(err)
		}
		info, _ := os.Stat(filepath.Join(bin, programName))
		if !strings.Contains(string(text), "old") || info.Mode() != 0o755 {
			t.Errorf("mode %o: %s holds %q", mode, info.Mode(), text)
		}
		if err := os.WriteFile(started, []byte("#!/bin/sh\necho old\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// Where nothing can be run from the folder of attempts, scripts still find the server's binary.
func TestProgramIsFoundWhereNothingMayBeRun(t *testing.T) {
	temp := t.TempDir()
	if err := unix.Mount("tmpfs", temp, "tmpfs", unix.MS_NOEXEC, "size=128m"); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Unmount(temp, unix.MNT_DETACH) }()
	k := kindAt(t, Config{Temp: temp}, ownCgroup)
	call, log := source("[ -L \"$(command -v nightshift)\" ] && nightshift said")
	call.CallbackURL = "http://127.0.0.1:8700/v1/callback/x"
	wantSuccess(t, begin(t, k, call).end(t))
	if log.String() != "this is it: said\n" {
		t.Errorf("printed %q", log)
	}
}
