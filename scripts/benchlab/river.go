package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// River's settings: the fastest that were found for this work, with the durability of ours.
const (
	riverWorkers  = 500
	riverCooldown = river.FetchCooldownMin // the least it takes
	riverPoll     = 20 * time.Millisecond
	riverSettings = "riversqlite over modernc, WAL, synchronous=FULL, one connection, " +
		"FetchCooldown 1ms, FetchPollInterval 20ms, InsertManyFast, batch completer"
)

// riverArgs is a payload as River takes it: the same 300 bytes of JSON.
type riverArgs struct {
	N   string `json:"n"`
	At  string `json:"at"`
	Key string `json:"key"`
	Pad string `json:"pad"`
}

func (riverArgs) Kind() string { return "bench" }

var riverPad = strings.Split(string(payload(0, 0)), `"`)[15]

func riverJob(n int, sentAt int64) riverArgs {
	return riverArgs{
		N: fmt.Sprintf("%08d", n), At: fmt.Sprintf("%019d", sentAt), Key: payloadKey(n), Pad: riverPad,
	}
}

// openRiver opens and migrates a database, WAL and FULL.
func openRiver(ctx context.Context, path string) (*sql.DB, error) {
	pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+pragmas.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := prepareRiver(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open River's database: %w", err), db.Close())
	}
	return db, nil
}

func prepareRiver(ctx context.Context, db *sql.DB) error {
	var mode string
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if mode != "wal" || synchronous != 2 {
		return fmt.Errorf("journal_mode %s, synchronous %d: want wal and 2 (FULL)", mode, synchronous)
	}
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: riverLog()})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func riverLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// riverWorker does what a webhook run does: one POST of the payload; without url it does nothing.
type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	url    string
	client *http.Client
	target int64
	done   atomic.Int64
	full   chan struct{} // closed when target jobs are done
}

func newRiverWorker(receiver string, target, workers int) *riverWorker {
	return &riverWorker{
		url:    receiver,
		client: webhookClient(workers),
		target: int64(target),
		full:   make(chan struct{}),
	}
}

// webhookClient is a bare http.Client that keeps its connections.
func webhookClient(workers int) *http.Client {
	return &http.Client{
		Timeout: 5 * time.Minute,
		Transport: &http.Transport{
			MaxIdleConns: workers, MaxIdleConnsPerHost: workers, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (w *riverWorker) Work(ctx context.Context, job *river.Job[riverArgs]) error {
	if w.url != "" {
		if err := post(ctx, w.client, w.url, job.EncodedArgs); err != nil {
			return err
		}
	}
	if w.done.Add(1) == w.target {
		close(w.full)
	}
	return nil
}

// post sends one webhook and reads its answer.
func post(ctx context.Context, client *http.Client, to string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	return nil
}

// riverInserter is a client that only inserts.
func riverInserter(db *sql.DB) (*river.Client[*sql.Tx], error) {
	return river.NewClient(riversqlite.New(db), &river.Config{
		Logger: riverLog(), SkipUnknownJobCheck: true,
	})
}

// riverConsumer is a client that also works jobs.
func riverConsumer(db *sql.DB, worker *riverWorker, workers int) (*river.Client[*sql.Tx], error) {
	bundle := river.NewWorkers()
	river.AddWorker(bundle, worker)
	return river.NewClient(riversqlite.New(db), &river.Config{
		Logger:            riverLog(),
		FetchCooldown:     riverCooldown,
		FetchPollInterval: riverPoll,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           bundle,
	})
}

// riverLoad inserts the jobs first to first+n-1, a thousand at a time.
func riverLoad(ctx context.Context, client *river.Client[*sql.Tx], first, n int) error {
	const batch = 1000
	for from := first; from < first+n; from += batch {
		jobs := make([]river.InsertManyParams, min(batch, first+n-from))
		for i := range jobs {
			jobs[i].Args = riverJob(from+i, 0)
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
	}
	return nil
}

// riverCount counts jobs in a state.
func riverCount(ctx context.Context, db *sql.DB, state string) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM river_job WHERE state = ?", state).Scan(&n)
	return n, err
}

// riverVersion is the version that this program was built with.
func riverVersion() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/riverqueue/river" {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}
