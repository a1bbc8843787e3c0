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
	"selectJobRow":    "sqlite_autoindex_jobs_1 (name=?)",
	"selectKey":       "keys USING PRIMARY KEY (job=? AND sort=? AND key=?)",
	"selectLane":      "sqlite_autoindex_lanes_1 (job=? AND pool=? AND held=? AND host=? AND ckey=? AND rkey=? AND catch_up=? AND slice=?)",
	"selectStanding":  "INTEGER PRIMARY KEY (rowid=?)",
	"updateReplaced":  "INTEGER PRIMARY KEY (rowid=?)",
	"deleteUniqueKey": "INDEX keys_unique (run=?)",
	// claim
	"selectDue":         "runs_due (due_at<?)",
	"selectNext":        "INDEX runs_due",
	"selectLanesByTurn": "lanes_turn (pool=? AND head>?)",
	"selectQueued":      "runs_queued (lane=?)",
	"selectLaneHead":    "runs_queued (lane=?)",
	"selectSpec":        "v USING PRIMARY KEY (job=? AND version=?)",
	"selectRunning":     "runs_running (state=?)",
	"updateRunning":     "INTEGER PRIMARY KEY (rowid=?)",
	"updateRunningMany": "INTEGER PRIMARY KEY (rowid=?)",
	"updateQueued":      "INTEGER PRIMARY KEY (rowid=?)",
	"updateLane":        "INTEGER PRIMARY KEY (rowid=?)",
	// gates
	"selectGate":            "sqlite_autoindex_gates_1 (kind=? AND job=? AND name=?)",
	"selectGateByID":        "gates USING INTEGER PRIMARY KEY (rowid=?)",
	"updateGateState":       "gates USING INTEGER PRIMARY KEY (rowid=?)",
	"updateGateWake":        "gates USING INTEGER PRIMARY KEY (rowid=?)",
	"selectStarts":          "rates_gate (gate=?)",
	"updateStarts":          "rates USING INTEGER PRIMARY KEY (rowid=?)",
	"deleteStarts":          "rates USING INTEGER PRIMARY KEY (rowid=?)",
	"deleteGateStarts":      "rates_gate (gate=?)",
	"deleteSlotsOf":         "slots USING PRIMARY KEY (run=?)",
	"updateLaneAnew":        "lanes USING INTEGER PRIMARY KEY (rowid=?)",
	"updateLaneParked":      "lanes USING INTEGER PRIMARY KEY (rowid=?)",
	"selectParkedGates":     "lanes_parked (gate>?)",
	"updateLanesOfAnew":     "sqlite_autoindex_lanes_1 (job=?)",
	"updateLanesOpen":       "sqlite_autoindex_lanes_1 (job=?)",
	"selectLanesOfJob":      "sqlite_autoindex_lanes_1 (job=?)",
	"deleteSlots":           "slots USING PRIMARY KEY (run=?)",
	"selectParkedFirst":     "lanes_parked (gate=? AND pool=? AND head>?)",
	"selectParkedAlike":     "lanes_alike (gate=? AND pool=? AND job=? AND host=? AND catch_up=? AND slice=? AND head>?)",
	"selectParkedSort":      "lanes_alike (gate=? AND pool=? AND (job,host,catch_up,slice)>(?,?,?,?))",
	"selectWoken":           "gates_wake (wake_at<?)",
	"selectNextWake":        "COVERING INDEX gates_wake (wake_at>?)",
	"selectParkedAt":        "lanes_parked (gate=?",
	"selectHolders":         "runs_running (state=?)",
	"selectBatchAhead":      "INDEX runs_batch (job=? AND bkey=? AND batch=?)",
	"selectBatchNext":       "INDEX runs_batch (job=? AND bkey=? AND batch=?)",
	"updateBatch":           "INTEGER PRIMARY KEY (rowid=?)",
	"selectBatchUnfinished": "COVERING INDEX runs_batch (job=? AND bkey=? AND batch>? AND batch<?)",
	"updateWaitingShifted":  "runs_running (state=?)",
	"selectOfBatch":         "runs_batch (job=? AND bkey=? AND batch=? AND rowid<?)",
	"selectWaitingRuns":     "runs_running (state=?)",
	"selectWaitingOf":       "runs_running (state=?)",
	"selectSlicedOf":        "runs_queued (lane=?)",
	"selectHoldersSliced":   "runs_sliced",
	"selectAlerts":          "documents_kind (kind=?)",
	"selectGates":           "gates_kind (kind=? AND rowid<?)",
	"selectWaitingFor":      "refs_named (kind=? AND name=?)",
	"selectWaitingForHost":  "lanes_host (host=?)",
	"selectQueuedIn":        "refs_named (kind=? AND name=?)",
	"selectRunningOf":       "runs_running (state=?)",
	"selectLaneOfHost":      "lanes_host (host=?)",
	"selectSweepLanes":      "lanes USING INTEGER PRIMARY KEY (rowid>?)",
	"selectSweepGates":      "gates USING INTEGER PRIMARY KEY (rowid>?)",
	// finish
	"updateEnded":      "INTEGER PRIMARY KEY (rowid=?)",
	"updateAgain":      "INTEGER PRIMARY KEY (rowid=?)",
	"selectFence":      "INTEGER PRIMARY KEY (rowid=?)",
	"deleteAttempt":    "PRIMARY KEY (run=? AND number=?)",
	"selectLogBytes":   "sqlite_autoindex_logs_1 (run=?)",
	"selectHoldable":   "runs USING INTEGER PRIMARY KEY (rowid=?)",
	"selectCheckpoint": "checkpoints USING PRIMARY KEY (job=? AND owner=?)",
	"selectOperation":  "INTEGER PRIMARY KEY (rowid=?)",
	"updateSliced":     "INTEGER PRIMARY KEY (rowid=?)",
	"updateWaiting":    "INTEGER PRIMARY KEY (rowid=?)",
	"deleteSlot":       "slots USING PRIMARY KEY (run=? AND gate=?)",
	"selectContinues":  "runs_operation (operation=?)",
	// what attempts say
	"selectAttempt":  "INTEGER PRIMARY KEY (rowid=?)",
	"selectTold":     "attempts USING PRIMARY KEY (run=? AND number=?)",
	"selectSaid":     "INTEGER PRIMARY KEY (rowid=?)",
	"selectLease":    "r USING INTEGER PRIMARY KEY (rowid=?)",
	"updateProgress": "INTEGER PRIMARY KEY (rowid=?)",
	"updateSaid":     "INTEGER PRIMARY KEY (rowid=?)",
	"updateAlive":    "INTEGER PRIMARY KEY (rowid=?)",
	// long, stuck
	"updateLongAt":       "INTEGER PRIMARY KEY (rowid=?)",
	"selectNextLong":     "COVERING INDEX runs_long",
	"selectLong":         "INDEX runs_long (long_at>? AND long_at<?)",
	"updateLongShifted":  "INDEX runs_long (long_at>?)",
	"selectWaitingLanes": "lanes_turn (pool=?",
	"selectFirstQueued":  "runs_queued (lane=?)",
	// release
	"selectHeldLanes": "lanes_held (held>?)", "selectWantedSecrets": "lanes_held (held>?)",
	"updateReleased": "runs_queued (lane=?)",
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
	"updateLaneVersion":      "runs_queued (lane=?)",
	"selectLaneVersion":      "runs_queued (lane=?)",
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
	"auditAll.rows":          "audit USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"auditAll.bounds":        "audit USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"auditName.rows":         "INDEX audit_name (name=? AND rowid>? AND rowid<?)",
	"auditName.bounds":       "COVERING INDEX audit_name (name=? AND rowid>? AND rowid<?)",
	"auditActor.rows":        "INDEX audit_actor (actor=? AND rowid>? AND rowid<?)",
	"auditActor.bounds":      "COVERING INDEX audit_actor (actor=? AND rowid>? AND rowid<?)",
	"selectAuditUntil":       "COVERING INDEX audit_at (at<?)",
	"selectAuditSince":       "COVERING INDEX audit_at (at>?)",
	"selectDocuments":        "documents_kind (kind=? AND rowid<?)",
	"selectEvents":           "events USING INTEGER PRIMARY KEY (rowid>?)",
	"selectEventList":        "events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"selectNewestEvent":      "SEARCH events",
	// alerts
	"deleteStreak":    "streaks USING PRIMARY KEY (job=? AND schedule=? AND key=?)",
	"deleteStreaksOf": "streaks USING PRIMARY KEY (job=?)",
	"selectFold":      "folds USING PRIMARY KEY (alert=? AND sort=? AND key=?)",
	"selectDueFolds":  "folds_due (at<?)",
	"selectNextFold":  "folds_due (at>?)",
	"selectSince":     "f USING PRIMARY KEY (alert=? AND sort=? AND key=?)",
	"deleteFold":      "folds USING PRIMARY KEY (alert=? AND sort=? AND key=?)",
	"deleteFoldsOf":   "folds USING PRIMARY KEY (alert=?)",
	"selectUntold":    "INDEX runs_untold (tells=? AND dealt=?)",
	// schedules
	"selectScheduleRow":    "sqlite_autoindex_schedules_1 (name=?)",
	"selectSchedule":       "sqlite_autoindex_schedules_1 (name=?)",
	"selectSchedulesAll":   "s USING INTEGER PRIMARY KEY (rowid<?)",
	"selectSchedulesJob":   "schedules_job (job=? AND rowid<?)",
	"selectSchedulesOfJob": "schedules_job (job=?)",
	"selectSchedulesInJob": "schedules_in_job (job=?)",
	"selectSchedulesDue":   "schedules_due (due_at>? AND due_at<?)",
	"selectNextSchedule":   "COVERING INDEX schedules_due (due_at>?)",
	"selectSchedulesStart": "schedules_start (name>?)",
	"selectNewest":         "ticks USING PRIMARY KEY (schedule=? AND job=?)",
	"selectTickAt":         "ticks USING PRIMARY KEY (schedule=? AND job=? AND at<?)",
	"selectTicks":          "ticks USING PRIMARY KEY (schedule=? AND job=? AND at<?)",
	"updateTickGrown":      "ticks USING PRIMARY KEY (schedule=? AND job=? AND at=?)",
	"selectMissedAhead":    "ticks USING PRIMARY KEY (schedule=? AND job=? AND at>?)",
	"selectAhead":          "runs_line (schedule=? AND overlap=?)",
	"selectAheadFirst":     "INDEX runs_line (schedule=? AND overlap=?)",
	"selectAheadCause":     "INDEX runs_line (schedule=? AND overlap=? AND cause=?)",
	"selectLinesDue":       "runs_due (due_at>?)",
	"selectLinesQueued":    "runs_queued (lane=?)",
	"selectLinesWaiting":   "runs_running (state=?)",
	"selectInLine":         "runs_line (schedule=? AND overlap=? AND cause=?)",
	"selectNextLate":       "INDEX ticks_late",
	"selectLate":           "INDEX ticks_late (late_at>? AND late_at<?)",
	"selectPruneSchedule":  "schedules USING INTEGER PRIMARY KEY (rowid>?)",
	"selectTickJob":        "ticks USING PRIMARY KEY (schedule=? AND job>?)",
	"selectOldTicks":       "ticks USING PRIMARY KEY (schedule=? AND job=? AND at<?)",
	"listSchedule.rows":    "runs_schedule (schedule=? AND rowid>? AND rowid<?)",
	"listSchedule.bounds":  "COVERING INDEX runs_schedule (schedule=? AND rowid>? AND rowid<?)",
	// prune
	"selectEventTimes":         "events USING INTEGER PRIMARY KEY (rowid>?)",
	"deleteEvents":             "events USING INTEGER PRIMARY KEY (rowid<?)",
	"selectPruneRuns":          "runs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	"selectPruneEnded":         "runs USING INDEX runs_ended (finished_at",
	"selectEventSizes":         "events USING INTEGER PRIMARY KEY (rowid<?)",
	"selectPruneRun":           "runs USING INTEGER PRIMARY KEY (rowid=?)",
	"selectRevisions":          "jobs USING INTEGER PRIMARY KEY (rowid>?)",
	"selectOldKeys":            "keys_until",
	"deleteKey":                "PRIMARY KEY (job=? AND sort=? AND key=?)",
	"deleteAttempts":           "PRIMARY KEY (run=?)",
	"deleteOrphanedCheckpoint": "runs_operation (operation=?)",
	"selectCheckpoints":        "checkpoints USING PRIMARY KEY ((job,owner)>(?,?))",
	"selectOfOperation":        "runs_operation (operation=? AND rowid<?)",
	"selectJobDoc":             "jobs USING INTEGER PRIMARY KEY (rowid=?)",
	"updateContinues":          "COVERING INDEX runs_operation (operation=?)",
	"deleteLogs":               "sqlite_autoindex_logs_1 (run=?)",
}

