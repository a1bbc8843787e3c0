package sqldb_test

import "maps"

// groupIndex is what the statements of groups must read.
var groupIndex = map[string]string{
	"selectGroup":            "g USING INTEGER PRIMARY KEY (rowid=?)",
	"selectOpenOf":           "runs_parent_open (parent=?)",
	"selectOpenRuns":         "runs_parent_open (parent=?)",
	"selectTally":            "r USING INTEGER PRIMARY KEY (rowid=?)",
	"selectMembers":          "m USING PRIMARY KEY (parent=? AND place>?)",
	"selectResults":          "m USING PRIMARY KEY (parent=? AND place>?)",
	"selectMerges":           "runs_parent (parent=? AND place=?)",
	"selectMergeOpen":        "runs_parent (parent=? AND place=?)",
	"selectMemberOf":         "members_run (run=?)",
	"selectKeeper":           "groups_keep (keep_of=?)",
	"selectGroupsEnding":     "groups_phase (phase=?)",
	"updateGroupsAgain":      "groups_phase (phase=?)",
	"selectNextDeadline":     "groups_deadline (deadline>?)",
	"selectDeadlines":        "groups_deadline (deadline>? AND deadline<?)",
	"updateDeadlinesShifted": "groups_deadline (deadline>?)",
	"selectStarting":         "runs_running (state=?)",
	"selectGroupsOpenOf":     "runs_groups_open (job=? AND version=?)",
	"selectGroupsBringing":   "runs_groups_open (job=? AND version=?)",
	"selectLinkedQueued":     "runs_queued (lane=?)",
	"selectLinkedDue":        "runs_due (due_at>?)",
	"selectLinkedWaiting":    "runs_running (state=?)",
	"listGroups.rows":        "INDEX runs_groups (seq>? AND seq<?)",
}

func init() { maps.Copy(index, groupIndex) }
