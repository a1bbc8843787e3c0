package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/labstack/echo/v4"
)

// The ceiling is what this machine could do if the whole loop cost nothing but its bare parts:
//
//	ceiling = cores / (CPU of a bare echo request + of a bare commit + of a bare client request)
//
// Each part is measured alone, at full load, in a process of its own, and all CPU that was used
// counts: the part's and that of the load generator and the receiver, which take their share
// of the same cores in the loop as well. The parts:
//
//   - echo: github.com/labstack/echo reads a body of 300 B and answers 202 with it, 128 clients;
//   - commit: 128 callers hand a lifecycle each to one writer, which commits all that wait as one
//     transaction (WAL, FULL) of kept statements: a run in, the run updated, an attempt in;
//   - client: http.Client posts 300 B from 64 goroutines, the default of --workers.
const (
	loopClients    = 128
	ceilingWorkers = 64
)

// ceilingEcho serves the bare echo until standard input closes.
func ceilingEcho(ctx context.Context, _ childArgs) (values, error) {
	e := echo.New()
	e.POST("/v1/jobs/:name/runs", func(c echo.Context) error {
		body, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		return c.Blob(http.StatusAccepted, echo.MIMEApplicationJSON, body)
	})
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	err = errors.Join(err, server.Close())
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return values{}, err
}

// lifecycle is one run for the bare writer.
type lifecycle struct{ done chan error }

// ceilingCommit measures the bare group commit for a.For.
func ceilingCommit(ctx context.Context, a childArgs) (values, error) {
	pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := sql.Open("sqlite", "file:"+a.DB+"?"+pragmas.Encode())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, table := range []string{
		`CREATE TABLE runs (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, due_at INTEGER NOT NULL,
			payload TEXT NOT NULL) STRICT`,
		`CREATE TABLE attempts (run INTEGER NOT NULL, number INTEGER NOT NULL,
			started_at INTEGER NOT NULL, finished_at INTEGER NOT NULL, outcome INTEGER NOT NULL,
			PRIMARY KEY (run, number)) WITHOUT ROWID, STRICT`,
	} {
		if _, err := db.ExecContext(ctx, table); err != nil {
			return nil, fmt.Errorf("make the bare tables: %w", err)
		}
	}
	calls := make(chan lifecycle, a.Callers)
	ended := make(chan error, 1)
	go func() { ended <- bareWriter(ctx, db, calls) }()
	dones := make([]chan error, a.Callers)
	for i := range dones {
		dones[i] = make(chan error, 1)
	}
	cpu := ownCPU()
	took, elapsed, err := hammer(a.Callers, a.For, func(caller int) error {
		calls <- lifecycle{dones[caller]}
		return <-dones[caller]
	})
	close(calls)
	if err := errors.Join(err, <-ended); err != nil {
		return nil, err
	}
	n := float64(len(took))
	return values{
		"per_s":  n / elapsed.Seconds(),
		"cpu_us": float64((ownCPU() - cpu).Microseconds()) / n,
	}, nil
}

// bareWriter commits all lifecycles that wait as one transaction, until calls is closed.
func bareWriter(ctx context.Context, db *sql.DB, calls <-chan lifecycle) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var kept [5]*sql.Stmt
	for i, text := range []string{
		"BEGIN IMMEDIATE",
		"INSERT INTO runs (id, state, due_at, payload) VALUES ($1, 2, $2, $3)",
		"UPDATE runs SET state = 6, due_at = $2 WHERE id = $1",
		`INSERT INTO attempts (run, number, started_at, finished_at, outcome)
			VALUES ($1, 1, $2, $2, 1)`,
		"COMMIT",
	} {
		if kept[i], err = conn.PrepareContext(ctx, text); err != nil {
			return err
		}
		defer kept[i].Close()
	}
	body := string(payload(0, 0))
	id := int64(0)
	for first := range calls {
		group := []lifecycle{first}
		for waiting := true; waiting; {
			select {
			case next, open := <-calls:
				if waiting = open; open {
					group = append(group, next)
				}
			default:
				waiting = false
			}
		}
		err := bareCommit(ctx, kept, &id, len(group), body)
		for _, l := range group {
			l.done <- err
		}
	}
	return nil
}

// bareCommit writes n lifecycles in one transaction.
func bareCommit(ctx context.Context, kept [5]*sql.Stmt, id *int64, n int, body string) error {
	if _, err := kept[0].ExecContext(ctx); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	for range n {
		*id++
		if _, err := kept[1].ExecContext(ctx, *id, now, body); err != nil {
			return err
		}
		if _, err := kept[2].ExecContext(ctx, *id, now); err != nil {
			return err
		}
		if _, err := kept[3].ExecContext(ctx, *id, now); err != nil {
			return err
		}
	}
	_, err := kept[4].ExecContext(ctx)
	return err
}

// ceilingClient posts to the receiver with a bare http.Client for a.For.
func ceilingClient(ctx context.Context, a childArgs) (values, error) {
	client := webhookClient(a.Callers)
	body := payload(0, 0)
	cpu := ownCPU()
	took, elapsed, err := hammer(a.Callers, a.For, func(int) error {
		return post(ctx, client, a.URL, body)
	})
	if err != nil {
		return nil, err
	}
	n := float64(len(took))
	return values{
		"n":      n,
		"per_s":  n / elapsed.Seconds(),
		"cpu_us": float64((ownCPU() - cpu).Microseconds()) / n,
	}, nil
}
