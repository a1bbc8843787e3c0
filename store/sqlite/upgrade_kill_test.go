package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// What the role "upgrade" of a child is told: before which statement it kills itself (0: never), and
// up to which of the made schemas it goes ("": it has those of the product).
const (
	envKillAt = "NIGHTSHIFT_TEST_KILL_AT"
	envSchema = "NIGHTSHIFT_TEST_SCHEMA"
)

// upgradeUntilKilled opens a file and says how many statements that took.
func upgradeUntilKilled(path string) {
	runtime.LockOSThread() // strace counts per thread
	killAt, _ := strconv.ParseInt(os.Getenv(envKillAt), 10, 64)
	counted := &countingDriver{killAt: killAt}
	sql.Register("counting", counted)
	cfg := Config{driver: "counting", Now: testTime}
	if n := os.Getenv(envSchema); n != "" {
		newest, _ := strconv.Atoi(n)
		cfg.migrations = madeSchemas(newest)
	}
	s, err := Open(context.Background(), path, cfg)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("opened after", counted.statements.Load(), "statements")
	fmt.Println("closed:", s.Close())
}

// countingDriver is the driver of the product, but for a cache so small that a transaction writes before
// it commits, and for a process that kills itself before one of the statements.
type countingDriver struct {
	statements atomic.Int64
	killAt     int64
}

type countedConn struct {
	fullConn
	d *countingDriver
}

type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type countedTx struct {
	driver.Tx
	d *countingDriver
}

func (d *countingDriver) count() {
	if d.statements.Add(1) == d.killAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (d *countingDriver) Open(name string) (driver.Conn, error) {
	p, err := sql.Open("sqlite", "")
	if err != nil {
		return nil, err
	}
	defer p.Close()
	c, err := p.Driver().Open(name)
	if err != nil {
		return nil, err
	}
	full := c.(fullConn)
	_, err = full.ExecContext(context.Background(), "PRAGMA cache_size=5", nil)
	return countedConn{full, d}, err
}

func (c countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.d.count()
	return c.fullConn.ExecContext(ctx, query, args)
}

func (c countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.d.count()
	return c.fullConn.QueryContext(ctx, query, args)
}

// PrepareContext counts the statements of the writer, each of which is prepared once.
func (c countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.d.count()
	return c.fullConn.PrepareContext(ctx, query)
}

func (c countedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.d.count()
	tx, err := c.fullConn.BeginTx(ctx, o)
	return countedTx{tx, c.d}, err
}

func (tx countedTx) Commit() error {
	tx.d.count()
	return tx.Tx.Commit()
}

// upgradeChild has another process open a file and reports whether it was killed meanwhile.
func upgradeChild(t *testing.T, path string, newest, killAt int, around ...string) (killed bool, said string) {
	t.Helper()
	command := append(around, os.Args[0], "-test.run=^$", path)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), envChild+"=upgrade", fmt.Sprint(envKillAt, "=", killAt))
	if newest > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint(envSchema, "=", newest))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	said = string(out)
	if err == nil {
		if !strings.HasPrefix(said, "opened") || !strings.HasSuffix(said, "closed: <nil>\n") {
			t.Fatalf("the child said %s", said)
		}
		return false, said
	}
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() || state.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v and said %s", err, said)
	}
	return true, said
}

// stride is how many of the places to be killed at are passed over. Under the race detector these tests are a sample:
// what is killed is another process.
func stride(normal, short int) int {
	if testing.Short() || raced {
		return short
	}
	return normal
}

func TestKilledAtAStatementOfTheFirstStartLeavesNothingOrTheSchema(t *testing.T) {
	states := append([]string{"schema 0"}, productSchemas(t)...)
	step, seen := stride(1, 17), map[string]int{}
	for at := 1; ; at += step {
		path := filepath.Join(t.TempDir(), "n.db")
		killed, said := upgradeChild(t, path, 0, at)
		if !killed {
			t.Logf("%s: left %v", strings.TrimSpace(said), seen)
			break
		}
		if isThere(path) {
			seen[mustBeOneOf(t, asLeft(t, path), states)]++
		}
		goesOn(t, path, Config{})
		mustBeOneOf(t, path, states[len(states)-1:])
	}
	if seen["schema 0"] == 0 || !testing.Short() && !raced && len(seen) < 2 {
		t.Errorf("places were killed at that left %v: the test proves nothing", seen)
	}
}

func TestKilledAtAStatementOfAnUpgradeLeavesTheOldSchemaOrTheNew(t *testing.T) {
	m := makeUpgrade(t)
	step, seen := stride(1, 7), map[string]int{}
	for at := 1; ; at += step {
		path := m.start(t)
		killed, said := upgradeChild(t, path, m.newest, at)
		if !killed {
			t.Logf("%s: left %v", strings.TrimSpace(said), seen)
			break
		}
		seen[m.check(t, path)]++
	}
	if len(seen) < stride(3, 2) {
		t.Errorf("places were killed at that left %v: the test proves nothing", seen)
	}
}

// Writes are cut off in the middle of statements and of commits, of the log as of the copy.
func TestKilledAtAWriteOfAnUpgradeLeavesTheOldSchemaOrTheNew(t *testing.T) {
	strace := needStrace(t)
	m := makeUpgrade(t)
	for _, call := range []string{"pwrite64", "fsync,fdatasync", "unlink,unlinkat,rename,renameat,renameat2,ftruncate"} {
		step, seen := stride(23, 97), map[string]int{}
		if call != "pwrite64" {
			step = stride(1, 5)
		}
		for at := 1; ; at += step {
			path := m.start(t)
			killed, _ := upgradeChild(t, path, m.newest, 0, strace, "-f", "-o", os.DevNull, "-e", "trace="+call,
				"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, at))
			if !killed {
				t.Logf("%s: %d calls; left %v", call, at-1, seen)
				break
			}
			seen[m.check(t, path)]++
		}
		if len(seen) == 0 {
			t.Errorf("%s: nothing was killed: the test proves nothing", call)
		}
	}
}

// A kill at the last moment of a stop is not taken for a log that somebody has removed: the file is not held.
func TestKilledAtTheNoteOfAStopHoldsNothing(t *testing.T) {
	strace := needStrace(t)
	m := makeUpgrade(t)
	path := m.start(t)
	killed, said := upgradeChild(t, path, m.newest, 0, strace, "-f", "-o", os.DevNull, "-P", path+".served",
		"-e", "trace=pwrite64", "-e", "inject=pwrite64:signal=KILL:when=1")
	if !killed {
		t.Fatalf("the note was not written over: this proves nothing: %s", said)
	}
	m.check(t, path)
}

func needStrace(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace")
	}
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v %s", err, out)
	}
	return strace
}
