package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"
)

// The test binary is also a server that does no more than store runs, schedules and checkpoints; the environment says with
// which pragma synchronous.
const controlEnv = "POWERCUT_CONTROL_SYNCHRONOUS"

func TestMain(m *testing.M) {
	if sync := os.Getenv(controlEnv); sync != "" {
		if err := serveControl(sync, os.Args[3], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveControl serves until SIGTERM. Its command line is serve --db FILE --listen ADDR.
func serveControl(synchronous, file, addr string) error {
	db, err := sql.Open("sqlite", file+"?_pragma=journal_mode(wal)&_pragma=synchronous("+
		synchronous+")")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE runs (seq INTEGER PRIMARY KEY, tail INTEGER, payload TEXT); " +
		"CREATE TABLE schedules (name TEXT, deleted_at INTEGER); " +
		"CREATE TABLE checkpoints (value TEXT)")
	if err != nil {
		return err
	}
	var seq atomic.Int64
	insert := func(payload string) (string, error) {
		n := seq.Add(1)
		tail := int64(rand.Uint64()&(1<<62-1) | 1<<63)
		_, err := db.Exec("INSERT INTO runs VALUES (?, ?, ?)", n, tail, payload)
		return fmt.Sprintf("00000000-0000-7%03x-%04x-%012x", n, uint64(tail)>>48,
			uint64(tail)&(1<<48-1)), err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	var keep atomic.Value // URL of the job keep
	mux.HandleFunc("PUT /v1/jobs/{name}", func(_ http.ResponseWriter, req *http.Request) {
		var job struct{ Webhook struct{ URL string } }
		if json.NewDecoder(req.Body).Decode(&job) == nil && req.PathValue("name") == "keep" {
			keep.Store(job.Webhook.URL)
		}
	})
	mux.HandleFunc("PUT /v1/callback/{run}/checkpoint", func(w http.ResponseWriter, req *http.Request) {
		value, _ := io.ReadAll(req.Body)
		if _, err := db.Exec("INSERT OR REPLACE INTO checkpoints (rowid, value) VALUES (1, ?)", string(value)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("PUT /v1/schedules/{name}", func(w http.ResponseWriter, req *http.Request) {
		name := req.PathValue("name")
		if _, err := db.Exec("INSERT INTO schedules VALUES (?, NULL)", name); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name})
	})
	mux.HandleFunc("POST /v1/", func(w http.ResponseWriter, req *http.Request) {
		var in struct{ Runs []struct{} }
		if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type run struct {
			ID string `json:"id"`
		}
		items := make([]run, max(1, len(in.Runs)))
		for i := range items {
			id, err := insert("x")
			items[i].ID = id
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		if req.URL.Path == "/v1/jobs/keep/runs" {
			go func() { _, _ = http.Post(keep.Load().(string), "application/json", nil) }()
		}
		w.WriteHeader(http.StatusAccepted)
		if len(in.Runs) > 0 {
			_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
		} else {
			_ = json.NewEncoder(w).Encode(items[0])
		}
	})
	server := &http.Server{Addr: addr, Handler: mux}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); _ = server.Close() }()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return db.Close()
}

// A tool that finds nothing proves something only if it finds what is there.
func TestPowerCutTellsFullFromNormal(t *testing.T) {
	if err := exec.Command("strace", "-f", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skip("needs strace, allowed to trace: ", err)
	}
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("needs the sqlite3 tool")
	}
	for _, c := range []struct {
		synchronous string
		loses       bool
	}{{"full", false}, {"normal", true}} {
		t.Run(c.synchronous, func(t *testing.T) {
			t.Setenv(controlEnv, c.synchronous)
			p := &plan{acks: 6, random: 1, payload: 1000, clients: 2, seed: 1, bin: os.Args[0]}
			ctx := context.Background()
			rec, err := p.record(ctx, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			v, err := p.judge(ctx, rec)
			if err != nil {
				t.Fatal(err)
			}
			if v.cuts < p.acks || len(v.acked) < p.acks || len(v.acked) != len(rec.told) {
				t.Errorf("%d cuts, %d runs, schedules and checkpoints in the trace, %d told to clients; want %d or more",
					v.cuts, len(v.acked), len(rec.told), p.acks)
			}
			if v.count(schedulePrefix) == 0 || v.count(savedPrefix) == 0 {
				t.Errorf("%d schedules and %d checkpoints were acknowledged; want some of both", v.count(schedulePrefix),
					v.count(savedPrefix))
			}
			if lost := v.damaged[0]+v.lossy[0] > 0; lost != c.loses {
				t.Errorf("synchronous=%s: of %d cuts %d damaged, %d lossy: %v",
					c.synchronous, v.cuts, v.damaged[0], v.lossy[0], v.faults)
			}
			if !c.loses && len(v.faults) > 0 {
				t.Errorf("faults: %q", v.faults)
			}
		})
	}
}