// allowed are the statements that may scan or sort, and why.
var allowed = map[string]struct{ steps, why string }{
	"selectKept": {"SCAN kept", "a row for each sort"},
	"selectTokens": {
		"SCAN tokens, USE TEMP B-TREE FOR ORDER BY",
		"few rows, read when one changed; they are sorted by age",
	},
	"selectSecrets": {
		"SCAN secrets USING INDEX sqlite_autoindex_secrets_1", "few rows, read when one changed",
	},
	"selectAnyCheckpoint": {"SCAN checkpoints", "whether there is a row: the first will do"},
	"deleteOldAudit":      {"SCAN audit", "in the order of ids, up to the inner LIMIT"},
	"selectHeldRuns":      {"SCAN l", "the lanes that hold anything, when metrics are read"},
	"selectNewestRun":     {"SCAN runs", "the last one alone"},
	"selectCancelDue":     {"SCAN runs USING INDEX runs_due", "all of them, up to the LIMIT, when a resume cancels what waits"},
	"selectCancelQueued":  {"SCAN runs USING INDEX runs_queued", "all of them, up to the LIMIT, when a resume cancels what waits"},
	"selectSlots":         {"SCAN slots", "what runs, once after a start or a rollback"},
	"selectStatefulGates": {"SCAN gates", "when the wall clock was set"},
	"selectSchedulesBacklog": {
		"SCAN s USING INDEX schedules_backlog", "those that have something to catch up, up to the LIMIT",
	},
	"selectGroupsOpen":    {"SCAN runs USING INDEX runs_groups_open", "unfinished groups alone, when a job is deleted"},
	"updateStartsShifted": {"SCAN rates", "when the wall clock was set"},
	"selectStreakJobs":    {"SCAN streaks", "in the order of jobs, once after a start or a rollback"},
	"deleteStreaksKeyed":  {"SCAN streaks", "when an alert is deleted"},
	"deleteStreaksBefore": {"SCAN streaks", "once an hour"},
	"updateStartsAhead":   {"SCAN rates", "once after a start"},
	"insertSlots":         {"SCAN 8-ROW VALUES CLAUSE", "eight rows are written"},
	"selectStates":        {"USE TEMP B-TREE FOR GROUP BY", "two groups"},
	"updateShifted": {
		"SCAN runs USING INDEX runs_retrying", "what retries, when the wall clock was set",
	},
	"selectLogs": {
		"USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY",
		"the kept output of one run, of bounded size, by place and not by piece",
	},
}

// partial are the allowed scans: counts over an index that holds nothing but unfinished runs.
var partial = regexp.MustCompile(`^SCAN runs USING COVERING INDEX runs_(due|queued)$|^SCAN runs USING (COVERING )?INDEX runs_sliced$`)

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
	// The plus keeps SQLite from planning by the values, as package sqlite does.
	rows, err := db.Query(
		"EXPLAIN QUERY PLAN " + regexp.MustCompile(`\$\d+`).ReplaceAllString(query, "+1"))
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
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 2 { // and the note of what was served
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

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
