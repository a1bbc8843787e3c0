package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An experiment that finds nothing proves something only if it finds what is there. --controls builds the product
// with a mistake in it, one for each experiment, and wants the experiment to fail.

// mistake is what is changed in the sources.
type mistake struct {
	experiment string
	what       string
	edits      []edit
}

// edit replaces a text in a file of the module, which must hold it.
type edit struct{ file, from, to string }

// lossy says of each 16th transaction that it is committed, and rolls it back.
var lossy = []edit{
	{"store/sqlite/writer.go", `w.exec("COMMIT")`, "w.exec(commitOrNot())"},
	{"store/sqlite/writer.go", "func (w *writer) begin() error", `var commits int

func commitOrNot() string {
	if commits++; commits > 40 && commits%16 == 0 { // not of what the experiment sets up
		return "ROLLBACK"
	}
	return "COMMIT"
}

func (w *writer) begin() error`},
}

var mistakes = []mistake{
	{"kill-at-write", "some transactions are not committed", lossy},
	{"kills", "some transactions are not committed", lossy},
	{"powercut", "commits are not synced", []edit{
		{"store/sqlite/sqlite.go", "synchronous(FULL)", "synchronous(OFF)"},
		{"store/sqlite/schema.go", `{"synchronous", "2"}`, `{"synchronous", "0"}`},
	}},
	{"fsync-eio-once", "the server goes on after a sync that failed", goesOn},
	{"fsync-eio-forever", "the server goes on after a sync that failed", goesOn},
	{"enospc", "calls with many entries answer with 500", []edit{{
		"api/enqueue.go", "if storeFault(err) != nil {", "if false {",
	}}},
	{"tmpfs", "the server ends when the disk is full", []edit{{
		"store/sqlite/errors.go", `return fmt.Errorf("%w: %w", store.ErrFull, err)`, `return fmt.Errorf("%w: %w", store.ErrUnknown, err)`,
	}}},
	{"fsize", "a limit on files is an I/O error", []edit{{"store/sqlite/errors.go", `why := w.refused(); why`, `why := ""; why`}}},
	{"readonly", "a start does not say who must be able to write", []edit{{
		"store/sqlite/errors.go", "it is read-only: this user must be able to write the file: ", "",
	}}},
	{"wal-truncated", "a start refuses a log that was cut within a frame", []edit{{
		"store/sqlite/identity.go", "	case ours:\n", "	case ours && hasLog && (f.log-32)%4120 != 0:\n		return \"\", errors.New(\"cut\")\n	case ours:\n",
	}}},
	{"bitflip", "a start that fails does not say what to do", []edit{
		{"store/sqlite/schema.go", "give another --db, or restore a backup", "no"},
		{"store/sqlite/damage.go", "and restore a backup: nightshift restore backups/latest.db", "no"},
	}},
	{"wal-deleted", "nobody looks at the files", []edit{{"store/sqlite/watch.go", "gone := w.files.check()", "gone := (*lost)(nil)"}}},
	{"outside-lock", "writes do not wait for the lock", []edit{
		{"store/sqlite/sqlite.go", "busy_timeout(10000)", "busy_timeout(100)"},
		{"store/sqlite/schema.go", `{"busy_timeout", "10000"}`, `{"busy_timeout", "100"}`},
		{"store/sqlite/wal.go", "busy_timeout=10000", "busy_timeout=100"},
	}},
	{"two-servers", "the lock is not looked at", []edit{{
		"store/sqlite/lock.go", "err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil", "err := error(nil); err != nil",
	}}},
	{"sigstop", "what an attempt says that is over is taken", []edit{{
		"store/sqldb/underway.go", "found && under && of.number == f.Number", "found && (under || of.number > 0)",
	}}},
	{"long-reader", "the log is never copied back", []edit{{
		"store/sqlite/wal.go", "	w.log.groups++\n", "	if w.log.groups++; true {\n		return\n	}\n",
	}}},
	{"ten-million", "a start takes long", []edit{{
		"runtime/stop.go", "	orphans, err := r.store.Orphans(ctx)\n", "	time.Sleep(12 * time.Second)\n	orphans, err := r.store.Orphans(ctx)\n",
	}}},
}

// goesOn takes a commit whose sync failed for one that did not happen.
var goesOn = []edit{{
	"store/sqlite/errors.go", `	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// endsTransaction`, `	return fmt.Errorf("%w: %w", store.ErrFull, err)
}

// endsTransaction`,
}}

// controls runs the experiments of a choice, each on a product with its mistake, and reports whether all have failed.
func (p *plan) controls(ctx context.Context, dir string, chosen []experiment) (ok bool, err error) {
	p.short, ok = true, true
	for _, e := range chosen {
		for _, m := range mistakes {
			if m.experiment != e.name {
				continue
			}
			mine := *p
			if mine.bin, err = m.build(ctx, dir); err != nil {
				return false, fmt.Errorf("build the mistake of %s: %w", e.name, err)
			}
			l := mine.newLab(dir, e)
			outcome := l.conduct(ctx)
			found := "nothing"
			if len(l.Faults) > 0 {
				found, _, _ = strings.Cut(l.Faults[0], "\n")
				found = fmt.Sprintf("%d violations: %.160s", len(l.Faults), found)
			}
			fmt.Printf("%-18s %s\n%-18s found %s\n", e.name, m.what, "", found)
			if outcome == "ok" {
				fmt.Println("VIOLATION: the experiment did not find the mistake")
				ok = false
			}
		}
	}
	return ok, ctx.Err()
}

// build compiles the module with the mistake laid over its sources.
func (m *mistake) build(ctx context.Context, dir string) (string, error) {
	dir = filepath.Join(dir, "mistake-"+m.experiment)
	if err := os.Mkdir(dir, 0o755); err != nil { // one experiment starts it as another user
		return "", err
	}
	replaced, texts := map[string]string{}, map[string]string{}
	for _, e := range m.edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		if _, known := texts[path]; !known {
			text, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			texts[path] = string(text)
		}
		if !strings.Contains(texts[path], e.from) {
			return "", fmt.Errorf("%s does not hold %q any more: write the mistake anew", e.file, e.from)
		}
		texts[path] = strings.Replace(texts[path], e.from, e.to, 1)
	}
	for path, text := range texts {
		replaced[path] = filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(replaced[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "nightshift")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-overlay", file, "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return bin, nil
}
