package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
	"nightshift/store"
)

// envChild makes the test binary act as another process: what it says, on the file it names.
const envChild = "NIGHTSHIFT_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(envChild); role != "" {
		act(role, os.Args[len(os.Args)-1])
		return
	}
	os.Exit(m.Run())
}

func act(role, path string) {
	switch role {
	case "serve":
		s, err := Open(context.Background(), path, Config{})
		if err != nil {
			fmt.Println("refused:", err)
			return
		}
		fmt.Println("serving")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("closed:", s.Close())
	case "enqueue":
		enqueueForEver(path)
	case "upgrade":
		upgradeUntilKilled(path)
	case "probe":
		probeLocks(path)
	case "limited":
		enqueueToALimit(path)
	}
}

// enqueueToALimit enqueues until files may not grow any more, and then with the limit raised.
func enqueueToALimit(path string) {
	ctx := context.Background()
	var before unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_FSIZE, &before)
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 600_000, Max: before.Max})
	s, err := Open(ctx, path, Config{})
	if err == nil {
		_, err = s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}}, store.By{Actor: "test", Now: 1})
	}
	ids, acks := jobs.NewIDs(0, rand.Uint64), 0
	for err == nil {
		if _, err = s.Enqueue(ctx, []store.Submission{submission(ids, "a")}); err == nil {
			acks++
		}
	}
	if full := (*store.FullError)(nil); errors.As(err, &full) && errors.Is(err, store.ErrFull) {
		fmt.Println("full:", full)
	} else {
		fmt.Println("not full:", err)
		return
	}
	runs, _, err := s.Runs(ctx, store.RunFilter{}, store.Page{Limit: 1000})
	fmt.Println("rows are as many as acknowledged:", err == nil && len(runs) == acks && acks > 0)
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &before)
	_, err = s.Enqueue(ctx, []store.Submission{submission(ids, "a")})
	fmt.Println("after it was raised:", err)
	_ = s.Close()
}

// child starts the test binary in a role and gives the lines it prints.
func child(
	t *testing.T, role, path string,
) (lines *bufio.Scanner, stdin io.WriteCloser, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^$", path)
	cmd.Env = append(os.Environ(), envChild+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out), stdin, cmd
}

// enqueueForEver prints the id of each run after it was acknowledged.
func enqueueForEver(path string) {
	ctx := context.Background()
	s, err := Open(ctx, path, Config{})
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	floor, err := s.Floor(ctx)
	if err == nil {
		_, err = s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}},
			store.By{Actor: "test", Now: 1})
	}
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	ids := jobs.NewIDs(floor, rand.Uint64)
	var out sync.Mutex
	for range 8 {
		go func() {
			for {
				sub := submission(ids, "a")
				if _, err := s.Enqueue(ctx, []store.Submission{sub}); err == nil {
					out.Lock()
					fmt.Println(sub.Run.ID)
					out.Unlock()
				}
			}
		}()
	}
	select {}
}

// probeLocks asks 100 times who holds SQLite's locks: of the file's shared range, and of the byte
// by which every connection of a WAL marks that it is there.
func probeLocks(path string) {
	for _, place := range []struct {
		file       string
		start, len int64
	}{{path, 0x40000002, 510}, {path + "-shm", 128, 1}} {
		f, err := os.OpenFile(place.file, os.O_RDWR, 0)
		if err != nil {
			fmt.Println("cannot open:", err)
			return
		}
		defer f.Close()
		for range 100 {
			l := unix.Flock_t{
				Type:   unix.F_WRLCK,
				Whence: io.SeekStart,
				Start:  place.start,
				Len:    place.len,
			}
			if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil {
				fmt.Println("cannot ask:", err)
				return
			}
			holder := "nobody"
			if l.Type != unix.F_UNLCK {
				holder = fmt.Sprint(l.Pid)
			}
			fmt.Println(filepath.Ext(place.file), holder)
			time.Sleep(time.Millisecond)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantText demands an error that says all of these.
func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("error is %q, want it to say %q", err, part)
		}
	}
}

func plainJob(name string) *jobs.Job {
	j, err := jobs.ParseJob(
		[]byte(`{"name":"` + name + `","webhook":{"url":"http://127.0.0.1:9/"}}`))
	if err != nil {
		panic(err)
	}
	return j
}

const testTime jobs.Time = 1_770_000_000_000

func submission(ids *jobs.IDs, job string) store.Submission {
	id := ids.Next(testTime.Std())
	return store.Submission{Run: &jobs.Run{
		ID: id, OperationID: id, Job: job, State: jobs.Queued, Trigger: jobs.TriggerAPI,
		Payload: jobs.Raw("{}"), CreatedAt: testTime, RunAt: testTime, DueAt: testTime,
	}}
}

// openAt opens a store that is closed at the end of the test.
func openAt(t testing.TB, path string) store.Store {
	t.Helper()
	s, err := Open(context.Background(), path, Config{})
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// sqlOn runs statements on a file through a connection of its own.
func sqlOn(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	p, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	t.Cleanup(func() { _ = p.Close() })
	p.SetMaxOpenConns(1)
	for _, s := range statements {
		_, err := p.Exec(s)
		check(t, err)
	}
	return p
}

func readText(t testing.TB, p *sql.DB, query string) (text string) {
	t.Helper()
	check(t, p.QueryRow(query).Scan(&text))
	return text
}

func yield() { runtime.Gosched() }
