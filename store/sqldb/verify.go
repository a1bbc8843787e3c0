package sqldb

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// An invariant holds in every file, whatever was killed while it was written. broken gives what breaks it, one
// text a row.
type invariant struct{ says, broken string }

// runName names a run r in what an invariant gives: by its number, with the state it is in.
const runName = `SELECT 'run ' || printf('%08x-%04x-7%03x', r.seq >> 28, (r.seq >> 12) & 0xffff, r.seq & 0xfff) || '… state ' || r.state FROM runs r `

var invariants = []invariant{
	{
		"a queued run is in no lane, so that nobody would ever start it",
		runName + `WHERE r.state = 2 AND NOT EXISTS (SELECT 1 FROM lanes WHERE id = r.lane)`,
	},
	{"a run has ended and is in a lane all the same", runName + `WHERE r.state >= 6 AND r.lane IS NOT NULL`},
	{
		"a run has ended and does not say when, or says so though it has not",
		runName + `WHERE (r.state >= 6) <> (r.finished_at IS NOT NULL)`,
	},
	{"a run is under way and does not say since when", runName + `WHERE r.state IN (3, 5) AND r.attempt_at IS NULL`},
	{"a lane does not have the place of its first run", `
SELECT 'lane ' || l.id || ' rank ' || coalesce(l.rank, 'none') FROM lanes l
WHERE l.held = '' AND l.rank IS NOT (SELECT MIN(rank) FROM runs WHERE lane = l.id AND state = 2)`},
	{"a slot is held by a run that is not under way", `
SELECT 'run number ' || s.run || ' gate ' || s.gate FROM slots s
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.seq = s.run AND (r.state IN (3, 5) OR r.state = 2 AND r.slices IS NOT NULL))`},
	{"a slot is held of nothing", `
SELECT 'run number ' || s.run || ' gate ' || s.gate FROM slots s WHERE NOT EXISTS (SELECT 1 FROM gates WHERE id = s.gate)`},
	{
		"a payload belongs to no run",
		`SELECT 'run number ' || run FROM payloads p WHERE NOT EXISTS (SELECT 1 FROM runs WHERE seq = p.run)`,
	},
	{
		"an attempt belongs to no run",
		`SELECT DISTINCT 'run number ' || run FROM attempts a WHERE NOT EXISTS (SELECT 1 FROM runs WHERE seq = a.run)`,
	},
	{
		"output belongs to no run",
		`SELECT DISTINCT 'run number ' || run FROM logs l WHERE NOT EXISTS (SELECT 1 FROM runs WHERE seq = l.run)`,
	},
	{
		"a failed run is no failure, or a failure is no failed run",
		runName + `WHERE (r.state = 7) <> (r.dealt IS NOT NULL) OR (r.state = 7) <> (r.failure IS NOT NULL)`,
	},
	{
		"a failure belongs to a group of failures that is not there",
		runName + `WHERE r.failure IS NOT NULL AND NOT EXISTS (SELECT 1 FROM failure_groups WHERE id = r.failure)`,
	},
	{
		"of a checkpoint key more than one run is free to go",
		`SELECT 'job number ' || job || ' key ' || substr(bkey, 2) FROM runs
WHERE batch = 0 AND state < 6 GROUP BY job, bkey HAVING COUNT(*) > 1`,
	},
	{
		"a run waits for another one of its checkpoint key, and there is none",
		runName + `WHERE r.batch = 1 AND r.state < 6
AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.job = r.job AND o.bkey = r.bkey AND o.batch = 0 AND o.state < 6)`,
	},
	{
		"the run of a group has nothing that says what it is made of",
		runName + `WHERE r.members IS NOT NULL AND r.state = 5 AND NOT EXISTS (SELECT 1 FROM groups WHERE run = r.seq)`,
	},
	{
		"a group waits for members and all have ended",
		runName + `JOIN groups g ON g.run = r.seq WHERE r.state < 6 AND g.phase = 1 AND NOT EXISTS (
    SELECT 1 FROM members m JOIN runs c ON c.seq = m.run WHERE m.parent = r.seq AND c.state < 6)`,
	},
	{
		"the number of runs that have not ended is not that of the rows",
		`SELECT value || ' instead of ' || n FROM meta, (SELECT COUNT(*) AS n FROM runs WHERE state < 6)
WHERE name = '` + metaUnfinished + `' AND value <> CAST(n AS TEXT)`,
	},
	{
		"a group waits for its merge and that has ended",
		runName + `JOIN groups g ON g.run = r.seq WHERE r.state < 6 AND g.phase = 2 AND NOT EXISTS (
    SELECT 1 FROM runs c WHERE c.seq = g.merge AND c.state < 6)`,
	},
	{"what is kept was counted wrongly", `
SELECT 'kind ' || k.kind || ': ' || k.bytes || ' bytes are counted, there are ' || c.bytes FROM kept k JOIN (
    SELECT 1 AS kind, (SELECT COALESCE(SUM(LENGTH(data) + 64), 0) FROM logs) AS bytes
    UNION ALL SELECT 2, (SELECT COUNT(*) * 400 FROM runs WHERE finished_at IS NOT NULL) +
        (SELECT COALESCE(SUM(OCTET_LENGTH(p.body)), 0) FROM payloads p JOIN runs r ON r.seq = p.run WHERE r.finished_at IS NOT NULL) +
        (SELECT COALESCE(SUM(100 + n + CASE WHEN n > 900 THEN 2300 ELSE 0 END), 0) FROM (
            SELECT COALESCE(OCTET_LENGTH(a.result), 0) + COALESCE(OCTET_LENGTH(a.error), 0) + COALESCE(OCTET_LENGTH(a.output_tail), 0) AS n
            FROM attempts a JOIN runs r ON r.seq = a.run WHERE r.finished_at IS NOT NULL) t)
    UNION ALL SELECT 3, (SELECT COALESCE(SUM(OCTET_LENGTH(data) + 100), 0) FROM events)) c ON c.kind = k.kind
WHERE k.bytes <> c.bytes`},
}

