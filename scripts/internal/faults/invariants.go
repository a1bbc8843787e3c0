package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"nightshift/scripts/internal/rig"
)

// invariant is a statement that finds what must not be in the file of a server that was stopped after all had
// ended and nothing was pruned.
type invariant struct{ what, query string }

// invariants hold for any such file. States: 1 scheduled, 2 queued, 3 running, 4 retrying, 5 waiting, 6 succeeded,
// 7 failed, 8 cancelled.
var invariants = []invariant{
	{"a run that has not ended", `SELECT seq, state FROM runs WHERE state < 6`},
	{
		"a slot of a run that neither runs nor waits",
		`SELECT s.run, s.gate FROM slots s LEFT JOIN runs r ON r.seq = s.run
		WHERE r.seq IS NULL OR NOT (r.state IN (3, 5) OR r.state = 2 AND r.slices IS NOT NULL)`,
	},
	{"an ended run without its end", `SELECT seq, state FROM runs WHERE state >= 6 AND finished_at IS NULL`},
	{"an ended run in a lane", `SELECT seq, lane FROM runs WHERE state >= 6 AND lane IS NOT NULL`},
	{"a lane whose head is no queued run", `SELECT id, head FROM lanes WHERE head IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM runs WHERE lane = lanes.id AND state = 2)`},
	{
		"a run whose attempts are not as many as it counts",
		`SELECT r.seq, r.number, (SELECT count(*) FROM attempts WHERE run = r.seq) AS n FROM runs r
		WHERE r.members IS NULL AND r.number <= 100 AND n <> r.number`,
	},
	{
		"a success without an attempt that succeeded",
		`SELECT seq FROM runs r WHERE state = 6 AND members IS NULL
		AND 1 <> (SELECT count(*) FROM attempts WHERE run = r.seq AND outcome = 1)`,
	},
	{"two runs of one key", `SELECT job, key, count(*) FROM runs WHERE key IS NOT NULL AND requeued_from IS NULL
		GROUP BY job, key HAVING count(*) > 1`},
	{
		"a key of a run that is not there",
		`SELECT job, key FROM keys WHERE sort = 1 AND hex(run) NOT IN
		(SELECT printf('%012X7%03X%016X', seq >> 12, seq & 4095, tail) FROM runs)`,
	},
	{
		"a tick that made a run which is not there",
		`SELECT schedule, at FROM ticks WHERE run IS NOT NULL AND hex(run) NOT IN
		(SELECT printf('%012X7%03X%016X', seq >> 12, seq & 4095, tail) FROM runs)`,
	},
	{"two runs of one tick", `SELECT schedule, scheduled_for FROM runs WHERE schedule IS NOT NULL AND requeued_from IS NULL
		GROUP BY job, schedule, scheduled_for HAVING count(*) > 1`},
	{"two merges of one group", `SELECT hex(parent), count(*) FROM runs WHERE place = -1 AND requeued_from IS NULL
		GROUP BY parent HAVING count(*) > 1`},
	{
		"an ended group with a member that has not ended, or is not there",
		`SELECT m.parent, m.place FROM members m JOIN runs g ON g.seq = m.parent LEFT JOIN runs r ON r.seq = m.run
		WHERE g.state >= 6 AND m.run IS NOT NULL AND (r.seq IS NULL OR r.state < 6)`,
	},
	{"a payload of a run that is not there", `SELECT run FROM payloads WHERE run NOT IN (SELECT seq FROM runs)`},
	{"an attempt of a run that is not there", `SELECT run FROM attempts WHERE run NOT IN (SELECT seq FROM runs)`},
	{"a log of a run that is not there", `SELECT DISTINCT run FROM logs WHERE run NOT IN (SELECT seq FROM runs)`},
	{
		"a group of failures that does not count what it holds",
		`SELECT id, count, (SELECT count(*) FROM runs WHERE failure = f.id) AS n FROM failure_groups f WHERE n <> f.count`,
	},
	{
		"statistics that do not count what has ended",
		`SELECT o.column1, (SELECT count(*) FROM runs WHERE state = o.column1 + 5) AS n,
			(SELECT coalesce(sum(n), 0) FROM stats WHERE job = '' AND outcome = o.column1) AS told
		FROM (VALUES (1), (2), (3)) o WHERE n <> told`,
	},
}

// mostOf is how many rows of one violation are told.
const mostOf = 3

// checkFile looks with the sqlite3 tool into a file that nobody serves.
func checkFile(ctx context.Context, db string) (faults []string) {
	if _, err := rig.Inspect(ctx, db); err != nil {
		return []string{err.Error()}
	}
	all := append([]invariant{{"a foreign key to nothing", "PRAGMA foreign_key_check"}}, invariants...)
	for _, i := range all {
		rows, err := rig.Rows(ctx, db, i.query)
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("look for %s: %v", i.what, err))
		case len(rows) > 0:
			faults = append(faults, fmt.Sprintf("in the file: %s, %d times: %v", i.what, len(rows), rows[:min(len(rows), mostOf)]))
		}
	}
	return faults
}

// verified asks the binary itself about a file.
func verified(ctx context.Context, bin, db string) []string {
	if exec.CommandContext(ctx, bin, "verify", "--help").Run() != nil {
		return nil // one from before there was that command
	}
	if out, err := exec.CommandContext(ctx, bin, "verify", db).CombinedOutput(); err != nil {
		return []string{fmt.Sprintf("nightshift verify: %v: %s", err, strings.TrimSpace(string(out)))}
	}
	return nil
}

// check compares what the clients were told with a file.
func (c *load) check(ctx context.Context, db string) (faults []string, err error) {
	rows, err := rig.Rows(ctx, db, "SELECT key, seq, tail FROM runs WHERE key IS NOT NULL AND requeued_from IS NULL")
	if err != nil {
		return nil, err
	}
	stored := map[string][]string{}
	for _, row := range rows {
		id, err := rig.RunID(row[1] + "|" + row[2])
		if err != nil {
			return nil, err
		}
		stored[row[0]] = append(stored[row[0]], id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	faults = append(faults, c.odd...)
	for key, k := range c.keys {
		there := stored[key]
		delete(stored, key)
		switch {
		case k.id != "" && (len(there) != 1 || there[0] != k.id):
			faults = append(faults, fmt.Sprintf("key %s (%s) was acknowledged as run %s; in the file: %v", key, k.job, k.id, there))
		case k.id == "" && k.refused && len(there) > 0:
			faults = append(faults, fmt.Sprintf("key %s (%s) was refused with nothing written; in the file: %v", key, k.job, there))
		case len(there) > 1:
			faults = append(faults, fmt.Sprintf("key %s (%s): %d runs: %v", key, k.job, len(there), there))
		}
	}
	for key := range stored {
		faults = append(faults, fmt.Sprintf("run %v is in the file, but nobody asked for its key %s", stored[key], key))
	}
	return faults, nil
}
