package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
	"nightshift/store/sqlite"
)

// index is what the hot statements must read: one of these steps in their plan.
var index = map[string]string{
	// enqueue
	"selectJobRow": "sqlite_autoindex_jobs_1 (name=?)",
	"selectKey":    "keys USING PRIMARY KEY (job=? AND sort=? AND key=?)",
	"selectLane":   "sqlite_autoindex_lanes_1 (job=? AND pool=? AND held=?)",
	// claim
	"selectDue":           "runs_due (due_at<?)",
	"selectNext":          "INDEX runs_due",
	"selectLanesByTurn":   "lanes_turn (pool=? AND head>?)",
	"selectQueued":        "runs_queued (lane=?)",
	"selectLaneHead":      "runs_queued (lane=?)",
	"selectSpec":          "v USING PRIMARY KEY (job=? AND version=?)",
	"selectRunning":       "runs_running (state=?)",
	"updateRunningAt":     "runs_queued (lane=? AND rank=? AND rowid<?)",
	"updateRunningBefore": "runs_queued (lane=? AND rank<?)",
	"updateQueued":        "INTEGER PRIMARY KEY (rowid=?)",
	"updateLane":          "INTEGER PRIMARY KEY (rowid=?)",
	// finish
	"updateEnded":      "INTEGER PRIMARY KEY (rowid=?)",
	"updateAgain":      "INTEGER PRIMARY KEY (rowid=?)",
	"selectFence":      "INTEGER PRIMARY KEY (rowid=?)",
	"deleteAttempt":    "PRIMARY KEY (run=? AND number=?)",
	"selectLogBytes":   "sqlite_autoindex_logs_1 (run=?)",
	"selectHoldable":   "r USING INTEGER PRIMARY KEY (rowid=?)",
	"selectCheckpoint": "checkpoints USING PRIMARY KEY (operation=?)",
	"selectOperation":  "INTEGER PRIMARY KEY (rowid=?)",
	// release
	"selectHeldLanes": "lanes_held (held>?)",
	"updateReleased":  "runs_queued (lane=?)",
	// save
	"selectJob":          "sqlite_autoindex_jobs_1 (name=?)",
	"selectDocument":     "sqlite_autoindex_documents_1 (kind=? AND name=?)",
	"selectSetJobs":      "jobs_set (in_set=?)",
	"selectSetDocuments": "documents_set (in_set=?)",
	"selectNamers":       "refs_named (kind=? AND name=?)",
	"selectFollowed":     "refs USING PRIMARY KEY (job=? AND kind=?)",
	"deleteRefs":         "refs USING PRIMARY KEY (job=?)",
	// delete, upgrade
	"updateQueuedCancelled":  "runs_queued (lane=?)",
	"updateDueCancelled":     "runs_due (due_at>?)",
	"updateWaitingCancelled": "runs_running (state=?)",
	"updateRunningOrphaned":  "runs_running (state=?)",
	"updateQueuedVersion":    "runs_queued (lane=?)",
	"selectQueuedHostless":   "runs_queued (lane=?)",
	"selectDueHostless":      "runs_due (due_at>?)",
	"updateDueVersion":       "runs_due (due_at>?)",
	// lists
	"listAll.rows":           "runs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"listAll.bounds":         "runs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"listJob.rows":           "runs_job (job=? AND rowid>? AND rowid<?)",
	"listJob.bounds":         "COVERING INDEX runs_job (job=? AND rowid>? AND rowid<?)",
	"listFailed.rows":        "runs_failed (state=? AND rowid>? AND rowid<?)",
	"listFailed.bounds":      "COVERING INDEX runs_failed (state=? AND rowid>? AND rowid<?)",
	"listRunning.rows":       "runs_running (state=? AND rowid>? AND rowid<?)",
	"listRunning.bounds":     "COVERING INDEX runs_running (state=? AND rowid>? AND rowid<?)",
	"listCorrelation.rows":   "runs_correlation (correlation=? AND rowid>? AND rowid<?)",
	"listCorrelation.bounds": "runs_correlation (correlation=? AND rowid>? AND rowid<?)",
	"listIDs.rows":           "runs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"listIDs.bounds":         "runs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"selectAttempts":         "attempts USING PRIMARY KEY (run=?)",
	"selectFailedRuns":       "runs_job (job=? AND rowid>?)",
	"selectFailedEnd":        "COVERING INDEX runs_job (job=? AND rowid>?)",
	"selectFailedAttempts":   "attempts USING PRIMARY KEY (run=?)",
	"selectPayload":          "payloads USING INTEGER PRIMARY KEY (rowid=?)",
	"selectAudit":            "audit USING INTEGER PRIMARY KEY (rowid<?)",
	"selectDocuments":        "documents_kind (kind=? AND rowid<?)",
	// prune
	"selectPruneRuns":          "runs_job (job=? AND rowid>? AND rowid<?)",
	"selectOldKeys":            "keys_until",
	"deleteKey":                "PRIMARY KEY (job=? AND sort=? AND key=?)",
	"deleteAttempts":           "PRIMARY KEY (run=?)",
	"deleteOrphanedCheckpoint": "runs_operation (operation=?)",
	"deleteLogs":               "sqlite_autoindex_logs_1 (run=?)",
}