const (
	countRuns      = `SELECT state, COUNT(*) FROM runs GROUP BY state`
	countJobs      = `SELECT COUNT(*) FROM jobs WHERE deleted_at IS NULL AND name <> '_group'`
	countSchedules = `SELECT COUNT(*) FROM schedules WHERE deleted_at IS NULL`
	countOpen      = `SELECT COUNT(*) FROM runs WHERE dealt = 0`
	countEvents    = `SELECT COUNT(*) FROM events`
	countAudit     = `SELECT COUNT(*) FROM audit`
	listRequeued   = `SELECT seq, tail, requeued_to FROM runs WHERE dealt = 1`
	listDocuments  = `SELECT name, doc FROM jobs`
	listSecrets    = `SELECT name FROM secrets ORDER BY name`
)

// samples is how many of what breaks an invariant are given.
const samples = 5

// VerifyRows looks whether the rows of a file mean what they must.
func VerifyRows(tx Tx) (found []store.Problem, err error) {
	add := func(says string, broken func(sample func(string)) error) error {
		p := store.Problem{What: says}
		err := broken(func(text string) {
			if p.Count++; len(p.Samples) < samples {
				p.Samples = append(p.Samples, text)
			}
		})
		if p.Count > 0 {
			found = append(found, p)
		}
		return err
	}
	for _, inv := range invariants {
		err := add(inv.says, func(sample func(string)) error {
			return tx.Query(inv.broken, func(r Row) error { sample(r.Text(0)); return nil })
		})
		if err != nil {
			return found, fmt.Errorf("look whether %s: %w", inv.says, err)
		}
	}
	err = add("a failure counts as requeued, and the run that stands for it is not there", func(sample func(string)) error {
		var list []link
		err := tx.Query(listRequeued, func(r Row) error {
			list = append(list, link{id: jobs.IDOf(r.Int(0), r.Int(1)), to: r.ID(2)})
			return nil
		})
		for i := 0; err == nil && i < len(list); i++ {
			var there bool
			if _, there, err = readLink(tx, list[i].to); !there {
				sample("run " + list[i].id.String())
			}
		}
		return err
	})
	if err != nil {
		return found, err
	}
	err = add("the document of a job cannot be read", func(sample func(string)) error {
		return tx.Query(listDocuments, func(r Row) error {
			if _, err := jobs.ParseDocument(r.Bytes(1)); err != nil {
				sample(r.Text(0) + ": " + err.Error())
			}
			return nil
		})
	})
	return found, err
}

// CountRows tells how much there is in a file.
func CountRows(tx Tx) (c store.FileCounts, err error) {
	c.Runs = map[jobs.State]int{}
	err = tx.Query(countRuns, func(r Row) error {
		c.Runs[jobs.State(r.Int(0))] = int(r.Int(1))
		return nil
	})
	for _, n := range []struct {
		query string
		to    *int
	}{
		{countJobs, &c.Jobs},
		{countSchedules, &c.Schedules},
		{countOpen, &c.OpenFailures},
		{countEvents, &c.Events},
		{countAudit, &c.Audit},
	} {
		if err == nil {
			_, err = one(tx, n.query, func(r Row) { *n.to = int(r.Int(0)) })
		}
	}
	if err == nil {
		_, err = one(tx, selectNewestRun, func(r Row) { c.Newest = jobs.IDOf(r.Int(0), r.Int(1)) })
	}
	if err == nil {
		err = tx.Query(listSecrets, func(r Row) error { c.Secrets = append(c.Secrets, r.Text(0)); return nil })
	}
	return c, err
}
