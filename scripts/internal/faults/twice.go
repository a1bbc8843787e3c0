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

// twoServers starts a second server on the file of one that works, by each route to it. The second ends and says why,
// the first does not notice.
func twoServers(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.load.begin(ctx)
	db := s.server.DB()
	data := filepath.Dir(db)
	dirs := map[string]string{}
	for _, name := range []string{"linked", "hard", "folder", "single"} {
		dirs[name] = filepath.Join(s.root, name)
		if err := os.Mkdir(dirs[name], 0o700); err != nil {
			return err
		}
	}
	link := filepath.Join(dirs["linked"], "other.db")
	if err := os.Symlink(db, link); err != nil {
		return err
	}
	type route struct{ name, path, dir, says string }
	routes := []route{
		{"the same path", db, "/", "served by another process"},
		{"a relative path", filepath.Join("..", filepath.Base(data), dbName), dirs["linked"], "served by another process"},
		{"a symbolic link", link, "/", "served by another process"},
	}
	if os.Geteuid() == 0 && command(ctx, "mount", "--bind", data, dirs["folder"]) == nil {
		l.atEnd(func() { _ = command(context.Background(), "umount", "-l", dirs["folder"]) })
		routes = append(routes, route{"a bind mount of the folder", filepath.Join(dirs["folder"], dbName), "/", "served by another process"})
		single := filepath.Join(dirs["single"], "other.db")
		if err := os.WriteFile(single, nil, 0o600); err != nil {
			return err
		}
		if err := command(ctx, "mount", "--bind", db, single); err != nil {
			return err
		}
		l.atEnd(func() { _ = command(context.Background(), "umount", "-l", single) })
		routes = append(routes, route{"a bind mount of the file", single, "/", "mounted as a single file"})
	} else {
		l.Row("bind mounts", "skipped: they cannot be made here")
	}
	// Last: with a second name the file would be refused by any route.
	hard := filepath.Join(dirs["hard"], "other.db")
	routes = append(routes, route{"a hard link", hard, "/", "2 hard links"})
	for _, r := range routes {
		if r.path == hard {
			if err := os.Link(db, hard); err != nil {
				return err
			}
		}
		acks := s.load.acks()
		short, cancel := context.WithTimeout(ctx, 30*time.Second)
		cmd := exec.CommandContext(short, l.bin, "serve", "--db", r.path, "--listen", "127.0.0.1:0")
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), "TMPDIR="+s.root)
		out, err := cmd.CombinedOutput()
		cancel()
		status := cmd.ProcessState.String()
		if err == nil || status != "exit status 1" || !strings.Contains(string(out), r.says) {
			s.fault("%s: the second server ended by %s, and said %s; want %q", r.name, status, out, r.says)
		}
		if err := s.awaitAcks(ctx, 5, 20*time.Second); err != nil {
			return fmt.Errorf("%s: the first server: %w", r.name, err)
		}
		s.Row(r.name, fmt.Sprintf("%s; the first acknowledged %d more", status, s.load.acks()-acks))
	}
	if err := os.Remove(hard); err != nil {
		return err
	}
	s.load.stop(drainWithin)
	s.tell()
	if n := len(s.load.answers); n != 1 {
		s.fault("the first server had calls that it could not answer")
	}
	return s.settle(ctx)
}
