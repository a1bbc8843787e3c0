package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// readOnly has the system turn the file system read-only under the server, as it does after an error of the disk, and
// starts servers where they may not write.
func readOnly(ctx context.Context, l *lab) error {
	if err := l.refusedStarts(ctx); err != nil {
		return err
	}
	s, err := l.newSite()
	if err != nil {
		return err
	}
	image := filepath.Join(s.root, "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		return err
	}
	if err := command(ctx, "mkfs.ext4", "-q", "-F", image); err != nil {
		return err
	}
	options := []string{"-o", "loop,errors=remount-ro", image}
	if err := s.mount(ctx, options...); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.begin(ctx)
	if err := s.awaitAcks(ctx, 30, 20*time.Second); err != nil {
		return err
	}
	// Nothing is asked for at that instant: a sync under way was seen to succeed whose data was gone after the mending,
	// and a server can do nothing about what the kernel takes back.
	s.load.stop(10 * time.Second)
	if err := s.breakDisk(); err != nil {
		return err
	}
	s.load.begin(ctx)
	went, err := s.onBrokenDisk(ctx)
	if err != nil {
		return err
	}
	s.Row("the server", went)

	// Back again: as an administrator does, with the server down.
	_ = s.server.Kill()
	data := filepath.Dir(s.server.DB())
	if err := command(ctx, "umount", data); err != nil {
		return err
	}
	_ = exec.CommandContext(ctx, "e2fsck", "-p", image).Run() // 1: it has mended something
	if err := command(ctx, "mount", append(options, data)...); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return fmt.Errorf("the disk is back: %w", err)
	}
	s.load.stop(drainWithin)
	s.Row("acknowledged", s.load.acks())
	s.tell()
	return s.settle(ctx)
}

// breakDisk has the kernel find an error on the file system of the data, upon which it lets nobody write any more.
// A mount -o remount,ro would be refused: the files are open for writing.
func (s *site) breakDisk() error {
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", filepath.Dir(s.server.DB())).Output()
	if err != nil {
		return fmt.Errorf("findmnt: %w", err)
	}
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(strings.TrimSpace(string(out))), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("tried by scripts/faults"), 0o600); err != nil {
		return skip("no error of a disk can be made here: " + err.Error())
	}
	return nil
}

// onBrokenDisk sees that nothing is acknowledged on a disk that cannot be written: the server says so and goes on
// reading, or, where a sync was under way, ends. A start says why it cannot be.
func (s *site) onBrokenDisk(ctx context.Context) (went string, err error) {
	err = s.await(ctx, "answers that the file cannot be written", 20*time.Second, func() bool {
		return s.load.said("507 disk-full") > 0
	})
	if err == nil {
		pause(ctx, 300*time.Millisecond)
		acks := s.load.acks()
		if err := s.saysWhy(ctx, "read-only"); err != nil {
			return "", err
		}
		pause(ctx, pick(s.lab, 500*time.Millisecond, 5*time.Second))
		if more := s.load.acks() - acks; more > 0 {
			s.fault("the disk cannot be written, and %d runs were acknowledged", more)
		}
		if err := s.server.Kill(); err != nil {
			return "", err
		}
		went = "went on to answer"
	} else if status := s.server.Status(); strings.HasPrefix(status, "exit status ") && status != "exit status 0" {
		went = "ended with " + status
	} else {
		return "", err
	}
	if err := s.server.Start(); err != nil {
		return "", err
	}
	status, err := s.awaitEnd(20 * time.Second)
	if err != nil {
		return "", err
	}
	s.saysAtStart(status, "a start while the disk is read-only", "read-only")
	return went, nil
}

// saysAtStart checks how a start that had to fail did: with a status that is not 0, and words that help.
func (s *site) saysAtStart(status, when string, words ...string) {
	lines := strings.Split(strings.TrimSpace(s.server.LogTail()), "\n")
	last := lines[len(lines)-1]
	s.Row(when, status+": "+last)
	if status == "exit status 0" || !strings.HasPrefix(status, "exit status ") {
		s.fault("%s: ended by %q; want an exit status that is not 0", when, status)
	}
	for _, word := range words {
		if !strings.Contains(last, word) {
			s.fault("%s: want %q said, got: %s", when, word, last)
		}
	}
}

// refusedStarts starts a server as a user who may not write the file, and as one who may not write its folder.
func (l *lab) refusedStarts(ctx context.Context) error {
	for _, c := range []struct {
		when, folder, file string // modes
		says               []string
	}{
		{"the file is 0400", "0700", "0400", []string{"read-only", "must be able to write the file"}},
		{"the folder is 0500", "0500", "0600", []string{"lock file", "permission denied"}},
	} {
		s, err := l.newSite()
		if err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
		if err := s.server.Stop(time.Minute); err != nil {
			return err
		}
		data := filepath.Dir(s.server.DB())
		const nobody = "65534"
		for _, line := range [][]string{
			{"chown", "-R", nobody + ":" + nobody, s.root},
			{"chmod", "0755", s.root, l.dir, filepath.Dir(l.dir)},
			{"chmod", c.file, s.server.DB()},
			{"chmod", c.folder, data},
		} {
			if err := command(ctx, line[0], line[1:]...); err != nil {
				return err
			}
		}
		s.server.Wrap = []string{"setpriv", "--reuid=" + nobody, "--regid=" + nobody, "--clear-groups"}
		if err := s.server.Start(); err != nil {
			return err
		}
		status, err := s.awaitEnd(20 * time.Second)
		if err != nil {
			return err
		}
		s.saysAtStart(status, c.when, c.says...)
	}
	return nil
}