// allowed are the statements that may scan or sort, and why.
var allowed = map[string]struct{ steps, why string }{
	"selectTokens": {
		"SCAN tokens, USE TEMP B-TREE FOR ORDER BY",
		"few rows, read when one changed; they are sorted by age",
	},
	"selectSecrets": {
		"SCAN secrets USING INDEX sqlite_autoindex_secrets_1", "few rows, read when one changed",
	},
	"selectAnyCheckpoint": {"SCAN checkpoints", "whether there is a row: the first will do"},
	"deleteOldAudit":      {"SCAN audit", "in the order of ids, up to the inner LIMIT"},
	"selectStates":        {"USE TEMP B-TREE FOR GROUP BY", "two groups"},
	"updateShifted": {
		"SCAN runs USING INDEX runs_due", "what retries, when the wall clock was set",
	},
	"selectLogs": {
		"USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY",
		"the kept output of one run, of bounded size, by place and not by piece",
	},
}

// partial are the allowed scans: counts over an index that holds nothing but unfinished runs.
var partial = regexp.MustCompile(`^SCAN runs USING COVERING INDEX runs_(due|queued)$`)

func TestEveryStatementReadsAnIndexInOrder(t *testing.T) {
	db, used := populated(t), map[string]bool{}
	for name, query := range sqldb.Statements {
		plan := explain(t, db, query)
		text := strings.Join(plan, "\n")
		if want, ok := index[name]; ok && !strings.Contains(text, want) {
			t.Errorf("%s does not read %s:\n%s", name, want, text)
		}
		for _, step := range plan {
			bad := strings.Contains(step, "TEMP B-TREE") || strings.Contains(step, "AUTOMATIC") ||
				strings.HasPrefix(step, "SCAN ") && !isDerived(step) && !partial.MatchString(step)
			used[name+": "+step] = true
			if bad && !slices.Contains(strings.Split(allowed[name].steps, ", "), step) {
				t.Errorf("%s: %s\n%s", name, step, text)
			}
		}
	}
	for name, a := range allowed {
		for _, step := range strings.Split(a.steps, ", ") {
			if !used[name+": "+step] {
				t.Errorf("%s does without %q now: allow it no more", name, step)
			}
		}
	}
	for name := range index {
		if sqldb.Statements[name] == "" {
			t.Errorf("there is no statement %s", name)
		}
	}
}

// isDerived tells a scan of a subquery's rows, as they come, from one of a table.
func isDerived(step string) bool {
	switch strings.TrimPrefix(step, "SCAN ") {
	case "r", "w", "oldest", "CONSTANT ROW":
		return true
	}
	return false
}

