package sqldb_test

import "maps"

// What the statements of failures must read.
func init() {
	maps.Copy(index, map[string]string{
		"upsertFailureGroup":       "",
		"updateFailed":             "INTEGER PRIMARY KEY (rowid=?)",
		"selectLink":               "INTEGER PRIMARY KEY (rowid=?)",
		"updateDealt":              "INTEGER PRIMARY KEY (rowid=?)",
		"selectEarlierOf":          "COVERING INDEX runs_dealt_job (job=? AND dealt=? AND seq<?)",
		"selectEarlierTicks":       "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND seq<?)",
		"selectRequeuedOf":         "INDEX runs_dealt_job (job=? AND dealt=? AND seq<?)",
		"selectRequeuedTicks":      "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND seq<?)",
		"updateEarlierOf":          "INDEX runs_dealt_job (job=? AND dealt=? AND seq<?)",
		"updateEarlierTicks":       "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND seq<?)",
		"insertEarlierOf":          "INDEX runs_dealt_job (job=? AND dealt=? AND seq<?)",
		"insertEarlierTicks":       "INDEX runs_dealt_schedule (schedule=? AND dealt=? AND seq<?)",
		"selectOpen":               "COVERING INDEX runs_dealt (dealt=?)",
		"failuresAll.rows":         "runs_dealt (dealt=? AND seq>? AND seq<?)",
		"failuresAll.bounds":       "COVERING INDEX runs_dealt (dealt=? AND seq>? AND seq<?)",
		"failuresJob.rows":         "runs_dealt_job (job=? AND dealt=? AND seq>? AND seq<?)",
		"failuresJob.bounds":       "COVERING INDEX runs_dealt_job (job=? AND dealt=? AND seq>? AND seq<?)",
		"failuresAlike.rows":       "runs_failure (failure=? AND dealt=? AND seq>? AND seq<?)",
		"failuresAlike.bounds":     "COVERING INDEX runs_failure (failure=? AND dealt=? AND seq>? AND seq<?)",
		"failuresRetrying.rows":    "runs_retrying (seq>? AND seq<?)",
		"failuresRetrying.bounds":  "COVERING INDEX runs_retrying (seq>? AND seq<?)",
		"selectFailureGroups":      "INTEGER PRIMARY KEY (rowid<?)",
		"selectFailureGroupsAlike": "failure_groups_fingerprint (fingerprint=? AND rowid<?)",
		"selectOpenAlike":          "COVERING INDEX runs_failure (failure=? AND dealt=?)",
		"selectNewestAlike":        "INDEX runs_failure (failure=? AND dealt=?)",
		"updateGroupIgnored":       "COVERING INDEX runs_failure (failure=? AND dealt=?)",
		"selectGroupsOver":         "failure_groups_until (ignored_until>? AND ignored_until<?)",
		"selectCame":               "runs_failure (failure=? AND dealt=?)",
		"failuresAll.ids":          "runs_dealt (dealt=? AND seq>? AND seq<?)",
		"failuresJob.ids":          "runs_dealt_job (job=? AND dealt=? AND seq>? AND seq<?)",
		"failuresAlike.ids":        "runs_failure (failure=? AND dealt=? AND seq>? AND seq<?)",
		"selectBulkItems":          "bulk_items USING INDEX sqlite_autoindex_bulk_items_1 (bulk=?)",
		"updateBulkItems":          "bulk_items USING INDEX sqlite_autoindex_bulk_items_1 (bulk=? AND part=?)",
		"deleteBulkItems":          "bulk_items USING INDEX sqlite_autoindex_bulk_items_1 (bulk=? AND part=?)",
		"selectItemsLeft":          "bulk_items USING COVERING INDEX sqlite_autoindex_bulk_items_1 (bulk=?)",
		"selectNotBegun":           "runs_bulk (bulk=? AND state=?)",
		"selectBulksLeft":          "bulks_left (state=?)",
		"selectBulksStopped":       "bulks_left (state=?)",
		"selectPruneGroups":        "COVERING INDEX runs_failure (failure=?)",
	})
}
