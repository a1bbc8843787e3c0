package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"nightshift/scripts/internal/rig"
)

// The test binary is also a small server, sound or with one fault; the environment says which.
const controlEnv = "CRASH_CONTROL"

const (
	sound   = "sound"
	forgets = "forgets" // answers before the run is stored
	denies  = "denies"  // drops the record of an attempt that a kill cut off
	late    = "late"    // makes what follows a run some time after its end is stored
	early   = "early"   // makes what follows a run as each of its attempts begins
	open    = "open"    // takes each delivery for a new one

	crowds  = "crowds"  // asks no limit
	rushes  = "rushes"  // forgets over a start what a rate has counted
	doubles = "doubles" // makes runs of a thing for which one stands
	leaks   = "leaks"   // leaves a slot in the file, and counts a use that is over
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(controlEnv); mode != "" {
		if err := serveControl(mode, os.Args[3], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A tool that finds nothing proves something only if it finds what is there.
func TestCrashFindsWhatAServerDoesWrong(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("needs the sqlite3 tool")
	}
	for _, c := range []struct {
		mode  string
		kills int
		want  []string
	}{
		{sound, 6, nil},
		{forgets, 6, []string{"is not in the file"}},
		{denies, 6, []string{"but the history has"}},
		{late, 6, []string{"of chained succeeded, and 0 runs follow it, not 1"}},
		{early, 6, []string{"of chained succeeded, and 2 runs follow it, not 1"}},
		{open, 6, []string{"key delivery-"}},
		{crowds, 2, []string{"were in flight, the limit is "}},
		{rushes, 4, []string{" attempts of the dependency started within "}},
		{doubles, 2, []string{" was made while run "}},
		{leaks, 2, []string{"1 slots are in the file", "1 use lent of the dependencies"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			if c.want == nil {
				if faults := faultsOf(t, c.mode, c.kills, 1); len(faults) > 0 {
					t.Errorf("got:\n%s", strings.Join(faults, "\n"))
				}
				return
			}
			// What is wrong shows by chance: a storm on a busy machine may pass without it.
			var faults []string
			for seed := uint64(1); seed <= maxStorms; seed++ {
				faults = append(faults, faultsOf(t, c.mode, c.kills, seed)...)
				if len(missing(c.want, faults)) == 0 {
					return
				}
			}
			t.Errorf("want %q, got:\n%s", missing(c.want, faults), strings.Join(faults, "\n"))
		})
	}
}

// maxStorms is in how many storms a fault must show.
const maxStorms = 6

// missing are the texts that no fault holds.
func missing(want, faults []string) []string {
	all := strings.Join(faults, "\n")
	return slices.DeleteFunc(slices.Clone(want), func(text string) bool { return strings.Contains(all, text) })
}

// faultsOf lets a storm loose on the small server in a mode, and gives what it found.
func faultsOf(t *testing.T, mode string, kills int, seed uint64) []string {
	t.Helper()
	sharing := 0.3
	if slices.Contains([]string{crowds, rushes, doubles, leaks}, mode) {
		sharing = 0.9 // what is wrong lies there
	}
	p := &plan{
		kills: kills, clients: 4, pause: 20 * time.Millisecond, sharing: sharing, seed: seed, bin: controlBinary(t, mode),
		every: time.Second,
		// Generous: what is tested is the judgement, not the speed of this machine.
		readyWithin: time.Minute, drainWithin: 2 * time.Minute,
	}
	s, err := newStorm(p, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	faults, err := s.judge(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if mode == sound && (len(s.history.acked) < 10 || s.history.tally().lost == 0) {
		t.Errorf("%d runs, %d attempts cut off: the storm was too weak",
			len(s.history.acked), s.history.tally().lost)
	}
	return faults
}

// controlBinary is this test binary as a server in a mode.
func controlBinary(t *testing.T, mode string) string {
	t.Helper()
	bin := t.TempDir() + "/control"
	text := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s \"$@\"\n", controlEnv, mode, os.Args[0])
	if err := os.WriteFile(bin, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return bin
}

// control is the small server. A run is a row with its JSON, written again with each change.
type control struct {
	mode string
	db   *sql.DB

	mu   sync.Mutex
	hook string // URL of the job quick, without its path
	keys map[string]*rig.Run
	runs map[string]*rig.Run
	last int64

	keyOf  map[string]string // of a run
	flying map[string]int    // attempts by what they have in common
	lentAt []time.Time       // the last starts of what uses the dependency
}

// serveControl serves until SIGTERM. Its command line is serve --db FILE --listen ADDR.
func serveControl(mode, file, addr string) error {
	db, err := sql.Open("sqlite", file+"?_pragma=journal_mode(wal)&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	c := &control{
		mode: mode, db: db, keys: map[string]*rig.Run{}, runs: map[string]*rig.Run{},
		keyOf: map[string]string{}, flying: map[string]int{},
	}
	if mode != rushes { // as if all it may start had been started just now
		c.lentAt = slices.Repeat([]time.Time{time.Now()}, lentStarts)
	}
	if err := c.load(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("PUT /v1/jobs/{job}", c.put)
	mux.HandleFunc("PUT /v1/{kind}/{name}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/queues", c.queues)
	mux.HandleFunc("GET /v1/dependencies", c.dependencies)
	mux.HandleFunc("GET /v1/runs/{id}", c.show)
	mux.HandleFunc("GET /v1/runs", c.list)
	mux.HandleFunc("POST /in/{job}/{door}/{secret}", c.take)
	mux.HandleFunc("POST /v1/jobs/{job}/runs", c.enqueue)
	mux.HandleFunc("POST /v1/runs/batch", c.batch)
	server := &http.Server{Addr: addr, Handler: mux}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); _ = server.Close() }()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return db.Close()
}

// load reads what an earlier process left, and starts what it was about.
func (c *control) load() error {
	for _, text := range []string{
		"CREATE TABLE IF NOT EXISTS runs (seq INTEGER PRIMARY KEY, tail INTEGER, key TEXT, doc TEXT)",
		"CREATE TABLE IF NOT EXISTS hook (url TEXT)",
		"CREATE TABLE IF NOT EXISTS slots (run INTEGER)",
	} {
		if _, err := c.db.Exec(text); err != nil {
			return err
		}
	}
	_ = c.db.QueryRow("SELECT url FROM hook").Scan(&c.hook)
	rows, err := c.db.Query("SELECT seq, key, doc FROM runs")
	if err != nil {
		return err
	}
	var unended []*rig.Run
	for rows.Next() {
		var key, doc string
		run := &rig.Run{}
		if err := rows.Scan(&c.last, &key, &doc); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(doc), run); err != nil {
			return err
		}
		c.keys[key], c.runs[run.ID], c.keyOf[run.ID] = run, run, key
		if !run.Terminal() {
			unended = append(unended, run)
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for _, run := range unended {
		if n := len(run.Attempts); n > 0 && run.Attempts[n-1].Outcome == "" {
			run.Attempts[n-1].Outcome, run.Attempts[n-1].FinishedAt = "interrupted", "t"
			run.Attempts[n-1].Error = &rig.Failure{Kind: "lost"}
			if c.mode == denies {
				run.Attempts = run.Attempts[:n-1]
			}
		}
		go c.execute(run)
	}
	return rows.Err()
}

func (c *control) save(run *rig.Run) {
	doc, _ := json.Marshal(run)
	_, err := c.db.Exec("UPDATE runs SET doc = ? WHERE json_extract(doc, '$.id') = ?", doc, run.ID)
	if err != nil {
		panic(err)
	}
}

// execute delivers a run until it is answered with 200.
func (c *control) execute(run *rig.Run) {
	for {
		limits := c.enter(run) // and locks
		n := len(run.Attempts)
		run.Attempts = append(run.Attempts, rig.Attempt{Number: n + 1, StartedAt: instant(time.Now())})
		c.save(run)
		if c.mode == early {
			c.follow(run)
		}
		c.mu.Unlock()

		status := c.deliver(run)

		c.mu.Lock()
		c.leave(limits)
		a := &run.Attempts[n]
		a.FinishedAt, a.HTTPStatus = "t", status
		a.Outcome = "failed"
		if status == http.StatusOK {
			a.Outcome, run.State, run.FinishedAt = "succeeded", "succeeded", "t"
		}
		c.end(run, status == http.StatusOK)
		c.mu.Unlock()
		if status == http.StatusOK {
			return
		}
	}
}

func (c *control) deliver(run *rig.Run) int {
	path := "/" + run.Job
	if run.Job == "script" || run.Job == locked {
		path = "/quick" // it knows no scripts
	}
	req, err := http.NewRequest(http.MethodPost, c.hook+path, bytes.NewReader(c.payload(run)))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Nightshift-Run", run.ID)
	req.Header.Set("Idempotency-Key", run.OperationID)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func (c *control) put(_ http.ResponseWriter, req *http.Request) {
	var job struct{ Webhook struct{ URL string } }
	_ = json.NewDecoder(req.Body).Decode(&job)
	if base, ok := strings.CutSuffix(job.Webhook.URL, "/quick"); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hook = base
		_, _ = c.db.Exec("INSERT INTO hook VALUES (?)", base)
	}
}

func (c *control) show(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run := c.runs[req.PathValue("id")]; run != nil {
		_ = json.NewEncoder(w).Encode(run)
		return
	}
	http.Error(w, "{}", http.StatusNotFound)
}

// made is a new run, which is not stored yet.
func (c *control) made(job, key string) (run *rig.Run, seq int64, tail uint64) {
	c.last = max(c.last+1, time.Now().UnixMilli()<<12)
	seq, tail = c.last, rand.Uint64()&(1<<62-1)|1<<63
	hex := fmt.Sprintf("%012x7%03x%016x", seq>>12, seq&0xfff, tail)
	id := strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-")
	run = &rig.Run{ID: id, Job: job, State: "queued", OperationID: id}
	c.keys[key], c.runs[id], c.keyOf[id] = run, run, key
	return run, seq, tail
}

// submit gives the run of a key and whether it is new.
func (c *control) submit(job, key string) (rig.Run, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run := c.keys[key]; run != nil {
		known := *run
		known.Duplicate = true
		return known, false
	}
	if standing := c.standing(job, key); standing != nil {
		c.keys[key] = standing
		known := *standing
		known.Duplicate = true
		return known, false
	}
	run, seq, tail := c.made(job, key)
	insert := func() {
		doc, _ := json.Marshal(run)
		_, err := c.db.Exec("INSERT INTO runs VALUES (?, ?, ?, ?)", seq, int64(tail), key, doc)
		if err != nil {
			panic(err)
		}
		go c.execute(run)
	}
	if c.mode == forgets {
		time.AfterFunc(time.Second, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			insert()
		})
	} else {
		insert()
	}
	return *run, true
}

func (c *control) enqueue(w http.ResponseWriter, req *http.Request) {
	run, isNew := c.submit(req.PathValue("job"), req.Header.Get("Idempotency-Key"))
	if isNew {
		w.WriteHeader(http.StatusAccepted)
	}
	_ = json.NewEncoder(w).Encode(run)
}

func (c *control) batch(w http.ResponseWriter, req *http.Request) {
	var in struct{ Runs []rig.Entry }
	_ = json.NewDecoder(req.Body).Decode(&in)
	var items []rig.Run
	for _, e := range in.Runs {
		run, _ := c.submit(e.Job, e.Key)
		items = append(items, run)
	}
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
}