// whole is a statement that changes rows, not the beginning of one.
var whole = regexp.MustCompile(`(?s)^\s*(INSERT|UPDATE|DELETE) .*(WHERE|VALUES)`)

// Every constant that is a statement must be in Statements.
func TestNoStatementEscapesTheTest(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			name := spec.Names[0].Name
			isStatement := regexp.MustCompile(`^(select|insert|update|delete|upsert)[A-Z]`).
				MatchString(name)
			if isStatement && sqldb.Statements[name] == "" {
				t.Errorf("%s: statement %s is not in Statements", file, name)
			}
			if isStatement {
				found++
			} else if whole.MatchString(literal(spec.Values[0])) {
				t.Errorf("%s: statement %s is not named as one", file, name)
			}
			return true
		})
	}
	if found < 50 {
		t.Fatalf("only %d statements found", found)
	}
}

// literal is the text with which an expression begins.
func literal(e ast.Expr) string {
	switch v := e.(type) {
	case *ast.BasicLit:
		return strings.Trim(v.Value, "`\"")
	case *ast.BinaryExpr:
		return literal(v.X)
	}
	return ""
}

func explain(t *testing.T, db *sql.DB, query string) (plan []string) {
	t.Helper()
	rows, err := db.Query(
		"EXPLAIN QUERY PLAN " + regexp.MustCompile(`\$\d+`).ReplaceAllString(query, "1"))
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

const now jobs.Time = 1_770_000_000_000

// populated is a file with some of everything, opened beside the store.
func populated(t *testing.T) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n.db")
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Config{})
	check(t, err)
	ids := jobs.NewIDs(0, rand.Uint64)
	for i := range 40 {
		name := fmt.Sprint("job", i)
		j, err := jobs.ParseJob(
			[]byte(`{"name":"` + name + `","webhook":{"url":"http://127.0.0.1:9/"}}`))
		check(t, err)
		_, err = s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: j}}}, store.By{Actor: "test", Now: now})
		check(t, err)
		var subs []store.Submission
		for k := range 100 {
			id := ids.Next(now.Std())
			run := &jobs.Run{
				ID: id, OperationID: id, Job: name, State: jobs.Queued, Trigger: jobs.TriggerAPI, Payload: jobs.Raw("[1]"),
				CorrelationID: fmt.Sprint("c",
					k), IdempotencyKey: fmt.Sprint("k", k), CreatedAt: now, RunAt: now, DueAt: now,
			}
			if k%5 == 0 {
				run.State, run.DueAt = jobs.Scheduled, now.Add(time.Hour)
			}
			subs = append(subs, store.Submission{Run: run, KeyTTL: time.Hour})
		}
		_, err = s.Enqueue(ctx, subs)
		check(t, err)
	}
	end(t, s)
	check(t, s.Close())
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Fatalf("files left: %v", left)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// end lets most runs end, a tenth of them failed.
func end(t *testing.T, s store.Store) {
	t.Helper()
	c := store.Claim{Now: now, Free: [store.Pools]int{300, 0}}
	for range 10 {
		out, err := s.Claim(context.Background(), c)
		check(t, err)
		c.Finished = nil
		for i, l := range out.Leases {
			f := store.Finish{
				Run: l.Run.ID, Number: 1, Job: l.Run.Job, Version: 1, Started: now, Now: now, ExitCode: -1,
				Transition: jobs.Transition{State: jobs.Succeeded, Outcome: jobs.OutcomeSucceeded},
				Log:        []store.LogPiece{{Run: l.Run.ID, Attempt: 1, Data: []byte("x")}},
			}
			if i%10 == 0 {
				f.Transition = jobs.Transition{
					State: jobs.Failed, Outcome: jobs.OutcomeFailed, Error: &jobs.Failure{Kind: jobs.FailHTTP},
				}
			}
			c.Finished = append(c.Finished, f)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
