package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/store/sqlite"
)

// soundRows are a run that succeeded at its first attempt under a key, a group that has ended with one member and
// its merge, a failure, and the run of a tick.
const soundRows = `
INSERT INTO jobs (id, name, revision, version, doc, queue, created_at, updated_at) VALUES (10, 'a', 1, 1, '{}', 'default', 0, 0);
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, finished_at, key)
VALUES (4097, -2, 10, 1, 6, 0, 0, 0, 1, 0, 0, 'api', 0, 0, 5, 'k');
INSERT INTO attempts (run, number, version, started_at, finished_at, outcome) VALUES (4097, 1, 1, 0, 5, 1);
INSERT INTO payloads (run, body) VALUES (4097, '1');
INSERT INTO keys (job, sort, key, run, hash, until) VALUES (10, 1, 'k', x'0000000000017001fffffffffffffffe', x'00', 9);
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, finished_at, members)
VALUES (5000, -2, 10, 1, 6, 0, 0, 0, 1, 0, 0, 'api', 0, 0, 5, 1);
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, finished_at, parent, place)
SELECT 5001 + place, -2, 10, 1, 6, 0, 0, 0, 1, 0, 0, 'group', 0, 0, 5, x'00000000000173e8fffffffffffffffe', -place
FROM (SELECT 0 AS place UNION ALL SELECT 1);
INSERT INTO attempts (run, number, version, started_at, finished_at, outcome) VALUES (5001, 1, 1, 0, 5, 1), (5002, 1, 1, 0, 5, 1);
INSERT INTO members (parent, place, name, job, run, tail) VALUES (5000, 0, 'm', 'a', 5001, -2);
INSERT INTO failure_groups (id, job, fingerprint, kind, type, message, count, first_at, last_at, ignored, ignored_more)
VALUES (1, 10, 'f', 'http', 'http', 'm', 1, 0, 0, 0, 0);
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, finished_at, failure, dealt)
VALUES (6000, -2, 10, 1, 7, 0, 0, 0, 0, 0, 0, 'api', 0, 0, 5, 1, 0);
INSERT INTO schedules (id, name, job, in_job, doc, stamp, anchor, cursor, at_start, created_at, updated_at)
VALUES (1, 's', 10, 0, '{}', 1, 0, 0, 0, 0, 0);
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, finished_at, schedule, scheduled_for)
VALUES (7000, -2, 10, 1, 8, 0, 0, 0, 0, 0, 0, 'schedule', 0, 0, 5, 's', 1000);
INSERT INTO ticks (schedule, job, at, until, count, outcome, run)
VALUES (1, 10, 1000, 1000, 1, 'ran', x'0000000000017b58fffffffffffffffe');
INSERT INTO stats (job, at, outcome, le, n, ms) VALUES ('', 0, 1, 1, 4, 5), ('', 0, 2, 1, 1, 0), ('', 0, 3, -1, 1, 0);
`

// soundFile is a file as the server makes it, with some rows.
func soundFile(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("needs the sqlite3 tool")
	}
	path := filepath.Join(t.TempDir(), "n.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, path, soundRows)
	return path
}

func change(t *testing.T, db, statements string) {
	t.Helper()
	if out, err := exec.Command("sqlite3", "-batch", "-bail", db, statements).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A check that finds nothing proves something only if it finds what is there: each invariant is broken once.
func TestEachInvariantIsFoundBroken(t *testing.T) {
	sound := soundFile(t)
	if faults := checkFile(context.Background(), sound); len(faults) > 0 {
		t.Fatalf("a sound file: %q", faults)
	}
	const copied = `INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at,
		run_at, finished_at, key, parent, place, schedule, scheduled_for)
		SELECT 9000, tail, job, version, 8, rank, due_at, priority, 0, charged, deaths, cause, created_at,
		run_at, finished_at, key, parent, place, schedule, scheduled_for FROM runs WHERE seq = `
	broken := map[string]string{
		"a foreign key to nothing":                                         "UPDATE runs SET job = 99 WHERE seq = 7000",
		"a run that has not ended":                                         "UPDATE runs SET state = 3 WHERE seq = 4097",
		"a slot of a run that neither runs nor waits":                      "INSERT INTO slots VALUES (4097, 1)",
		"an ended run without its end":                                     "UPDATE runs SET finished_at = NULL WHERE seq = 4097",
		"an ended run in a lane":                                           "UPDATE runs SET lane = 1 WHERE seq = 4097",
		"a lane whose head is no queued run":                               "INSERT INTO lanes VALUES (1, 10, 1, '', '', '', '', 0, 0, 1, NULL, 0, 5, 5)",
		"a run whose attempts are not as many as it counts":                "UPDATE runs SET number = 2 WHERE seq = 4097",
		"a success without an attempt that succeeded":                      "UPDATE attempts SET outcome = 2 WHERE run = 4097",
		"two runs of one key":                                              copied + "4097",
		"a key of a run that is not there":                                 "UPDATE keys SET run = x'00000000000170ff8000000000000000'",
		"a tick that made a run which is not there":                        "UPDATE ticks SET run = x'00000000000170ff8000000000000000'",
		"two runs of one tick":                                             copied + "7000",
		"two merges of one group":                                          copied + "5002",
		"an ended group with a member that has not ended, or is not there": "UPDATE members SET run = 123",
		"a payload of a run that is not there":                             "INSERT INTO payloads VALUES (123, '1')",
		"an attempt of a run that is not there":                            "UPDATE attempts SET run = 123 WHERE run = 4097",
		"a log of a run that is not there":                                 "INSERT INTO logs VALUES (123, 1, 1, 0, x'00')",
		"a group of failures that does not count what it holds":            "UPDATE failure_groups SET count = 2",
		"statistics that do not count what has ended":                      "DELETE FROM stats WHERE outcome = 3",
	}
	for what, statement := range broken {
		path := filepath.Join(t.TempDir(), "n.db")
		text, err := os.ReadFile(sound)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		change(t, path, statement)
		if faults := strings.Join(checkFile(context.Background(), path), "\n"); !strings.Contains(faults, what) {
			t.Errorf("%s: want %q found, got %q", statement, what, faults)
		}
	}
	for _, i := range invariants {
		if broken[i.what] == "" {
			t.Errorf("%q is never broken here", i.what)
		}
	}
}

func TestWhatClientsWereToldIsComparedWithTheFile(t *testing.T) {
	db := soundFile(t)
	const run = "00000000-0001-7001-ffff-fffffffffffe"
	for _, c := range []struct {
		name string
		keys map[string]*sent
		want string // part of the only fault; "": none
	}{
		{"acknowledged and there", map[string]*sent{"k": {id: run}}, ""},
		{"not answered and there", map[string]*sent{"k": {open: true}}, ""},
		{"acknowledged and lost", map[string]*sent{"k": {id: run}, "l": {id: run}}, "key l () was acknowledged"},
		{"acknowledged as another", map[string]*sent{"k": {id: "x"}}, "was acknowledged as run x"},
		{"refused and there", map[string]*sent{"k": {refused: true}}, "was refused with nothing written"},
		{"never asked for", map[string]*sent{}, "nobody asked for its key k"},
	} {
		faults, err := (&load{keys: c.keys}).check(context.Background(), db)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(faults) > 0 || c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], c.want)) {
			t.Errorf("%s: got %q, want %q", c.name, faults, c.want)
		}
	}
}
