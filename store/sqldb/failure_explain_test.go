package sqldb_test

import "maps"

// What the statements of failures must read.
func init() {
	maps.Copy(index, map[string]string{
		"upsertFailureGroup":       "",
		"updateFailed":             "INTEGER PRIMARY KEY (rowid=?)",
		"selectLink":               "INTEGER PRIMARY KEY (rowid=?)",
		"updateDealt":              "INTEGER PRIMARY KEY (rowid=?)",
		"selectEarlierOf":          "COVERING INDEX runs_dealt_job (job=? AND dealt=? AND rowid<?)",
		"selectEarlierTicks":       "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND rowid<?)",
		"selectRequeuedOf":         "INDEX runs_dealt_job (job=? AND dealt=? AND rowid<?)",
		"selectRequeuedTicks":      "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND rowid<?)",
		"updateEarlierOf":          "INDEX runs_dealt_job (job=? AND dealt=? AND rowid<?)",
		"updateEarlierTicks":       "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND rowid<?)",
		"insertEarlierOf":          "INDEX runs_dealt_job (job=? AND dealt=? AND rowid<?)",
		"insertEarlierTicks":       "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND rowid<?)",
		"selectOpen":               "COVERING INDEX runs_dealt (dealt=?)",
		"failuresAll.rows":         "runs_dealt (dealt=? AND rowid>? AND rowid<?)",
		"failuresAll.bounds":       "COVERING INDEX runs_dealt (dealt=? AND rowid>? AND rowid<?)",
		"failuresJob.rows":         "runs_dealt_job (job=? AND dealt=? AND rowid>? AND rowid<?)",
		"failuresJob.bounds":       "COVERING INDEX runs_dealt_job (job=? AND dealt=? AND rowid>? AND rowid<?)",
		"failuresAlike.rows":       "runs_failure (failure=? AND dealt=? AND rowid>? AND rowid<?)",
		"failuresAlike.bounds":     "COVERING INDEX runs_failure (failure=? AND dealt=? AND rowid>? AND rowid<?)",
		"failuresRetrying.rows":    "runs_retrying (seq>? AND seq<?)",
		"failuresRetrying.bounds":  "COVERING INDEX runs_retrying (seq>? AND seq<?)",
		"selectFailureGroups":      "INTEGER PRIMARY KEY (rowid<?)",
		"selectFailureGroupsAlike": "failure_groups_fingerprint (fingerprint=? AND rowid<?)",
		"selectOpenAlike":          "COVERING INDEX runs_failure (failure=? AND dealt=?)",
		"selectNewestAlike":        "INDEX runs_failure (failure=? AND dealt=?)",
		"updateGroupIgnored":       "COVERING INDEX runs_failure (failure=? AND dealt=?)",
		"selectGroupsOver":         "failure_groups_until (ignored_until>? AND ignored_until<?)",
		"selectCame":               "runs_failure (failure=? AND dealt=?)",
		"selectPruneGroups":        "COVERING INDEX runs_failure (failure=?)",
	})
}
