package cli_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The lines of the README's tour, in their order, in a folder of their own.
func TestTourOfTheREADME(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the tour needs python3")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tour, found := strings.Cut(string(text), "\n## The tour\n")
	tour, _, _ = strings.Cut(tour, "\n## ")
	if !found {
		t.Fatal("the README has no tour")
	}
	dir, bin := t.TempDir(), t.TempDir()
	for from, to := range map[string]string{filepath.Join(root, "examples"): filepath.Join(dir, "examples"), binary: filepath.Join(bin, "nightshift")} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	env := environment("PATH="+bin+":"+os.Getenv("PATH"), "NIGHTSHIFT_LISTEN="+addr, "NIGHTSHIFT_SERVER=http://"+addr)
	printed := &lockedBuffer{}
	command := func(block string) *exec.Cmd {
		cmd := exec.Command("sh", "-e", "-c", block)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, printed, printed
		return cmd
	}
	servers, blocks := 0, 0
	for _, part := range strings.Split(tour, "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		switch {
		case strings.Contains(block, "go build"):
			continue // the binary of the tests
		case strings.HasPrefix(block, "nightshift serve"):
			servers++
			cmd := command("exec " + block)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			go func() {
				_ = cmd.Wait()
				close(over)
			}()
			t.Cleanup(func() {
				_ = cmd.Process.Signal(syscall.SIGKILL)
				<-over
			})
			if err := command("nightshift ready --wait 8s").Run(); err != nil && !strings.Contains(printed.String(), "the server is held") {
				t.Fatalf("%s\ndoes not serve: %v\n%s", block, err, printed)
			}
		default:
			blocks++
			if err := command(block).Run(); err != nil {
				t.Fatalf("%s\n%v\n%s", block, err, printed)
			}
		}
	}
	if servers != 3 || blocks < 8 {
		t.Errorf("%d servers, %d other blocks: is this the whole tour?", servers, blocks)
	}
	out := printed.String()
	for _, want := range []string{
		"of 30 (", "goes on behind", "--- attempt 2 ---", "job rule 1 (the rows themselves are wrong) says fail", "exit code 1",
		"1 succeeded, 0 failed", "No failure is open", "Monday to Friday, Europe/Berlin", "alert-webhook", "backup as of", "is restored from backup.db",
		"starts attempts",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the tour does not print %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "cron.yaml")); err != nil || !bytes.Contains(text, []byte("schedules:")) {
		t.Errorf("the imported crontab: %v\n%s", err, text)
	}
}
